"""Coming in from a crowdsourcing platform, and the platform's own messages."""

from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from annotation.domain.errors import EntryRefusedError
from annotation.entry import PLATFORMS
from annotation.entry.base import Arrival
from annotation.entry.errors import ArrivalError, TokenError, WebhookError
from annotation.models import Enrollment, PlatformLink, Stage
from annotation.selectors.entry import is_inside, platform_link_get
from annotation.services.enrollment import entry_refusal
from annotation.services.entry import arrival_refusal, platform_enter
from annotation.services.reconcile import event_apply
from annotation.services.secrets import keys_read, secret_read
from annotation.views.annotator.account_session import account_enrollment
from annotation.views.annotator.browser import session_hold
from annotation.views.annotator.common import DOOR_RATE, limited, pay_line, steps_shown
from annotation.views.annotator.device import device_keep, device_of, device_read
from annotation.views.annotator.entry import enrollment_held, refuse
from annotation.views.annotator.languages import language_join
from web.languages import language_chosen, language_use
from web.throttling import address_of, too_often

SALT = "annotation.enter"
# Who opens the page and comes back to it the next day begins at the platform again.
PAGE_SECONDS = 24 * 60 * 60
HOOK_RATE = "600/m"
MAX_BODY_BYTES = 64 * 1024
OWN_PAGE = {"study", "session", "elsewhere", "left", "finished"}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="enter", rate=DOOR_RATE, by="ip")
def enter(request: HttpRequest, platform: str, token: str) -> HttpResponse:
    """Say what awaits; a POST makes the person. What the address said goes from one to the other signed."""
    try:
        link = platform_link_get(platform, token)
    except PlatformLink.DoesNotExist:
        return refuse(request, "unknown")
    language_use(request, language_chosen(request), link.study.language)
    try:
        arrival, verified = _posted(request, link) if request.method == "POST" else _arrived(request, link)
    except ArrivalError as error:
        return _refused(request, link, "parameter", status=400, error=error)
    except TokenError:
        return _refused(request, link, "token")
    except signing.BadSignature:
        return _refused(request, link, "stale", status=400)
    return _enter(request, link, arrival, verified=verified)


def _arrived(request: HttpRequest, link: PlatformLink) -> tuple[Arrival, bool]:
    """Who the address says they are, and whether the platform has signed it."""
    platform = PLATFORMS[link.platform]
    arrival = platform.arrival(request.GET.dict())
    token = request.GET.get(platform.token_parameter, "") if platform.token_parameter else ""
    if not token and not link.require_signed_token:
        return arrival, False
    try:
        signed = platform.verify_token(
            token, keys_read(platform.keys_variable) or {}, link, site=settings.SITE_URL, now=timezone.now()
        )
        if (signed.external_id, signed.session) != (arrival.external_id, arrival.session):
            raise TokenError("the token is someone else's")
    except TokenError:
        if link.require_signed_token:
            raise
        return arrival, False
    return arrival, True


def _posted(request: HttpRequest, link: PlatformLink) -> tuple[Arrival, bool]:
    """What the page that they come from was made for; `BadSignature` for any other."""
    data = signing.loads(request.POST.get("visit", ""), salt=f"{SALT}.{link.pk}", max_age=PAGE_SECONDS)
    if link.require_signed_token and not data["verified"]:
        raise TokenError("the page was made before the study asked for signed tokens")
    return Arrival(data["id"], data["session"], data["study"], data["extras"]), data["verified"]


def _enter(request: HttpRequest, link: PlatformLink, arrival: Arrival, *, verified: bool) -> HttpResponse:
    study = link.study
    if (known := account_enrollment(request, study)) and known.stage != Stage.DECLINED:
        return _back_in(request, known)
    held = enrollment_held(request, study)
    if held is not None and held.stage != Stage.DECLINED:
        same = _is_same(held, link, arrival)
        if same and held.platform_session == arrival.session and held.stage != Stage.LEFT:
            return _back_in(request, held)
        # Who came in by another entry point is the same person, unless people share this computer.
        if held.annotator.source != link.platform and study.one_per_device:
            return _back_in(request, held)
        # Who holds the place in this browser need not prove that it is theirs.
        verified = verified or same
    mark = device_read(request)
    if request.method == "POST":
        return _come_in(request, link, arrival, verified=verified, mark=mark)
    reason = arrival_refusal(link=link, arrival=arrival, verified=verified)
    if reason is None and not is_inside(link, arrival.external_id):
        reason = entry_refusal(study=study, device=device_of(study, mark))
    if reason is not None:
        return _refusal_page(request, link, reason)
    context = {
        "study": study,
        "visit": _visit(link, arrival, verified=verified),
        "steps": steps_shown(study),
        "pay_line": pay_line(study),
    }
    # The mark is given before it is needed: a double click must not make two.
    return device_keep(request, render(request, "annotation/annotator/join.html", context), mark)


def _back_in(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    session_hold(request, enrollment, cycle=False)
    return redirect("annotation:place", enrollment.study.slug)


def _come_in(
    request: HttpRequest, link: PlatformLink, arrival: Arrival, *, verified: bool, mark: str
) -> HttpResponse:
    try:
        enrollment = platform_enter(
            link=link, arrival=arrival, verified=verified, device=device_of(link.study, mark)
        )
    except EntryRefusedError as refused:
        return _refusal_page(request, link, refused.reason)
    session_hold(request, enrollment)
    language_join(request, enrollment)
    return device_keep(request, redirect("annotation:place", link.study.slug), mark)


def _is_same(held: Enrollment, link: PlatformLink, arrival: Arrival) -> bool:
    return (held.annotator.source, held.annotator.external_id) == (link.platform, arrival.external_id)


def _visit(link: PlatformLink, arrival: Arrival, *, verified: bool) -> str:
    # Only what the study keeps: the page carries it.
    extras = {name: arrival.extras[name] for name in link.study.passthrough if name in arrival.extras}
    data = {
        "id": arrival.external_id,
        "session": arrival.session,
        "study": arrival.study,
        "extras": extras,
        "verified": verified,
    }
    return signing.dumps(data, salt=f"{SALT}.{link.pk}", compress=True)


def _refusal_page(request: HttpRequest, link: PlatformLink, reason: str) -> HttpResponse:
    if reason in OWN_PAGE:
        return _refused(request, link, reason)
    return refuse(request, reason, platform=PLATFORMS[link.platform].label)


def _refused(
    request: HttpRequest, link: PlatformLink, reason: str, *, status: int = 403, **extra: Any
) -> HttpResponse:
    context = {"platform": PLATFORMS[link.platform], "reason": reason} | extra
    return render(request, "annotation/annotator/platform_refused.html", context, status=status)


@never_cache
@csrf_exempt
@require_POST
def hook(request: HttpRequest, platform: str, token: str) -> HttpResponse:
    """A message of the platform about a submission. Answers are for its log: no page, no detail."""
    if too_often(group="hook", by=address_of(request), rate=HOOK_RATE):
        return HttpResponse("too many", status=429, content_type="text/plain")
    try:
        link = platform_link_get(platform, token, closed=True)
    except PlatformLink.DoesNotExist:
        return HttpResponse("unknown", status=404, content_type="text/plain")
    adapter = PLATFORMS[link.platform]
    secret = secret_read(adapter.webhook_variable)
    if not secret:
        return HttpResponse("not set up", status=404, content_type="text/plain")
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0
    if length > MAX_BODY_BYTES or len(request.body) > MAX_BODY_BYTES:
        return HttpResponse("too large", status=413, content_type="text/plain")
    try:
        event = adapter.verify_webhook(request.headers, request.body, secret, timezone.now())
    except WebhookError as error:
        return HttpResponse(str(error), status=error.status, content_type="text/plain")
    outcome = event_apply(link=link, event=event)
    return HttpResponse(outcome, content_type="text/plain")
