"""What a choice between judges of rubrics, checklists, importance and rankings is read from."""

import numpy as np
import pytest

from annotation.kinds import kind_of
from annotation.models import Instruction, Item, Kind, Label, Response
from judges.models import BackendKind, Judgment
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.selection.inputs import Criteria, Part
from metaeval.selectors.selections import kinds_judged, preset_parts, selection_inputs, swept_datasets
from metaeval.selectors.sweeps import sweep_view
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.choices import content_of, criteria_of, kind_choosing, two_kinds
from tests.metaeval.kinds import kind_labels, kind_swept
from tests.metaeval.rows import judge_make, sweep_make

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING)
RULES = {
    Kind.RUBRIC: "always the median",
    Kind.CHECKLIST: "always yes",
    Kind.IMPORTANCE: "order given",
    Kind.ANSWER_RANKING: "longest",
}


def read(sweep, kind, **given):
    return selection_inputs(sweep=sweep_view(sweep.pk), criteria=criteria_of(sweep, kind=kind, **given))


def test_roles_by_what_more_items_have():
    dataset, sweep = kind_swept(Kind.RUBRIC, gold=True)
    (row,) = swept_datasets(sweep_view(sweep.pk), Kind.RUBRIC)
    assert (row.n_items, row.n_labelled, row.n_gold, row.roles) == (12, 12, 12, ("people", "gold"))
    Label.objects.filter(item__position__lt=2).delete()
    (row,) = swept_datasets(sweep_view(sweep.pk), Kind.RUBRIC)
    assert (row.n_labelled, row.roles) == (10, ("gold", "people"))
    assert preset_parts([row]) == (Part(dataset.name, "gold", 1.0),)


def test_one_person_is_enough():
    dataset, sweep = kind_swept(Kind.CHECKLIST)
    first = Label.objects.filter(item__dataset=dataset).first().annotator
    Label.objects.exclude(annotator=first).delete()
    (row,) = swept_datasets(sweep_view(sweep.pk), Kind.CHECKLIST)
    assert (row.n_labelled, row.roles) == (12, ("people",))


@pytest.mark.both_databases
def test_votes_stand_in_for_gold():
    dataset, sweep = kind_swept(Kind.ANSWER_RANKING)
    for item in dataset.items.filter(position__lt=3):
        item.metadata = {"votes": [5, 1, 3]}
        item.save()
    (row,) = swept_datasets(sweep_view(sweep.pk), Kind.ANSWER_RANKING)
    assert (row.n_gold, row.roles) == (3, ("people", "gold"))
    Label.objects.all().delete()
    found = read(sweep, Kind.ANSWER_RANKING)
    assert found.parts[0].n_gold == 3


def test_kinds_that_a_judge_of_the_sweep_judged():
    _, sweep = two_kinds(items=4)
    assert kinds_judged(sweep_view(sweep.pk)) == ("pairwise", "rubric")
    sweep.judges.remove(*sweep.judges.filter(name__contains="pairs"))
    assert kinds_judged(sweep_view(sweep.pk)) == ("rubric",)
    assert swept_datasets(sweep_view(sweep.pk))[0].roles == ()


@pytest.mark.parametrize("kind", KINDS)
def test_rules_without_a_model_are_compared_with(kind):
    _, sweep = kind_swept(kind)
    found = read(sweep, kind)
    assert [one.name for one in found.candidates] == [f"Far {kind}", f"Near {kind}", RULES[kind]]
    assert [one.is_baseline for one in found.candidates] == [False, False, True]
    rule = found.candidates[-1]
    assert (rule.is_open, rule.is_local) == (True, True)
    assert found.parts[0].judged.costs[rule.key][:, 0].tolist() == [0.0] * 12


def test_cost_and_time_as_of_pairs():
    _, sweep = kind_choosing(Kind.RUBRIC)
    imported = sweep.judges.get(name="Near rubric")
    imported.backend = BackendKind.IMPORTED
    imported.save()
    part = read(sweep, Kind.RUBRIC).parts[0].judged
    dear = sweep.judges.get(name="Dear rubric").fingerprint
    assert set(part.costs[dear][:, 0]) == {0.01}
    assert set(part.seconds[dear][:, 0]) == {2.0}
    assert np.isnan(part.costs[imported.fingerprint]).all()
    content = content_of(sweep, kind=Kind.RUBRIC)
    rows = {row["judge"]: row for row in content["standings"]}
    assert rows[dear]["cost_per_1000"]["value"] == pytest.approx(10)
    assert rows[imported.fingerprint]["cost_per_1000"]["reason"] == "not measured"
    assert rows[dear]["positional_agreement"]["value"] is None


def test_what_could_not_be_read_scores_nothing_and_is_counted():
    _, sweep = kind_swept(Kind.RUBRIC)
    content = content_of(sweep, kind=Kind.RUBRIC)
    far = sweep.judges.get(name="Far rubric").fingerprint
    standing = next(row for row in content["standings"] if row["judge"] == far)
    assert standing["unparsed"]["value"] == pytest.approx(1 / 12)
    assert standing["objective"]["n"] == 12


def test_the_hash_is_of_all_rows():
    dataset, sweep = kind_choosing(Kind.ANSWER_RANKING, items=4)

    def found(**given):
        return read(sweep, Kind.ANSWER_RANKING, **given).hash()

    first = found()
    assert found() == first
    hashes = [found(max_cost="5"), found(confidence="90")]
    judgment = Judgment.objects.filter(judge__name__startswith="Near").first()
    for change in (
        lambda: Judgment.objects.filter(pk=judgment.pk).update(cost=3.0),
        lambda: Judgment.objects.filter(pk=judgment.pk).update(latency_ms=9.0),
        lambda: Judgment.objects.filter(pk=judgment.pk).update(status="unparsed", value=None),
        lambda: kind_labels(dataset, Kind.ANSWER_RANKING, (2,)),
        lambda: Response.objects.filter(external_id="x0-0").update(
            text="A much longer answer than the others"
        ),
        lambda: Instruction.objects.filter(external_id="i0").update(text="Another question"),
        lambda: Item.objects.filter(external_id="x0").update(gold={"ranks": {"0": 3, "1": 2, "2": 1}}),
    ):
        change()
        hashes.append(found())
    assert len({first, *hashes}) == 1 + len(hashes)


def test_a_slice_of_the_dataset():
    _, sweep = kind_swept(Kind.IMPORTANCE, items=10)
    sweep.sample_size, sweep.seed = 4, 2
    sweep.save()
    assert len(read(sweep, Kind.IMPORTANCE).parts[0].external_id) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_queries_do_not_grow(kind, django_assert_num_queries):
    for items in (3, 30):
        _, sweep = kind_swept(kind, items=items, mark=f" of {items}")
        view, criteria = sweep_view(sweep.pk), criteria_of(sweep, kind=kind)
        # Of kinds with aspects one more: which instructions ask the same.
        with django_assert_num_queries(12 if kind_of(kind).parts == "aspects" else 11):
            selection_inputs(sweep=view, criteria=criteria)


def test_what_cannot_be_read():
    dataset = kind_dataset_make(Kind.RUBRIC)
    idle = sweep_view(sweep_make(judges=[judge_make("Idle")], datasets=[dataset]).pk)
    with pytest.raises(NothingJudgedError):
        selection_inputs(sweep=idle, criteria=Criteria((Part(dataset.name, "people", 1.0),), kind="rubric"))
    with pytest.raises(ReportError, match="no items of the kind checklist"):
        selection_inputs(sweep=idle, criteria=Criteria((Part(dataset.name, "gold", 1.0),), kind="checklist"))
