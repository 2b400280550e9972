"""Addresses of the API's resources of meta-evaluation."""

from django.urls import path

import web.converters  # noqa: F401  (registers `row`)
from metaeval.api import views

urlpatterns = [
    path("reports/", views.ReportsView.as_view(), name="reports"),
    path("reports/<row:pk>/", views.ReportView.as_view(), name="report"),
    path("jobs/<row:pk>/", views.JobView.as_view(), name="job"),
    path("jobs/<row:pk>/cancel/", views.JobCancel.as_view(), name="job_cancel"),
    path("comparisons/", views.ComparisonsView.as_view(), name="comparisons"),
    path("decisions/", views.DecisionsView.as_view(), name="decisions"),
    path("decisions/<row:pk>/", views.DecisionView.as_view(), name="decision"),
    path("decisions/<row:pk>/judge/", views.DecisionJudge.as_view(), name="decision_judge"),
]
