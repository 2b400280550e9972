"""Build the demonstration through the services that everybody uses. Building it again changes nothing."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotation.domain.simulation import SimulatedAnnotator
from annotation.importers import read_generic
from annotation.models import Dataset, Invitation, Role, Study, StudyState, User
from annotation.selectors.overview import study_find
from annotation.services.datasets import dataset_import
from annotation.services.simulation import labels_simulate
from annotation.services.studies import invitation_create, study_create, study_open
from annotation.services.users import user_ensure
from judges.engine.runner import run_pending
from judges.models import Judge, Sweep, SweepState
from judges.selectors.stored import endpoint_find, sweep_find
from judges.services.endpoints import endpoint_create
from judges.services.judges import DuplicateJudgeError, heuristic_judges_ensure, judge_create
from judges.services.sweeps import sweep_create, sweep_resume, sweep_start
from metaeval.demo.kinds import KindStudy, kinds_build
from metaeval.models import Report
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.reports import report_build, report_save

CONTENT = settings.BASE_DIR / "fixtures" / "demo"
ADMINISTRATOR, RESEARCHER = "admin", "researcher"
PASSWORD = "touchstone-demo"  # noqa: S105  (printed by the command; the site answers on this machine only)
SWEEP, MODEL_SWEEP = "Baselines (no LLM)", "Prompted judges on the mock server"
MOCK_JUDGES = (
    ("Mock, vanilla", "vanilla", "mock-longer-0.8"),
    ("Mock, with rules", "rules", "mock-overlap-0.9"),
    ("Mock, chain of thought", "cot", "mock-random"),
    ("Mock, with the human reference", "reference", "mock-overlap-0.9"),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """What there is to look at."""

    study: Study
    invitation: Invitation
    sweep: Sweep
    report: Report
    kinds: list[KindStudy]
    kind_reports: list[Report]


def demo_build(*, mock_url: str, say: Callable[[str], None] = lambda _line: None) -> Demo:
    """Make what is missing of the demonstration.

    Parameters
    ----------
    mock_url : address of the mock model server that the prompted judges ask.
    say : called with a line about each step.
    """
    plan = tomllib.loads((CONTENT / "study.toml").read_text(encoding="utf-8"))
    administrator = user_ensure(username=ADMINISTRATOR, password=PASSWORD, role=Role.ADMINISTRATOR)
    researcher = user_ensure(username=RESEARCHER, password=PASSWORD, role=Role.RESEARCHER)
    dataset = dataset_ensure(plan["dataset"], researcher, say)
    questions = dataset_ensure(plan["qualification"], researcher, say)
    study = study_ensure(plan, dataset, questions, researcher)
    invitation = study.invitations.filter(revoked_at=None).order_by("pk").first()
    invitation = invitation or invitation_create(study=study, note="Demo")
    people = _people()
    written = labels_ensure(study)
    say(f"labels: {written or 'the same'} by simulated annotators")
    kinds = kinds_build(content=CONTENT, people=people, owner=researcher, say=say)
    sweep = _finished_sweep(dataset, administrator, say)
    _model_sweep(dataset, administrator, mock_url)
    made = report_build(dataset=dataset, sweep=sweep_view(sweep.pk))
    report = report_save(report=made, dataset=dataset, sweep_id=sweep.pk, user=administrator)
    say(f"report: {len(made.judges)} judges against people")
    kind_reports = [_kind_report(kind.study, researcher) for kind in kinds]
    return Demo(study, invitation, sweep, report, kinds, kind_reports)


def _kind_report(study: Study, owner: User) -> Report:
    report = report_build(dataset=study.dataset, kind=study.kind, study=study)
    return report_save(report=report, dataset=study.dataset, study=study, user=owner)


def dataset_ensure(plan: dict[str, Any], owner: User, say: Callable[[str], None]) -> Dataset:
    """Import a file of the demonstration, as a plan names it."""
    result = dataset_import(
        bundle=read_generic(CONTENT / plan["file"]),
        name=plan["name"],
        title=plan["title"],
        licence=plan.get("licence", "Apache-2.0"),
        owner=owner,
        source=plan.get("source", plan["file"]),
    )
    say(result.summary())
    return result.dataset


def study_ensure(plan: dict[str, Any], dataset: Dataset, questions: Dataset, owner: User) -> Study:
    """The demonstration's study, opened."""
    rules = dict(plan["study"])
    slug = rules.pop("slug")
    study = study_find(slug)
    if study is None:
        rules |= {name: _text(file) for name, file in plan["texts"].items()}
        rules["pay_per_item"] = Decimal(rules["pay_per_item"])
        with transaction.atomic():
            study = study_create(
                dataset=dataset, slug=slug, owner=owner, qualification_dataset=questions, **rules
            )
            study = study_open(study=study)
    return study


def _text(file: str) -> str:
    return Path(CONTENT / file).read_text(encoding="utf-8")


def _people() -> list[SimulatedAnnotator]:
    return [SimulatedAnnotator(**row) for row in _simulated()["annotators"]]


def _simulated() -> dict[str, Any]:
    return tomllib.loads(_text("simulated.toml"))


def labels_ensure(study: Study) -> int:
    """Let the simulated annotators label the study, once; returns how many labels were written."""
    if study.state != StudyState.OPEN:
        return 0
    return labels_simulate(study=study, people=_people(), **_simulated()["plan"])


def _finished_sweep(dataset: Dataset, owner: User, say: Callable[[str], None]) -> Sweep:
    """The sweep of the judges without a model, run to its end here rather than by a worker."""
    sweep = sweep_find(SWEEP, dataset)
    if sweep is None:
        sweep = sweep_create(
            name=SWEEP, judges=heuristic_judges_ensure(), datasets=[dataset], created_by=owner
        )
    if sweep.state == SweepState.DRAFT:
        sweep_start(sweep=sweep)
    elif sweep.state in (SweepState.CANCELLED, SweepState.FAILED):
        sweep_resume(sweep=sweep)
    if sweep.state != SweepState.FINISHED:
        run_pending(sweep_id=sweep.pk)
        sweep.refresh_from_db()
    say(f"sweep: {sweep.get_state_display().lower()}")
    return sweep


def _model_sweep(dataset: Dataset, owner: User, mock_url: str) -> None:
    """A draft that an administrator can launch to watch a sweep at work."""
    if sweep_find(MODEL_SWEEP, dataset) is not None:
        return
    endpoint = endpoint_find("mock") or endpoint_create(
        name="mock", base_url=mock_url, is_local=True, max_concurrency=8
    )
    judges = [
        _judge(name=name, strategy=strategy, endpoint=endpoint, model=model, created_by=owner)
        for name, strategy, model in MOCK_JUDGES
    ]
    sweep_create(name=MODEL_SWEEP, judges=judges, datasets=[dataset], created_by=owner)


def _judge(**fields: Any) -> Judge:
    try:
        return judge_create(**fields)
    except DuplicateJudgeError as error:
        return error.existing
