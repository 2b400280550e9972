"""YAML that would take long, or stand for more than it is: refused at once, by the one reader that all files have."""

import time

import pytest

from web.yaml_text import MOST_LEVELS, YamlError, yaml_read

DEEP = {
    "lists": "[" * 20_000,
    "objects": "{a: " * 20_000,
    "lists in a file of lines": "\n".join(["a:", *("- [" * 20_000 for _ in range(3))]),
    "blocks": "- " * 20_000 + "x",
    "blocks by indentation": "".join(f"{' ' * depth}a:\n" for depth in range(3_000)),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused_at_once(name):
    started = time.process_time()
    with pytest.raises(YamlError, match=f"line [0-9]+: more than {MOST_LEVELS} levels"):
        yaml_read(DEEP[name])
    assert time.process_time() - started < 0.5


def test_nesting_as_people_write_it_is_read():
    found = yaml_read("[" * 90 + "]" * 90)
    for _ in range(89):
        (found,) = found
    assert found == []
    assert yaml_read("a:\n  b:\n  - c: {d: [1, 2]}\n") == {"a": {"b": [{"c": {"d": [1, 2]}}]}}


@pytest.mark.parametrize("text", ['a: "\\0"', 'a: "\\ud800"', '"\\0": a'])
def test_characters_that_cannot_be_stored_are_refused(text):
    with pytest.raises(YamlError, match="line 1: the character NUL, or half a surrogate pair"):
        yaml_read(text)


def test_numbers_that_are_none_to_a_computer_are_refused():
    with pytest.raises(YamlError, match="line 2: a whole number of 400 digits"):
        yaml_read(f"a: 1\nb: {'9' * 400}\n")
