"""Run a sweep in the foreground."""

import signal
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.selectors.judging import GENERATION
from judges.engine.batch_work import batches_wait
from judges.engine.runner import run_pending
from judges.models import Queue, Sweep, SweepState
from judges.selectors.sweeps import SweepProgress, sweep_progress
from judges.services.sweep_states import RESUMABLE
from judges.services.sweeps import SweepError, sweep_resume, sweep_start


class Command(BaseCommand):
    help = (
        "Run a sweep here, with a line of progress every few seconds. A draft is started, a stopped sweep "
        "resumed. Ctrl-C stops cleanly: answers in flight are kept, and the command continues from there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sweep", type=int, help="Number of the sweep.")
        parser.add_argument(
            "--queue",
            action="append",
            choices=Queue.values,
            help="Only run judges of this queue, and baselines (no LLM). Can be repeated. Default: all queues.",
        )
        parser.add_argument("--every", type=float, default=2.0, help="Seconds between lines; default 2.")

    def handle(
        self, *args: Any, sweep: int, every: float, queue: list[str] | None = None, **options: Any
    ) -> None:
        self._stop = False
        self._every = every
        self._shown_at = 0.0
        row = self._set_going(sweep)
        previous = signal.signal(signal.SIGINT, self._interrupted)
        try:
            while True:
                report = run_pending(
                    sweep_id=row.pk,
                    queues=queue,
                    stop=lambda: self._stop,
                    on_tick=lambda: self._show_now_and_then(row.pk),
                )
                if not batches_wait(
                    row.pk, stop=lambda: self._stop, on_tick=lambda: self._show_now_and_then(row.pk)
                ):
                    break
        finally:
            signal.signal(signal.SIGINT, previous)
        progress = sweep_progress(row.pk)
        self._show(progress)
        if report.was_stopped:
            self.stdout.write("Stopped. Nothing is lost; run the command again to continue.")
        elif progress.is_active:
            self.stdout.write("The rest is for other workers.")
        elif progress.state != SweepState.FINISHED:
            raise CommandError(f"The sweep is {progress.state_label.lower()}: {progress.message}")

    def _set_going(self, pk: int) -> Sweep:
        try:
            sweep = Sweep.objects.get(pk=pk)
        except Sweep.DoesNotExist:
            raise CommandError(f"There is no sweep {pk}.") from None
        try:
            if sweep.state == SweepState.DRAFT:
                launch = sweep_start(sweep=sweep)
            elif sweep.state in RESUMABLE:
                launch = sweep_resume(sweep=sweep)
            else:
                return sweep
        except SweepError as error:
            raise CommandError("\n".join(error.messages)) from None
        for warning in launch.warnings:
            self.stderr.write(f"Note: {warning}")
        return launch.sweep

    def _interrupted(self, signum: int, frame: Any) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True
        self.stdout.write(
            "\nStopping: waiting a moment for answers in flight. Ctrl-C again to leave at once."
        )

    def _show_now_and_then(self, pk: int) -> None:
        if time.monotonic() - self._shown_at >= self._every:
            self._show(sweep_progress(pk))

    def _show(self, progress: SweepProgress) -> None:
        self._shown_at = time.monotonic()
        kinds = {run.kind for run in progress.runs}
        what = "responses" if kinds == {GENERATION} else "results" if GENERATION in kinds else "judgments"
        parts = [f"{progress.n_done:,} of {progress.n_total:,} {what} ({progress.share:.0%})"]
        if progress.rate:
            parts.append(f"{progress.rate:.1f}/s")
        if progress.seconds_left:
            parts.append(f"{progress.seconds_left:.0f} s left")
        for count, word in ((progress.n_unparsed, "unparsed"), (progress.n_failed, "failed")):
            if count:
                parts.append(f"{count:,} {word}")
        if progress.cost:
            parts.append(f"${progress.cost:.4f}")
        self.stdout.write(", ".join(parts))
        self.stdout.flush()
