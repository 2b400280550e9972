"""Tests with real engines on tiny models. They need vLLM, so an environment of their own: `make test-vllm`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Without the packages there is nothing to collect; the header of the run says so (see tests/conftest.py).
collect_ignore_glob = [] if find_spec("vllm") and find_spec("torch") else ["test_*.py"]

os.environ.update(
    HF_HUB_OFFLINE="1",
    # An engine in this process starts in seconds; the server's tests have it in processes of its own.
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
    VLLM_LOGGING_LEVEL="ERROR",
    VLLM_NO_USAGE_STATS="1",
    DO_NOT_TRACK="1",
    VLLM_HOST_IP="127.0.0.1",
    # Threads that wait for each other are slow where other work goes on; a tiny model gains nothing by two.
    OMP_NUM_THREADS="1",
)

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What torch and vLLM warn of is not ours to mend."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The tiny models, built on the spot: the folder of each by its name."""
    from tests.local_models.tiny import build_all

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: str(path) for name, path in build_all(tmp_path_factory.mktemp("models")).items()}


@pytest.fixture(scope="session", autouse=True)
def _nothing_stays() -> Iterator[None]:
    """Engines and servers end with the run."""
    yield
    from judges.backends.warm import shutdown_all

    shutdown_all()
