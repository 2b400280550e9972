"""Sweeps written down: a YAML file, or the same as JSON from the API, becomes a draft with its judges.

::

    name: Which prompt?
    datasets: [llmbar-natural, llmbar-adversarial]
    orders: both                  # and whatever else a sweep has: seed, sample_size, budget, priority ...
    judges:
      - Longer response           # a judge that there is
      - {name: Rules at home, strategy: rules, endpoint: local, model: small}
    grid:                         # every combination; a value that is no list is the same in all
      strategy: [vanilla, cot]
      endpoint: local
      model: [small, large]
      decoding.temperature: [0, 0.7]
      params.rules: true          # only for the strategies that have it

All or nothing: what is wrong is said with the name of its field, and then nothing was made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_by_name
from judges.models import Endpoint, Judge, Sweep
from judges.services.judges import DuplicateJudgeError, ModelChoice, free_name, judge_create
from judges.services.sweep_settings import SweepSettings
from judges.services.sweeps import draft_create
from judges.strategies.errors import MOST_FIELD, MOST_PROBLEM
from judges.strategies.registry import STRATEGIES
from web.plain_text import cut_off
from web.yaml_text import YamlError, yaml_read

MOST_JUDGES = 500
"""A grid grows quickly; more judges than this are a mistake."""
MOST_BYTES = 1_000_000
_SETTINGS = frozenset(SweepSettings.__dataclass_fields__)
PLAN_FIELDS = frozenset({"name", "datasets", "judges", "grid"}) | _SETTINGS
_MODEL = frozenset({"endpoint", "model", "revision", "decoding", "backend_options"})
JUDGE_FIELDS = _MODEL | {
    *(
        "name",
        "notes",
        "strategy",
        "prompt",
        "prompt_source",
        "step_prompts",
        "use_reference",
        "reference_system",
        "samples",
        "allow_tie",
    ),
    *("params", "guidelines", "shots", "roles", "members"),
}


class PlanError(Exception):
    """A plan cannot be carried out. Names the field, such as ``grid.model``."""

    def __init__(self, field: str, problem: str) -> None:
        field, problem = cut_off(field, MOST_FIELD), cut_off(problem, MOST_PROBLEM)
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """A draft, and which of its judges were made for it."""

    sweep: Sweep
    made: tuple[Judge, ...]
    found: tuple[Judge, ...]


def plan_read(path: Path) -> dict[str, Any]:
    """Read a plan from a YAML (or JSON) file.

    Raises
    ------
    PlanError
        The file cannot be read, or is no YAML; says where.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PlanError(str(path), f"larger than {MOST_BYTES:,} bytes.")
        values = yaml_read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(str(path), f"{error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise PlanError(str(path), f"not UTF-8 ({error.reason} at byte {error.start:,}).") from None
    except YamlError as error:
        raise PlanError(str(path), str(error)) from None
    if not isinstance(values, dict):
        raise PlanError(str(path), "expected fields by name.")
    return values


@transaction.atomic
def plan_carry_out(*, plan: Mapping[str, Any], user: User) -> PlannedSweep:
    """Define the judges that are missing and make the draft.

    A judge that would answer exactly as one that there is, is that one.

    Raises
    ------
    PlanError
    """
    _known("plan", plan, PLAN_FIELDS)
    name = plan.get("name")
    if not isinstance(name, str) or not name.strip():
        raise PlanError("name", "missing.")
    datasets = _datasets(plan.get("datasets"))
    made: dict[int, Judge] = {}
    found: dict[int, Judge] = {}
    for field, values in _judges_wanted(plan):
        judge, is_new = _judge(field, values, user)
        if judge.pk not in made:
            (made if is_new else found)[judge.pk] = judge
    if not made and not found:
        raise PlanError("judges", "name at least one, or give a grid.")
    try:
        sweep = draft_create(
            name=name.strip(),
            judges=[*made.values(), *found.values()],
            datasets=datasets,
            created_by=user,
            **_settings(plan),
        )
    except (ValidationError, InvalidOperation, OverflowError, TypeError, ValueError) as error:
        raise _refusal("plan", error) from None
    return PlannedSweep(sweep, tuple(made.values()), tuple(found.values()))


def judge_carry_out(*, values: Mapping[str, Any], user: User) -> tuple[Judge, bool]:
    """Define one judge from plain values; returns it and whether it is new.

    Raises
    ------
    PlanError
    """
    with transaction.atomic():
        return _judge("judge", dict(values), user)


def _settings(plan: Mapping[str, Any]) -> dict[str, Any]:
    settings = {key: plan[key] for key in _SETTINGS if key in plan}
    if isinstance(settings.get("budget"), int | float | str):
        # As it is written: 0.1 in binary is another amount.
        settings["budget"] = Decimal(str(settings["budget"]))
    return settings


def _judges_wanted(plan: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    judges = plan.get("judges") or []
    if not isinstance(judges, list):
        raise PlanError("judges", "expected a list.")
    for place, values in enumerate(judges):
        yield f"judges.{place}", values
    grid = plan.get("grid")
    if grid is not None:
        yield from (("grid", values) for values in _grid(grid))


def _grid(grid: object) -> Iterator[dict[str, Any]]:
    """Yield the combinations of a grid, each as the values of a judge."""
    if not isinstance(grid, Mapping):
        raise PlanError("grid", "expected fields by name.")
    axes = {str(key): value if isinstance(value, list) else [value] for key, value in grid.items()}
    size = 1
    for key, values in axes.items():
        if not values:
            raise PlanError(f"grid.{key}", "an empty list leaves nothing to combine.")
        size *= len(values)
    if size > MOST_JUDGES:
        raise PlanError("grid", f"{size:,} combinations; at most {MOST_JUDGES:,} make sense.")
    varied = [key for key, values in axes.items() if len(values) > 1]
    for combination in product(*axes.values()):
        point = dict(zip(axes, combination, strict=True))
        named = " · ".join(_word(key, point[key]) for key in varied)
        content = _nested(point)
        if "params" in content:
            content["params"] = _own_params(content)
        yield {"name": named or str(point.get("strategy", ""))} | content


def _own_params(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out, of a grid's settings, those that the strategy has not."""
    if not isinstance(values["params"], Mapping):
        raise PlanError("grid.params", "expected settings by name.")
    info = STRATEGIES.get(str(values.get("strategy", "")))
    known = info.params if info is not None else {}
    return {key: value for key, value in values["params"].items() if key in known}


def _word(key: str, value: object) -> str:
    last = key.rpartition(".")[2].replace("_", " ")
    return str(value) if key in ("strategy", "model", "endpoint", "prompt") else f"{last} {value}"


def _nested(point: Mapping[str, Any]) -> dict[str, Any]:
    """Turn ``decoding.temperature`` into a field of ``decoding``."""
    values: dict[str, Any] = {}
    for key, value in point.items():
        outer, dot, inner = key.partition(".")
        if dot:
            holder = values.setdefault(outer, {})
            if not isinstance(holder, dict):
                raise PlanError(f"grid.{key}", f"'{outer}' is given as {holder!r} too.")
            holder[inner] = value
        else:
            values[key] = dict(value) if isinstance(value, Mapping) else value
    return values


def _judge(field: str, values: Any, user: User) -> tuple[Judge, bool]:
    """Return the judge of that name, or the one that these values make."""
    if isinstance(values, str):
        return _judge_named(field, values), False
    if not isinstance(values, Mapping):
        raise PlanError(
            field, f"expected the name of a judge or fields by name, found a {type(values).__name__}."
        )
    _known(field, values, JUDGE_FIELDS)
    content = {key: value for key, value in values.items() if value is not None}  # null: the default
    strategy = content.pop("strategy", None)
    if not isinstance(strategy, str):
        raise PlanError(f"{field}.strategy", "missing.")
    name = str(content.pop("name", "") or strategy)
    if content.get("endpoint"):
        content["endpoint"] = _endpoint(f"{field}.endpoint", content["endpoint"])
    if "roles" in content:
        content["roles"] = _roles(f"{field}.roles", content["roles"])
    if "members" in content:
        content["members"] = _members(f"{field}.members", content["members"])
    try:
        return _judge_make(name, strategy, user, content), True
    except DuplicateJudgeError as error:
        return error.existing, False
    except (ValidationError, OverflowError, TypeError, ValueError, AttributeError) as error:
        raise _refusal(field, error) from None


def _judge_make(name: str, strategy: str, user: User, content: Mapping[str, Any]) -> Judge:
    """Define a judge under a name that is free; another one where somebody takes it at that moment."""
    for attempts_left in (2, 1, 0):
        try:
            with transaction.atomic():
                return judge_create(name=free_name(name), strategy=strategy, created_by=user, **content)
        except ValidationError as error:
            if not attempts_left or set(getattr(error, "error_dict", ())) != {"name"}:
                raise
    raise AssertionError("the last attempt returns or raises")


def _roles(field: str, roles: object) -> dict[str, ModelChoice]:
    if not isinstance(roles, Mapping):
        raise PlanError(field, "expected models by role.")
    choices = {}
    for role, values in roles.items():
        where = f"{field}.{role}"
        _known(where, values, _MODEL)
        choices[str(role)] = ModelChoice(
            endpoint=_endpoint(f"{where}.endpoint", values.get("endpoint")),
            model=str(values.get("model", "")),
            revision=str(values.get("revision", "")),
            decoding=values.get("decoding") or {},
            backend_options=values.get("backend_options") or {},
        )
    return choices


def _members(field: str, members: object) -> dict[str, Judge]:
    if not isinstance(members, Mapping):
        raise PlanError(field, "expected judges by name.")
    return {str(key): _judge_named(f"{field}.{key}", str(name)) for key, name in members.items()}


def _judge_named(field: str, name: str) -> Judge:
    judge = Judge.objects.filter(name=name).first()
    if judge is None:
        raise PlanError(field, f"there is no judge '{name}'.")
    return judge


def _endpoint(field: str, name: object) -> Endpoint:
    endpoint = Endpoint.objects.filter(name=str(name)).first()
    if endpoint is None:
        known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise PlanError(field, f"there is no endpoint '{name}'; there is {known}.")
    return endpoint


def _datasets(names: object) -> list[Dataset]:
    if not isinstance(names, list) or not names:
        raise PlanError("datasets", "expected a list of names.")
    rows = {dataset.name: dataset for dataset in datasets_by_name().filter(name__in=list(map(str, names)))}
    for place, name in enumerate(names):
        if str(name) not in rows:
            raise PlanError(f"datasets.{place}", f"there is no dataset '{name}'.")
    return list(rows.values())


def _known(field: str, values: object, known: Iterable[str]) -> None:
    if not isinstance(values, Mapping):
        raise PlanError(field, "expected fields by name.")
    for key in values:
        if key not in known:
            raise PlanError(f"{field}.{key}", f"unknown field; known are {', '.join(sorted(known))}.")


def _refusal(field: str, error: Exception) -> PlanError:
    if isinstance(error, ValidationError) and hasattr(error, "error_dict"):
        name, messages = next(iter(error.message_dict.items()))
        where = field if name == "__all__" else f"{field}.{name}"
        return PlanError(where, " ".join(messages))
    text = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
    return PlanError(field, text)
