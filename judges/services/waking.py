"""Waking the workers up: what is to be done stands in the database, a message only says "look"."""

import logging
from collections.abc import Iterable

from celery import current_app

from judges.models import Queue

logger = logging.getLogger(__name__)


def wakeups_send(queues: Iterable[str] = (Queue.HTTP.value,)) -> None:
    """Tell workers of these queues to look; by name, so that services need not import the tasks above them."""
    try:
        for queue in queues:
            current_app.send_task("judges.wake", queue=queue, retry=False, ignore_result=True)
    except Exception:
        # The broker is away. What is to be done stands in the database, and workers look there by themselves.
        logger.warning("The workers could not be notified; they will poll.", exc_info=True)
