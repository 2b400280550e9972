"""Addresses of the API's resources of annotation."""

from django.urls import path

import web.converters  # noqa: F401  (registers `row`)
from annotation.api import views, webhooks

urlpatterns = [
    path("datasets/", views.DatasetsView.as_view(), name="datasets"),
    path("datasets/<slug:name>/", views.DatasetView.as_view(), name="dataset"),
    path("datasets/<slug:name>/items/", views.ItemsView.as_view(), name="items"),
    path("items/<row:pk>/", views.ItemResource.as_view(), name="item"),
    path("labels/", views.LabelsView.as_view(), name="labels"),
    path("labels/<row:pk>/", views.LabelView.as_view(), name="label"),
    path("studies/", views.StudiesView.as_view(), name="studies"),
    path("studies/<slug:slug>/", views.StudyView.as_view(), name="study"),
    path("studies/<slug:slug>/open/", views.StudyOpen.as_view(), name="study_open"),
    path("studies/<slug:slug>/pause/", views.StudyPause.as_view(), name="study_pause"),
    path("studies/<slug:slug>/close/", views.StudyClose.as_view(), name="study_close"),
    path("studies/<slug:slug>/invitations/", views.InvitationsView.as_view(), name="invitations"),
    path("webhooks/", webhooks.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<row:pk>/", webhooks.WebhookResource.as_view(), name="webhook"),
    path("webhooks/<row:pk>/test/", webhooks.WebhookTest.as_view(), name="webhook_test"),
    path("webhooks/<row:pk>/deliveries/", webhooks.DeliveriesView.as_view(), name="deliveries"),
    path("deliveries/<row:pk>/replay/", webhooks.DeliveryReplay.as_view(), name="delivery_replay"),
    path("invitations/<row:pk>/revoke/", views.InvitationRevoke.as_view(), name="invitation_revoke"),
]
