"""How far a command is, on one line of the terminal; in a log, a line now and then."""

import sys
import time
from typing import IO

EVERY_TERMINAL = 0.2
EVERY_LOG = 30.0


class ProgressLine:
    """Counts verdicts and says so on standard error.

    Parameters
    ----------
    total : int
        Verdicts wanted in all.
    done : int
        Those that were there before.
    """

    def __init__(self, total: int, done: int, *, quiet: bool = False, out: IO[str] | None = None) -> None:
        self.total, self.before, self.done = total, done, done
        self.unparsed = self.failed = 0
        self.cost = 0.0
        self._out = out or sys.stderr
        self._quiet = quiet
        self._is_terminal = self._out.isatty()
        self._started = time.monotonic()
        self._shown_at = self._started

    def count(self, status: str) -> None:
        """Count a verdict."""
        self.done += 1
        self.unparsed += status == "unparsed"
        self.failed += status == "failed"

    def show(self, cost: float) -> None:
        """Show how far it is, if it is time to."""
        self.cost = cost
        now = time.monotonic()
        if not self._quiet and now - self._shown_at >= (EVERY_TERMINAL if self._is_terminal else EVERY_LOG):
            self._shown_at = now
            self._print(self.line(now))

    def line(self, now: float) -> str:
        """Return what is shown."""
        new, seconds = self.done - self.before, max(now - self._started, 1e-9)
        share = self.done / self.total if self.total else 1.0
        parts = [f"{self.done:,} of {self.total:,} verdicts ({share:.0%})"]
        if new:
            parts.append(f"{new / seconds:,.1f} per second")
        if new and self.done < self.total:
            parts.append(f"{_time((self.total - self.done) * seconds / new)} left")
        parts += [f"{n:,} {word}" for n, word in ((self.unparsed, "unparsed"), (self.failed, "failed")) if n]
        if self.cost:
            parts.append(f"${self.cost:,.4f}")
        return " · ".join(parts)

    def finish(self) -> None:
        """Show the last state, on a line of its own."""
        if not self._quiet:
            self._print(self.line(time.monotonic()))
            if self._is_terminal:
                self._out.write("\n")

    def _print(self, line: str) -> None:
        self._out.write(f"\r\x1b[K{line}" if self._is_terminal else f"{line}\n")
        self._out.flush()


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
