"""The sweeps of the demonstration: of judges without a model, and of judges on the mock server."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from annotation.models import Dataset, User
from judges.backends.base import Backend
from judges.backends.mock_server import running_mock_server
from judges.backends.openai import OpenAIBackend
from judges.engine.runner import run_pending
from judges.models import Endpoint, Judge, Sweep, SweepState
from judges.selectors.stored import endpoint_find, sweep_find
from judges.services.endpoints import endpoint_create
from judges.services.judges import DuplicateJudgeError, heuristic_judges_ensure, judge_create
from judges.services.sweeps import sweep_create, sweep_resume, sweep_start
from judges.strategies.model_ref import ModelRef

BackendMaker = Callable[[Endpoint, ModelRef], Backend]


def baselines_run(name: str, dataset: Dataset, owner: User) -> Sweep:
    """Return the sweep of the judges without a model, run to its end here rather than by a worker."""
    return _finished(name, heuristic_judges_ensure, dataset, owner)


def mock_judges_run(
    name: str, plans: Iterable[Mapping[str, Any]], dataset: Dataset, owner: User, mock_url: str
) -> Sweep:
    """Return a sweep of judges on the mock server, run to its end by a server of its own.

    Parameters
    ----------
    plans : iterable of mapping
        Name, strategy, model and settings of each judge.
    mock_url : str
        Where the demonstration's server answers once the site is up.
    """
    sweep = sweep_find(name, dataset)
    if sweep is not None and sweep.state == SweepState.FINISHED:
        return sweep
    with running_mock_server() as server:

        def backend(endpoint: Endpoint, _model: ModelRef) -> Backend:
            return OpenAIBackend(base_url=server.url, is_local=True, capacity=endpoint.max_concurrency)

        return _finished(name, lambda: mock_judges(plans, owner, mock_url), dataset, owner, backend)


def mock_sweep_draft(
    name: str, plans: Iterable[Mapping[str, Any]], dataset: Dataset, owner: User, mock_url: str
) -> None:
    """Make a draft that an administrator can launch to watch a sweep at work."""
    if sweep_find(name, dataset) is None:
        judges = mock_judges(plans, owner, mock_url)
        sweep_create(name=name, judges=judges, datasets=[dataset], created_by=owner)


def mock_judges(plans: Iterable[Mapping[str, Any]], owner: User, mock_url: str) -> list[Judge]:
    """Return the judges of these plans, made where there are none yet."""
    endpoint = endpoint_find("mock") or endpoint_create(
        name="mock", base_url=mock_url, is_local=True, max_concurrency=8
    )
    return [_judge(endpoint=endpoint, created_by=owner, **plan) for plan in plans]


def _judge(**fields: Any) -> Judge:
    try:
        return judge_create(**fields)
    except DuplicateJudgeError as error:
        return error.existing


def _finished(
    name: str,
    judges: Callable[[], list[Judge]],
    dataset: Dataset,
    owner: User,
    backends: BackendMaker | None = None,
) -> Sweep:
    sweep = sweep_find(name, dataset)
    if sweep is None:
        sweep = sweep_create(name=name, judges=judges(), datasets=[dataset], created_by=owner)
    if sweep.state == SweepState.DRAFT:
        sweep_start(sweep=sweep)
    elif sweep.state in (SweepState.CANCELLED, SweepState.FAILED):
        sweep_resume(sweep=sweep)
    if sweep.state != SweepState.FINISHED:
        run_pending(sweep_id=sweep.pk, backends=backends)
        sweep.refresh_from_db()
    return sweep
