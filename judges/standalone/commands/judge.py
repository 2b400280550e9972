"""`touchstone judge`: judge the items of a file by one judge, and go on where it was killed."""

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotation.domain.images import ImageReader
from annotation.importers.fields import KEEP, LEAVE_OUT
from annotation.kinds import KINDS
from judges.engine.garbage import present_frozen
from judges.engine.works import Row, Sink
from judges.services.judge_files import judge_of_file
from judges.standalone.images import why_unseen
from judges.standalone.item_files import OpenItems, items_open
from judges.standalone.main import CommandRefusedError, StandaloneCommand
from judges.standalone.parquet import parquet_of_lines
from judges.standalone.progress import ProgressLine
from judges.standalone.requests import FileStore, MemoryStore
from judges.standalone.sessions import JudgeSession, ModelAccess, spec_at
from judges.standalone.telemetry import CollectorEvents
from judges.standalone.verdicts import VerdictFile, VerdictStream, row_writer
from judges.strategies.documents import JudgeDocument
from judges.strategies.presentation import ORDERS, orders_of, view_presented
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import ItemView

DONE, STOPPED = 0, 1
PIPE = "-"


class JudgeCommand(StandaloneCommand):
    about = """\
Judge the items of a file (JSONL, JSON, CSV or Parquet, as a site imports them) by one judge, and write one verdict a
line, with the columns of an export of judgments. A command that was stopped or killed continues when you run it again.

  touchstone judge pairs.jsonl --strategy cot --base-url http://127.0.0.1:8000/v1 --model NAME --out verdicts.jsonl
  touchstone judge pairs.jsonl --judge judge.json --api-key-env OPENAI_API_KEY --out verdicts.parquet

Exit codes: 0 everything is judged; 1 it stopped before the end (a budget, an endpoint, Ctrl-C), and what came is kept;
2 an option is wrong; 3 a file or the judge is."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "items", type=Path, help="the file of items, or a folder or zip archive of it and its images"
        )
        parser.add_argument(
            "--out",
            required=True,
            help="where verdicts go: a .jsonl, a .parquet, or - for the standard output",
        )
        judge_options(parser)
        parser.add_argument("--orders", choices=ORDERS, default="both", help="of pairs (default: both)")
        parser.add_argument("--seed", type=int, default=0, help="of random orders")
        parser.add_argument("--limit", type=int, help="judge only so many of the items, from the first on")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="the field of a column of another name",
        )
        output_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        document = judge_from_options(options)
        spec = document.spec
        if spec.kind not in KINDS:
            raise CommandRefusedError(
                f"'{spec.strategy}' is a contestant, which answers instructions and judges nothing."
            )
        mapping = mapping_read(options.map)
        systems = spec.reference_systems()
        with items_open(
            options.items, spec.kind, systems=systems, mapping=mapping, limit=options.limit
        ) as items:
            if not len(items.views):
                raise CommandRefusedError(
                    f"{options.items}: expected items of the kind '{spec.kind}', which this judge judges."
                )
            if items.n_others:
                _tell(
                    f"{items.n_others:,} items of other kinds are left out: the judge judges '{spec.kind}'."
                )
            return FileJudging(options, document, items).judge()


class FileJudging:
    """One run of the command: what it reads, what it writes, and how far it is.

    Parameters
    ----------
    options : argparse.Namespace
        What `judge_options` (or `access_options`) and `output_options` read, and ``items``, ``orders`` and ``seed``.
    """

    def __init__(self, options: argparse.Namespace, document: JudgeDocument, items: OpenItems) -> None:
        self.options, self.document, self.items = options, document, items.views
        if shown := items.first_with_image():
            why = why_unseen(
                document.spec, takes_images=options.takes_images, otherwise="give --takes-images"
            )
            if why:
                raise CommandRefusedError(f"{options.items}: item '{shown}' {why}")
        self.access = access_from_options(options, items.images.images.read)
        self.is_parquet = options.out.endswith(".parquet")
        self.path = (
            None if options.out == PIPE else Path(f"{options.out}.jsonl" if self.is_parquet else options.out)
        )
        if self.path is not None and not self.path.parent.is_dir():
            raise CommandRefusedError(f"{self.path.parent}: there is no such folder.")
        self.n_wanted = 0

    def judge(self) -> int:
        """Judge what is left to judge; returns the exit code."""
        with ExitStack() as stack:
            self.out = self._output()
            stack.callback(self.out.close)
            self.n_wanted, before = self._counted()
            self.store = self._store()
            stack.callback(self.store.close)
            self.events = CollectorEvents(self.document) if self.options.otel else None
            if self.events is not None:
                stack.callback(self.events.close)
            self.progress = ProgressLine(self.n_wanted, before, quiet=self.options.quiet)
            stack.callback(self.progress.finish)
            stopped = self._judge()
        if self.events is not None and self.events.n_lost:
            _tell(
                f"{self.events.n_lost:,} of {self.events.n_sent:,} events did not reach the collector. "
                "The verdicts are kept."
            )
        return self._end(stopped)

    def _output(self) -> VerdictFile | VerdictStream:
        if self.path is None:
            return VerdictStream(sys.stdout.buffer)
        fingerprint = self.document.spec.fingerprint()
        return VerdictFile(self.path, fingerprint=fingerprint, retry_failed=self.options.retry_failed)

    def _store(self) -> MemoryStore:
        if self.options.cache is not None:
            return FileStore(self.options.cache)
        return MemoryStore() if self.path is None else FileStore(Path(f"{self.path}.requests"))

    def _judge(self) -> str:
        session = JudgeSession(
            self.document.spec,
            store=self.store,
            sink=Sink(row_writer(self.document, lambda row: self.progress.count(row["status"])), self._write),
            source=self._left(),
            access=self.access,
            budget=self.options.budget,
            budget_tokens=self.options.budget_tokens,
            stop_unparsed=self.options.stop_unparsed,
        )
        try:
            with present_frozen(), _interrupts(session):
                return session.judge_all(on_step=lambda: self.progress.show(self._cost()))
        finally:
            session.close()

    def _write(self, rows: Sequence[Row]) -> int:
        # Events go out once their verdicts are in the file, so that none goes out twice.
        written = self.out.write(rows)
        if self.events is not None:
            self.events.send([json.loads(line) for (line,) in rows])
        return written

    def _cost(self) -> float:
        return self.store.totals.cost

    def _counted(self) -> tuple[int, int]:
        """Return how many verdicts are wanted, and how many of them are there; refuses items whose texts changed."""
        if not len(self.out.done):
            return sum(len(self._orders(view)) for view in self.items), 0
        wanted = before = 0
        for view in self.items:
            self.out.check(view, self.options.items)
            orders = self._orders(view)
            wanted += len(orders)
            before += sum((view.external_id, order, 0) in self.out.done for order in orders)
        return wanted, before

    def _orders(self, view: ItemView) -> tuple[int, ...]:
        return orders_of(self.options.orders, view.kind, self.options.seed, view.external_id)

    def _left(self) -> Iterator[ItemView]:
        for view in self.items:
            for order in self._orders(view):
                if (view.external_id, order, 0) not in self.out.done:
                    yield view_presented(view, order)

    def _end(self, stopped: str) -> int:
        n_failed = self.out.n_failed + self.progress.failed
        if stopped:
            again = "" if self.path is None else " Give the same command again to continue."
            kept = f"{self.progress.done:,} of {self.n_wanted:,} verdicts are kept"
            _tell(f"Stopped: {stopped.rstrip('.')}. {kept}.{again}")
        elif (
            self.path is not None
            and isinstance(self.store, FileStore)
            and self.options.cache is None
            and not n_failed
        ):
            self.store.remove()
        if n_failed:
            _tell(
                f"{n_failed:,} could not be judged: see `reason` there, and give --retry-failed to ask again."
            )
        if self.is_parquet and self.path is not None and not stopped:
            parquet_of_lines(self.path, Path(self.options.out))
            self.path.unlink()
        return STOPPED if stopped else DONE


class _interrupts:  # noqa: N801 (a context)
    """The first Ctrl-C, or a request to end, lets what is under way arrive; the second one ends at once."""

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self.before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._stop)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _stop(self, _number: int, _frame: object) -> None:
        if self.session.run.stopping:
            raise KeyboardInterrupt
        _tell(
            f"\nWaiting for {self.session.n_under_way:,} answers under way; press Ctrl-C again to end at once."
        )
        self.session.stop("it was interrupted")


def judge_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which judge it is, and how its models are reached."""
    which = parser.add_argument_group("the judge")
    which.add_argument(
        "--judge",
        type=Path,
        help="a judge.json of a site, a YAML of your own, or a published evaluator's files: AlpacaEval's, HREF's, "
        "LLMBar's, MT-bench's or Arena-Hard's",
    )
    evaluator_option(which)
    which.add_argument(
        "--strategy", default="", help="in place of a file: how it asks, such as vanilla or cot"
    )
    which.add_argument("--model", default="", help="which model, as its server names it")
    which.add_argument("--revision", default="", help="of the model")
    which.add_argument("--base-url", default="", help="where it answers, such as http://127.0.0.1:8000/v1")
    which.add_argument("--backend", default="", help="what asks it (default: openai)")
    which.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="one more field of the judge, such as decoding.temperature=0.7 or params.rules=true",
    )
    access_options(parser)


def evaluator_option(parser: Any) -> None:
    """Add the option that chooses among the judges of the authors' files."""
    parser.add_argument("--evaluator", default="", help="which one, where published files have several")


def output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is kept, asked again and shown."""
    parser.add_argument("--cache", type=Path, help="keep answers in this file, for several judges to share")
    parser.add_argument("--retry-failed", action="store_true", help="ask again about what failed before")
    parser.add_argument(
        "--otel",
        action="store_true",
        help="send each new verdict to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, as gen_ai.evaluation.result",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def access_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the models are reached, and how much may be spent."""
    reached = parser.add_argument_group("its models")
    reached.add_argument("--api-key-env", default="", help="name of the environment variable with the key")
    reached.add_argument("--concurrency", type=int, default=16, help="requests in flight (default: 16)")
    reached.add_argument(
        "--timeout", type=float, default=120.0, help="seconds for one request (default: 120)"
    )
    reached.add_argument(
        "--takes-images", action="store_true", help="they take images, and see those that items show"
    )
    reached.add_argument("--price-prompt", type=float, default=0.0, help="US dollars per million tokens")
    reached.add_argument("--price-completion", type=float, default=0.0, help="US dollars per million tokens")
    reached.add_argument("--requests-per-minute", type=int)
    reached.add_argument("--tokens-per-minute", type=int)
    limits = parser.add_argument_group("limits")
    limits.add_argument("--budget", type=float, help="US dollars; needs prices")
    limits.add_argument("--budget-tokens", type=int)
    limits.add_argument(
        "--stop-unparsed", type=float, help="stop where more than this share of the answers cannot be read"
    )


def access_from_options(options: argparse.Namespace, images: ImageReader) -> ModelAccess:
    """Return how the models are reached; `images` reads those that items show."""
    if options.budget is not None and not (options.price_prompt or options.price_completion):
        raise CommandRefusedError(
            "--budget: needs --price-prompt or --price-completion, or name --budget-tokens."
        )
    return ModelAccess(
        api_key_env=options.api_key_env,
        concurrency=options.concurrency,
        timeout=options.timeout,
        price_prompt=options.price_prompt,
        price_completion=options.price_completion,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        images=images if options.takes_images else None,
    )


def judge_from_options(options: argparse.Namespace) -> JudgeDocument:
    """Return the judge of a file, or the one that the options spell out.

    Raises
    ------
    SpecError, CommandRefusedError
    """
    extra = fields_read(options.set)
    if options.judge is not None:
        if options.strategy or extra or options.backend:
            raise CommandRefusedError(
                "--judge: expected without --strategy, --backend and --set, which are in the file."
            )
        read = judge_of_file(options.judge, evaluator=options.evaluator, model=options.model)
        document = read.document
        for note in read.notes:
            _tell(f"{document.name}: {note}")
        spec = spec_at(
            document.spec, base_url=options.base_url, model=options.model, revision=options.revision
        )
        # Authors' files, and some of one's own, say no address: to give one is to complete them.
        completed = replace(document.spec, endpoint=document.spec.endpoint or spec.endpoint)
        if spec.fingerprint() != completed.fingerprint():
            _tell(
                "The judge asks elsewhere than the one in the file, so it is another one "
                f"({spec.fingerprint()}): what is known of that one's quality need not hold."
            )
        return JudgeDocument(document.name, spec, document.decision)
    if not options.strategy:
        raise CommandRefusedError("expected --judge FILE, or --strategy NAME with a model.")
    values = {
        "strategy": options.strategy,
        "model": options.model,
        "revision": options.revision,
        "endpoint": options.base_url,
        "backend": options.backend or ("openai" if options.model else ""),
    }
    return JudgeDocument(options.strategy, JudgeSpec.from_dict(values | extra))


def fields_read(pairs: list[str]) -> dict[str, Any]:
    """Return fields such as ``decoding.temperature=0.7``, nested; values are JSON, or text where they are none."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise CommandRefusedError(f"--set: expected FIELD=VALUE, found '{pair}'.")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        *outer, last = name.strip().split(".")
        holder = found
        for part in outer:
            holder = holder.setdefault(part, {})
            if not isinstance(holder, dict):
                raise CommandRefusedError(f"--set {name}: '{part}' is given as {holder!r} too.")
        holder[last] = value
    return found


def mapping_read(pairs: list[str]) -> dict[str, str]:
    """Return which field each column is, from ``COLUMN=FIELD``."""
    found = {}
    for pair in pairs:
        column, equals, field = pair.rpartition("=")
        if not equals or not column:
            raise CommandRefusedError(
                f"--map: expected COLUMN=FIELD, found '{pair}'; as the field, {KEEP} keeps a column, "
                f"{LEAVE_OUT} leaves it out."
            )
        found[column] = field
    return found


def _tell(message: str) -> None:
    sys.stderr.write(f"{message}\n")
