"""The site's settings under test: the same file, in an environment of our own.

The environment is set here because pytest-django reads the settings before any conftest is loaded.
"""

import os

from tests import services

os.environ["DATABASE_URL"] = services.test_database_url()
os.environ.setdefault("TOUCHSTONE_TEST_RUN", str(services.scratch_directory()))  # which workers inherit
os.environ["DATABASE_POOL_SIZE"] = "40"  # more than the threads of the tests of concurrency
os.environ.setdefault("TOUCHSTONE_VAR", str(services.scratch_directory()))
os.environ.setdefault("RATELIMIT_ENABLE", "false")
# The variables that tests name as keys of model servers; of some it matters that they are not set.
os.environ["MODEL_KEY_VARIABLES"] = ",".join(
    ("TEST_KEY", "TRIAL_KEY", "THE_KEY", "KEY", "NO_SUCH_KEY", "TOUCHSTONE_NO_SUCH_KEY", "TOUCHSTONE_NO_KEY")
)
os.environ.setdefault("EMAIL_URL", "memorymail://")
# Playwright runs its own event loop in the thread of the browser tests.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

from config.settings import *  # noqa: F403
from config.settings import DATABASES, STATIC_ROOT, VAR_DIR

_worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # In a file, with its write-ahead log, as in production: in memory, threads would lock each other out.
    DATABASES["default"]["TEST"] = {"NAME": str(services.scratch_directory() / f"test-{_worker}.sqlite3")}
EXPORTS_DIR = VAR_DIR / f"exports-{_worker}"
IMAGES_DIR = VAR_DIR / f"images-{_worker}"
IMPORTS_DIR = VAR_DIR / f"imports-{_worker}"
# The fastest hasher there is: passwords of tests protect nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns about a folder that is not there
# Static files are looked up when they are asked for: the list of all of them would be made anew for each test's client.
WHITENOISE_AUTOREFRESH = True
