"""What every test may ask for: the real data."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# How long one example takes says more of the machine than of the code; a test's time is limited as a whole.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public data with real labels, which is not part of the project."""
    path = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"the public data is not at {path}; set TOUCHSTONE_DATA to where it is")
    return path


def pytest_report_header() -> str | None:
    """Say what is not collected without the model libraries."""
    if find_spec("vllm") is None:
        return "local models: tests/local_models needs vLLM and is left out here; `make test-vllm` runs it"
    return None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What reads or writes rows is marked, so that `make test-quick` can leave it out.

    What waits for another process (a browser, a Redis) is tried up to three times, as on a busy machine its turn may
    come late; the summary lists every rerun. `make test` tries all else once more.
    """
    for item in items:
        if item.get_closest_marker("django_db") or "db" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.database)
        if item.get_closest_marker("browser") or item.get_closest_marker("redis"):
            item.add_marker(pytest.mark.flaky(reruns=2))
