"""Anything in any order that people, rules and researchers do; then everything is counted again."""

import random
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    ItemReport,
    Kind,
    Label,
    Stage,
    Study,
    StudyItem,
)
from annotation.services.adjudication import adjudicate
from annotation.services.assignments import assignment_claim, assignment_release, assignment_submit
from annotation.services.labels import label_change
from annotation.services.leases import leases_reap, leases_release
from annotation.services.quality import (
    enrollment_restore,
    enrollment_suspend,
    item_report,
    item_report_resolve,
    labels_set_aside,
    labels_take_back,
)
from tests.annotation.factories import enrollment_make, user_make
from tests.annotation.kinds import kind_dataset_make, kind_study_make
from tests.annotation.recount import counters_check, figures_check

pytestmark = pytest.mark.django_db

GOLD: dict[str, Any] = {
    Kind.PAIRWISE: None,
    Kind.RUBRIC: {"ratings": {"helpful": 5, "clear": 5}},
    Kind.CHECKLIST: {"answers": {"format": True, "length": True, "tone": None}},
    Kind.IMPORTANCE: {"ranks": {"format": 1, "length": 2, "tone": 3}},
    Kind.ANSWER_RANKING: {"ranks": {"0": 1, "1": 2, "2": 3}},
    Kind.CLASSIFICATION: {"categories": {"format": True, "length": False, "tone": False}},
}


def drawn(kind: str, numbers: random.Random) -> dict[str, Any]:
    if kind == Kind.PAIRWISE:
        choice = numbers.randrange(3)
        return {"choice": choice} | ({"both_bad": True} if not choice and numbers.random() < 0.5 else {})
    if kind == Kind.RUBRIC:
        return {"ratings": {key: numbers.randint(1, 5) for key in ("helpful", "clear")}}
    if kind == Kind.CHECKLIST:
        return {"answers": {key: numbers.choice([True, False, None]) for key in ("format", "length", "tone")}}
    if kind == Kind.CLASSIFICATION:
        place = numbers.randrange(3)
        return {"categories": {key: n == place for n, key in enumerate(("format", "length", "tone"))}}
    keys = ("format", "length", "tone") if kind == Kind.IMPORTANCE else ("0", "1", "2")
    return {"ranks": {key: numbers.randint(1, 3) for key in keys}}


class Crowd:
    """Five people and a researcher in a study of few items, with checks, repeats, a cap and rules that suspend."""

    def __init__(self, kind: str, numbers: random.Random) -> None:
        self.kind, self.numbers = kind, numbers
        self.study = kind_study_make(
            kind,
            items=6,
            overlap=2,
            tie_policy="both_bad",
            check_rate=0.2,
            repeat_rate=0.1,
            check_window=4,
            check_minimum=2,
            check_suspend_below=0.3,
            check_warn_below=0.6,
            set_aside_on_suspend=True,
            items_per_annotator=5,
            owner=user_make(),
        )
        for item in kind_dataset_make(kind, items=4, gold=GOLD[kind]).items.all():
            StudyItem.objects.create(study=self.study, item=item, position=100, overlap=0, role="check")
        self.people = [enrollment_make(study=self.study).pk for _ in range(5)]
        self.now = timezone.now()

    def person(self) -> Enrollment:
        pk = self.numbers.choice(self.people)
        return Enrollment.objects.select_related("study", "annotator").get(pk=pk)

    def lease(self, **filters: Any) -> Assignment | None:
        found = list(Assignment.objects.filter(study_item__study=self.study, **filters).order_by("pk"))
        return self.numbers.choice(found) if found else None

    def claim(self) -> None:
        assignment_claim(enrollment=self.person(), now=self.now)

    def work(self) -> None:
        lease = assignment_claim(enrollment=self.person(), now=self.now)
        if lease is not None:
            self.answer(lease)

    def answer(self, lease: Assignment) -> None:
        assignment_submit(
            assignment=lease,
            shown_value=drawn(self.kind, self.numbers),
            active_ms=self.numbers.choice([None, 500, 20_000]),
            now=self.now,
        )

    def submit_late(self) -> None:
        if lease := self.lease(state__in=["open", "expired", "released"]):
            self.answer(lease)

    def change(self) -> None:
        if lease := self.lease(state=AssignmentState.SUBMITTED):
            label_change(assignment=lease, shown_value=drawn(self.kind, self.numbers), now=self.now)

    def skip(self) -> None:
        if lease := self.lease():
            assignment_release(assignment=lease, reason="unclear")

    def time_passes(self) -> None:
        self.now += timedelta(minutes=31)
        leases_reap(now=self.now)

    def leave(self) -> None:
        person = self.person()
        leases_release(enrollment=person)
        stage = Stage.WORK if person.stage == Stage.LEFT else Stage.LEFT
        Enrollment.objects.filter(pk=person.pk).update(stage=stage)

    def suspend(self) -> None:
        aside = self.numbers.random() < 0.5
        enrollment_suspend(enrollment=self.person(), by=None, reason="x", set_aside=aside, now=self.now)

    def restore(self) -> None:
        enrollment_restore(enrollment=self.person(), by=None, take_back=self.numbers.random() < 0.5)

    def set_aside(self) -> None:
        moments = list(
            Label.objects.filter(study=self.study).order_by("pk").values_list("created_at", flat=True)
        )
        since = self.numbers.choice(moments) if moments and self.numbers.random() < 0.5 else None
        labels_set_aside(enrollment=self.person(), by=None, reason="x", since=since)

    def take_back(self) -> None:
        labels_take_back(enrollment=self.person(), by=None)

    def report(self) -> None:
        if self.numbers.random() < 0.3 and (lease := self.lease()):
            report: ItemReport = item_report(assignment=lease, reason="broken")
            item_report_resolve(report=report, withdraw=self.numbers.random() < 0.5)

    def decide(self) -> None:
        place = self.numbers.choice(list(self.study.study_items.filter(role="work").order_by("pk")))
        place.study = self.study
        adjudicate(
            place=place,
            expert=self.study.owner,
            shown_value=drawn(self.kind, self.numbers),
            order=[1, 0] if self.kind == Kind.PAIRWISE else [0, 1, 2],
        )

    def pause(self) -> None:
        state = "open" if self.study.state == "paused" else self.numbers.choice(["paused", "open", "open"])
        Study.objects.filter(pk=self.study.pk).update(state=state)
        self.study.refresh_from_db()


SEED = 0
ACTS = [
    *("work",) * 14,
    *("claim", "submit_late", "change", "change", "skip", "time_passes", "leave", "suspend"),
    *("restore", "restore", "set_aside", "take_back", "report", "decide", "pause"),
]


# The statements are those of every kind; on PostgreSQL one that has choices and one that has lists.
TWICE = (Kind.PAIRWISE, Kind.CHECKLIST)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.both_databases] * (kind in TWICE)) for kind in Kind.values]
)
def test_counters_exports_and_figures_are_those_of_the_rows(kind):
    numbers = random.Random(f"{kind}{SEED}")
    crowd = Crowd(kind, numbers)
    for step in range(120):
        try:
            getattr(crowd, numbers.choice(ACTS))()
        except (StageError, StudyNotOpenError, SuspendedError):
            continue
        counters_check(crowd.study)
        if step % 20 == 19:
            figures_check(crowd.study)
    figures_check(crowd.study)
