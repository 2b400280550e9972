"""The forms of the work: what is read of what was sent, what is missing, and what a draft keeps."""

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from annotation.forms.work import DAY_MS, MAX_COMMENT, MAX_DRAFT, WorkForm, draft_fields
from annotation.kinds import ValueRules, from_canonical, kind_of, to_canonical, validate_value
from annotation.kinds.grades import STRENGTHS
from annotation.models import Study

STUDY = Study(kind="pairwise")
COMMENTED = Study(kind="pairwise", ask_comment=True)
PAIR = ValueRules()
STRICT_PAIR = ValueRules(ties=False)
SEVEN = tuple(STRENGTHS)
FULL_PAIR = ValueRules(both_bad=True, strengths=SEVEN)
FIVE_POINTS = ValueRules(strengths=("slightly", "much"))
RUBRIC = ValueRules(kind="rubric", criteria=("helpfulness", "instruction_following"))
CHECKLIST = ValueRules(kind="checklist", aspects=("a 1", "a2"))
SURE_CHECKLIST = ValueRules(kind="checklist", aspects=("a 1", "a2"), cannot_tell=False)


@pytest.mark.parametrize(
    ("rules", "data", "value"),
    [
        (PAIR, {"choice": "1"}, {"choice": 1}),
        (PAIR, {"choice": "0"}, {"choice": 0}),
        (PAIR, {"choice": "2", "strength": "much"}, {"choice": 2}),
        (FULL_PAIR, {"choice": "1-better"}, {"choice": 1, "strength": "better"}),
        (FIVE_POINTS, {"choice": "2-slightly"}, {"choice": 2, "strength": "slightly"}),
        # A page or a draft of a version that had the strength in a field of its own.
        (FULL_PAIR, {"choice": "2", "strength": "much"}, {"choice": 2, "strength": "much"}),
        (FULL_PAIR, {"choice": "bad", "strength": "much"}, {"choice": 0, "both_bad": True}),
        (FULL_PAIR, {"choice": "0"}, {"choice": 0}),
        (
            RUBRIC,
            {"rating-helpfulness": "5", "rating-instruction_following": "1"},
            {"ratings": {"helpfulness": 5, "instruction_following": 1}},
        ),
        (
            CHECKLIST,
            {"answer-a 1": "yes", "answer-a2": "unknown"},
            {"answers": {"a 1": True, "a2": None}},
        ),
    ],
)
def test_what_was_sent_is_read_and_can_be_filled_in_again(rules, data, value):
    form = WorkForm(STUDY, rules, data)
    assert form.is_valid(), form.error
    assert form.shown_value == value == validate_value(value, rules)
    again = WorkForm(STUDY, rules, kind_of(rules.kind).fields(value))
    assert again.is_valid()
    assert again.shown_value == value


@pytest.mark.parametrize(
    ("rules", "data", "words", "field"),
    [
        (PAIR, {}, "Choose an answer first.", "choice"),
        (PAIR, {"choice": "3"}, "Choose an answer first.", "choice"),
        (PAIR, {"choice": "bad"}, "Choose an answer first.", "choice"),
        (STRICT_PAIR, {"choice": "0"}, "Choose an answer first.", "choice"),
        (FULL_PAIR, {"choice": "1"}, "Say how much better A is.", "choice"),
        (FULL_PAIR, {"choice": "2", "strength": "x"}, "Say how much better B is.", "choice"),
        (FIVE_POINTS, {"choice": "2-better"}, "Say how much better B is.", "choice"),
        (PAIR, {"choice": "1-much"}, "Choose an answer first.", "choice"),
        (RUBRIC, {}, "Rate helpfulness first.", "rating-helpfulness"),
        (
            RUBRIC,
            {"rating-helpfulness": "3", "rating-instruction_following": "6"},
            "Rate instruction following first.",
            "rating-instruction_following",
        ),
        (CHECKLIST, {"answer-a 1": "yes"}, "Answer question 2 first.", "answer-a2"),
        (SURE_CHECKLIST, {"answer-a 1": "unknown"}, "Answer question 1 first.", "answer-a 1"),
    ],
)
def test_what_is_missing_is_named(rules, data, words, field):
    form = WorkForm(STUDY, rules, data)
    assert not form.is_valid()
    assert (form.error, form.error.field) == (words, field)
    assert form.error.anchor


def test_a_form_that_was_not_sent_has_no_error():
    form = WorkForm(STUDY, PAIR, None)
    assert not form.is_valid()
    assert form.error == ""


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "checklist", "importance", "answer_ranking"])
def test_every_kind_has_a_form(kind):
    rules = ValueRules(kind=kind, criteria=("c",), aspects=("a", "b"))
    form = WorkForm(Study(kind=kind), rules, {})
    assert not form.is_valid()
    assert form.error


def test_times_are_a_help_and_never_a_reason_to_refuse():
    data = {"choice": "1", "active_ms": "1200", "wall_ms": "2000"}
    form = WorkForm(STUDY, PAIR, data)
    assert form.active_time == 1200
    for odd in ("", "0", "-5", "x", "1.5", "9" * 400, "٣"):
        form = WorkForm(STUDY, PAIR, data | {"active_ms": odd, "wall_ms": odd})
        assert form.is_valid()
        assert form.active_time is None
    assert WorkForm(STUDY, PAIR, {"active_ms": str(10**12)}).active_time == DAY_MS


def test_a_comment_is_read_where_it_is_asked_for():
    data = {"choice": "1", "comment": "  one\r\ntwo\x00 ", "pasted_chars": "3"}
    assert WorkForm(STUDY, PAIR, data).comment == ""
    form = WorkForm(COMMENTED, PAIR, data)
    assert form.is_valid()
    assert (form.comment, form.pasted_chars) == ("one\ntwo", 3)


def test_no_more_is_pasted_than_was_written():
    form = WorkForm(COMMENTED, PAIR, {"choice": "1", "comment": "abc", "pasted_chars": "90"})
    assert form.pasted_chars == 3
    assert WorkForm(COMMENTED, PAIR, {"comment": "abc", "pasted_chars": "-1"}).pasted_chars == 0


def test_a_comment_has_a_length():
    fits = WorkForm(COMMENTED, PAIR, {"choice": "1", "comment": "x\r\n" * (MAX_COMMENT // 2)})
    assert fits.is_valid()
    form = WorkForm(COMMENTED, PAIR, {"choice": "1", "comment": "x" * (MAX_COMMENT + 1)})
    assert not form.is_valid()
    assert form.error.field == "comment"
    assert "2,001 of at most 2,000" in form.error


def test_a_draft_keeps_the_fields_of_the_form_alone():
    sent = QueryDict(
        "choice=1&choice=2&strength=&csrfmiddlewaretoken=t&active_ms=4&assignment=9&rating-a=3&rank-0=1"
    )
    assert draft_fields(sent) == {"choice": "2", "rating-a": "3", "rank-0": "1"}


@given(st.dictionaries(st.text(max_size=30).map(lambda name: f"rating-{name}"), st.text(max_size=3000)))
def test_a_draft_is_small_and_can_be_stored(fields):
    kept = draft_fields(fields | {"comment": "é" * 50_000})
    assert sum(len(name) + len(text) for name, text in kept.items()) <= MAX_DRAFT
    assert all("\x00" not in text for text in kept.values())
    assert draft_fields(kept) == kept


PAIRS = st.one_of(
    st.fixed_dictionaries({"choice": st.sampled_from([1, 2])}, optional={"strength": st.sampled_from(SEVEN)}),
    st.fixed_dictionaries({"choice": st.just(0)}, optional={"both_bad": st.just(True)}),
)


@given(value=PAIRS, order=st.permutations([0, 1]))
def test_a_stored_pair_is_filled_in_as_it_was_shown(value, order):
    shown = from_canonical("pairwise", value, order)
    rules = ValueRules(both_bad=True, strengths=SEVEN if "strength" in value else ())
    form = WorkForm(STUDY, rules, kind_of("pairwise").fields(shown))
    assert form.is_valid()
    assert to_canonical("pairwise", form.shown_value, order) == value
