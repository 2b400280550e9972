"""What the form of a ranking takes and refuses, and the cards that its page is made of."""

import pytest
from django.template.loader import render_to_string

from annotation.domain.conversation import Turn
from annotation.forms.work import WorkForm
from annotation.kinds import ValueRules, kind_of, validate_value
from annotation.kinds.base import letter_of
from annotation.kinds.shown import ShownAspect, ShownItem, ShownResponse
from annotation.models import Study
from annotation.templatetags.ranking import ranking_of

ASPECTS = ("format", "one-memory", "tone")


def form_of(data: dict[str, str] | None, *, ties: bool = True, answers: int = 0) -> WorkForm:
    kind = "answer_ranking" if answers else "importance"
    rules = ValueRules(kind=kind, ties=ties, n_responses=answers or 2, aspects=() if answers else ASPECTS)
    return WorkForm(Study(kind=kind), rules, data)


def test_ranks_of_aspects():
    form = form_of({"rank-format": "2", "rank-one-memory": "1", "rank-tone": "3"})
    assert form.is_valid()
    assert form.shown_value == {"ranks": {"format": 2, "one-memory": 1, "tone": 3}}


def test_ranks_of_answers_are_by_the_place_shown():
    form = form_of({"rank-0": "2", "rank-1": "1"}, answers=2)
    assert form.is_valid()
    assert form.shown_value == {"ranks": {"0": 2, "1": 1}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [(("1", "3", "3"), (1, 2, 2)), (("3", "3", "3"), (1, 1, 1)), (("2", "2", "3"), (1, 1, 2))],
)
def test_gaps_are_closed(given: tuple[str, ...], kept: tuple[int, ...]):
    form = form_of({f"rank-{key}": rank for key, rank in zip(ASPECTS, given, strict=True)})
    assert form.is_valid()
    assert tuple(form.shown_value["ranks"].values()) == kept
    validate_value(form.shown_value, form.rules)


def test_nothing_ranked_is_no_answer():
    form = form_of({})
    assert not form.is_valid()
    assert form.error == "Give every requirement a rank first."
    assert not form_of(None).is_valid()
    assert not form_of(None).error


@pytest.mark.parametrize("rank", ["", "0", "4", "-1", "1.0", "one", "²", "1 2", "9" * 5000])
def test_what_is_no_rank_is_missing(rank: str):
    form = form_of({"rank-format": "1", "rank-one-memory": rank, "rank-tone": "2"})
    assert not form.is_valid()
    assert form.error == "Give every requirement a rank: 1 of 3 has none yet."
    assert (form.error.field, form.error.anchor) == ("rank-one-memory", "rank-one-memory")


def test_without_ties_the_two_are_named():
    ranks = {"rank-format": "1", "rank-one-memory": "2", "rank-tone": "2"}
    form = form_of(ranks, ties=False)
    assert not form.is_valid()
    assert form.error == "Give each a different rank: “one memory” and “tone” both have 2."
    assert form_of(ranks).is_valid()
    form = form_of({"rank-0": "1", "rank-1": "3", "rank-2": "1"}, ties=False, answers=3)
    assert not form.is_valid()
    assert form.error == "Give each a different rank: answer A and answer C both have 1."


def test_fields_that_are_none_of_ours_are_left_alone():
    form = form_of({"rank-0": "1", "rank-1": "2", "rank-2": "3", "rank-x": "1"}, answers=2, ties=False)
    assert form.is_valid()
    assert form.shown_value == {"ranks": {"0": 1, "1": 2}}


def test_letters():
    assert [letter_of(index) for index in (0, 25, 26)] == ["A", "Z", "27"]


def item_of(**parts: object) -> ShownItem:
    return ShownItem(instruction="Write a **letter**.", **parts)  # type: ignore[arg-type]


def test_cards_stand_by_rank_and_the_rest_in_the_order_shown():
    item = item_of(kind="importance", aspects=tuple(ShownAspect(key, key.upper()) for key in "bcad"))
    fields = kind_of("importance").fields({"ranks": {"d": 1, "b": 2}}) | {"rank-c": "nonsense"}
    ranking = ranking_of(item, fields, Study(tie_policy="off"))
    assert [part.label for part in ranking.ranked] == ["D", "B"]
    assert [part.label for part in ranking.unranked] == ["C", "A"]
    assert not ranking.ties
    assert ranking_of(item, None, Study(tie_policy="tie")).ranked == []


def test_the_page_marks_who_share_a_rank():
    item = item_of(kind="importance", aspects=tuple(ShownAspect(key, f"<i>{key}</i>") for key in "ab"))
    context = {"item": item, "fields": {"rank-a": "1", "rank-b": "1"}, "study": Study(tie_policy="off")}
    page = render_to_string("annotation/annotator/kinds/importance.html", context)
    assert "same rank as &lt;i&gt;b&lt;/i&gt;" in page
    assert "<i>" not in page
    page = render_to_string("annotation/annotator/kinds/importance.html", context | {"study": Study()})
    assert "same rank as" not in page


def test_answers_are_rendered_alike_whatever_their_form():
    turns = (Turn("assistant", "**One**"), Turn("user", "And?"))
    item = item_of(kind="answer_ranking", responses=(ShownResponse("**Two**"), ShownResponse("x", turns)))
    page = render_to_string(
        "annotation/annotator/kinds/answer_ranking.html", {"item": item, "fields": {}, "study": Study()}
    )
    assert "<strong>One</strong>" in page
    assert "<strong>Two</strong>" in page
    assert page.index("Answer A") < page.index("Answer B")
    bar = render_to_string(
        kind_of("answer_ranking").bar_template, {"item": item, "fields": {}, "study": Study()}
    )
    assert "0 of 2 ranked" in bar
