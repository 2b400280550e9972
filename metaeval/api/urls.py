"""Addresses of the API's resources of meta-evaluation."""

from django.urls import path

import web.converters  # noqa: F401  (registers `row`)
from metaeval.api import views

urlpatterns = [
    path("reports/", views.ReportsView.as_view(), name="reports"),
    path("reports/<row:pk>/", views.ReportView.as_view(), name="report"),
    path("reports/<row:pk>/verification/", views.ReportVerification.as_view(), name="report_verification"),
    path("reports/<row:pk>/changes/", views.ReportChangesView.as_view(), name="report_changes"),
    path("reports/<row:pk>/file/", views.ReportFile.as_view(), name="report_file"),
    path("jobs/<row:pk>/resume/", views.JobResume.as_view(), name="job_resume"),
    path("jobs/<row:pk>/", views.JobView.as_view(), name="job"),
    path("jobs/<row:pk>/cancel/", views.JobCancel.as_view(), name="job_cancel"),
    path("comparisons/", views.ComparisonsView.as_view(), name="comparisons"),
    path("selections/", views.SelectionsView.as_view(), name="selections"),
    path("preregistrations/", views.PreregistrationsView.as_view(), name="preregistrations"),
    path("preregistrations/<row:pk>/", views.PreregistrationView.as_view(), name="preregistration"),
    path("decisions/", views.DecisionsView.as_view(), name="decisions"),
    path("decisions/<row:pk>/", views.DecisionView.as_view(), name="decision"),
    path("decisions/<row:pk>/judge/", views.DecisionJudge.as_view(), name="decision_judge"),
]
