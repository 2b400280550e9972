"""Verdicts as OpenTelemetry events: `gen_ai.evaluation.result` of the semantic conventions for generative AI.

The conventions are in development and have moved out of OpenTelemetry's own, so their names stand here. An event is a
record of the logs' API, in the context of the caller: where a span of what is judged is current, it is its parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from annotation.domain.scales import NOT_APPLICABLE
from judges.backends.errors import BackendUnavailableError
from judges.engine.codec import PARSED
from judges.strategies.documents import JudgeDocument

EVENT = "gen_ai.evaluation.result"
NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
ERROR = "error.type"
SCOPE = "touchstone"
OURS = "touchstone."
"""Before the names of attributes that the conventions do not have."""

_CHOICES = {1: ("first", 1.0), 0: ("tie", 0.5), 2: ("second", 0.0)}
_QUEUE = 4096
"""Events that wait for the collector; who makes more waits with them."""


@dataclass(frozen=True, slots=True)
class EvaluationScore:
    """One score of a verdict: the part it is about, empty for all of it, and what it is."""

    part: str
    value: float | None
    label: str = ""


def scores_of(row: Mapping[str, Any]) -> tuple[EvaluationScore, ...]:
    """Return the scores of a parsed verdict, a row as `touchstone judge` writes it.

    A pair has the probability that the first response is better (else 1, 0.5 or 0), a rubric the rating of each
    criterion, a checklist the share of aspects that are followed. An order of parts has no number: its label is the
    order.
    """
    value = row.get("value") or {}
    if row.get("choice") is not None:
        label, certain = _CHOICES[row["choice"]]
        probability = row.get("probability")
        return (EvaluationScore("", certain if probability is None else float(probability), label),)
    if "ratings" in value:
        return tuple(
            EvaluationScore(str(part), None, NOT_APPLICABLE)
            if rating == NOT_APPLICABLE
            else EvaluationScore(str(part), float(rating))
            for part, rating in value["ratings"].items()
        )
    if "answers" in value:
        answers = list(value["answers"].values())
        return (EvaluationScore("", sum(answer is True for answer in answers) / len(answers)),)
    if "ranks" in value:
        return (EvaluationScore("", None, order_words(value["ranks"])),)
    return (EvaluationScore("", None),)


def order_words(ranks: Mapping[str, float]) -> str:
    """Return ranks as an order, the best first.

    >>> order_words({"a": 2, "b": 1, "c": 2})
    'b > a = c'
    """
    places = sorted(set(ranks.values()))
    return " > ".join(" = ".join(part for part, rank in ranks.items() if rank == place) for place in places)


def event_attributes(row: Mapping[str, Any], judge: JudgeDocument) -> Iterator[dict[str, Any]]:
    """Yield the attributes of each event of a verdict; one without a verdict has an error in place of a score."""
    shared = {
        f"{OURS}judge.fingerprint": judge.spec.fingerprint(),
        f"{OURS}judge.kind": judge.spec.kind,
        f"{OURS}judge.strategy": judge.spec.strategy,
        f"{OURS}judge.model": ", ".join(dict.fromkeys(model.model for model in judge.spec.models().values())),
        **{f"{OURS}{name}": row[name] for name in ("item", "order", "sample") if row.get(name) is not None},
    }
    shared = {name: value for name, value in shared.items() if value != ""}
    if row["status"] != PARSED:
        why = row.get("reason") or row.get("raw_text") or ""
        yield {NAME: judge.name, ERROR: row["status"], **({EXPLANATION: why} if why else {}), **shared}
        return
    said = row.get("raw_text") or ""
    for score in scores_of(row):
        yield {
            NAME: f"{judge.name}/{score.part}" if score.part else judge.name,
            **({} if score.value is None else {VALUE: score.value}),
            **({LABEL: score.label} if score.label else {}),
            **({EXPLANATION: said} if said else {}),
            **shared,
            **({} if row.get("abstains") is None else {f"{OURS}abstains": row["abstains"]}),
        }


class Sender(Protocol):
    """What sends events: a collector's, or an application's own."""

    def send(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Send the events of verdicts."""


class ApplicationEvents:
    """Events through the provider of logs that the application has set up, or one that is given.

    Raises
    ------
    BackendUnavailableError
        OpenTelemetry is not installed.
    """

    def __init__(self, judge: JudgeDocument, provider: Any = None) -> None:
        api = _imported("opentelemetry._logs")
        self._judge = judge
        self._record, self._severity = api.LogRecord, api.SeverityNumber.INFO
        self._logger = (provider or api.get_logger_provider()).get_logger(SCOPE)
        self.n_sent = 0

    def send(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Hand the events of verdicts over."""
        for row in rows:
            for attributes in event_attributes(row, self._judge):
                self._logger.emit(
                    self._record(event_name=EVENT, attributes=attributes, severity_number=self._severity)
                )
                self.n_sent += 1


class CollectorEvents:
    """Events to a collector by OTLP over HTTP, at the address that ``OTEL_EXPORTER_OTLP_ENDPOINT`` names.

    Nothing is dropped to go faster: where the collector is slower than the judge, the judge waits. A collector that
    does not take a batch, after the exporter's own attempts, isn't asked again; `n_lost` counts what it didn't get.

    Raises
    ------
    BackendUnavailableError
        OpenTelemetry is not installed.
    """

    def __init__(self, judge: JudgeDocument) -> None:
        exporter = _imported("opentelemetry.exporter.otlp.proto.http._log_exporter").OTLPLogExporter()
        logs, export = _imported("opentelemetry.sdk._logs"), _imported("opentelemetry.sdk._logs.export")
        self._exporter = _Counting(exporter, export.LogRecordExportResult)
        self._provider = logs.LoggerProvider(resource=_resource())
        self._provider.add_log_record_processor(
            export.BatchLogRecordProcessor(self._exporter, max_queue_size=_QUEUE, max_export_batch_size=512)
        )
        self._events = ApplicationEvents(judge, self._provider)

    def send(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Send the events of verdicts, soon."""
        for row in rows:
            self._events.send([row])
            if self._events.n_sent - self._exporter.n_settled > _QUEUE // 2:
                self._provider.force_flush()

    @property
    def n_sent(self) -> int:
        """Events that there were."""
        return self._events.n_sent

    @property
    def n_lost(self) -> int:
        """Events that the collector did not take."""
        return self._events.n_sent - self._exporter.n_taken

    def close(self) -> None:
        """Send what waits."""
        self._provider.force_flush()
        self._provider.shutdown()


class _Counting:
    """An exporter that counts what the collector took, and stops asking one that does not answer."""

    def __init__(self, exporter: Any, results: Any) -> None:
        self._exporter, self._results = exporter, results
        self.n_taken = self.n_settled = 0
        self._is_refused = False

    def export(self, batch: Sequence[Any]) -> Any:
        found = self._results.FAILURE
        if not self._is_refused:
            found = self._exporter.export(batch)
            self._is_refused = found is not self._results.SUCCESS
        self.n_settled += len(batch)
        if found is self._results.SUCCESS:
            self.n_taken += len(batch)
        return found

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _resource() -> Any:
    """Return what the events come from: by OpenTelemetry's own variables, else this command."""
    resources = _imported("opentelemetry.sdk.resources")
    found = resources.Resource.create()
    is_named = not str(found.attributes["service.name"]).startswith("unknown_service")
    return found if is_named else resources.Resource.create({"service.name": SCOPE})


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise BackendUnavailableError(
            'Events need OpenTelemetry, which is not installed: pip install "touchstone-judge[judge,otel]".'
        ) from None
