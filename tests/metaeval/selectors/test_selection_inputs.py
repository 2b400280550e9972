"""From rows to arrays: roles, instructions that two datasets share, chances of being drawn, where judges run."""

import numpy as np
import pytest

from annotation.models import Instruction, Item, Label
from judges.models import Endpoint, JudgeModel
from metaeval.reports.errors import NothingJudgedError, UnknownNameError
from metaeval.reports.selection.inputs import Criteria, Part
from metaeval.selectors.selections import preset_parts, selection_inputs, swept_datasets
from metaeval.selectors.sweeps import sweep_view
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.metaeval.choices import criteria_of, two_datasets
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make, swept

pytestmark = pytest.mark.django_db


def read(sweep, **given):
    return selection_inputs(sweep=sweep_view(sweep.pk), criteria=criteria_of(sweep, **given))


def instructions(sweep):
    return [part.judged.clusters.tolist() for part in read(sweep).parts]


def drawn(item, annotator, chance, study=None):
    Label.objects.create(
        item=item, annotator=annotator, study=study, kind="pairwise", value={"choice": 1}, choice=1,
        probability=chance,
    )  # fmt: skip


def test_people_decide_where_there_are_some():
    sweep, *_ = two_datasets()
    found = swept_datasets(sweep_view(sweep.pk))
    assert [(row.name, row.roles, row.n_gold, row.n_labelled) for row in found] == [
        ("gold", ("gold",), 30, 0),
        ("people", ("people",), 0, 30),
    ]
    assert preset_parts(found) == (Part("gold", "gold", 0.0), Part("people", "people", 1.0))
    assert preset_parts(found[:1]) == (Part("gold", "gold", 1.0),)


def test_a_dataset_with_both_offers_what_more_items_have_first():
    sweep, *_ = swept(dataset=dataset_make(pairs=6))
    dataset = sweep.datasets.get()
    labels_make(dataset=dataset, choices=[(1, 1)] * 3)
    (row,) = swept_datasets(sweep_view(sweep.pk))
    assert row.roles == ("gold", "people")
    labels_make(dataset=dataset, choices=[(None, None)] * 3 + [(1, 1)] * 3)
    (row,) = swept_datasets(sweep_view(sweep.pk))
    assert row.roles == ("people", "gold")


def test_two_labels_of_one_person_are_no_agreement():
    sweep, *_ = swept(dataset=dataset_make(pairs=2, gold=True))
    dataset = sweep.datasets.get()
    person = annotator_make()
    for study in (study_make(dataset=dataset, pairs=0), study_make(dataset=dataset, pairs=0)):
        drawn(dataset.items.first(), person, 1.0, study)
    (row,) = swept_datasets(sweep_view(sweep.pk))
    assert row.n_labelled == 0


def test_one_column_a_person():
    sweep, *_ = two_datasets(pairs=4)
    found = next(part.judged for part in read(sweep).parts if part.judged.role == "people")
    assert found.gold is None
    assert found.labels is not None
    assert found.labels.shape == (4, 3)
    assert found.labels[0].tolist() == [1.0, 2.0, 1.0]
    assert set(found.verdicts) == {one.key for one in read(sweep).candidates}


def test_the_same_question_is_one_instruction_in_both_datasets():
    """Texts of the two datasets are the same here, one by one; with another context they are not the same."""
    sweep, *_ = two_datasets(pairs=4)
    gold, people = instructions(sweep)
    assert gold == people
    assert len(set(gold)) == 4
    Instruction.objects.filter(dataset__name="gold", external_id="i0").update(context="A letter")
    gold, people = instructions(sweep)
    assert gold[0] not in people
    assert gold[1:] == people[1:]
    # Nothing is written: nothing tells that two of them are the same.
    Instruction.objects.update(text="", context="")
    gold, people = instructions(sweep)
    assert len({*gold, *people}) == 8


def test_two_rows_of_one_text_are_one_instruction():
    sweep, *_ = two_datasets(pairs=4)
    Instruction.objects.filter(external_id__in=["i0", "i1"]).update(text="The same")
    gold, _ = instructions(sweep)
    assert gold[0] == gold[1] != gold[2]


def test_weights_are_one_over_the_chance_of_being_drawn():
    dataset = dataset_make(pairs=4, gold=False)
    items = list(dataset.items.order_by("position"))
    one, two = study_make(dataset=dataset, pairs=0), study_make(dataset=dataset, pairs=0)
    people = [annotator_make() for _ in range(3)]
    for person in people[:2]:
        drawn(items[0], person, 0.5, one)
        drawn(items[1], person, 0.5, one)
        drawn(items[2], person, 0.25, one)
    drawn(items[1], people[2], 0.5, two)  # one of two lots: 1 - 0.5 * 0.5
    drawn(items[2], people[2], 1.0)  # an import: nobody drew lots
    judge = judge_make("One")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 4)
    sweep = sweep_make(judges=[judge], datasets=[dataset])
    (part,) = read(sweep).parts
    assert part.is_weighted
    np.testing.assert_allclose(part.judged.weights, [2.0, 4 / 3, 1.0, 1.0])


def test_without_lots_there_are_no_weights():
    sweep, *_ = two_datasets(pairs=4)
    assert [part.judged.weights for part in read(sweep).parts] == [None, None]


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        ([], (None, None)),
        ([{"is_local": True, "open_weights": True}], (True, True)),
        (
            [{"is_local": True, "open_weights": True}, {"is_local": False, "open_weights": None}],
            (None, False),
        ),
        (
            [{"is_local": False, "open_weights": False}, {"is_local": False, "open_weights": None}],
            (False, False),
        ),
        ([{"kind": "vllm", "base_url": ""}], (True, True)),
    ],
)
def test_where_a_judge_runs(endpoints, expected):
    sweep, good, _ = two_datasets(pairs=4)
    for number, fields in enumerate(endpoints):
        endpoint = Endpoint.objects.create(
            **({"name": f"e{number}", "base_url": "http://x.test/v1"} | fields)
        )
        JudgeModel.objects.create(judge=good, role=f"r{number}", endpoint=endpoint, model="m")
    found = {one.key: one for one in read(sweep).candidates}[good.fingerprint]
    assert (found.is_open, found.is_local) == expected


def test_rules_without_a_model_are_open_local_and_compared_with():
    sweep, *_ = two_datasets(pairs=4)
    rules = [one for one in read(sweep).candidates if one.is_baseline]
    assert {one.name for one in rules} == {"longest", "shortest", "always first"}
    assert all(one.is_open and one.is_local for one in rules)


def test_a_rule_that_is_a_judge_of_the_sweep_is_no_baseline():
    sweep, *_ = two_datasets(pairs=4)
    longest = judge_make("Longest", strategy="longest", backend="heuristic")
    judgments_make(judge=longest, dataset=sweep.datasets.get(name="gold"), choices=[(1, 1)] * 4)
    sweep.judges.add(longest)
    found = read(sweep).candidates
    assert [one.name for one in found if one.is_baseline] == ["always first", "shortest"]
    assert next(one for one in found if one.name == "Longest").is_open


def test_composites_go_by_subset_where_there_are_no_categories():
    sweep, *_ = two_datasets(pairs=4)
    assert read(sweep).parts[0].composed_by == "category"
    Instruction.objects.update(category="")
    Instruction.objects.filter(external_id="i1").update(subset="Hard")
    part = read(sweep).parts[0]
    assert (part.composed_by, part.judged.categories.tolist()) == ("subset", ["", "Hard", "", ""])


def test_the_hash_is_of_rows_roles_and_limits():
    sweep, *_ = two_datasets(pairs=4)
    first = read(sweep).hash()
    assert read(sweep).hash() == first
    others = [
        read(sweep, max_cost="5").hash(),
        read(sweep, confidence="90").hash(),
        read(sweep, **{"weight-gold": "1"}).hash(),
    ]
    Instruction.objects.filter(dataset__name="gold", external_id="i0").update(text="Another question")
    others.append(read(sweep).hash())
    Item.objects.filter(dataset__name="gold", external_id="p0").update(gold={"choice": 2})
    others.append(read(sweep).hash())
    assert len({first, *others}) == 6


def test_what_cannot_be_read():
    sweep, *_ = two_datasets(pairs=4)
    with pytest.raises(UnknownNameError, match="no dataset 'other'"):
        selection_inputs(sweep=sweep_view(sweep.pk), criteria=Criteria((Part("other", "gold", 1.0),)))
    idle = sweep_make(judges=[judge_make("Idle")], datasets=[dataset_make(pairs=3, name="idle")])
    with pytest.raises(NothingJudgedError):
        selection_inputs(sweep=sweep_view(idle.pk), criteria=Criteria((Part("idle", "gold", 1.0),)))
