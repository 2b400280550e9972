"""One's own webhooks, for programs."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Exact, Listing, deleted, said
from annotation.models import Delivery, DeliveryAttempt, DeliveryState, Webhook
from annotation.services.webhooks import (
    delivery_get_for,
    delivery_replay,
    webhook_change,
    webhook_create,
    webhook_delete,
    webhook_get_for,
    webhook_secret,
    webhook_test,
    webhooks_of,
)
from web.api.pages import Narrow

SHOWN = tuple(state for state in DeliveryState.values if state != DeliveryState.BEFORE)


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """An address that is told of events."""

    events = serializers.ListField(child=serializers.CharField(), read_only=True)
    is_enabled = serializers.SerializerMethodField()

    class Meta:
        model = Webhook
        fields: tuple[str, ...] = (
            *("id", "name", "url", "events", "is_enabled"),
            *("failing_since", "disabled_at", "created_at"),
        )
        read_only_fields: tuple[str, ...] = fields

    def get_is_enabled(self, webhook: Webhook) -> bool:
        """Return whether it is told of events."""
        return webhook.disabled_at is None


class WebhookSecretSerializer(WebhookSerializer):
    """The same with the secret that its messages are signed with."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")
        read_only_fields = fields

    def get_secret(self, webhook: Webhook) -> str:
        """Return the secret, in the form of Standard Webhooks."""
        return webhook_secret(webhook)


class WebhookWriteSerializer(Exact):
    """A webhook to register."""

    name = serializers.CharField(max_length=100)
    url = serializers.CharField(max_length=500, help_text="Of a public server; internal ones are refused.")
    events = serializers.ListField(
        child=serializers.CharField(max_length=60),
        min_length=1,
        max_length=20,
        help_text="`study.finished`, `sweep.finished`, `judge.drifted`, `report.ready`.",
    )


class WebhookChangeSerializer(Exact):
    """What can be changed of a webhook."""

    name = serializers.CharField(max_length=100, required=False)
    events = serializers.ListField(
        child=serializers.CharField(max_length=60), min_length=1, max_length=20, required=False
    )
    is_enabled = serializers.BooleanField(required=False)


class AttemptSerializer(serializers.ModelSerializer[DeliveryAttempt]):
    """One try, and what came back."""

    class Meta:
        model = DeliveryAttempt
        fields = ("at", "status", "error", "duration_ms")
        read_only_fields = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """One event for a webhook, with its attempts."""

    attempts: Any = AttemptSerializer(many=True, read_only=True)
    payload: Any = serializers.DictField(read_only=True)

    class Meta:
        model = Delivery
        fields = ("id", "event", "message_id", "payload", "state", "next_at", "created_at", "attempts")
        read_only_fields = fields


class WebhooksView(Listing):
    """List your webhooks; register one."""

    resource = "webhooks"
    serializer_class = WebhookSerializer
    narrows = {"enabled": Narrow("disabled_at__isnull", "`true`: only those that are told.", kind=bool)}

    def rows(self) -> QuerySet[Webhook]:
        return webhooks_of(self.user)

    @extend_schema(request=WebhookWriteSerializer, responses={201: WebhookSecretSerializer})
    def post(self, request: Request) -> Response:
        """Register a webhook. It is told of what ends from now on; the answer has its secret."""
        made = webhook_create(user=self.user, **said(WebhookWriteSerializer, request))
        return Response(WebhookSecretSerializer(made).data, status=201)


class WebhookResource(ApiView):
    """One webhook of yours."""

    resource = "webhooks"

    @extend_schema(responses=WebhookSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a webhook."""
        return Response(WebhookSerializer(webhook_get_for(self.user, pk)).data)

    @extend_schema(request=WebhookChangeSerializer, responses=WebhookSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        """Rename a webhook, choose its events, disable or enable it."""
        row = webhook_get_for(self.user, pk)
        return Response(
            WebhookSerializer(webhook_change(webhook=row, **said(WebhookChangeSerializer, request))).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a webhook with its deliveries."""
        return deleted(webhook_delete(webhook=webhook_get_for(self.user, pk)))


class WebhookTest(ApiView):
    """A test message."""

    resource = "webhooks"

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Send a test message; a worker sends it within seconds."""
        made = webhook_test(webhook=webhook_get_for(self.user, pk))
        return Response(DeliverySerializer(made).data, status=202)


class DeliveriesView(Listing):
    """List what a webhook was sent, with every attempt."""

    resource = "webhooks"
    serializer_class = DeliverySerializer
    narrows = {
        "state": Narrow("state", "Only in this state.", SHOWN),
        "event": Narrow("event", "Only of this event."),
    }

    def rows(self) -> QuerySet[Delivery]:
        webhook = get_object_or_404(webhooks_of(self.user), pk=self.kwargs["pk"])
        return webhook.deliveries.exclude(state=DeliveryState.BEFORE).prefetch_related("attempts")


class DeliveryReplay(ApiView):
    """A delivery to be sent again."""

    resource = "webhooks"

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Send a delivery again with the same id; while it waits this changes nothing."""
        delivery_replay(delivery=delivery_get_for(self.user, pk))
        return Response(DeliverySerializer(delivery_get_for(self.user, pk)).data, status=202)
