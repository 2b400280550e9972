"""Files of a judge, for programs: sent, what they would become, and the judge that is made of them."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

import judges.api.errors  # noqa: F401  (teaches the API the exceptions of this app)
from annotation.api.base import ApiView, Exact, Listing, deleted, said
from judges.api.serializers import JudgeSerializer
from judges.models import Endpoint, JudgeUpload
from judges.selectors.judge_preview import JudgePreview, judge_preview
from judges.services.judge_uploads import (
    UploadChoice,
    UploadedJudge,
    judge_upload_create,
    judge_upload_define,
    judge_upload_delete,
    judge_upload_found,
    judge_upload_get_for,
    judge_upload_read,
    judge_uploads_of,
)
from web.api.pages import Narrow


class JudgeUploadSerializer(serializers.ModelSerializer[JudgeUpload]):
    """Files that you sent."""

    class Meta:
        model = JudgeUpload
        fields: tuple[str, ...] = ("id", "name", "created_at")


class JudgeUploadSentSerializer(JudgeUploadSerializer):
    """The same with the judges that the files hold."""

    evaluators = serializers.SerializerMethodField(
        help_text="The judges in the files, to choose one by name."
    )

    class Meta(JudgeUploadSerializer.Meta):
        fields = (*JudgeUploadSerializer.Meta.fields, "evaluators")

    def get_evaluators(self, upload: JudgeUpload) -> list[dict[str, str]]:
        """Return the judges that the files hold."""
        return [{"name": each.name, "format": each.form} for each in judge_upload_found(upload)]


class JudgeFilesSerializer(Exact):
    """Files of a judge. Nothing is defined yet."""

    files: Any = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        help_text="The text of each file by its path, such as `configs.yaml` and `prompt.txt`.",
    )
    name = serializers.CharField(
        required=False, max_length=200, help_text="What to call the upload in lists."
    )


class JudgeChoiceSerializer(Exact):
    """Which judge of the files, and what is said of it beside them."""

    evaluator = serializers.CharField(
        required=False, help_text="Where the files hold several judges: its name."
    )
    endpoint = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Endpoint.objects.all(),
        required=False,
        help_text="Where its model is asked. If left out, the endpoint that has the address in the file.",
    )
    model = serializers.CharField(
        required=False, max_length=200, help_text="In place of the one in the files."
    )
    name = serializers.CharField(required=False, max_length=190)
    drawn_order = serializers.BooleanField(
        required=False, help_text="Of AlpacaEval's: show each pair once, in the order that its own run draws."
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


class JudgeDefineSerializer(JudgeChoiceSerializer):
    """The same, and the judge that was shown."""

    fingerprint = serializers.CharField(
        required=False,
        help_text="Of the judge that was shown. If it isn't that one anymore, nothing is defined.",
    )


def _choice(said: dict[str, Any]) -> UploadChoice:
    endpoint = said.pop("endpoint", None)
    return UploadChoice(endpoint="" if endpoint is None else endpoint.name, **said)


class JudgeUploadsView(Listing):
    """List your uploads of judges; send one."""

    resource = "judges"
    serializer_class = JudgeUploadSerializer
    narrows = {"since": Narrow("created_at__gte", "Only those sent from this time on.", kind=datetime)}

    def rows(self) -> QuerySet[JudgeUpload]:
        return judge_uploads_of(self.user).order_by()

    @extend_schema(
        request=JudgeFilesSerializer,
        responses={201: JudgeUploadSentSerializer},
        examples=[
            OpenApiExample(
                "A file of one's own",
                {
                    "files": {
                        "mine.yaml": "name: Rules at home\nstrategy: rules\nmodel: small\nendpoint: local\n"
                    }
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Send the files of a judge: an export, YAML of your own, or a published evaluator's.

        The same files again are the same upload. Your last 10 uploads are kept. Read it to see what it becomes.
        """
        values = said(JudgeFilesSerializer, request)
        made = judge_upload_create(user=self.user, texts=values["files"], name=values.get("name", ""))
        return Response(JudgeUploadSentSerializer(made).data, status=201)


class JudgeUploadView(ApiView):
    """One upload of yours."""

    resource = "judges"

    @extend_schema(parameters=[JudgeChoiceSerializer], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, pk: int) -> Response:
        """Read what the files would become: the judge, its questions on an example, or why it is refused."""
        upload = judge_upload_get_for(self.user, pk)
        given = JudgeChoiceSerializer(data=request.query_params.dict())
        given.is_valid(raise_exception=True)
        read = judge_upload_read(upload=upload, choice=_choice(dict(given.validated_data)))
        return Response(JudgeUploadSentSerializer(upload).data | _shown(read))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Remove files. Judges that they defined stay."""
        judge_upload_delete(upload=judge_upload_get_for(self.user, pk))
        return deleted(True)


class JudgeUploadDefine(ApiView):
    """The judge of an upload, made."""

    resource = "judges"

    @extend_schema(request=JudgeDefineSerializer, responses={200: JudgeSerializer, 201: JudgeSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Define the judge of an upload: 201 if it is new, 200 with the one that would answer exactly the same."""
        values = said(JudgeDefineSerializer, request)
        fingerprint = values.pop("fingerprint", "")
        upload = judge_upload_get_for(self.user, pk)
        made = judge_upload_define(upload=upload, choice=_choice(values), fingerprint=fingerprint)
        return Response(JudgeSerializer(made.judge).data, status=201 if made.is_new else 200)


def _shown(read: UploadedJudge) -> dict[str, Any]:
    spec = read.shown
    return {
        "evaluator": None if read.chosen is None else read.chosen.name,
        "problem": None if not read.problem else {"field": read.field, "detail": read.problem},
        "judge": None
        if spec is None or read.read is None
        else {
            "name": read.read.document.name,
            "fingerprint": None if read.spec is None else read.spec.fingerprint(),
            "exists": read.existing is not None,
            "notes": list(read.read.notes),
            "spec": spec.to_dict(),
            "preview": _preview(judge_preview(spec)),
        },
    }


def _preview(preview: JudgePreview) -> dict[str, Any]:
    return {
        "kind": preview.spec.kind,
        "strategy": preview.info.name,
        "difference": preview.info.difference,
        "reading": dict(preview.reading),
        "problem": preview.problem,
        "requests": [
            {
                "role": each.role,
                "decoding": each.decoding,
                "choices": list(each.choices),
                "json_schema": each.schema,
                "messages": [{"role": one.role, "content": one.text} for one in each.messages],
            }
            for each in preview.requests
        ],
    }
