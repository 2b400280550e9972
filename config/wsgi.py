"""WSGI entry point; where no broker is configured it also starts the in-process worker."""

import os

import scipy.stats  # noqa: F401  (takes half a second: now, not in somebody's page; commands load it when they need it)
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from config.observing.start import observing_start  # noqa: E402  (needs the applications loaded)
from config.worker import start_in_process_worker  # noqa: E402

observing_start(service="web")
start_in_process_worker()
