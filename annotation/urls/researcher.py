from django.urls import path

from annotation.views import exports, researcher_datasets, researcher_studies

urlpatterns = [
    path("studies/", researcher_studies.study_list, name="study-list"),
    path("studies/new/", researcher_studies.study_create_view, name="study-create"),
    path("studies/preview/", researcher_studies.markdown_preview, name="markdown-preview"),
    path("studies/<slug:slug>/", researcher_studies.study_detail, name="study-detail"),
    path("studies/<slug:slug>/live/", researcher_studies.study_live, name="study-live"),
    path("studies/<slug:slug>/edit/", researcher_studies.study_edit, name="study-edit"),
    path("studies/<slug:slug>/state/", researcher_studies.study_state, name="study-state"),
    path("studies/<slug:slug>/invitations/", researcher_studies.invitation_add, name="invitation-create"),
    path(
        "studies/<slug:slug>/invitations/<int:pk>/revoke/",
        researcher_studies.invitation_end,
        name="invitation-revoke",
    ),
    path("studies/<slug:slug>/labels.<str:format>/", exports.study_export, name="study-export"),
    path("datasets/", researcher_datasets.dataset_list, name="dataset-list"),
    path("datasets/<slug:name>/", researcher_datasets.dataset_detail, name="dataset-detail"),
    path("datasets/<slug:name>/labels.<str:format>/", exports.dataset_export, name="dataset-export"),
]
