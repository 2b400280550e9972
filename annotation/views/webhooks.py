"""One's own webhooks: registered, tried, disabled; and what was sent, to be sent again."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.forms.webhooks import WebhookForm
from annotation.models import DeliveryState, Webhook
from annotation.services.webhooks import (
    EVENTS,
    WebhookRuleError,
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
from web.access import ResearcherRequest, researcher_action, researcher_form, researcher_page
from web.throttling import too_many_requests, too_often

RATE = "60/h"
MOST_SHOWN = 50


@researcher_form
def webhooks(request: ResearcherRequest) -> HttpResponse:
    """Show one's webhooks; POST: register one."""
    if request.method != "POST":
        return _page(request, WebhookForm(initial={"events": list(EVENTS)}))
    if too_often(group="webhooks", by=str(request.user.pk), rate=RATE):
        return too_many_requests(request)
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        made = webhook_create(user=request.user, **form.cleaned_data)
    except WebhookRuleError as error:
        form.add_error(error.field, error.message)
        return _page(request, form, status=422)
    messages.success(request, "The webhook is registered. Check messages with the secret below.")
    return redirect("webhook", pk=made.pk)


def _page(request: ResearcherRequest, form: WebhookForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "webhooks": [(row, _events(row)) for row in webhooks_of(request.user)],
        "crumbs": [("Your account", reverse("me")), ("Webhooks", None)],
    }
    return render(request, "registration/webhooks.html", context, status=status)


def _events(webhook: Webhook) -> list[str]:
    return [EVENTS[name].label for name in webhook.events if name in EVENTS]


@never_cache
@researcher_page
def webhook(request: ResearcherRequest, pk: int) -> HttpResponse:
    """One webhook with its secret and its latest deliveries."""
    row = webhook_get_for(request.user, pk)
    sent = row.deliveries.exclude(state=DeliveryState.BEFORE).prefetch_related("attempts")
    context = {
        "webhook": row,
        "events": _events(row),
        "secret": webhook_secret(row),
        "deliveries": sent[:MOST_SHOWN],
        "crumbs": [("Your account", reverse("me")), ("Webhooks", reverse("webhooks")), (row.name, None)],
    }
    return render(request, "registration/webhook.html", context)


@researcher_action
def webhook_act(request: ResearcherRequest, pk: int, action: str) -> HttpResponse:
    """Send a test, disable, enable or delete a webhook of one's own."""
    row = webhook_get_for(request.user, pk)
    if action == "delete":
        webhook_delete(webhook=row)
        messages.success(request, f"The webhook “{row.name}” was deleted.")
        return redirect("webhooks")
    if action == "test":
        if too_often(group="webhooks", by=str(request.user.pk), rate=RATE):
            return too_many_requests(request)
        webhook_test(webhook=row)
        messages.success(request, "A worker sends the test message within seconds.")
    elif action in ("enable", "disable"):
        webhook_change(webhook=row, is_enabled=action == "enable")
    else:
        raise Http404("There is no such action.")
    return redirect("webhook", pk=pk)


@researcher_action
def replay(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Send a delivery again; once more while it waits changes nothing."""
    delivery = delivery_get_for(request.user, pk)
    if delivery_replay(delivery=delivery):
        messages.success(request, "A worker sends it again within seconds.")
    return redirect("webhook", pk=delivery.webhook_id)
