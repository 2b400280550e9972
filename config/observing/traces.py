"""OpenTelemetry traces, if OTEL_EXPORTER_OTLP_ENDPOINT is set: a span a request, a claim, a submit and a task.

The SDK reads its other settings from the environment itself (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and so
on). Spans have routes, methods, outcomes and ids, never paths, queries, names or texts. What a client says of a trace
is not followed: strangers would decide what is recorded.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

from config.observing.context import log_fields
from web.version import software_version

MISSING = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry isn't installed: "
    'pip install "touchstone-judge[otel]", or unset the variable.'
)

_provider: Any = None


def traces_start(*, service: str) -> bool:
    """Send spans from now on, if the environment asks for it; whether it does. Twice is once.

    Raises
    ------
    ImproperlyConfigured
        The packages of the extra `otel` are missing.
    """
    global _provider
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return False
    if _provider is None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ImproperlyConfigured(MISSING) from error
        named = {"service.name": f"touchstone-{service}", "service.version": software_version()}
        provider = TracerProvider(resource=Resource.create(named))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        _provider = provider
    return True


def traces_stop() -> None:
    """Send what is left, and record nothing more."""
    global _provider
    provider, _provider = _provider, None
    if provider is not None:
        provider.shutdown()


@contextmanager
def span_of(
    name: str, attributes: Mapping[str, str] | None = None, carrier: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Record a span around what is done within; None, and nothing, where traces are off.

    `carrier` holds the trace that it belongs to, as `trace_carrier` wrote it.
    """
    if _provider is None:
        yield None
        return
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract(carrier) if carrier else None
    kind = SpanKind.CONSUMER if carrier is not None else SpanKind.SERVER
    tracer = _provider.get_tracer("touchstone")
    with tracer.start_as_current_span(name, context=context, kind=kind, attributes=attributes) as span:
        yield span


def trace_carrier() -> dict[str, str]:
    """The trace that is recorded now, for the headers of a message; empty where there is none."""
    carrier: dict[str, str] = {}
    if _provider is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(carrier)
    return carrier


@contextmanager
def request_traced(request: HttpRequest) -> Iterator[Any]:
    """Record a span of a request; its name is known once it is answered."""
    with span_of("request", {"http.request.method": str(request.method)[:10]}) as span:
        yield span
        if span is not None:
            request_id = log_fields().get("request_id", "")
            match = request.resolver_match
            route = match.view_name if match and match.view_name else "none"
            span.update_name(f"{str(request.method)[:10]} {route}")
            span.set_attributes({"http.route": route, "touchstone.request_id": str(request_id)})


def action_traced(action: str, outcome: str, seconds: float) -> None:
    """Record an action of a service (`web.measuring`) that has just ended as a part of what is recorded now."""
    if _provider is None:
        return
    end = time.time_ns()
    tracer = _provider.get_tracer("touchstone")
    span = tracer.start_span(action, start_time=end - int(seconds * 1e9), attributes={"outcome": outcome})
    span.end(end)
