"""Waking the workers up: what is to be done stands in the database, a message only says "look"."""

import logging

from celery import current_app

from judges.models import Queue

logger = logging.getLogger(__name__)


def workers_wake() -> None:
    """Tell a worker to look; where that fails, workers look by themselves a little later."""
    try:
        current_app.send_task("judges.wake", queue=Queue.HTTP.value, retry=False, ignore_result=True)
    except Exception:
        logger.warning("The workers could not be woken up; they will look by themselves.", exc_info=True)
