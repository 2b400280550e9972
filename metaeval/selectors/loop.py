"""Each dataset's way through the loop: import, annotate, judge, compare, decide, report; and what is next there."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import Count, Max
from django.urls import reverse

from annotation.kinds import kind_of
from annotation.models import Dataset, Study, StudyState, User
from annotation.selectors.dataset_figures import DatasetRow, dataset_list_for
from annotation.selectors.datasets import items_of
from annotation.selectors.overview import study_list_for
from judges.models import SweepState
from judges.selectors.reading import (
    SweepOfDataset,
    datasets_judged,
    datasets_judged_beyond,
    sweeps_by_dataset,
)
from metaeval.models import Decision
from metaeval.selectors.decisions import decisions_standing
from metaeval.selectors.reports import Leader, leaders_of, reports_visible_to
from web.loop import STAGES

StageState = Literal["done", "run", "now", "todo", "skip"]
STATES: tuple[tuple[StageState, str], ...] = (
    ("done", "Done"),
    ("run", "In progress"),
    ("now", "Next step"),
    ("todo", "Not started"),
    ("skip", "Not needed"),
)
_RUN_BY_ADMINISTRATORS = "Administrators run sweeps"


@dataclass(frozen=True, slots=True)
class LoopAction:
    """What somebody can do next: a button, where it leads, and a sentence that says why."""

    title: str
    why: str
    button: str
    url: str


@dataclass(frozen=True, slots=True)
class LoopStage:
    """One of the six, of one dataset: how far it is in words, and the page that shows it where there is one."""

    key: str
    state: StageState
    words: str
    detail: str = ""
    url: str = ""
    action: LoopAction | None = None

    @property
    def label(self) -> str:
        return STAGES[self.key]

    @property
    def state_words(self) -> str:
        return dict(STATES)[self.state]


@dataclass(frozen=True, slots=True)
class Lane:
    """A dataset with its six stages."""

    dataset: Dataset
    items: int
    kinds: tuple[str, ...]
    stages: tuple[LoopStage, ...]

    @property
    def action(self) -> LoopAction | None:
        """What is next: of the stage that is marked so, else of one in progress; None where nothing is left to do."""
        marked = [stage for state in ("now", "run") for stage in self.stages if stage.state == state]
        return next((stage.action for stage in marked if stage.action), None)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a dataset, as far as its reader may see it."""

    row: DatasetRow
    is_administrator: bool
    studies: Sequence[Study] = ()
    sweeps: Sequence[SweepOfDataset] = ()
    is_judged: bool = False
    decision: Decision | None = None
    reports: int = 0
    report_pk: int | None = None
    kinds: tuple[str, ...] = ()
    tests: frozenset[int] = frozenset()
    leader: Leader | None = None
    is_judged_beyond: bool = False
    """Whether judges have judged it that are not in its newest finished sweep."""

    @property
    def finished(self) -> SweepOfDataset | None:
        """Its newest finished sweep."""
        return next((one for one in self.sweeps if one.state == SweepState.FINISHED), None)

    @property
    def dataset(self) -> Dataset:
        return self.row.dataset

    @property
    def is_test(self) -> bool:
        """Whether it only has the questions of qualification tests."""
        return not self.studies and self.dataset.pk in self.tests


def lanes_of(user: User, datasets: Iterable[int]) -> list[Lane]:
    """The way of each of these datasets that this person may see, in their order: as many queries for any number."""
    pks = list(datasets)
    rows = {row.dataset.pk: row for row in dataset_list_for(user, pks)}
    studies: dict[int, list[Study]] = defaultdict(list)
    for study in study_list_for(user).filter(dataset__in=pks):
        studies[study.dataset_id].append(study)
    sweeps, judged, decisions = sweeps_by_dataset(pks), datasets_judged(pks), decisions_standing(pks)
    kinds: dict[int, list[str]] = defaultdict(list)
    for pk, kind in items_of(pks).values_list("dataset", "kind").distinct():
        kinds[pk].append(kind_of(kind).label)
    counted = reports_visible_to(user).filter(dataset__in=pks).order_by()
    reports = {
        pk: (n, newest)
        for pk, n, newest in counted.values_list("dataset").annotate(n=Count("pk"), newest=Max("pk"))
    }
    tests = frozenset(
        items_of(pks)
        .filter(qualification_questions__isnull=False)
        .values_list("dataset", flat=True)
        .distinct()
    )
    leaders = leaders_of(user, pks)
    finished = {
        pk: one.pk
        for pk, several in sweeps.items()
        for one in reversed(several)  # the newest is first, so it stays
        if one.state == SweepState.FINISHED
    }
    beyond = datasets_judged_beyond(finished) if finished else set()
    found = []
    for pk in pks:
        if pk not in rows:
            continue
        n, newest = reports.get(pk, (0, None))
        facts = _Facts(
            row=rows[pk],
            is_administrator=user.is_administrator,
            studies=studies[pk],
            sweeps=sweeps.get(pk, ()),
            is_judged=pk in judged,
            decision=decisions.get(pk),
            reports=n,
            report_pk=newest,
            kinds=tuple(sorted(kinds[pk])),
            tests=tests,
            leader=leaders.get(pk),
            is_judged_beyond=pk in beyond,
        )
        found.append(Lane(facts.dataset, facts.row.items, facts.kinds, _stages(facts)))
    return found


def _stages(facts: _Facts) -> tuple[LoopStage, ...]:
    stages = [
        _import(facts),
        _annotate(facts),
        _judge(facts),
        _compare(facts),
        _decide(facts),
        _report(facts),
    ]
    if facts.is_test:
        why = ("Test questions", "no judges needed")
        return (
            stages[0],
            *(LoopStage(one.key, "skip", *(why if one.key == "annotate" else ("",))) for one in stages[1:]),
        )
    for place, stage in enumerate(stages):
        if stage.state == "run" and stage.key == "judge":
            break  # what comes after it waits for it
        if stage.state == "todo":
            stages[place] = replace(stage, state="now")
            break
    return tuple(stages)


def _import(facts: _Facts) -> LoopStage:
    url = reverse("annotation:dataset-detail", args=[facts.dataset.name])
    n = facts.row.items
    return LoopStage(
        "import", "done", f"{n:,} item{'' if n == 1 else 's'}", f"version {facts.dataset.version}", url
    )


def _annotate(facts: _Facts) -> LoopStage:
    title, row = facts.dataset.title, facts.row
    if not facts.studies:
        if row.labels:
            return LoopStage("annotate", "done", f"{row.labels:,} labels", "imported", _import(facts).url)
        if row.gold and row.gold == row.items:
            return LoopStage("annotate", "skip", "Gold labels", "no study needed")
        if facts.dataset.is_private and not facts.dataset.rights.may_edit:
            return LoopStage("annotate", "todo", "No study", "for its owner and editors")
        create = reverse("annotation:study-create", query={"dataset": facts.dataset.name})
        why = (
            f"Only {row.gold:,} of {row.items:,} items of {title} have gold labels."
            if row.gold
            else f"{title} has no labels."
        )
        action = LoopAction(f"Collect labels on {title}", why, "Create study", create)
        return LoopStage("annotate", "todo", "No study", "collect labels", create, action)
    # The newest that is open, else the newest.
    study = next((one for one in facts.studies if one.state == StudyState.OPEN), facts.studies[0])
    url = reverse("annotation:study-detail", args=[study.slug])
    accepted = sum(one.labels_accepted for one in facts.studies)  # type: ignore[attr-defined]  # of the list
    wanted = sum(one.labels_wanted for one in facts.studies)  # type: ignore[attr-defined]
    people = sum(one.people for one in facts.studies)  # type: ignore[attr-defined]
    if study.state == StudyState.DRAFT:
        action = LoopAction(
            f"Open {study.title}", "The study is a draft: annotators can't start yet.", "Open study", url
        )
        return LoopStage("annotate", "todo", "Draft study", "open it", url, action)
    if row.labels and not accepted and all(one.state == StudyState.CLOSED for one in facts.studies):
        return LoopStage("annotate", "done", f"{row.labels:,} labels", "imported", url)
    annotators = f"{people:,} annotator{'' if people == 1 else 's'}"
    if accepted >= wanted or all(one.state == StudyState.CLOSED for one in facts.studies):
        return LoopStage("annotate", "done", f"{accepted:,} labels", annotators, url)
    action = LoopAction(
        f"Follow {study.title}", f"{accepted:,} of {wanted:,} labels are collected.", "View study", url
    )
    return LoopStage("annotate", "run", f"{accepted:,} of {wanted:,} labels", annotators, url, action)


def _judge(facts: _Facts) -> LoopStage:
    title = facts.dataset.title
    active = next((sweep for sweep in facts.sweeps if sweep.is_active), None)
    newest = active or next(iter(facts.sweeps), None)
    url = "" if newest is None else reverse("judges:sweep-detail", args=[newest.pk])
    if active is not None:
        words = f"{active.n_done:,} of {active.n_total:,}"
        action = LoopAction(
            f"Follow {active.name}", f"{words} judgments on {title} are made.", "View sweep", url
        )
        return LoopStage("judge", "run", words, f"{active.n_judges} judges", url, action)
    if facts.is_judged:
        finished = facts.finished
        if finished is None:
            return LoopStage(
                "judge",
                "done",
                "Judgments",
                "imported",
                reverse("judges:judgment-list", args=[facts.dataset.name]),
            )
        url = reverse("judges:sweep-detail", args=[finished.pk])
        judges = f"{finished.n_judges} judge{'' if finished.n_judges == 1 else 's'}"
        return LoopStage("judge", "done", judges, f"{finished.n_done:,} judgments", url)
    if newest is None:
        if not facts.is_administrator:
            return LoopStage("judge", "todo", "No sweep", _RUN_BY_ADMINISTRATORS)
        create = reverse("admin:judges_sweep_add")
        action = LoopAction(f"Run judges on {title}", "No judge has judged it yet.", "Create sweep", create)
        return LoopStage("judge", "todo", "No sweep", "add judges", create, action)
    if newest.state == SweepState.DRAFT:
        action = LoopAction(f"Start {newest.name}", f"The sweep on {title} is a draft.", "View sweep", url)
        return LoopStage("judge", "todo", "Draft sweep", "start it", url, action)
    state = SweepState(newest.state).label
    action = LoopAction(
        f"Resume {newest.name}", f"The sweep on {title} is {state.lower()}.", "View sweep", url
    )
    return LoopStage("judge", "todo", f"{state} sweep", "resume it", url, action)


def _source_url(facts: _Facts, page: str) -> str:
    """A page of the newest finished sweep if it has all judges of the dataset, else of all its judgments."""
    finished = facts.finished
    if finished is None or facts.is_judged_beyond:
        return reverse(f"metaeval:dataset-{page}", args=[facts.dataset.name])
    return reverse(f"metaeval:{page}", args=[finished.pk], query={"dataset": facts.dataset.name})


def _compare(facts: _Facts) -> LoopStage:
    title = facts.dataset.title
    if not (facts.is_judged and (facts.row.labels or facts.row.gold)):
        waits = "After the sweep" if any(one.is_active for one in facts.sweeps) else "No comparison"
        return LoopStage("compare", "todo", waits, "needs labels" if facts.is_judged else "")
    url = _source_url(facts, "comparison")
    against = f"{facts.row.labels:,} human labels" if facts.row.labels else f"{facts.row.gold:,} gold labels"
    if facts.decision is not None or facts.reports:
        if facts.leader is None:
            return LoopStage("compare", "done", "Comparison", against, url)
        # Of a report: another one may lead by now.
        how = "leads" if facts.leader.is_clear else "leads, not significantly"
        return LoopStage("compare", "done", facts.leader.name, how, url)
    action = LoopAction(
        f"Compare judges on {title}", f"Judgments and {against} are there.", "Compare judges", url
    )
    return LoopStage("compare", "todo", "Ready to compare", against, url, action)


def _decide(facts: _Facts) -> LoopStage:
    if facts.decision is not None:
        url = _source_url(facts, "decision")
        when = f"{facts.decision.created_at:%-d %b %Y}"
        return LoopStage("decide", "done", facts.decision.judge.name, f"promoted {when}", url)
    if not (facts.is_judged and (facts.row.labels or facts.row.gold)):
        return LoopStage("decide", "todo", "Not promoted")
    url, title = _source_url(facts, "decision"), facts.dataset.title
    action = LoopAction(
        f"Choose a judge for {title}", "The judges are compared, and none is promoted.", "Choose judge", url
    )
    return LoopStage("decide", "todo", "Not promoted", "choose a judge", url, action)


def _report(facts: _Facts) -> LoopStage:
    if facts.report_pk is not None:
        url = reverse("metaeval:report-detail", args=[facts.report_pk])
        return LoopStage(
            "report", "done", f"{facts.reports:,} report{'' if facts.reports == 1 else 's'}", "", url
        )
    if not (facts.row.labels or facts.is_judged):
        return LoopStage("report", "todo", "No report")
    url = reverse("metaeval:report-list", query={"name": facts.dataset.name})
    action = LoopAction(f"Report on {facts.dataset.title}", "No report is stored yet.", "Create report", url)
    return LoopStage("report", "todo", "No report", "", url, action)
