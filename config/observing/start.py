"""What a process that serves, web or worker, starts: traces and errors. Commands start neither."""

from celery.signals import worker_init

from config.observing.crashes import crashes_start
from config.observing.metrics import action_observe
from config.observing.traces import action_traced, traces_start
from web.measuring import observe


def observing_start(*, service: str) -> None:
    """Start what the environment asks for; raises ImproperlyConfigured where a package for it is missing."""
    crashes_start()
    traces_start(service=service)
    observe(action_observe)
    observe(action_traced)


def worker_observing_start(**_: object) -> None:
    """The same in a worker, before it makes its pool."""
    observing_start(service="worker")


worker_init.connect(worker_observing_start, weak=False)
