"""Celery tasks carry the id of the request that sent them, and their log lines and spans have it."""

from contextlib import ExitStack
from typing import Any

from celery import signals

from config.observing.context import log_fields, log_fields_bound
from config.observing.traces import span_of, trace_carrier

HEADER = "touchstone"
"""Of a message: a mapping with `request_id` and the trace."""
_running: dict[str, ExitStack] = {}


def task_sent(headers: Any = None, **_: Any) -> None:
    """Write into a message on whose behalf it is sent."""
    if headers is not None:
        carried = trace_carrier()
        if request_id := log_fields().get("request_id"):
            carried["request_id"] = str(request_id)
        headers[HEADER] = carried


def task_began(task_id: str = "", task: Any = None, **_: Any) -> None:
    """Bind what is known of a task to the thread that runs it."""
    carried = getattr(task.request, HEADER, None) or {}
    stack = ExitStack()
    stack.enter_context(
        log_fields_bound(
            task=task.name,
            task_id=task_id,
            worker=task.request.hostname,
            request_id=carried.get("request_id"),
        )
    )
    stack.enter_context(span_of(f"task {task.name}", {"messaging.message.id": task_id}, carrier=carried))
    _running[task_id] = stack


def task_ended(task_id: str = "", **_: Any) -> None:
    """Take it back."""
    if stack := _running.pop(task_id, None):
        stack.close()


signals.before_task_publish.connect(task_sent, weak=False)
signals.task_prerun.connect(task_began, weak=False)
signals.task_postrun.connect(task_ended, weak=False)
