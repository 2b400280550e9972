"""Addresses of the API. Each app says its own, in its `api/urls.py`."""

from django.urls import path

from annotation.api.urls import urlpatterns as annotation
from config.api import views
from judges.api.urls import urlpatterns as judges
from metaeval.api.urls import urlpatterns as metaeval

app_name = "api"
urlpatterns = [
    path("", views.IndexView.as_view(), name="index"),
    path("schema/", views.schema, name="schema"),
    path("docs/", views.docs, name="docs"),
    *annotation,
    *judges,
    *metaeval,
]
