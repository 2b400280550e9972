"""The Celery application. Messages are wake-ups only: what is to be done stands in the database.

There is a queue for each kind of worker: one that waits for servers (`http`), computes on processors (`cpu`) or on
accelerators (`gpu`). `celery -A config worker -Q gpu` takes up the runs of one; without `-Q` a worker takes up all.
"""

import os
from typing import Any

from celery import Celery
from kombu.entity import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

QUEUES = ("http", "cpu", "gpu")


def _queue(name: str) -> Any:
    # As Celery itself makes a queue that is only named, so that any client can send there.
    exchange: Any = Exchange(name, type="direct")  # type: ignore[no-untyped-call]
    return Queue(name, exchange, routing_key=name)  # type: ignore[no-untyped-call]


app = Celery("touchstone")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_queues=[_queue(name) for name in QUEUES],
    task_default_queue=QUEUES[0],
    task_default_exchange=QUEUES[0],
    task_default_routing_key=QUEUES[0],
)
app.autodiscover_tasks()
