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
from judges.models import Sweep
from metaeval.demo.kinds import KindStudy, kinds_build
from metaeval.demo.sweeps import baselines_run, mock_sweep_draft
from metaeval.models import Report
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.reports import report_build, report_save

CONTENT = settings.BASE_DIR / "fixtures" / "demo"
ADMINISTRATOR, RESEARCHER = "admin", "researcher"
PASSWORD = "touchstone-demo"  # noqa: S105  (printed by the command; the site answers on this machine only)
SWEEP, MODEL_SWEEP = "Baselines (no LLM)", "Prompted judges on the mock server"
MOCK_JUDGES = (
    {"name": "Mock, vanilla", "strategy": "vanilla", "model": "mock-longer-0.8"},
    {"name": "Mock, with rules", "strategy": "rules", "model": "mock-overlap-0.9"},
    {"name": "Mock, chain of thought", "strategy": "cot", "model": "mock-random"},
    {"name": "Mock, with the human reference", "strategy": "reference", "model": "mock-overlap-0.9"},
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
    sweep = baselines_run(SWEEP, dataset, administrator)
    say(f"sweep: {sweep.get_state_display().lower()}")
    mock_sweep_draft(MODEL_SWEEP, MOCK_JUDGES, dataset, administrator, mock_url)
    # After the two sweeps, whose numbers the tutorial of administrators names.
    kinds = kinds_build(content=CONTENT, people=people, owner=researcher, mock_url=mock_url, say=say)
    made = report_build(dataset=dataset, sweep=sweep_view(sweep.pk))
    report = report_save(report=made, dataset=dataset, sweep_id=sweep.pk, user=administrator)
    say(f"report: {len(made.judges)} judges against people")
    kind_reports = [_kind_report(kind, researcher) for kind in kinds]
    return Demo(study, invitation, sweep, report, kinds, kind_reports)


def _kind_report(made: KindStudy, owner: User) -> Report:
    study, sweep = made.study, made.sweep
    view = None if sweep is None else sweep_view(sweep.pk)
    report = report_build(dataset=study.dataset, kind=study.kind, study=study, sweep=view)
    sweep_id = None if sweep is None else sweep.pk
    return report_save(report=report, dataset=study.dataset, study=study, sweep_id=sweep_id, user=owner)


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
