from django.urls import path

from annotation.urls import converters  # noqa: F401  (makes `row` known)
from annotation.views import (
    exports,
    researcher_datasets,
    researcher_pay,
    researcher_preview,
    researcher_studies,
    researcher_study_form,
    researcher_upload,
)

urlpatterns = [
    path("studies/", researcher_studies.study_list, name="study-list"),
    path("studies/new/", researcher_study_form.study_create_view, name="study-create"),
    path("studies/preview/", researcher_study_form.markdown_preview, name="markdown-preview"),
    path("studies/estimate/", researcher_study_form.study_estimate, name="study-estimate"),
    path("studies/<slug:slug>/", researcher_studies.study_detail, name="study-detail"),
    path("studies/<slug:slug>/live/", researcher_studies.study_live, name="study-live"),
    path("studies/<slug:slug>/edit/", researcher_study_form.study_edit, name="study-edit"),
    path("studies/<slug:slug>/guidelines/", researcher_study_form.study_guidelines, name="study-guidelines"),
    path("studies/<slug:slug>/preview/", researcher_preview.study_preview, name="study-preview"),
    path("studies/<slug:slug>/preview/<path:path>", researcher_preview.study_preview),
    path("studies/<slug:slug>/items/", researcher_upload.study_items, name="study-items"),
    path("studies/<slug:slug>/copy/", researcher_study_form.study_copy, name="study-copy"),
    path("studies/<slug:slug>/state/", researcher_studies.study_state, name="study-state"),
    path("studies/<slug:slug>/invitations/", researcher_studies.invitation_add, name="invitation-create"),
    path(
        "studies/<slug:slug>/invitations/<row:pk>/revoke/",
        researcher_studies.invitation_end,
        name="invitation-revoke",
    ),
    path("studies/<slug:slug>/pay/", researcher_pay.pay, name="study-pay"),
    path("studies/<slug:slug>/pay.csv", researcher_pay.pay_export, name="study-pay-export"),
    path("studies/<slug:slug>/pay/<str:public_id>/", researcher_pay.bonus, name="study-bonus"),
    path("studies/<slug:slug>/people.<str:format>/", exports.people_export, name="people-export"),
    path("studies/<slug:slug>/labels.<str:format>/", exports.study_export, name="study-export"),
    path("datasets/", researcher_datasets.dataset_list, name="dataset-list"),
    path("datasets/upload/", researcher_upload.dataset_upload_view, name="dataset-upload"),
    path("datasets/<slug:name>/", researcher_datasets.dataset_detail, name="dataset-detail"),
    path("datasets/<slug:name>/settings/", researcher_upload.dataset_settings, name="dataset-settings"),
    path("datasets/<slug:name>/criteria/", researcher_upload.dataset_criteria, name="dataset-criteria"),
    path("datasets/<slug:name>/labels.<str:format>/", exports.dataset_export, name="dataset-export"),
]
