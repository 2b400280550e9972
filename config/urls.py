"""URLs of the site. What is above in the layers is reached by URL name, never by import."""

from django.contrib import admin
from django.urls import include, path

from annotation.views.site import Logout
from config.health import health
from config.observing.views import healthz, metrics_text, readyz
from config.privacy.views import record, record_file
from config.status import status
from metaeval.views.home import home

urlpatterns = [
    path("", home, name="home"),
    path("api/v1/", include("config.api.urls")),
    path("", include("annotation.urls")),
    path("admin/", admin.site.urls),
    path("health/", health, name="health"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics_text, name="metrics"),
    path("status/", status, name="status"),
    path("privacy/record/", record, name="privacy-record"),
    path("privacy/record/<slug:format>/", record_file, name="privacy-record-file"),
    path("logout/", Logout.as_view(), name="logout"),
    path("", include("judges.urls")),
    path("", include("metaeval.urls")),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.permission_denied"
handler404 = "config.errors.page_not_found"
handler500 = "config.errors.server_error"
