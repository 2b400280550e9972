"""A site written down: endpoints, datasets, studies, judges and sweeps of a YAML file, brought into this site.

::

    endpoints:
      - {name: local, base_url: "http://127.0.0.1:8000/v1", api_key_env: MODEL_KEY, is_local: true}
    datasets:
      - {name: teas, file: pairs.jsonl, title: Teas, licence: CC-BY-4.0}
    studies:
      - {slug: teas, title: Which tea is better, dataset: teas, overlap: 3, open: true}
    judges:
      - judge.json                # of a site, or YAML of your own or of a published evaluator, beside the file
      - {name: Rules at home, strategy: rules, endpoint: local, model: small}
    sweeps:
      - {name: First, datasets: [teas], judges: [Rules at home]}

All or nothing, and applied twice it is as applied once. A key is named by the variable that holds it and never written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.domain.errors import StudyRuleError
from annotation.importers.images import read_generic_with_images
from annotation.models import StudyState, User
from annotation.selectors.datasets import datasets_by_name
from annotation.selectors.overview import study_find
from annotation.services.criteria import criteria_set
from annotation.services.datasets import DatasetImportError
from annotation.services.images import image_folder
from annotation.services.studies import study_create, study_open, study_update
from annotation.services.study_rules import RULES
from judges.models import Endpoint, Sweep
from judges.services.endpoints import endpoint_put
from judges.services.judge_files import own_read
from judges.services.judge_imports import judge_define
from judges.services.judgments import bundle_import
from judges.services.plans import PlanError, judge_carry_out, plan_carry_out, plan_read
from judges.strategies.errors import SpecError

SECTIONS = ("endpoints", "datasets", "studies", "judges", "sweeps")
"""In the order in which they need each other."""
_ENDPOINT = frozenset(
    {
        *("name", "kind", "base_url", "addresses", "api_key_env", "is_local", "open_weights"),
        *("queue", "structured", "in_batches", "takes_images"),
        *("max_concurrency", "timeout_seconds", "requests_per_minute", "tokens_per_minute"),
        *("price_input", "price_output", "prices", "options"),
    }
)
_DATASET = frozenset({"name", "file", "title", "split", "licence", "description", "criteria", "columns"})


@dataclass(slots=True)
class Applied:
    """What a file did, a sentence a thing."""

    said: list[str] = field(default_factory=list)


def site_apply(*, path: Path, user: User) -> Applied:
    """Bring what a file describes into this site.

    Raises
    ------
    PlanError
        Names the field, such as ``studies.0.title``; then nothing was changed.
    ImportFileError
        Names the file of a dataset, its row and its field.
    """
    values = plan_read(path)
    if not {"spec", "strategy", "published"}.isdisjoint(values):
        values = {"judges": [path.name]}
    for name in values:
        if name not in SECTIONS:
            raise PlanError(str(name), f"unknown section; known are {', '.join(SECTIONS)}.")
    applied = Applied()
    with transaction.atomic():
        for name in SECTIONS:
            rows = values.get(name) or []
            if not isinstance(rows, list):
                raise PlanError(name, "expected a list.")
            for place, row in enumerate(rows):
                where = f"{name}.{place}"
                try:
                    applied.said.append(_APPLY[name](where, row, path.parent, user))
                except PlanError as error:
                    inside = error.field.startswith(where)
                    raise PlanError(
                        error.field if inside else f"{where}.{error.field}", error.problem
                    ) from None
                except StudyRuleError as error:
                    raise PlanError(f"{where}.{error.field}", f"{error.message.rstrip('.')}.") from None
                except DatasetImportError as error:
                    raise PlanError(where, str(error)) from None
                except ValidationError as error:
                    field_name, messages = next(
                        iter(getattr(error, "message_dict", {"": error.messages}).items())
                    )
                    raise PlanError(f"{where}.{field_name}".rstrip("."), " ".join(messages)) from None
    return applied


def _fields(where: str, row: Any, known: frozenset[str], *needed: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise PlanError(where, "expected fields by name.")
    for name in row:
        if name not in known:
            raise PlanError(f"{where}.{name}", f"unknown field; known are {', '.join(sorted(known))}.")
    for name in needed:
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise PlanError(f"{where}.{name}", "missing.")
    return dict(row)


def _endpoint(where: str, row: Any, _folder: Path, _user: User) -> str:
    values = _fields(where, row, _ENDPOINT, "name")
    before = Endpoint.objects.filter(name=values["name"]).values().first()
    endpoint, is_new = endpoint_put(**values)
    same = before == Endpoint.objects.filter(pk=endpoint.pk).values().first()
    return f"Endpoint '{endpoint}': {'added' if is_new else 'unchanged' if same else 'changed'}."


def _dataset(where: str, row: Any, folder: Path, user: User) -> str:
    values = _fields(where, row, _DATASET, "name", "file")
    path, criteria = folder / values.pop("file"), values.pop("criteria", None)
    columns = values.pop("columns", None) or {}
    if not isinstance(columns, Mapping):
        raise PlanError(f"{where}.columns", "expected the field of each column by its name.")
    ready = () if criteria is None else criteria_set(str(criteria))
    mapping = {str(name): str(value) for name, value in columns.items()}
    bundle = read_generic_with_images(path, image_folder(), criteria=ready, mapping=mapping)
    result, _ = bundle_import(bundle=bundle, source="generic", owner=user, **values)
    return f"Dataset '{result.dataset.name}': {result.items:,} items, {result.items_created:,} of them new."


def _study(where: str, row: Any, folder: Path, user: User) -> str:
    values = _fields(
        where, row, RULES | {"dataset", "slug", "kind", "open", "guidelines_file"}, "title", "slug", "dataset"
    )
    opens, name = values.pop("open", False), values.pop("dataset")
    if file := values.pop("guidelines_file", None):
        values["guidelines"] = _text(f"{where}.guidelines_file", folder / str(file))
    dataset = datasets_by_name().filter(name=name).first()
    if dataset is None:
        raise PlanError(f"{where}.dataset", f"there is no dataset '{name}'.")
    study = study_find(values["slug"])
    if study is None:
        study, done = study_create(dataset=dataset, owner=user, **values), "added"
    else:
        if study.dataset_id != dataset.pk:
            raise PlanError(f"{where}.dataset", f"the study '{study.slug}' is on another dataset.")
        del values["slug"]
        changed = {key: value for key, value in values.items() if getattr(study, key) != value}
        if changed:
            study = study_update(study=study, **changed)
        done = "changed" if changed else "unchanged"
    if opens and study.state == StudyState.DRAFT:
        study_open(study=study)
        done += " and opened"
    return f"Study '{study.slug}': {done}."


def _judge(where: str, row: Any, folder: Path, user: User) -> str:
    if isinstance(row, str):
        row = {"file": row}
    if not isinstance(row, Mapping):
        raise PlanError(where, "expected a file, or fields by name.")
    if "file" not in row:
        try:
            judge, is_new = judge_carry_out(values=row, user=user)
        except PlanError as error:
            raise PlanError(f"{where}.{error.field.removeprefix('judge.')}", error.problem) from None
        return f"Judge '{judge}': {'added' if is_new else 'unchanged'}."
    values = _fields(where, row, frozenset({"file", "ask_at", "name"}), "file")
    try:
        read = own_read(folder / values["file"])
    except SpecError as error:
        raise PlanError(f"{where}.file", str(error)) from None
    except OSError as error:
        raise PlanError(f"{where}.file", f"{values['file']}: {error.strerror or error}.") from None
    imported = judge_define(
        document=read.document,
        user=user,
        endpoint=str(values.get("ask_at") or read.endpoint),
        name=str(values.get("name") or ""),
        notes=" ".join(read.notes),
    )
    notes = " ".join(imported.notes)
    return f"Judge '{imported.judge}': {'added' if imported.is_new else 'unchanged'}. {notes}".rstrip()


def _sweep(where: str, row: Any, _folder: Path, user: User) -> str:
    if not isinstance(row, Mapping):
        raise PlanError(where, "expected fields by name.")
    if isinstance(name := row.get("name"), str) and (
        there := Sweep.objects.filter(name=name.strip()).first()
    ):
        return f"Sweep '{there}': unchanged, it is there already."
    planned = plan_carry_out(plan=row, user=user)
    return (
        f"Sweep {planned.sweep.pk}, '{planned.sweep}': a draft. python manage.py run_sweep {planned.sweep.pk}"
    )


def _text(where: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(where, f"{path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise PlanError(where, f"{path}: not UTF-8 text.") from None


_APPLY: Mapping[str, Callable[[str, Any, Path, User], str]] = {
    "endpoints": _endpoint,
    "datasets": _dataset,
    "studies": _study,
    "judges": _judge,
    "sweeps": _sweep,
}
