"""The example that a new site offers: the demonstration's pairs, simulated labels and baselines, by one click."""

import tomllib

from django.db import IntegrityError, transaction

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_by_name, datasets_visible_to
from annotation.selectors.overview import study_find
from annotation.services.datasets import DatasetImportError
from judges.models import Sweep, SweepState
from judges.selectors.stored import sweep_find
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import sweep_create, sweep_start
from metaeval.demo.build import CONTENT, SWEEP, dataset_ensure, labels_ensure, study_ensure


class ExampleError(ValueError):
    """The example can't be loaded; the message says why."""


def example_load(user: User) -> Sweep:
    """Make what is missing of the example and start its sweep, which needs no model.

    Raises
    ------
    ExampleError
        Something else has its names.
    """
    try:
        return _load(user)
    except (IntegrityError, DatasetImportError):
        # Somebody loaded it at the same moment. Their rows are there now, and are the ones that are found.
        return _load(user)


@transaction.atomic
def _load(user: User) -> Sweep:
    plan = tomllib.loads((CONTENT / "study.toml").read_text(encoding="utf-8"))
    dataset = _own_or_new(plan["dataset"], user)
    study = study_find(plan["study"]["slug"])
    if study is None:
        questions = _own_or_new(plan["qualification"], user)
        study = study_ensure(plan, dataset, questions, user)
        labels_ensure(study)
    elif study.dataset_id != dataset.pk:
        raise ExampleError(_taken("study", study.slug))
    sweep = sweep_find(SWEEP, dataset)
    if sweep is None:
        judges = heuristic_judges_ensure()
        sweep = sweep_create(name=SWEEP, judges=judges, datasets=[dataset], created_by=user)
    if sweep.state == SweepState.DRAFT:
        sweep_start(sweep=sweep)
    return sweep


def _own_or_new(plan: dict[str, str], user: User) -> Dataset:
    """The example's dataset; never somebody else's that has its name."""
    there = datasets_by_name().filter(name=plan["name"]).first()
    if there is None:
        return dataset_ensure(plan, user, lambda _line: None)
    is_example = there.source == plan.get("source", plan["file"])
    if not (is_example and datasets_visible_to(user).filter(pk=there.pk).exists()):
        raise ExampleError(_taken("dataset", plan["name"]))
    return there


def _taken(what: str, name: str) -> str:
    return f"The example wasn't loaded: another {what} is already named {name}. Rename or delete it, then try again."
