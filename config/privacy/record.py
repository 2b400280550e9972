"""The record of processing activities (GDPR, Article 30), made of what the applications declare of their models."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils import timezone

import annotation.personal_data
import judges.personal_data
import metaeval.personal_data
from annotation.selectors.privacy import StudyRetention, platforms_used, studies_retention
from config.privacy import third_party
from judges.selectors.overview import endpoints_overview
from web.privacy import CATEGORIES, MEASURES, OF_STUDY, OUTSIDE_DATABASE, ModelData
from web.version import software_version

FORMAT = "touchstone.processing/1"
NOT_GIVEN = "Not given: set {}"


@dataclass(frozen=True, slots=True)
class Responsible:
    """Who answers for the site, as its settings have it."""

    controller: str
    officer: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Processing:
    """A row of the record: a category of data with its purpose, and the fields that hold it."""

    key: str
    name: str
    subjects: str
    purpose: str
    basis: str
    retention: str
    recipients: str
    fields: tuple[str, ...]
    """``app.Model: field, field``"""


@dataclass(frozen=True, slots=True)
class ProcessingRecord:
    """All of it."""

    made_at: datetime
    version: str
    site: str
    responsible: Responsible
    processing: tuple[Processing, ...]
    outside: tuple[tuple[str, str], ...]
    measures: tuple[str, ...]
    recipients: tuple[str, ...]
    studies: tuple[StudyRetention, ...]


def fields_declared() -> Mapping[str, ModelData]:
    """What is declared of each model, by its label: ``annotation.Label``."""
    ours = {
        "annotation": annotation.personal_data,
        "judges": judges.personal_data,
        "metaeval": metaeval.personal_data,
    }
    found = {f"{app}.{one.model}": one for app, module in ours.items() for one in module.MODELS}
    return found | {one.model: one for one in third_party.MODELS}


def faults() -> list[str]:
    """What the declarations lack or have too much, a sentence each; empty where every field is classified."""
    known = fields_declared()
    said = []
    labels = {model._meta.label: model for model in apps.get_models() if not model._meta.proxy}
    said += [f"{label} is declared, but there is no such model." for label in known if label not in labels]
    for label, model in labels.items():
        if label not in known:
            said.append(f"{label} isn't declared: add it to personal_data.py of its application.")
            continue
        fields = {field.name for field in model._meta.concrete_fields}
        names = [
            name
            for words in (*known[label].personal.values(), known[label].other)
            for name in words.split(",")
        ]
        said += [f"{label}.{name} isn't classified." for name in sorted(fields - set(names))]
        said += [
            f"{label}.{name} is declared, but there is no such field." for name in sorted(set(names) - fields)
        ]
        said += [
            f"{label}.{name} is declared twice." for name in sorted({n for n in names if names.count(n) > 1})
        ]
        said += [
            f"{label}: there is no category {key!r}."
            for key in known[label].personal
            if key not in CATEGORIES
        ]
    return said


def processing_record(*, now: datetime | None = None) -> ProcessingRecord:
    """Read it: what is declared, who answers for the site, and what studies and judges make of it now."""
    fields: dict[str, list[str]] = {key: [] for key in CATEGORIES}
    for label, one in sorted(fields_declared().items()):
        for key, names in one.personal.items():
            fields[key].append(f"{label}: {', '.join(names.split(','))}")
    rows = tuple(
        Processing(
            key=key,
            name=category.name,
            subjects=category.subjects,
            purpose=category.purpose,
            basis=settings.PRIVACY_BASIS_STUDIES
            if category.basis == OF_STUDY
            else settings.PRIVACY_BASIS_SITE,
            retention=category.retention,
            recipients=category.recipients,
            fields=tuple(fields[key]),
        )
        for key, category in CATEGORIES.items()
    )
    controller, officer = settings.PRIVACY_CONTROLLER, settings.PRIVACY_OFFICER
    return ProcessingRecord(
        made_at=now or timezone.now(),
        version=software_version(),
        site=settings.SITE_URL,
        responsible=Responsible(
            controller or NOT_GIVEN.format("PRIVACY_CONTROLLER"),
            officer or NOT_GIVEN.format("PRIVACY_OFFICER"),
            bool(controller and officer),
        ),
        processing=rows,
        outside=OUTSIDE_DATABASE,
        measures=MEASURES,
        recipients=tuple(_recipients()),
        studies=tuple(studies_retention()),
    )


def _recipients() -> Iterable[str]:
    """Outside of the site: model servers and platforms in use, and what the operator names."""
    for endpoint in endpoints_overview():
        if not endpoint.is_local:
            yield f"Model server {endpoint.name} ({endpoint.base_url or endpoint.kind}): texts of items"
    for platform in platforms_used():
        yield f"Crowdsourcing platform {platform}: completion codes, and who finished"
    yield from settings.PRIVACY_RECIPIENTS


def record_json(record: ProcessingRecord) -> dict[str, Any]:
    """The record as JSON has it, under a format of its own."""
    return {"format": FORMAT, **asdict(record)}


def record_markdown(record: ProcessingRecord) -> str:
    """The record as a Markdown document, with lines to sign."""
    lines = [
        "# Record of processing activities",
        "",
        f"Site: {record.site}, Touchstone {record.version}. Made on {record.made_at:%d %b %Y, %H:%M} UTC.",
        "",
        f"- Controller: {_cell(record.responsible.controller)}",
        f"- Data-protection officer: {_cell(record.responsible.officer)}",
        "",
        "## Personal data",
        "",
    ]
    for row in record.processing:
        lines += [
            f"### {row.name}",
            "",
            f"- Data subjects: {row.subjects}",
            f"- Purpose: {row.purpose}",
            f"- Legal basis: {_cell(row.basis)}",
            f"- Retention: {row.retention}",
            f"- Recipients: {row.recipients}",
            "- Fields: " + ("; ".join(f"`{field}`" for field in row.fields) or "none in the database"),
            "",
        ]
    lines += ["## Beside the database", ""]
    lines += [f"- **{name}**: {about}" for name, about in record.outside]
    lines += ["", "## Recipients outside of the site", ""]
    lines += [f"- {_cell(one)}" for one in record.recipients] or ["None."]
    lines += [
        "",
        "## Retention by study",
        "",
        "| Study | Rule | Closed | People known |",
        "|---|---|---|---|",
    ]
    for study in record.studies:
        closed = f"{study.closed_at:%d %b %Y}" if study.closed_at else "open"
        lines.append(f"| {_cell(study.title)} | {study.rule} | {closed} | {study.n_known:,} |")
    lines += ["", "## Technical and organizational measures", ""]
    lines += [f"- {one}" for one in record.measures]
    lines += ["", "## Signatures", "", "| Role | Name | Date | Signature |", "|---|---|---|---|"]
    lines += ["| Controller | | | |", "| Data-protection officer | | | |", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A text of others in one line, which ends no cell and begins no markup."""
    line = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in line)
