"""Exports as files, for programs: asked for, made by a worker, downloaded by a link that expires."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Exact, Listing, deleted, said
from annotation.services.exports import SHAPES
from judges.models import ExportJob, ExportState
from judges.services.export_jobs import (
    export_job_delete,
    export_job_get_for,
    export_request,
    export_subject_for,
    export_token,
)
from judges.services.exports import EXPORTABLES, ExportOptions
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

WHAT = tuple(EXPORTABLES)
EXPORT_FORMATS = tuple(dict.fromkeys(format for one in EXPORTABLES.values() for format in one.formats))


class ExportSerializer(serializers.ModelSerializer[ExportJob]):
    """A file that a worker makes. Ask again until `state` is `done` or `failed`."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)
    notes = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="What the format could not hold."
    )
    url = serializers.SerializerMethodField(
        help_text="The file, until it expires, for anyone who has the address."
    )

    class Meta:
        model = ExportJob
        fields = (
            *("id", "dataset", "study", "what", "format", "options", "state", "step", "n_done", "n_total"),
            *("error", "notes", "size", "url", "created_at", "finished_at", "expires_at"),
        )
        read_only_fields = fields

    def get_url(self, job: ExportJob) -> str | None:
        """Return where the file is; null while there is none."""
        if job.state != ExportState.DONE:
            return None
        return str(settings.SITE_URL) + reverse("judges:export-file", args=[export_token(job)])


class ExportWriteSerializer(Exact):
    """What to export: of a dataset, or of a study."""

    dataset = serializers.CharField(required=False)
    study = serializers.CharField(required=False)
    what = serializers.ChoiceField(choices=WHAT)
    format = serializers.ChoiceField(choices=EXPORT_FORMATS, help_text="Not each is there for everything.")
    history = serializers.BooleanField(default=False, help_text="Labels that were corrected, too.")
    identify = serializers.BooleanField(
        default=False, help_text="Who the annotators are, for the owner of a study and administrators."
    )
    shape = serializers.ChoiceField(
        choices=tuple(SHAPES),
        default="labels",
        help_text="Of labels with several parts: a row for each part.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one of the two."""
        if bool(attrs.get("dataset")) == bool(attrs.get("study")):
            raise serializers.ValidationError("Name a dataset or a study.")
        return attrs


class ExportsView(Listing):
    """List your exports; ask for one."""

    resource = "exports"
    serializer_class = ExportSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only of this dataset."),
        "study": Narrow("study__slug", "Only of this study."),
        "state": Narrow("state", "Only in this state.", tuple(ExportState.values)),
        "what": Narrow("what", "Only of this.", WHAT),
    }

    def rows(self) -> QuerySet[ExportJob]:
        return ExportJob.objects.filter(requested_by=self.user).select_related("dataset", "study").order_by()

    @extend_schema(request=ExportWriteSerializer, responses={202: ExportSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a file, which a worker makes. The same while it is made is the same export."""
        values = said(ExportWriteSerializer, request)
        study = values.get("study", "")
        try:
            subject = export_subject_for(self.user, dataset=values.get("dataset", ""), study=study)
        except Http404:
            field = "study" if study else "dataset"
            raise RefusalProblem(400, f"There is no such {field}.", field=field) from None
        options = ExportOptions(**{name: values[name] for name in ("history", "identify", "shape")})
        made = export_request(
            user=self.user, subject=subject, what=values["what"], format=values["format"], options=options
        )
        return Response(ExportSerializer(made).data, status=202)


class ExportView(ApiView):
    """One export of yours."""

    resource = "exports"

    @extend_schema(responses=ExportSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read how far an export is; with the address of its file once it is done."""
        return Response(ExportSerializer(export_job_get_for(self.user, pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete an export and its file."""
        return deleted(export_job_delete(job=export_job_get_for(self.user, pk)))
