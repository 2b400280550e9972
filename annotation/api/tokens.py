"""The token that a request carries: what it may do, and its end."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, deleted
from annotation.models import ApiToken
from annotation.services.tokens import token_revoke


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token, without its secret."""

    user: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)
    role = serializers.CharField(source="user.role", read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = ApiToken
        fields = ("name", "prefix", "user", "role", "scopes", "created_at", "expires_at")
        read_only_fields = fields


class TokenView(ApiView):
    """The token of this request."""

    @extend_schema(responses=TokenSerializer)
    def get(self, request: Request) -> Response:
        """Read whose token this is, its scopes, and when it expires."""
        assert isinstance(request.auth, ApiToken), "the permission lets nobody else in"
        return Response(TokenSerializer(request.auth).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke this token. It is refused from then on."""
        assert isinstance(request.auth, ApiToken), "the permission lets nobody else in"
        return deleted(token_revoke(token=request.auth))
