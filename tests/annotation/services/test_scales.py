"""Scales in a study: hidden checks, tests, simulation, agreement so far, disputes, exports."""

import csv
import io
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.core.cache import cache
from django.utils import timezone

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import NOT_APPLICABLE, Scale
from annotation.domain.simulation import SimulatedAnnotator
from annotation.kinds import kind_of, validate_value
from annotation.models import (
    Assignment,
    Criterion,
    Item,
    ItemRole,
    Kind,
    Label,
    QualificationAttempt,
    QualificationQuestion,
    Stage,
    StudyItem,
    WorkRole,
)
from annotation.selectors.adjudication import disputed_items, disputes_of, tally_of
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.datasets import scales_of
from annotation.selectors.judging_labels import people_said
from annotation.selectors.shown import item_shown, shown_clear, value_rules
from annotation.services.assignments import assignment_submit
from annotation.services.exports import labels_table
from annotation.services.qualification import qualification_answer
from annotation.services.simulation import labels_simulate
from judges.selectors.disagreement import against_people, is_far
from judges.selectors.item_list import value_disagreement
from tests.annotation.factories import annotator_make, enrollment_make
from tests.annotation.kinds import kind_label_make, kind_study_make
from web.tables import table_bytes

pytestmark = pytest.mark.django_db

DEPTH, TONE = Scale(0, 100), Scale(-3, 3, not_applicable=True)


@pytest.fixture(autouse=True)
def _fresh():
    shown_clear()
    cache.clear()


def study_on_scales(**rules):
    """A study whose criteria are `helpful` (0 to 100) and `clear` (-3 to 3, or not applicable)."""
    study = kind_study_make(Kind.RUBRIC, **rules)
    for key, scale in (("helpful", DEPTH), ("clear", TONE)):
        Criterion.objects.filter(dataset=study.dataset, key=key).update(scale=scale.as_json(), options={})
    return study


def rated(helpful, clear):
    return {"ratings": {"helpful": helpful, "clear": clear}}


def test_a_label_has_to_fit_the_scales_of_its_criteria():
    study = study_on_scales()
    item = study.dataset.items.first()
    rules = value_rules(study, item)
    assert rules.scales == scales_of(study.dataset_id) == {"helpful": DEPTH, "clear": TONE}
    assert validate_value(rated(87, NOT_APPLICABLE), rules) == rated(87, NOT_APPLICABLE)
    with pytest.raises(LabelValueError, match=r"ratings\.helpful: expected 0 to 100, found 101"):
        validate_value(rated(101, 0), rules)
    with pytest.raises(LabelValueError, match=r"ratings\.helpful: expected 0 to 100, found 'not_applicable'"):
        validate_value(rated(NOT_APPLICABLE, 0), rules)


@pytest.mark.parametrize(
    ("ratings", "score"),
    [
        ((60, 1), 1.0),
        ((61, 1), 0.5),
        ((50, 0), 0.5),
        ((50, NOT_APPLICABLE), 0.5),
    ],
)
def test_a_hidden_check_forgives_what_is_near_on_each_scale(ratings, score):
    study = study_on_scales(items=2, qualification_rule="tolerant", qualification_tolerance=1)
    place = study.study_items.order_by("position").last()
    place.item.gold = rated(50, 2)
    place.item.save()
    StudyItem.objects.filter(pk=place.pk).update(role=ItemRole.CHECK, overlap=0)
    now = timezone.now()
    lease = Assignment.objects.create(
        study_item=place,
        enrollment=enrollment_make(study=study),
        role=WorkRole.CHECK,
        shown_order=[0],
        leased_at=now,
        expires_at=now + timedelta(minutes=30),
    )
    label = assignment_submit(assignment=lease, shown_value=rated(*ratings)).label
    assert label.check_score == score
    assert label.value == rated(*ratings)


def test_gold_that_does_not_apply_is_right_or_wrong():
    kind, scales = kind_of("rubric"), {"clear": TONE, "helpful": DEPTH}
    gold = rated(50, NOT_APPLICABLE)
    assert kind.grade(rated(50, NOT_APPLICABLE), gold, scales=scales).is_right
    graded = kind.grade(rated(50, 0), gold, tolerance=100, scales=scales)
    assert (graded.is_right, graded.judgments, graded.within) == (False, 2, 1)
    assert kind.agrees(gold, gold)
    assert not kind.agrees(gold, rated(50, 0))


@pytest.mark.parametrize(("helpful", "stage"), [(60, Stage.WORK), (61, Stage.SCREENED_OUT)])
def test_a_test_on_0_to_100(helpful, stage):
    study = study_on_scales(
        gold=rated(50, 0),
        qualification_size=1,
        qualification_pass=1,
        qualification_rule="tolerant",
        qualification_tolerance=1,
        qualification_threshold=0.85,
    )
    question = QualificationQuestion.objects.create(study=study, item=study.dataset.items.first(), position=0)
    person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
    done = qualification_answer(enrollment=person, question=question, shown_value=rated(helpful, 1))
    assert done.stage == stage
    assert QualificationAttempt.objects.get().accuracy == (1.0 if helpful == 60 else 0.5)


def test_simulated_annotators_stay_on_the_scales():
    study = study_on_scales(items=12, is_simulated=True, overlap=3)
    for k, item in enumerate(study.dataset.items.order_by("position")):
        Item.objects.filter(pk=item.pk).update(
            metadata={"truth": rated(min(100, 9 * k), NOT_APPLICABLE if k % 3 == 0 else (k % 7) - 3)}
        )
    people = [SimulatedAnnotator(f"p{k}", "", 0.55, 0.0, 0.0, 30.0, k) for k in range(3)]
    assert labels_simulate(study=study, people=people, labels_per_item=3, open_items=0, seed=1) == 36
    values = [label.value["ratings"] for label in Label.objects.all()]
    assert all(DEPTH.allows(one["helpful"]) and TONE.allows(one["clear"]) for one in values)
    assert {one["clear"] for one in values} >= {NOT_APPLICABLE, -3}
    assert any(one["helpful"] % 9 for one in values)  # some miss by a tenth of the range


def labelled(*values):
    study = study_on_scales(items=1, overlap=len(values))
    item = study.dataset.items.get()
    for value in values:
        kind_label_make(study, item, value, annotator=annotator_make())
    return study, item


def test_agreement_so_far_pools_positions_and_counts_what_does_not_apply():
    study, _ = labelled(rated(40, 0), rated(60, NOT_APPLICABLE), rated(50, NOT_APPLICABLE))
    found = agreement_so_far(study)
    assert found.overall("mean_rating")["value"] == pytest.approx((0.5 + 0.5) / 2)
    assert found.overall("not_applicable_rate")["value"] == pytest.approx(2 / 3)
    assert found.overall("applicability")["value"] == pytest.approx(1 / 3)
    labels = [figure.label for figure, _ in found.figures]
    assert "Pairwise agreement within the tolerance" in labels
    assert [(row.name, row.labels) for row in found.rows] == [("helpful", 3), ("clear", 1)]


def test_disputes_are_wider_than_what_is_near():
    scales = {"helpful": DEPTH, "clear": TONE}

    def dispute(*values):
        return disputes_of("rubric", [[kind_of("rubric").numbers(value) for value in values]], scales)[0]

    assert dispute(rated(50, 0), rated(60, 1)) == 0
    assert dispute(rated(50, 0), rated(61, 1)) == pytest.approx(0.11)
    assert dispute(rated(50, -3), rated(50, 3)) == 1
    assert dispute(rated(50, 0), rated(50, NOT_APPLICABLE)) == 1
    assert dispute(rated(50, NOT_APPLICABLE), rated(50, NOT_APPLICABLE)) == 0
    study, item = labelled(rated(50, 0), rated(90, 0))
    assert [(row.item, row.dispute) for row in disputed_items(study)] == [(item.pk, pytest.approx(0.4))]


def test_an_expert_sees_what_was_said_on_each_scale():
    study, item = labelled(rated(50, 0), rated(90, NOT_APPLICABLE))
    place = study.study_items.get()
    rows = tally_of(place, item_shown(study, item, [0]), [0])
    assert rows[0].counts == (("50", 1), ("90", 1))
    assert rows[1].counts[-1] == ("Not applicable", 1)
    assert [words for words, _ in rows[1].counts[:-1]] == ["-3", "-2", "-1", "0", "1", "2", "3"]


def test_exports_have_a_column_for_what_does_not_apply(tmp_path):
    study, _ = labelled(rated(50, -2), rated(90, NOT_APPLICABLE))
    table = labels_table(Label.objects.filter(study=study))
    columns = {column.name: column for column in table.columns}
    assert columns["rating.helpful"].about == "Rating by this criterion, 0 to 100."
    assert "not_applicable.helpful" not in columns

    def read(name):
        return b"".join(table_bytes(labels_table(Label.objects.filter(study=study)), name))

    rows = list(csv.DictReader(io.StringIO(read("csv").decode(), newline="")))
    assert [row["rating.clear"].lstrip("'") for row in rows] == ["-2", ""]
    assert [row["not_applicable.clear"] for row in rows] == ["false", "true"]
    (tmp_path / "labels.parquet").write_bytes(read("parquet"))
    found = pq.read_table(tmp_path / "labels.parquet").to_pydict()
    assert found["rating.clear"] == [-2, None]
    assert found["not_applicable.clear"] == [False, True]
    parts = labels_table(Label.objects.filter(study=study), shape="parts")
    said = [dict(zip([c.name for c in parts.columns], row, strict=True))["part_value"] for row in parts.rows]
    assert said == [50, -2, 90, NOT_APPLICABLE]


def test_where_a_judge_contradicts_people_depends_on_the_scale():
    assert not is_far("rubric", 60.0, 50.0, DEPTH)
    assert is_far("rubric", 61.0, 50.0, DEPTH)
    assert is_far("rubric", 1.0, 1 / 3, Scale(0, 1))
    _, item = labelled(rated(50, 0), rated(50, 2))
    people = people_said([item.pk])[item.pk]
    assert people.scales == {"helpful": DEPTH, "clear": TONE}
    assert against_people("rubric", None, rated(60, 2), people) is False
    assert against_people("rubric", None, rated(61, 1), people) is True
    assert value_disagreement("rubric", [rated(60, -2)], people) == pytest.approx((0.1 + 0.5) / 2)
