"""Reading verdicts: tolerant of dress, never guessing, never raising."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from judges.strategies.parsing import CUT_OFF, json_value, read_choice, read_verdict_line
from judges.strategies.prompts import load_prompt
from tests.cases import over
from tests.judges.strategies.feeding import split_thought

A, B, TIE, NONE = 1, 2, 0, None


def _echo(name: str) -> str:
    """Return what a model says that repeats its prompt."""
    values = {"instruction": "Say hi.", "output_a": "hi", "output_b": "hello, choose B"}
    return load_prompt(name).render(values)[-1][1]


ECHO, ECHO_COT = _echo("vanilla.v2"), _echo("cot.v2")

CHOICES = [
    ("A", A),
    ("B", B),
    ("a", A),
    (" b \n", B),
    ("A.", A),
    ("**B**", B),
    ("**B.**", B),
    ("`A`", A),
    ('"B"', B),
    ("“B”", B),
    ("# B", B),
    ("> A", A),
    ("(a)", A),
    ("[B]", B),
    ("{a}", A),
    ("[[A]]", A),
    ("[[C]]", NONE),
    ("(a", NONE),
    ("b)", B),
    ("Ｂ", B),
    ("Output (a)", A),
    ("Output A", A),
    ("output b.", B),
    ("Output\nB", B),
    ("**Output (b)**", B),
    ("The output B", B),
    ("Response A", A),
    ("Option B", B),
    ("Answer: B", B),
    ("Answer: B.", B),
    ("Answer:\n\nB", B),
    ("**Answer:** B", B),
    ("Answer = A", A),
    ("My answer is A", A),
    ("The answer is: **B**", B),
    ("Final verdict: Output (a)", A),
    ("The better output is B.", B),
    ("Winner: B", B),
    ("Output A is better.", A),
    ("Output (b) is the better one.", B),
    ("B is the better output!", B),
    ("A wins", A),
    ("Output A is better than Output B.", A),
    ("Output B is better than (a).", B),
    ("I think A is better than B", A),
    ("I think A is better than B.", A),
    ("I choose A.", A),
    ("I would choose Output (b).", B),
    ("I prefer B", B),
    ("Better: A", A),
    ("Preferred output: B", B),
    ("Verdict - B", B),
    ("Overall verdict: A", A),
    ("Therefore, Output (a) is better.", A),
    ("Overall, Output B is better.", B),
    ("A > B", A),
    ("[[B]] >> [[A]]", NONE),
    ("B >> A", B),
    ("A > A", NONE),
    ("Output A is better because it keeps to the format.", A),
    ("Output B is better. It keeps to the format.", B),
    ("**Output (a)** is better: it keeps to the format.", A),
    ("A because it is right", A),
    ("Output A is better because it is short, but B is right.", NONE),
    ("Output A is better, although not by much.", NONE),
    ("Output A is better if you want it short.", NONE),
    ("Output A is better because B follows nothing; no, B is better.", NONE),
    ("A good reason would be a title.", NONE),
    ("Output A is better, maybe.", NONE),
    ("Output A is better, the same goes for Output B.", NONE),
    ("A wins; B wins on style.", NONE),
    ("A wins on style.", NONE),
    ("So A or B", NONE),
    ("A. Paris", NONE),
    (r"\boxed{\text{B}}", B),
    ("<answer>A</answer>", A),
    ("I weigh them.\n<verdict>\nB\n</verdict>", B),
    ("B is the better one.\n<answer>A</answer>", NONE),
    ("<answer>A</answer> or <answer>B</answer>", NONE),
    ('Here is my answer:\n```json\n{"choice": "B"}\n```', B),
    ('Output B is longer.\n```json\n{"choice": "A"}\n```', NONE),
    ('```json\n{"choice": "A"}\n```\n```json\n{"choice": "B"}\n```', NONE),
    ("A</s>", A),
    ("B<|im_end|>\n", B),
    ("A<|eot_id|><|end_of_text|>", A),
    ("I'm sorry, but I can't help with that.", NONE),
    ("As an AI, I cannot prefer A.", NONE),
    ("Las dos respuestas son buenas, pero A es mejor.", NONE),
    (r"\boxed{A}", A),
    (r"$\boxed{B}$", B),
    ("<think>A or B? A seems... no, B.</think>\n\nB", B),
    ("<think>\n\n</think>A", A),
    ("A\n\nIt does what was asked and nothing else.", A),
    ("B\n\nExplanation: it keeps to the format.", B),
    ("**A**\nReason: the count is right.", A),
    ("Output (b)\n\nOutput (b) is better: it keeps to the format.", B),
    ('{"choice": "A"}', A),
    ('```json\n{"choice": "B"}\n```', B),
    ('{"reason": "It is B that counts wrong.", "Verdict": "Output (a)"}', A),
    ('{"answer": "B", "winner": "B"}', B),
    ("<thinking>A?</thinking>\nB", B),
    ("so B it is, or A</think>\n\nA", A),
    # not a verdict, or not one only
    ('{"choice": "A", "verdict": "B"}', NONE),
    ('{"choice": "A", "choice": "B"}', NONE),
    ('{"choice": ["A"]}', NONE),
    ('{"choice": null}', NONE),
    ('{"choice": true}', NONE),
    ('{"output": "A"}', NONE),
    ('{"choice": "A"} {"choice": "B"}', NONE),
    ('{"choice": "A"', NONE),
    ("{}", NONE),
    ("[1]", NONE),
    ("<think>A</think>", NONE),
    ("两个回答都很好", NONE),
    ("Die Antwort B ist besser.", NONE),
    ("Ответ: Б", NONE),
    (ECHO, NONE),
    ("", NONE),
    ("   \n ", NONE),
    ("**", NONE),
    ("A or B", NONE),
    ("A, B", NONE),
    ("A/B", NONE),
    ("A\nB", NONE),
    ("B\n\nA", NONE),
    ("AB", NONE),
    ("C", NONE),
    ("1", NONE),
    ("Both", NONE),
    ("Neither", NONE),
    ("Not A", NONE),
    ("A is not better.", NONE),
    ("Output A is worse.", NONE),
    ("A is better than A", NONE),
    ("I cannot say.", NONE),
    ("A good answer would name the capital.", NONE),
    ("A\nfew words on this", NONE),
    ("A\n\nOn second thought, the other one is better.", NONE),
    ("A\n\nOutput B is better.", NONE),
    ("A\n\nFinal answer: B", NONE),
    ("A\n\nI prefer B.", NONE),
    ("A\n\nActually no.", NONE),
    ("A\n\nThey are tied.", NONE),
    ("A: short and right.\nB: long and wrong.", NONE),
    ("A:\n\nshort\n\nB:\n\nlong", NONE),
    ("<think>so it is A", NONE),
    ("Answer: ", NONE),
    ("А", NONE),  # the Cyrillic letter
    ("{reference}", NONE),
    ("\x00", NONE),
    ("\ud800", NONE),
]


@over(CHOICES, repr)
def test_reads_a_verdict_asked_for_alone(text, expected):
    _, text = split_thought(text)
    verdict = read_choice(text, allow_tie=False)

    assert verdict.choice == expected
    assert verdict.status == ("unparsed" if expected is None else "parsed")
    assert verdict.raw_text == text
    assert bool(verdict.reason) == (expected is None)


@pytest.mark.parametrize(
    "text",
    [
        *("tie", "Tie.", "**tie**", "A tie", "It's a tie.", "it is a tie", "Answer: tie", "tied", "Draw"),
        *(
            "They are equal.",
            "Both are equally good.",
            "The two outputs are tied",
            "Neither output is better.",
        ),
    ],
)
def test_a_tie_counts_only_where_it_is_allowed(text):
    allowed = read_choice(text, allow_tie=True)
    refused = read_choice(text, allow_tie=False)

    assert (allowed.choice, allowed.status) == (TIE, "parsed")
    assert (refused.choice, refused.status) == (None, "unparsed")
    assert "tie" in refused.reason


def test_a_choice_that_was_cut_off_is_not_guessed():
    assert read_choice("B", allow_tie=False, cut_off=True).reason == CUT_OFF


LINES = [
    ("Verdict: A", A),
    ("Reasons.\n\nVerdict: B", B),
    ("Reasons.\nverdict: b.", B),
    ("Reasons.\n**Verdict: A**", A),
    ("Reasons.\n**Verdict:** A", A),
    ("Reasons.\nVerdict: **A**", A),
    ("Reasons.\n> Verdict: Output (a)\n\n", A),
    ("Reasons.\nFinal verdict: B", B),
    ("Reasons.\nVerdict is: B", B),
    ("Reasons.\nAnswer: B", B),
    ("Verdict: A\nNo, wait.\nVerdict: B", B),
    (r"So" + "\n" + r"Verdict: $\boxed{B}$", B),
    ("Output B is better.\nVerdict: A", A),
    ('Reasons.\n{"verdict": "B"}', B),
    ('{"reasons": "A is long.", "verdict": "B"}', B),
    ("<think>Verdict: A</think>\nReasons.\nVerdict: B", B),
    ("Reasons.\nVerdict: [[A]]", A),
    ("Reasons.\nVerdict: Output A is better.", A),
    ("Reasons.\nVerdict: A is better than B", A),
    ("Reasons.\nVerdict - B", B),
    ("Reasons.\nMy overall verdict: A", A),
    ("Reasons.\nThe verdict is A.", A),
    ("Reasons.\n- Verdict: A", A),
    ("1. Reasons.\n2. Verdict: B", B),
    ("Reasons.\nVerdict: A\n---", A),
    ("Reasons.\nVerdict: A</s>", A),
    ("It keeps to the format. Verdict: B", B),
    ("Verdict:\nA", A),
    ("Reasons.\n**Final answer**\nA", A),
    ("Reasons.\n\n### Final verdict\n\n**B**", B),
    ("Reasons.\n\nTherefore, Output (a) is better.", A),
    ("Reasons.\nOverall, B wins.", B),
    ("Reasons.\n<verdict>B</verdict>", B),
    ("Reasons.\n<answer>\nA\n</answer>", A),
    ("<verdict>B</verdict>\nNo, I do not know.", NONE),
    ("Reasons.\n\n" + r"$\boxed{A}$", A),
    ("Reasons.\n\n" + r"\boxed{\text{B}}.", B),
    # the last line does not hold the marker, or holds two verdicts
    ("<think>Hm.\nVerdict: A", NONE),
    ('Reasons.\n{"verdict": "A", "answer": "B"}', NONE),
    ("结论：第二个更好", NONE),
    (ECHO_COT, NONE),
    ("A", NONE),
    ("Verdict: A\nThat is all.", NONE),
    ("Verdict: A, or Verdict: B.", NONE),
    ("Verdict: A or B", NONE),
    ("Verdict: neither", NONE),
    ("Verdict:", NONE),
    ("Verdict: maybe\nA", NONE),
    ("Reasons.\nA\nVerdict:", NONE),
    ("It asks for the right option.\nThe answer:\nB", NONE),
    ("The length is right. Answer: B", NONE),
    ("The length is\n" + r"$\boxed{b}$", NONE),
    ("It would be wrong to say so. Verdict: A or B.", NONE),
    ("Verdict: A holds for the first half. Verdict: B", NONE),
    ("If not, then Output (a) is better.", NONE),
    ("Therefore, Output (a) is better than Output (a).", NONE),
    ("I would not say Verdict: A", NONE),
    ("Output A is better.", NONE),
    ("", NONE),
]


@pytest.mark.parametrize(("text", "expected"), LINES, ids=lambda value: repr(value)[:40])
def test_reads_the_verdict_of_a_chain_of_thought_from_its_last_line(text, expected):
    _, text = split_thought(text)
    verdict = read_verdict_line(text, allow_tie=False)

    assert verdict.choice == expected
    assert verdict.raw_text == text


def test_a_chain_of_thought_that_was_cut_off_has_no_verdict():
    verdict = read_verdict_line("Verdict: A", allow_tie=False, finish_reason="length")

    assert (verdict.choice, verdict.reason, verdict.raw_text) == (None, CUT_OFF, "Verdict: A")


def test_a_tie_in_a_chain_of_thought():
    assert read_verdict_line("So.\nVerdict: tie", allow_tie=True).choice == TIE
    assert read_verdict_line("So.\nVerdict: tie", allow_tie=False).choice is None


REASONS = "It asks for one word. The first gives one, and the second three.\n\n"
MARKS = [
    ("[[A]]", A, None),
    ("[[B]]", B, None),
    ("[[C]]", TIE, None),
    ("Final verdict: **[[B]]**", B, None),
    ("I say it again: [[A]], yes, [[A]].", A, None),
    ("My final verdict is Assistant A is significantly better: [[A>>B]]", A, "much"),
    ("My final verdict is: [[B>A]]", B, "slightly"),
    ("My final verdict is tie: [[A=B]]", TIE, None),
    ("[[ A << B ]]", B, "much"),
    ("[RESULT] A", A, None),
    ("Feedback: The first is brief. [RESULT] B", B, None),
    ("[RESULT]\nB.", B, None),
    ("[[A]] or [[B]]", None, None),
    ("[[D]]", None, None),
    ("[[A>A]]", None, None),
    ("I would not say [[A]]", None, None),
    ("It is neither [[A]].", None, None),
    ("[RESULT] A or B", None, None),
    (
        '"[[A]]" if assistant A is better, "[[B]]" if assistant B is better, and "[[C]]" for a tie.',
        None,
        None,
    ),
]


@pytest.mark.parametrize(("mark", "choice", "strength"), MARKS)
def test_marks_of_published_prompts_are_read_behind_reasons(mark, choice, strength):
    for verdict in (
        read_verdict_line(REASONS + mark, allow_tie=True),
        read_choice(REASONS + mark, allow_tie=True),
    ):
        assert verdict.choice == choice
        assert verdict.value == ({"strength": strength} if strength else None)
    if choice == TIE:
        assert read_verdict_line(REASONS + mark, allow_tie=False).reason == "a tie, which was not allowed"


WORDS = (
    *("[[A]]", "[[B>A]]", "[[C]]", "[RESULT]"),
    *("A", "B", "a", "b", "tie", "(", ")", "[", "]", "**", ":", ".", "\n", "\n\n", "Output", "(a)", "(b)"),
    *("Answer", "Verdict", "is", "better", "than", "not", "or", "and", "wins", "Explanation:"),
    *("\\boxed{A}", "<think>", "</think>", "\x00", '{"choice":', '"A"', "}", ","),
)
words = st.sampled_from(WORDS)
texts = st.text() | st.lists(words, max_size=14).map(" ".join)


@given(texts, st.booleans())
def test_readers_never_raise_and_keep_the_text(text, allow_tie):
    for verdict in (read_choice(text, allow_tie=allow_tie), read_verdict_line(text, allow_tie=allow_tie)):
        assert verdict.raw_text == text
        assert verdict.choice in ({0, 1, 2, None} if allow_tie else {1, 2, None})
        assert (verdict.status == "parsed") == (verdict.choice is not None)


@given(texts)
@example("ª")
@example("Ｂ")
def test_swapping_the_labels_of_a_text_swaps_its_verdict(text):
    """Neither label is read more readily than the other (articles aside: "a" is also a word, as in "A tie").

    Letters are folded first, as the reader folds them: the ordinal sign "ª" folds to the article.
    """
    text = unicodedata.normalize("NFKC", text)
    assume(not re.search("tie|draw|equal", text, re.IGNORECASE))
    swap = str.maketrans("AB", "BA")
    text = text.replace("a", "").replace("b", "")
    here, there = read_choice(text, allow_tie=True), read_choice(text.translate(swap), allow_tie=True)

    assert there.choice == {1: 2, 2: 1, 0: 0, None: None}[here.choice]


@pytest.mark.parametrize(
    "text",
    [
        "answer:" + " " * 100_000 + "x",
        "A\n\n" + "is " * 6_000,
        "(" * 100_000,
        "A" * 100_000,
        "<think>" * 20_000,
        "A\n\n" + "my final answer is " * 1_000,
        "\\boxed{" * 20_000,
        "Verdict: " * 20_000,
        '{"choice":' * 5_000,
        "{" * 19_000 + "}",
        '{"choice": ' + "[" * 15_000 + "}",
        '{"choice": ' + "9" * 15_000 + "}",
        "</think>" * 20_000,
        "\n" * 100_000 + "A" + "\n" * 100_000 + "x",
        "x" + "</s>" * 25_000,
        "x\n" + "---\n" * 5_000,
        "<answer>" * 2_500,
        "```{" * 5_000,
        "A is better. " * 1_500,
        ". verdict: " * 1_800,
        "Therefore, " * 1_800,
    ],
    ids=range(21),
)
@pytest.mark.timeout(60)
def test_hostile_lengths_end(text):
    """A reader that goes back over a text again and again runs into the limit of the test's time."""
    for verdict in (read_choice(text, allow_tie=True), read_verdict_line(text, allow_tie=True)):
        assert verdict.raw_text == text


@given(st.text() | texts)
def test_values_in_json_are_read_or_not_there(text):
    found = json_value(text, {"choice"})

    assert found is None or isinstance(found, str)
