"""The home page: what somebody can do next, their datasets, open studies and sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from annotation.models import Study, StudyState, User
from annotation.selectors.adjudication import waiting_counts
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.item_reports import reported_by_study
from annotation.selectors.overview import state_counts, study_list_for, study_with_rights
from annotation.selectors.study_lines import StudyLine, study_lines
from judges.models import Sweep
from judges.selectors.reading import sweep_list_for
from metaeval.selectors.loop import Lane, LoopAction, lanes_of

DATASETS_SHOWN = 20
STUDIES_SHOWN = 5
SWEEPS_SHOWN = 4
STEPS_SHOWN = 5
ADJUDICATED_STUDIES = 3
"""Of how many open studies disputed items are counted: each takes queries of its own."""


@dataclass(frozen=True, slots=True)
class Home:
    """What the home page shows; `n_datasets` and `n_open` (studies) count those that are not shown too."""

    steps: Sequence[LoopAction]
    lanes: Sequence[Lane]
    studies: Sequence[StudyLine]
    sweeps: Sequence[Sweep]
    n_datasets: int
    n_open: int

    @property
    def is_empty(self) -> bool:
        return not self.n_datasets


def home_of(user: User) -> Home:
    """Everything on the home page. The number of queries is bounded, however many datasets and studies there are."""
    visible = datasets_visible_to(user)
    newest = visible.order_by("-created_at", "-pk").values_list("pk", flat=True)[:DATASETS_SHOWN]
    lanes = lanes_of(user, list(newest))
    studies = list(study_list_for(user, state=StudyState.OPEN)[:STUDIES_SHOWN])
    sweeps = list(sweep_list_for(user)[:SWEEPS_SHOWN])
    # What waits for a decision is told to those who may decide.
    decided = [one for one in studies if study_with_rights(user, one).rights.may_edit]
    steps = _of_studies(decided) + [action for action in _by_urgency(lanes) if action]
    n = len(lanes) if len(lanes) < DATASETS_SHOWN else visible.count()
    return Home(
        steps[:STEPS_SHOWN], lanes, study_lines(studies), sweeps, n, state_counts(user)[StudyState.OPEN]
    )


def _of_studies(studies: Sequence[Study]) -> list[LoopAction]:
    """What waits for a person in open studies: disputed items, then reported ones."""
    steps = []
    for study in studies[:ADJUDICATED_STUDIES]:
        if disputed := waiting_counts(study)["disputed"]:
            items = _items(disputed)
            url = reverse("annotation:study-adjudicate", args=[study.slug])
            why = f"Annotators disagree on {items} of {study.title}."
            steps.append(LoopAction(f"Adjudicate {items}", why, "Adjudicate items", url))
    reported = reported_by_study(studies)
    for study in studies:
        if n := reported.get(study.pk):
            url = reverse("annotation:study-item-reports", args=[study.slug])
            why = f"Annotators reported {_items(n)} of {study.title}."
            steps.append(
                LoopAction(f"Review {n:,} reported item{'' if n == 1 else 's'}", why, "Review items", url)
            )
    return steps


def _items(n: int) -> str:
    return f"{n:,} item{'' if n == 1 else 's'}"


def _by_urgency(lanes: Sequence[Lane]) -> list[LoopAction | None]:
    """What is next of each dataset; who is nearest to a decision comes first, a stage in progress last."""
    marked = [(lane, next((one for one in lane.stages if one.state == "now"), None)) for lane in lanes]
    order = {"decide": 0, "compare": 1, "judge": 2, "annotate": 3, "report": 4}
    ranked = sorted(
        ((order[stage.key], lane) for lane, stage in marked if stage is not None), key=lambda pair: pair[0]
    )
    return [lane.action for _, lane in ranked]
