"""From what is shown of a text to its source: exactly, or as a whole, and never a guess."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from web.rendering import tidy
from web.source_map import SourceMap, passage_found, source_map

PARTS = (
    *("a", "b ", "word", " ", "  ", "\n", "\n\n", "\t", "*", "**", "_", "~~", "`", "``", "```\n", "|", "\\|"),
    *("\\", "$", "$$", "\\(", "\\)", "x^2", "[", "](http://a.b)", "![", "<http://a.b>", "&lt;", "&amp", "# "),
    *("- ", "1. ", "> ", "---\n", "===\n", "|---|\n", "| a | b |\n", "😀", "مرحبا", "שלום", "\r\n", "\u202e"),
    *("\ufeff", "<b>", "\u00a0", "    ", "é", "[x]: http://a.b\n", "[x]"),
)
SHARED = Path(__file__).parents[3] / "shared" / "data"


def holds(text: str, known: SourceMap) -> int:
    """Hold a map against its text; the number of characters seen that it has no place for."""
    covered = bytearray(len(known.shown))
    shown_end = source_end = 0
    for run in known.runs:
        assert run.at >= shown_end
        assert run.start >= source_end
        assert run.size
        assert run.length
        shown_end, source_end = run.at + run.size, run.start + run.length
        covered[run.at : shown_end] = b"\1" * run.size
        if run.is_exact:
            assert known.shown[run.at : shown_end] == text[run.start : source_end].replace("\r", "\n")
    assert source_end <= len(text)
    if not tidy(text).strip():
        return 0
    return sum(not (there or letter.isspace()) for there, letter in zip(covered, known.shown, strict=True))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), st.booleans())
def test_every_letter_that_is_seen_has_its_place(text, plain):
    assert holds(text, source_map(text, plain=plain)) == 0


@pytest.mark.parametrize(
    ("text", "seen", "nth", "source"),
    [
        ("word **word** word", "word", 3, "word"),
        ("[word](http://word.example) word", "word", 2, "word"),
        ("| a |\n|---|\n| b\\|c |", "b|c", 1, "b\\|c"),
        ("| a |\n|---|\n| b\\|c |", "|c", 1, "|c"),
        ("> - `let x`\n>   let x", "let x", 2, "let x"),
        ("```\na\n\n b\n```", "a\n\n b", 1, "a\n\n b"),
        ("x\r\ny", "x\ny", 1, "x\r\ny"),
        ("is $x^2$ more", "2 m", 1, "$x^2$ m"),
        ("$$\nx^2\n$$\n\ny", "x", 1, "$$\nx^2\n$$"),
        ("👩‍🔬 and 👍🏽", "👍🏽", 1, "👍🏽"),
        ("هذا **كتاب** كتاب", "كتاب", 2, "كتاب"),
        ("a \u202eb", "a b", 1, "a \u202eb"),
        ("50.", "50", 1, "50"),
        ("  - 3", "3", 1, "3"),
        ("&amp; & &amp;", "&", 3, "&amp;"),
        ("# *Head*ing #\n\nText\n===", "Heading", 1, "Head*ing"),
        ("![alt **b**](http://a.b) after", "alt", 1, "![alt **b**](http://a.b)"),
    ],
)
def test_a_passage_is_what_was_seen_and_not_its_like(text, seen, nth, source):
    known = source_map(text)
    at = -1
    for _ in range(nth):
        at = known.shown.index(seen, at + 1)
    passage = known.source(at, at + len(seen))
    assert passage is not None
    assert text[slice(*passage)] == source
    # Of equal passages it is the one that was meant.
    if source == seen and nth > 1:
        assert passage[0] == text.rindex(source)


def test_blanks_of_the_page_are_nothing_of_the_text():
    known = source_map("a\n\nb")
    assert known.shown == "a\nb\n"
    assert known.source(1, 2) is None
    assert known.source(0, 3) == (0, 4)
    assert source_map("").runs == source_map(None).runs == source_map(" \n").runs == ()


def test_a_script_gets_the_runs_in_its_own_units():
    assert source_map("a 😀 b &lt; c").encoded() == "0,7,0,-6,0,1,0,4,0,2,0,0"
    assert source_map("one **two**").encoded() == "0,4,0,0,0,3,2,0"


def test_long_and_hostile_texts_are_mapped_as_they_are_shown():
    long = "Word *word*.\n\n" * 6_000
    assert source_map(long).source(5, 11) == (5, 11)
    hostile = "[" * 4_000 + "*a*"
    assert holds(hostile, source_map(hostile)) == 0


def test_a_copied_passage_is_found_whatever_its_blanks():
    known = source_map("One **two**\nthree. One two three.")
    assert passage_found(" two   three ", known) == ((6, 17), 2)
    assert passage_found("four", known) is passage_found("  ", known) is None


def test_real_answers_are_mapped_whole():
    path = SHARED / "llmbar" / "Dataset" / "LLMBar" / "Natural" / "dataset.json"
    if not path.exists():
        pytest.skip("LLMBar isn't on this machine")
    for row in json.loads(path.read_text()):
        for name in ("output_1", "output_2"):
            assert holds(row[name], source_map(row[name])) == 0
