"""The deployment: settings, URLs, Celery, WSGI. Everything that differs between sites is in the environment."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
