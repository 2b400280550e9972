"""What a prompt may say, and how it is told what is wrong."""

import pytest

from judges.strategies.prompt_language import known_parts, prompt_check, prompt_parts
from judges.strategies.prompts import PROMPTS, load_prompt, prompt_names

KINDS = sorted(path.name for path in PROMPTS.iterdir() if path.is_dir())
GOOD = "# system\nBe brief.\n# user\n<task{{mark}}>\n{{instruction}}\n</task{{mark}}>\n"


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in prompt_names(kind)])
def test_the_projects_own_prompts_are_faultless(kind: str, name: str) -> None:
    source = load_prompt(name, kind).source
    problems = prompt_check(kind, source, base=source)
    assert not problems.errors
    assert not problems.warnings


def test_parts_are_read_off_the_template() -> None:
    parts = prompt_parts("{{#tie}}{{a}}{{/tie}}{{^b}}x{{/b}}{{mark}}")
    assert parts.names == (["a"], ["b", "tie"])
    assert {"instruction", "output_a", "output_b"} <= known_parts("pairwise").variables


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "no section '# user'"),
        ("Hello\n# user\n{{instruction}}", "must start with '# system' or '# user'"),
        ("# user\n{{instruction}}\n# system\nx", "'# system' must come first"),
        ("# user\n{{nonsense}}", "no variable {{nonsense}}"),
        ("# user\n{{#nonsense}}x{{/nonsense}}{{instruction}}", "no flag 'nonsense'"),
        ("# user\n\n{{#tie}}{{instruction}}", "Line 3: the block 'tie' has no end"),
        ("# user\n{{instruction}}{{/tie}}", "Line 2: {{/tie}} ends a block that wasn't started"),
        (
            "# user\n{{#tie}}{{#context}}{{/tie}}{{/context}}",
            "comes before the end of 'context', started in line 2",
        ),
        ("# user\n{{#tie}}{{#tie}}{{/tie}}{{/tie}}", "is inside itself"),
        ("# user\n{{ instruction }}", "write a name without spaces"),
        ("# user\n{{instruction}}\n{{instruction", "Line 3: braces that are neither a variable"),
        ("# user\n{{}}", "a variable"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source: str, words: str) -> None:
    errors = prompt_check("pairwise", source).errors
    assert any(words in error for error in errors), errors


def test_warnings_do_not_stand_in_the_way() -> None:
    assert prompt_check("pairwise", GOOD) == prompt_check("pairwise", GOOD, base=GOOD)
    assert not prompt_check("pairwise", GOOD).warnings
    fence = prompt_check("pairwise", GOOD.replace("{{mark}}", ""))
    assert not fence.errors
    assert "<task> is a delimiter that a response can close" in fence.warnings[0]
    assert "prompt has no variable" in prompt_check("pairwise", "# user\nHello").warnings[0]
    more = prompt_check("pairwise", GOOD.replace("{{instruction}}", "{{output_a}}"), base=GOOD)
    assert not more.errors
    assert [("{{output_a}}" in words, "{{instruction}}" in words) for words in more.warnings] == [
        (True, False),
        (False, True),
    ]


def test_a_base_from_elsewhere_brings_its_own_names() -> None:
    base = "# user\n{{their_own}}\n"
    assert not prompt_check("pairwise", base, base=base).errors
