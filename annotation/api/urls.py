"""Addresses of the API's resources of annotation."""

from django.urls import path

import web.converters  # noqa: F401  (registers `row`)
from annotation.api import notes, privacy, sharing, studies, tokens, views, webhooks

urlpatterns = [
    path("token/", tokens.TokenView.as_view(), name="token"),
    path("datasets/", views.DatasetsView.as_view(), name="datasets"),
    path("datasets/<slug:name>/", views.DatasetView.as_view(), name="dataset"),
    path("datasets/<slug:name>/items/", views.ItemsView.as_view(), name="items"),
    path("datasets/<slug:name>/versions/", views.VersionsView.as_view(), name="versions"),
    path(
        "datasets/<slug:name>/versions/<row:before>/<row:now>/",
        views.ChangesView.as_view(),
        name="version_difference",
    ),
    path("datasets/<slug:name>/access/", sharing.DatasetAccessList.as_view(), name="dataset_access"),
    path("datasets/<slug:name>/access/<row:pk>/", sharing.DatasetAccess.as_view(), name="dataset_access_one"),
    path("datasets/<slug:name>/transfer/", sharing.DatasetTransfer.as_view(), name="dataset_transfer"),
    path("items/<row:pk>/", views.ItemResource.as_view(), name="item"),
    path("items/<row:pk>/notes/", notes.NotesView.as_view(), name="notes"),
    path("notes/<row:pk>/", notes.NoteView.as_view(), name="note"),
    path("labels/", views.LabelsView.as_view(), name="labels"),
    path("labels/<row:pk>/", views.LabelView.as_view(), name="label"),
    path("studies/", studies.StudiesView.as_view(), name="studies"),
    path("studies/<slug:slug>/", studies.StudyView.as_view(), name="study"),
    path("studies/<slug:slug>/open/", studies.StudyOpen.as_view(), name="study_open"),
    path("studies/<slug:slug>/pause/", studies.StudyPause.as_view(), name="study_pause"),
    path("studies/<slug:slug>/close/", studies.StudyClose.as_view(), name="study_close"),
    path("studies/<slug:slug>/version/", studies.StudyMoveOn.as_view(), name="study_move_on"),
    path("studies/<slug:slug>/copy/", studies.StudyCopy.as_view(), name="study_copy"),
    path("studies/<slug:slug>/progress/", studies.StudyProgressView.as_view(), name="study_progress"),
    path("studies/<slug:slug>/items/", studies.StudyItemsView.as_view(), name="study_items"),
    path("studies/<slug:slug>/annotators/", studies.EnrollmentsView.as_view(), name="study_annotators"),
    path(
        "studies/<slug:slug>/annotators/<str:public_id>/erase/",
        privacy.AnnotatorErase.as_view(),
        name="study_annotator_erase",
    ),
    path("studies/<slug:slug>/reasons-to-look/", studies.ReasonsToLookView.as_view(), name="reasons_to_look"),
    path("studies/<slug:slug>/invitations/", studies.InvitationsView.as_view(), name="invitations"),
    path("studies/<slug:slug>/access/", sharing.StudyAccessList.as_view(), name="study_access"),
    path("studies/<slug:slug>/access/<row:pk>/", sharing.StudyAccess.as_view(), name="study_access_one"),
    path("studies/<slug:slug>/transfer/", sharing.StudyTransfer.as_view(), name="study_transfer"),
    path("teams/", sharing.TeamsView.as_view(), name="teams"),
    path("teams/<row:pk>/", sharing.TeamView.as_view(), name="team"),
    path("teams/<row:pk>/members/", sharing.MembersView.as_view(), name="team_members"),
    path("teams/<row:pk>/members/<row:member>/", sharing.MemberView.as_view(), name="team_member"),
    path("webhooks/", webhooks.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<row:pk>/", webhooks.WebhookResource.as_view(), name="webhook"),
    path("webhooks/<row:pk>/test/", webhooks.WebhookTest.as_view(), name="webhook_test"),
    path("webhooks/<row:pk>/deliveries/", webhooks.DeliveriesView.as_view(), name="deliveries"),
    path("deliveries/<row:pk>/replay/", webhooks.DeliveryReplay.as_view(), name="delivery_replay"),
    path("invitations/<row:pk>/revoke/", studies.InvitationRevoke.as_view(), name="invitation_revoke"),
]
