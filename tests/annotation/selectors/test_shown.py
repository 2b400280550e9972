"""What a page may show of an item: the texts in the order of the person, nothing else, and few queries."""

import pytest
from django.template.loader import render_to_string

from annotation.kinds import kind_of
from annotation.models import Aspect, Criterion, Dataset, Instruction, Item, ItemResponse, Response, Study
from annotation.selectors.shown import item_shown, parts_count, shown_clear, value_rules
from tests.annotation.factories import dataset_make

pytestmark = pytest.mark.django_db
SECRETS = ("secret-system", "secret-gold", "secret-explanation", "secret-reference", "secret-metadata")
KINDS = ("pairwise", "rubric", "importance", "checklist", "answer_ranking")
RESPONSES = {"pairwise": 2, "rubric": 1, "importance": 0, "checklist": 1, "answer_ranking": 3}


@pytest.fixture(autouse=True)
def _cold():
    shown_clear()


def item_make(kind: str) -> Item:
    """An item with everything that an item may have, secrets included."""
    dataset = Dataset.objects.create(name=f"all-of-{kind}", title="All")
    instruction = Instruction.objects.create(
        dataset=dataset,
        external_id="i1",
        text="Name a prime.",
        context="Of arithmetic.",
        conversation=[{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Yes?"}],
        reference="secret-reference",
        metadata={"note": "secret-metadata"},
    )
    for position, key in enumerate(("first", "second")):
        Aspect.objects.create(
            instruction=instruction,
            key=key,
            text=f"Aspect {key}",
            position=position,
            metadata={"n": "secret-metadata"},
        )
        Criterion.objects.create(
            dataset=dataset,
            key=f"is_{key}",
            question=f"Is it {key}?",
            options={str(points): f"{key} {points}" for points in (5, 4, 3, 2, 1)},
            position=position,
        )
    item = Item.objects.create(
        dataset=dataset,
        instruction=instruction,
        external_id="x",
        kind=kind,
        position=0,
        gold={"secret-gold": 1},
        explanation="secret-explanation",
        metadata={"n": "secret-metadata"},
    )
    for position in range(RESPONSES[kind]):
        response = Response.objects.create(
            instruction=instruction,
            external_id=f"secret-system-key-{position}",
            system=f"secret-system-{position}",
            text=f"Text {position}",
            messages=[{"role": "assistant", "text": f"Turn {position}"}] if position == 1 else [],
        )
        ItemResponse.objects.create(item=item, response=response, position=position)
    return Item.objects.select_related("dataset").get(pk=item.pk)


def study_of(item: Item, **fields: object) -> Study:
    return Study(dataset=item.dataset, kind=item.kind, **fields)


@pytest.mark.parametrize("kind", KINDS)
def test_two_queries_for_an_item_and_none_for_one_that_is_known(kind, django_assert_max_num_queries):
    item = item_make(kind)
    study = study_of(item)
    order = list(range(parts_count(study, item.pk)))
    with django_assert_max_num_queries(2):
        shown = item_shown(study, item, order)
    with django_assert_max_num_queries(0):
        assert item_shown(study, item, order) == shown
        value_rules(study, item)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_would_break_blindness_is_shown(kind):
    item = item_make(kind)
    study = study_of(item, ask_comment=True, preference_points=7, tie_policy="both_bad")
    shown = item_shown(study, item, list(range(parts_count(study, item.pk))))
    context = {"study": study, "item": shown, "fields": {}, "submit": "Submit", "error": ""}
    page = repr(shown)
    for template in (study.kind_info.template, study.kind_info.bar_template):
        page += render_to_string(template, context)
    assert "Name a prime." in page
    assert not [secret for secret in SECRETS if secret in page]


@pytest.mark.parametrize(("kind", "count"), [("pairwise", 2), ("answer_ranking", 3), ("importance", 2)])
def test_what_has_an_order_is_shown_in_it(kind, count):
    item = item_make(kind)
    study = study_of(item)
    assert parts_count(study, item.pk) == count
    forward = item_shown(study, item, list(range(count)))
    backward = item_shown(study, item, list(range(count))[::-1])
    assert backward.responses == forward.responses[::-1]
    if kind == "importance":
        assert backward.aspects == forward.aspects[::-1]


@pytest.mark.parametrize("kind", ["rubric", "checklist"])
def test_one_response_has_one_order_and_its_parts_keep_theirs(kind):
    item = item_make(kind)
    study = study_of(item)
    assert parts_count(study, item.pk) == 1
    shown = item_shown(study, item, [0])
    assert [response.text for response in shown.responses] == ["Text 0"]
    if kind == "rubric":
        assert [row.key for row in shown.criteria] == ["is_first", "is_second"]
        assert shown.criteria[0].scale.options == tuple((p, f"first {p}") for p in range(1, 6))
    else:
        assert [row.key for row in shown.aspects] == ["first", "second"]


def test_conversations_and_answers_of_several_turns_are_shown_as_such():
    item = item_make("pairwise")
    shown = item_shown(study_of(item), item, [1, 0])
    assert [(turn.speaker, turn.text) for turn in shown.conversation] == [
        ("User", "Hello."),
        ("Assistant", "Yes?"),
    ]
    assert [turn.text for turn in shown.responses[0].turns] == ["Turn 1"]
    assert shown.responses[1].turns == ()


def test_a_study_asks_for_the_criteria_that_it_names():
    item = item_make("rubric")
    study = study_of(item, criteria=["is_second"])
    assert [row.key for row in item_shown(study, item, [0]).criteria] == ["is_second"]
    assert value_rules(study, item).criteria == ("is_second",)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rules_of_a_value_are_those_of_the_study(kind):
    item = item_make(kind)
    loose = value_rules(study_of(item, tie_policy="both_bad", preference_points=7), item)
    strict = value_rules(study_of(item, tie_policy="off", allow_cannot_tell=False), item)
    assert (loose.kind, loose.ties, strict.ties) == (kind, True, False)
    if kind == "pairwise":
        assert (loose.both_bad, strict.both_bad) == (True, False)
        assert (loose.strengths, strict.strengths) == (("slightly", "better", "much"), ())
    if kind == "checklist":
        assert (loose.cannot_tell, strict.cannot_tell) == (True, False)
        assert loose.aspects == ("first", "second")
    if kind == "answer_ranking":
        assert loose.n_responses == 3


def test_an_import_that_adds_to_the_dataset_is_seen():
    item = item_make("rubric")
    study = study_of(item)
    assert len(item_shown(study, item, [0]).criteria) == 2
    options = {str(points): "x" for points in range(1, 6)}
    Criterion.objects.create(dataset=item.dataset, key="third", question="?", options=options, position=2)
    Dataset.objects.filter(pk=item.dataset_id).update(version=2)
    item = Item.objects.select_related("dataset").get(pk=item.pk)
    assert len(item_shown(study, item, [0]).criteria) == 3


def test_a_dataset_that_came_with_its_study_is_not_asked_for_again(django_assert_num_queries):
    dataset = dataset_make(pairs=1)
    study = Study(dataset=dataset, kind="pairwise")
    item = Item.objects.get(dataset=dataset)
    with django_assert_num_queries(1):
        item_shown(study, item, [0, 1])


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("pairwise", {"choice": 1, "strength": "much"}, ["A is much better"]),
        ("pairwise", {"choice": 0}, ["Tie"]),
        ("pairwise", {"choice": 0, "both_bad": True}, ["Both are bad"]),
        ("rubric", {"ratings": {"is_first": 2, "is_second": 5}}, ["2: first 2", "5: second 5"]),
        ("checklist", {"answers": {"first": False, "second": None}}, ["No", "Cannot tell"]),
        ("importance", {"ranks": {"first": 2, "second": 1}}, ["1", "2"]),
        ("answer_ranking", {"ranks": {"0": 2, "1": 1, "2": 1}}, ["1 (tie)", "1 (tie)", "2"]),
    ],
)
def test_an_answer_in_words(kind, value, words):
    item = item_make(kind)
    study = study_of(item)
    shown = item_shown(study, item, list(range(parts_count(study, item.pk))))
    fields = kind_of(kind).fields(value)
    assert [part.words for part in kind_of(shown.kind).words(shown, fields)] == words
    context = {"study": study, "item": shown, "value_fields": fields}
    page = render_to_string("annotation/annotator/kinds/answer.html", context)
    assert all(word in page for word in words)
    if kind == "answer_ranking":
        assert [part.name for part in kind_of(shown.kind).words(shown, fields)] == [
            "Answer B",
            "Answer C",
            "Answer A",
        ]


def test_an_answer_that_is_not_there_is_no_answer():
    for kind in KINDS:
        item = item_make(kind)
        study = study_of(item)
        shown = item_shown(study, item, list(range(parts_count(study, item.pk))))
        assert {part.words for part in kind_of(shown.kind).words(shown, {})} == {"no answer"}
