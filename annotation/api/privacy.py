"""Erasing people, for programs: a request that came by mail, carried out from a script."""

from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Exact, said
from annotation.models import Enrollment, ErasureKind
from annotation.selectors.annotators import enrollment_by_pseudonym
from annotation.selectors.overview import studies_settled_by
from annotation.services.erasure import enrollment_erase
from annotation.services.erasure_log import REQUEST


class EraseSerializer(Exact):
    """How a person is erased."""

    with_labels = serializers.BooleanField(
        required=False, default=False, help_text="Delete labels that may stay, too."
    )
    texts_kept = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Whether comments and marked passages stay with labels. Null: as the study says.",
    )


class ErasedSerializer(serializers.Serializer[Any]):
    """What was done."""

    kind = serializers.ChoiceField(choices=ErasureKind.choices)
    labels = serializers.IntegerField(source="n_labels", help_text="Labels that stayed, or were deleted.")


class AnnotatorErase(ApiView):
    """Erase a person of a study."""

    resource = "studies"

    @extend_schema(request=EraseSerializer, responses=ErasedSerializer)
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Anonymize an annotator of a study of yours, or delete them where their labels may not stay.

        `public_id` is the pseudonym of exports. It can't be undone, and once more is a 404: nobody has that pseudonym.
        """
        study = get_object_or_404(studies_settled_by(self.user), slug=slug)
        given = said(EraseSerializer, request)
        try:
            person = enrollment_by_pseudonym(study, public_id)
        except (Enrollment.DoesNotExist, ValidationError):
            raise Http404("There is no such annotator in this study.") from None
        erased = enrollment_erase(enrollment=person, why=REQUEST, **given)
        if erased is None:
            raise Http404("There is no such annotator in this study.")
        return Response(ErasedSerializer(erased).data)
