"""URLs of sweeps, judges and judgments as researchers read them."""

from typing import get_args

from django.urls import URLPattern, URLResolver, path

import web.converters  # noqa: F401  (registers `row`)
from judges.services.unfinished_imports import Sort
from judges.views import (
    dataset_imports,
    exports,
    in_time,
    judge_exports,
    judge_uploads,
    judges,
    judgments,
    sweeps,
    unfinished_imports,
    uploads,
    verdict_imports,
)

app_name = "judges"
urlpatterns: list[URLPattern | URLResolver] = [
    path("sweeps/", sweeps.sweep_list, name="sweep-list"),
    path("sweeps/<row:pk>/", sweeps.sweep_detail, name="sweep-detail"),
    path("judges/", judges.judge_list, name="judge-list"),
    path("judges/upload/", judge_uploads.judge_upload_page, name="judge-uploads"),
    path("judges/uploads/<row:pk>/", judge_uploads.judge_upload_detail, name="judge-upload"),
    path("judges/uploads/<row:pk>/act/", judge_uploads.judge_upload_act, name="judge-upload-act"),
    path("judges/<row:pk>/", judges.judge_detail, name="judge-detail"),
    path("judges/<row:pk>/export/", judge_exports.judge_export_page, name="judge-export"),
    path("judges/<row:pk>/export/file/", judge_exports.judge_export_file, name="judge-export-file"),
    path("judges/<row:pk>/in-time/", in_time.in_time_page, name="judge-in-time"),
    path("judges/<row:pk>/in-time/freeze/", in_time.in_time_freeze, name="in-time-freeze"),
    path("judges/<row:pk>/in-time/<row:anchors>/", in_time.in_time_act, name="in-time-act"),
    path("judgments/<row:pk>/", judgments.judgment_page, name="judgment"),
    path("datasets/<slug:name>/export/", exports.dataset_export_page, name="dataset-export-page"),
    path("studies/<slug:slug>/export/", exports.study_export_page, name="study-export-page"),
    path("exports/<row:pk>/delete/", exports.export_delete, name="export-delete"),
    path("exports/<str:token>/", exports.export_file, name="export-file"),
    path("datasets/<slug:name>/judgments/", judgments.judgment_list, name="judgment-list"),
    path(
        "datasets/<slug:name>/judgments/import/", verdict_imports.verdict_import_page, name="verdict-import"
    ),
    path(
        "datasets/<slug:name>/judgments/import/begin/",
        uploads.verdict_upload_begin,
        name="verdict-upload-begin",
    ),
    path("datasets/upload/", dataset_imports.dataset_upload, name="dataset-upload"),
    path("datasets/upload/begin/", uploads.dataset_upload_begin, name="dataset-upload-begin"),
    # Below `datasets/`, where proxies take more than a form.
    path("datasets/upload/<row:pk>/", uploads.upload_chunk, name="upload-chunk"),
    path("imports/datasets/<row:pk>/", dataset_imports.dataset_import_page, name="dataset-import"),
    path(
        "imports/datasets/<row:pk>/images/<str:digest>/",
        dataset_imports.dataset_import_image,
        name="dataset-import-image",
    ),
    path(
        "imports/datasets/<row:pk>/left-out.jsonl",
        dataset_imports.dataset_import_errors,
        name="dataset-import-errors",
    ),
    path(
        "imports/datasets/<row:pk>/mapping.<str:format>",
        dataset_imports.dataset_import_mapping,
        name="dataset-import-mapping",
    ),
    path("imports/", unfinished_imports.unfinished_imports, name="unfinished-imports"),
    *(
        path(
            f"imports/unfinished/{sort}/<row:pk>/",
            unfinished_imports.unfinished_import_act,
            {"sort": sort},
            name=f"unfinished-{sort}-act",
        )
        for sort in get_args(Sort)
    ),
    path("imports/<row:pk>/", verdict_imports.verdict_import_act, name="verdict-import-act"),
    path("datasets/<slug:name>/judgments.<str:format>/", judgments.judgment_export, name="judgment-export"),
]
