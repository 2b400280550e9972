"""What every resource of the API is built on: a token, its limits, repeatable writes, and lists in pages."""

import json
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer, ValidationError
from rest_framework.views import APIView

import annotation.api.errors  # noqa: F401  (teaches the API the exceptions of this app)
from annotation.api.access import HasScope, IsResearcher
from annotation.models import ApiToken, User
from annotation.services.idempotency import KeyReusedError, TooManyKeysError, answer_begin, answer_keep
from web.api.limits import limits_say
from web.api.pages import Narrow, Narrowing, Pages
from web.api.problems import RefusalProblem

KEY_HEADER = "Idempotency-Key"
MOST_KEY = 255


class ApiView(APIView):
    """A resource. `resource` is that of its scopes; empty: any valid token may read it."""

    resource = ""
    permission_classes: Any = [IsResearcher, HasScope]

    @property
    def user(self) -> User:
        """Whoever asks."""
        user = self.request.user
        assert isinstance(user, User), "the permission lets nobody else in"
        return user

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        key, handler = request.headers.get(KEY_HEADER), getattr(self, "post", None)
        if request.method == "POST" and key is not None and handler is not None:
            # Where the framework looks for what handles the request, after this.
            self.__dict__["post"] = partial(self._once, key, handler)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self._plain_request = request
        return super().initialize_request(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        limits_say(request, final)
        return final

    def _once(self, key: str, handler: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do a write, and keep its answer in the same transaction; or answer as it was answered before."""
        if not (0 < len(key) <= MOST_KEY and key.isascii() and key.isprintable()):
            raise RefusalProblem(
                400, f"Expected 1 to {MOST_KEY} printable ASCII characters.", field=KEY_HEADER
            )
        assert isinstance(request.auth, ApiToken), "the permission lets nobody else in"
        plain = self._plain_request
        content = b"\0".join((plain.get_full_path().encode(), plain.body))
        with transaction.atomic():
            try:
                kept = answer_begin(token=request.auth, key=key, request_hash=sha256(content).hexdigest())
            except KeyReusedError:
                raise RefusalProblem(
                    422, "This idempotency key was used with another request.", field=KEY_HEADER
                ) from None
            except TooManyKeysError:
                raise RefusalProblem(
                    429,
                    "Too many idempotency keys in 24 hours. Leave the header out, or wait.",
                    field=KEY_HEADER,
                ) from None
            if kept.status:
                return Response(
                    json.loads(kept.body), status=kept.status, headers={"Idempotency-Replayed": "true"}
                )
            response: Response = handler(request, *args, **kwargs)
            answer_keep(
                answer=kept,
                status=response.status_code,
                body=JSONRenderer().render(response.data).decode(),
            )
            return response


class Listing(ApiView, GenericAPIView[Any]):
    """A list in pages: `rows` are those that the user may see, `narrows` its query parameters."""

    pagination_class = Pages
    filter_backends = [Narrowing]
    narrows: Mapping[str, Narrow] = {}

    def rows(self) -> QuerySet[Any]:
        """The rows that the user may see, of the address that was asked for."""
        raise NotImplementedError

    def get_queryset(self) -> QuerySet[Any]:
        return self.rows()

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class Exact(Serializer[Any]):
    """Fields that come in: one that is not known is refused, since a misspelt one would be none."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(map(str, set(data) - set(self.fields)))):
            raise ValidationError({unknown[0]: "Unknown field."})
        return super().to_internal_value(data)


def deleted(was_there: bool) -> Response:
    """The answer to a deletion; Http404 where somebody else was faster."""
    if not was_there:
        raise Http404
    return Response(status=204)


def said(serializer: type[BaseSerializer[Any]], request: Request, **options: Any) -> dict[str, Any]:
    """What the body says, checked; raises ValidationError, which names the fields."""
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": "Expected a JSON object."})
    given = serializer(data=request.data, **options)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)
