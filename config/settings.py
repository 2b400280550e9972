"""All settings, in one file. Every difference between deployments comes from the environment.

`.env.example` lists each variable. Without any, the site is a local one: SQLite in `var/`, an in-process
worker, localhost only, and a secret key made once and kept in `var/secret_key`. Installed from a wheel, the folder of
the user's data takes the place of `var/` (`config.places`).
"""

import ipaddress
import os
import secrets
from pathlib import Path
from typing import Any

import django_stubs_ext
import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import places
from config.postgres import GRACE_SECONDS, PooledConnection, connections_limited
from config.sign_in import groups_read, issuer_read

django_stubs_ext.monkeypatch()

BASE_DIR = places.base_folder()
env = environ.Env()
environ.Env.read_env(places.environment_file())

VAR_DIR = Path(env.str("TOUCHSTONE_VAR", default=str(places.written_folder())))
VAR_DIR.mkdir(parents=True, exist_ok=True)

# The command line of management commands, for those that start another, and the folder in which they start it.
MANAGE_COMMAND = places.manage_command()
WORKING_DIR = VAR_DIR if places.is_installed() else BASE_DIR

DEBUG = env.bool("DJANGO_DEBUG", default=False)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _local_secret_key() -> str:
    """A secret for a local site: made once, readable by its owner only, the same for every process."""
    path = VAR_DIR / "secret_key"
    try:
        with open(path, "x", opener=_private) as file:  # Path.open has no opener
            file.write(secrets.token_urlsafe(64))
    except FileExistsError:
        pass
    return path.read_text()


SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
HTTPS = SITE_URL.startswith("https://")
ALLOWED_HOSTS = env.list("DJANGO_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
SECRET_KEY = env.str("DJANGO_SECRET_KEY", default="")
if not SECRET_KEY:
    if HTTPS:
        raise ImproperlyConfigured("DJANGO_SECRET_KEY must be set when SITE_URL is https.")
    SECRET_KEY = _local_secret_key()

INSTALLED_APPS = [
    "web",
    "annotation",
    "judges",
    "metaeval",
    "config",
    "config.admin.TouchstoneAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",  # {% partialdef %}, which Django has itself from 6.0 on
    "csp",
    "drf_spectacular",
]

MIDDLEWARE = [
    # The first of all: what the others log and refuse has the request's id too.
    "config.observing.requests.RequestMiddleware",
    # Pages are compressed here, so that they are small without a proxy too. BREACH, which guesses a secret from the
    # length of compressed pages, finds none: CSRF tokens are masked anew in each page, requests that other sites
    # make bring no cookies (SameSite), and Django pads each answer by a random length.
    "django.middleware.gzip.GZipMiddleware",
    "config.protection.InsecureApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.protection.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "web.languages.LanguageMiddleware",
    "config.errors.RefusalMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "web.acting.CurrentRequestMiddleware",
    "config.protection.StaffSessionMiddleware",
    # Keeps the request for django-allauth; it reads no session and no row.
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotation.views.annotator.browser.HeldEnrollmentsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "template_partials.templatetags.partials",
                "django.templatetags.i18n",
                "web.templatetags.translating",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "web.languages.page_language",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Web server (config.front) ------------------------------------------------------------------------------------
# How many processes there are, how many requests each answers at the same time, and how long a client may take to
# send one.
WEB_WORKERS = env.int("WEB_WORKERS", default=1)
WEB_THREADS = env.int("WEB_THREADS", default=4)
WEB_BODY_SECONDS = env.float("WEB_BODY_SECONDS", default=20)

# --- Database -------------------------------------------------------------------------------------------------
# SQLite for many writers: WAL lets readers go on beside the one writer, IMMEDIATE takes the write lock at the
# start of a transaction, where waiting is allowed, instead of failing in its middle.
SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA cache_size=-65536;",
}


# How long a connection to PostgreSQL may take to come about.
CONNECT_SECONDS = 5
# A connection that is silent for so long asks the server for a sign of life; a firewall forgets silent ones.
KEEP_ALIVE_SECONDS = 60


def _database() -> dict[str, Any]:
    config: dict[str, Any] = env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'touchstone.sqlite3'}")
    if config["ENGINE"] == "django.db.backends.sqlite3":
        return config | {"OPTIONS": SQLITE_OPTIONS | config.get("OPTIONS", {})}
    if config["ENGINE"] == "django.db.backends.postgresql":
        size = env.int("DATABASE_POOL_SIZE", default=8)
        # Beside what the URL itself asks for: `?sslmode=require`, `?host=/a/socket/directory`.
        options: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": KEEP_ALIVE_SECONDS}
        options |= config.get("OPTIONS", {})
        pool: dict[str, Any] = {"min_size": 1, "max_size": size, "timeout": 2 * CONNECT_SECONDS}
        pool["connection_class"] = PooledConnection
        if seconds := env.float("DATABASE_STATEMENT_TIMEOUT", default=0):
            limit = f"-c statement_timeout={round(1000 * seconds)}"
            options["options"] = f"{options.get('options', '')} {limit}".strip()
            pool["connection_class"] = connections_limited(seconds + GRACE_SECONDS)
        if size:
            options["pool"] = pool
        # Statements of the work pages are prepared (annotation.compiled); off for poolers that cannot keep them.
        options["prepare_threshold"] = 0 if env.bool("DATABASE_PREPARE", default=True) else None
        return config | {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}
    raise ImproperlyConfigured("DATABASE_URL must be a sqlite:// or postgres:// URL.")


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "annotation.User"

# --- Cache: rate limits need one that every web process shares ------------------------------------------------
CACHE_URL = env.str("CACHE_URL", default="")
CACHES = {
    "default": {"BACKEND": "config.cache.SharedCache", "LOCATION": CACHE_URL}
    if CACHE_URL
    # Room for the counters of the rate limits: nobody must push another's out.
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["annotation.api.access.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["annotation.api.access.IsResearcher", "annotation.api.access.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["web.api.limits.TokenThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["web.api.parsing.PlainJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.ResourceSchema",
    "EXCEPTION_HANDLER": "web.api.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Touchstone",
    "VERSION": "1",
    "DESCRIPTION": "Datasets, studies, labels, judges, sweeps, judgments, reports and decisions, for programs. "
    "Every write does what the page does. See `docs/api.md`.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "PATH_CONVERTER_OVERRIDES": {"row": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.api.schema.problems_add",
        "config.api.examples.examples_add",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ItemKind": "annotation.models.Kind",
        "AccessRole": "annotation.models.AccessRole",
        "PartRole": "metaeval.api.selections.PART_ROLES",
        "EndpointKind": "judges.models.configurations.ENDPOINT_CHOICES",
        "StudyState": "annotation.models.StudyState",
        "SweepState": "judges.models.SweepState",
        "JobState": "metaeval.models.JobState",
    },
}

RATELIMIT_ENABLE = env.bool("RATELIMIT_ENABLE", default=True)
# Behind a proxy, the header that carries the client's address, and the networks whose word on it is believed.
CLIENT_IP_HEADER = env.str("CLIENT_IP_HEADER", default="")
TRUSTED_PROXIES = [
    ipaddress.ip_network(network)
    for network in env.list("TRUSTED_PROXIES", default=["127.0.0.0/8", "::1/128"])
]

# Internal networks that webhooks may go to, beside the internet: 10.1.0.0/16.
WEBHOOK_NETWORKS = [ipaddress.ip_network(network) for network in env.list("WEBHOOK_NETWORKS", default=[])]

# --- Mail: links for a forgotten password, nothing else -----------------------------------------------------------
# Without a server no mail is sent and the pages say so; while debugging it is written to the console.
EMAIL_URL = env.str("EMAIL_URL", default="consolemail://" if DEBUG else "")
SENDS_MAIL = bool(EMAIL_URL)
vars().update(env.email_url_config(EMAIL_URL or "dummymail://"))
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="touchstone@localhost")
PASSWORD_RESET_TIMEOUT = 60 * 60 * 24

# --- Celery ----------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="")
# Without a broker, a worker thread inside the web process runs the same tasks.
IN_PROCESS_WORKER = not CELERY_BROKER_URL
CELERY_BROKER_URL = CELERY_BROKER_URL or "memory://localhost"
WAKE_UP_SECONDS = env.int("WAKE_UP_SECONDS", default=15)


def _broker_options(url: str) -> dict[str, Any]:
    scheme = url.partition("://")[0]
    if scheme in ("redis", "rediss"):
        # Redelivery soon after a worker dies; leases in the database keep it from doing work twice.
        return {"visibility_timeout": 3600, "unacked_restore_interval": 2, "unacked_restore_throttle": 1}
    if scheme == "filesystem":
        folder = VAR_DIR / "broker"
        folder.mkdir(parents=True, exist_ok=True)
        return {"data_folder_in": str(folder), "data_folder_out": str(folder), "polling_interval": 0.05}
    # Often enough to feel at once, seldom enough to cost nothing: this thread shares the process with the pages.
    return {"polling_interval": 0.25} if scheme == "memory" else {}


CELERY_BROKER_TRANSPORT_OPTIONS = _broker_options(CELERY_BROKER_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

# --- Exports: files that wait to be downloaded. Web processes and workers share this folder. -------------------------
EXPORTS_DIR = Path(env.str("EXPORTS_DIR", default=str(VAR_DIR / "exports")))
EXPORTS_MAX_BYTES = env.int("EXPORTS_MAX_BYTES", default=10 * 2**30)
EXPORTS_KEEP_HOURS = env.int("EXPORTS_KEEP_HOURS", default=72)
# Bytes of a table of items that the browser may send; all other uploads have a limit of their own.
DATASET_UPLOAD_MAX_BYTES = env.int("DATASET_UPLOAD_MAX_BYTES", default=64 * 2**20)
# Files of verdicts that wait to be stored; they share it too, and it is kept as long.
IMPORTS_DIR = Path(env.str("IMPORTS_DIR", default=str(VAR_DIR / "imports")))
# Images of datasets, for as long as a dataset shows them. Web processes and workers share it too.
IMAGES_DIR = Path(env.str("IMAGES_DIR", default=str(VAR_DIR / "images")))

# --- Backups (config.backup) ----------------------------------------------------------------------------------------
BACKUPS_DIR = Path(env.str("BACKUPS_DIR", default=str(VAR_DIR / "backups")))
# 32 random bytes in base64, in the environment or in a file; the file may have several, a line each.
BACKUP_KEY = env.str("BACKUP_KEY", default="")
BACKUP_KEY_FILE = env.str("BACKUP_KEY_FILE", default="")
# Who was erased, as hashes: applied again after a restore, so keep a copy where backups are kept, outside of them.
ERASURES_FILE = Path(env.str("ERASURES_FILE", default=str(VAR_DIR / "erasures.jsonl")))
# The folder with pg_dump, pg_restore and psql; without it, they are looked for.
POSTGRES_BIN = env.str("POSTGRES_BIN", default="")

# --- Web ---------------------------------------------------------------------------------------------------------
# The pages of annotators are in each of these; those of staff are in the first. See `docs/languages.md`.
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("es", "Español"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("pt", "Português"),
    ("zh-hans", "简体中文"),
    ("ja", "日本語"),
    ("hi", "हिन्दी"),
    ("ar", "العربية"),
]
LANGUAGE_COOKIE_NAME = "touchstone_language"
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
] + [{"NAME": "config.protection.SiteWordsValidator"}]

# --- Signing in (annotation.sign_in, docs/operations.md) -----------------------------------------------------------
# Whether staff have to set up a second factor before they see any other page.
SECOND_FACTOR = env.str("TOUCHSTONE_SECOND_FACTOR", default="optional")
if SECOND_FACTOR not in ("optional", "required"):
    raise ImproperlyConfigured(
        f"TOUCHSTONE_SECOND_FACTOR is {SECOND_FACTOR!r}; it must be optional or required."
    )
# Single sign-on by an OpenID provider, on where an issuer is set.
OIDC_ISSUER = issuer_read(env.str("TOUCHSTONE_OIDC_ISSUER", default=""))
OIDC_CLIENT_ID = env.str("TOUCHSTONE_OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("TOUCHSTONE_OIDC_CLIENT_SECRET", default="")
# What the button says: "Sign in with ...".
OIDC_NAME = env.str("TOUCHSTONE_OIDC_NAME", default="single sign-on")
OIDC_SCOPES = env.list("TOUCHSTONE_OIDC_SCOPES", default=["openid", "profile", "email"])
# Which claim has a person's groups, and which role each group has.
OIDC_GROUPS_CLAIM = env.str("TOUCHSTONE_OIDC_GROUPS_CLAIM", default="groups")
OIDC_GROUPS = groups_read(env.str("TOUCHSTONE_OIDC_GROUPS", default=""))
# Hosts of the provider beside the issuer's own, where its metadata names some.
OIDC_HOSTS = env.list("TOUCHSTONE_OIDC_HOSTS", default=[])
# Whether people of the provider can sign in here by it alone.
OIDC_ONLY = env.bool("TOUCHSTONE_OIDC_ONLY", default=False)
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET and OIDC_GROUPS):
    raise ImproperlyConfigured(
        "TOUCHSTONE_OIDC_ISSUER needs TOUCHSTONE_OIDC_CLIENT_ID, TOUCHSTONE_OIDC_CLIENT_SECRET and "
        "TOUCHSTONE_OIDC_GROUPS too."
    )
# django-allauth. The pages count attempts themselves (web.throttling), so its own counters are off.
ACCOUNT_ADAPTER = "annotation.sign_in.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]
SOCIALACCOUNT_ADAPTER = "annotation.sign_in.provider.SingleSignOnAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"provider_class": "annotation.sign_in.provider.OpenIDProvider"},
}
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
MFA_ADAPTER = "annotation.sign_in.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODE_COUNT = 10
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses are not verified here, and open nothing

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Where `collectstatic` puts them: part of a container's image, and of the data elsewhere.
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(VAR_DIR / "static")))
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
# `collectstatic` and hashed names for production; straight from the source folder otherwise.
STATIC_MANIFEST = env.bool("STATIC_MANIFEST", default=False)
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST
WHITENOISE_ALLOW_ALL_ORIGINS = False  # no other site needs our files
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_MANIFEST
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "object-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "worker-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Other cookies have the prefix by `web.cookies`.
SESSION_COOKIE_NAME = "__Host-sessionid" if HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else "csrftoken"
# A login of staff ends after so many hours without a request, and after so many in any case.
STAFF_IDLE_HOURS = env.float("STAFF_IDLE_HOURS", default=12)
STAFF_SESSION_HOURS = env.float("STAFF_SESSION_HOURS", default=7 * 24)
CSRF_TRUSTED_ORIGINS = [SITE_URL] if HTTPS else []
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(health/|healthz|readyz|metrics)$"]  # asked from inside, without TLS
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
BEHIND_TLS_PROXY = env.bool("BEHIND_TLS_PROXY", default=False)
if BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Watching the site (config.observing, docs/operations.md) ---------------------------------------------------------
# Metrics are for who sends this token, or asks from one of these networks; without either there are none.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
METRICS_NETWORKS = [ipaddress.ip_network(network) for network in env.list("METRICS_NETWORKS", default=[])]
METRICS = bool(METRICS_TOKEN or METRICS_NETWORKS)
if METRICS_TOKEN and len(METRICS_TOKEN) < 16:
    raise ImproperlyConfigured("METRICS_TOKEN must have 16 characters or more.")
# The site is not ready with less than so many bytes free where it writes.
DISK_FREE_MIN_BYTES = env.int("DISK_FREE_MIN_BYTES", default=512 * 2**20)
# Both are off unless they are set, and need the extras `otel` and `sentry`.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
SENTRY_DSN = env.str("SENTRY_DSN", default="")
SENTRY_ENVIRONMENT = env.str("SENTRY_ENVIRONMENT", default="production")

# --- Privacy (config.privacy, docs/privacy.md): who answers for the site, for the record of processing ----------------
PRIVACY_CONTROLLER = env.str("PRIVACY_CONTROLLER", default="")
PRIVACY_OFFICER = env.str("PRIVACY_OFFICER", default="")
PRIVACY_BASIS_STUDIES = env.str("PRIVACY_BASIS_STUDIES", default="Consent (GDPR, Art. 6(1)(a))")
PRIVACY_BASIS_SITE = env.str("PRIVACY_BASIS_SITE", default="Legitimate interest (GDPR, Art. 6(1)(f))")
PRIVACY_RECIPIENTS = env.list("PRIVACY_RECIPIENTS", default=[])

LOG_FORMAT = env.str("LOG_FORMAT", default="plain")
if LOG_FORMAT not in ("plain", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is {LOG_FORMAT!r}; it must be plain or json.")
# A line for each request: its route, status and time.
LOG_REQUESTS = env.bool("LOG_REQUESTS", default=LOG_FORMAT == "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "config.observing.logs.PlainFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "config.observing.logs.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    # A wake-up every few seconds is no news, and neither is each request to a model.
    "loggers": {"celery": {"level": "WARNING"}, "httpx": {"level": "WARNING"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
}
