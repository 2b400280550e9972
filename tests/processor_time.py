"""What each test costs in processor time, its browser and its servers included: `pytest -p tests.processor_time PATHS`.

Wall time says more of what else the machine does. Prints the costliest tests, and the whole of each file; the first
test that needs a session fixture pays for it. Not for several workers: each would only see its own.
"""

from collections import defaultdict
from collections.abc import Iterator

import psutil
import pytest

SHOWN = 40


class ProcessorTime:
    """Seconds of this process and of all that it has started, by test."""

    def __init__(self) -> None:
        self.root = psutil.Process()
        self.spent: dict[str, float] = {}

    def now(self) -> float:
        from tests.live_site import cpu_seconds  # not before pytest-django has chosen the settings

        return cpu_seconds(self.root)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = self.now()
        try:
            return (yield)
        finally:
            # What ends without being waited for (a browser's own processes) takes its time along.
            self.spent[item.nodeid] = max(self.now() - before, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: dict[str, float] = defaultdict(float)
        for name, seconds in self.spent.items():
            files[name.partition("::")[0]] += seconds
        terminalreporter.section(f"processor time: {sum(files.values()):.1f} s")
        for table in (self.spent, files):
            for name, seconds in sorted(table.items(), key=lambda entry: -entry[1])[:SHOWN]:
                terminalreporter.write_line(f"{seconds:8.2f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime())
