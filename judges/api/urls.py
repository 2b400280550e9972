"""Addresses of the API's resources of judging."""

from django.urls import path

import web.converters  # noqa: F401  (registers `row`)
from judges.api import anchors, exports, uploads, views

urlpatterns = [
    path("exports/", exports.ExportsView.as_view(), name="exports"),
    path("exports/<row:pk>/", exports.ExportView.as_view(), name="export"),
    path("judges/<row:pk>/anchors/", anchors.AnchorsView.as_view(), name="anchors_of_judge"),
    path("anchors/<row:pk>/", anchors.AnchorsResource.as_view(), name="anchors_one"),
    path("anchors/<row:pk>/check/", anchors.AnchorsCheck.as_view(), name="anchors_check"),
    path("anchors/<row:pk>/retire/", anchors.AnchorsRetire.as_view(), name="anchors_retire"),
    path("strategies/", views.StrategiesView.as_view(), name="strategies"),
    path("endpoints/", views.EndpointsView.as_view(), name="endpoints"),
    path("judges/", views.JudgesView.as_view(), name="judges"),
    path("judges/<row:pk>/", views.JudgeView.as_view(), name="judge"),
    path("judges/<row:pk>/document/", views.JudgeDocumentView.as_view(), name="judge_document"),
    path("judge-uploads/", uploads.JudgeUploadsView.as_view(), name="judge_uploads"),
    path("judge-uploads/<row:pk>/", uploads.JudgeUploadView.as_view(), name="judge_upload"),
    path("judge-uploads/<row:pk>/define/", uploads.JudgeUploadDefine.as_view(), name="judge_upload_define"),
    path("sweeps/", views.SweepsView.as_view(), name="sweeps"),
    path("sweeps/<row:pk>/", views.SweepResource.as_view(), name="sweep"),
    path("sweeps/<row:pk>/estimate/", views.SweepEstimateView.as_view(), name="sweep_estimate"),
    path("sweeps/<row:pk>/start/", views.SweepStart.as_view(), name="sweep_start"),
    path("sweeps/<row:pk>/pause/", views.SweepPause.as_view(), name="sweep_pause"),
    path("sweeps/<row:pk>/resume/", views.SweepResume.as_view(), name="sweep_resume"),
    path("sweeps/<row:pk>/cancel/", views.SweepCancel.as_view(), name="sweep_cancel"),
    path("sweeps/<row:pk>/judgments/", views.SweepJudgmentsView.as_view(), name="sweep_judgments"),
    path("judgments/", views.JudgmentsView.as_view(), name="judgments"),
    path("judgments/<row:pk>/", views.JudgmentView.as_view(), name="judgment"),
]
