"""WSGI entry point; where no broker is configured it also starts the in-process worker."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from config.worker import start_in_process_worker  # noqa: E402  (needs the applications loaded)

start_in_process_worker()
