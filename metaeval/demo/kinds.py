"""A small study of each further kind of work, with labels of annotators who do not exist, and of some a sweep."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.domain.simulation import SimulatedAnnotator
from annotation.importers import read_generic
from annotation.models import Invitation, Study, StudyState, User
from annotation.selectors.overview import study_find
from annotation.services.criteria import criteria_set
from annotation.services.datasets import dataset_import
from annotation.services.simulation import labels_simulate
from annotation.services.studies import invitation_create, study_create, study_open
from judges.models import Sweep
from metaeval.demo.sweeps import mock_judges_run

COMMON: dict[str, Any] = {
    "overlap": 4,
    "qualification_size": 0,
    "pay_per_item": Decimal("0.20"),
    "pay_currency": "EUR",
    "is_simulated": True,
}


@dataclass(frozen=True, slots=True)
class KindStudy:
    study: Study
    invitation: Invitation
    sweep: Sweep | None = None


def kinds_build(
    *, content: Path, people: list[SimulatedAnnotator], owner: User, mock_url: str, say: Callable[[str], None]
) -> list[KindStudy]:
    """Make what is missing of the studies of `kinds.toml`."""
    plan = tomllib.loads((content / "kinds.toml").read_text(encoding="utf-8"))
    made = []
    for rules in plan["study"]:
        name, judges = rules.pop("sweep", ""), rules.pop("judge", [])
        study = study_find(rules["slug"]) or _study(dict(rules), content, owner)
        if study.state == StudyState.OPEN:
            labels_simulate(study=study, people=people, **plan["plan"])
        invitation = study.invitations.filter(revoked_at=None).order_by("pk").first()
        invitation = invitation or invitation_create(study=study, note="Demo")
        sweep = mock_judges_run(name, judges, study.dataset, owner, mock_url) if name else None
        made.append(KindStudy(study, invitation, sweep))
    say(f"kinds: {', '.join(kind.study.get_kind_display().lower() for kind in made)}")
    return made


@transaction.atomic
def _study(rules: dict[str, Any], content: Path, owner: User) -> Study:
    file, criteria = rules.pop("file"), rules.pop("criteria", None)
    dataset = dataset_import(
        bundle=read_generic(content / file, criteria=criteria_set(criteria) if criteria else ()),
        name=rules["slug"],
        title=rules["title"],
        licence="Apache-2.0",
        owner=owner,
        source=file,
    ).dataset
    rules["guidelines"] = (content / rules["guidelines"]).read_text(encoding="utf-8")
    study = study_create(dataset=dataset, owner=owner, **(COMMON | rules))
    return study_open(study=study)
