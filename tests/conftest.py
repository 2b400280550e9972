"""What every test may ask for: the real data. And which tests are quick."""

import gc
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests import migrated, outside

if TYPE_CHECKING:
    from tests.annotation.cast import Cast

# How long one example takes says more of the machine than of the code; a test's time is limited as a whole. Each run
# draws its examples anew, so a quarter of the usual number costs none but a few days; EXAMPLES=1000 looks longer.
settings.register_profile("any machine", deadline=None, max_examples=int(os.environ.get("EXAMPLES", "25")))
settings.load_profile("any machine")


# What `make test-quick` leaves out; all else is marked quick.
NOT_QUICK = {"slow", "service", "database", "browser", "redis", "both_databases"}

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public data with real labels, which is not part of the project."""
    path = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"the public data is not at {path}; set TOUCHSTONE_DATA to where it is")
    return path


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[None]:
    """In place of pytest-django's, which would migrate in each worker. The databases go with the scratch directory."""
    from django.db import connections

    with django_db_blocker.unblock():
        migrated.make_test_database()
    migrated.empty_only_what_has_rows()
    yield
    with django_db_blocker.unblock():
        connections.close_all()


@pytest.fixture(scope="session", autouse=True)
def figures_counted_anew() -> Iterator[None]:
    """No figure is kept because counting it took long: how many queries a page makes would depend on the machine."""
    from annotation.selectors import costly

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costly, "KEPT_SECONDS", float("inf"))
        patch.setattr(costly, "QUICK_SECONDS", float("inf"))
        yield


@pytest.fixture
def cast(db: None) -> "Cast":
    """Who may see what is asked of the same four people everywhere."""
    from tests.annotation.cast import Cast

    return Cast.make()


def pytest_report_header() -> str | None:
    """Say what is not collected without the model libraries."""
    if find_spec("vllm") is None:
        return "local models: tests/local_models needs vLLM and is left out here; `make test-vllm` runs it"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays: to look through it for garbage again and again takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# A whole file that has none that are quick says so at its top.
NO_QUICK_TESTS = re.compile(
    r"^pytestmark = (\[[^\]]*|.*)\bmark\.(" + "|".join(sorted(NOT_QUICK)) + r"|django_db)\b", re.M
)


def _has_none(path: Path, expression: str) -> bool:
    """Whether a file of tests, or a folder with all below it, has none that the expression chooses."""
    if path.is_dir():
        return all(_has_none(file, expression) for file in path.rglob("test_*.py"))
    text = path.read_text("utf-8")
    return bool(NO_QUICK_TESTS.search(text)) if expression == "quick" else expression not in text


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Half of the files have no quick tests, and nine in ten none for PostgreSQL: these need not be imported."""
    expression = config.option.markexpr
    is_of_tests = collection_path.is_dir() or collection_path.name.startswith("test_")
    is_chosen_from = expression in ("quick", "both_databases") and ROOT / "tests" in collection_path.parents
    return True if is_chosen_from and is_of_tests and _has_none(collection_path, expression) else None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What reads or writes rows is marked, what asks a server, and what `make test-quick` runs."""
    for item in items:
        if item.get_closest_marker("django_db") or "db" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.database)
        # An engine starts processes of its own.
        if "server" in getattr(item, "fixturenames", ()) or "local_models" in item.path.parts:
            item.add_marker(pytest.mark.service)
        if NOT_QUICK.isdisjoint(mark.name for mark in item.iter_markers()):
            item.add_marker(pytest.mark.quick)


class LongFirst:
    """Each worker of `--dist worksteal` begins with a stretch of the tests in their order: the long ones are spread
    over the beginnings of these, so that none is still at work when everybody else is done.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    @pytest.hookimpl(trylast=True)  # after the order is drawn
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        long = [item for item in items if item.get_closest_marker("long")]
        others = [item for item in items if not item.get_closest_marker("long")]
        n = len(items)
        items.clear()
        for k in range(self.n_workers):
            items += long[k :: self.n_workers]
            n_more = max(n * (k + 1) // self.n_workers - len(items), 0)
            items += others[:n_more]
            del others[:n_more]


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(LongFirst(config.workerinput["workercount"]))


def pytest_sessionstart() -> None:
    outside.watch()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Iterator[None]:
    outside.reached.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A quick test starts nothing and asks nobody; one that does is marked `service`."""
    yield
    if outside.reached and item.get_closest_marker("quick"):
        pytest.fail(f"not marked `service`, but reached {outside.reached[0]}", pytrace=False)
