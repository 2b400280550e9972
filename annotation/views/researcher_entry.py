"""A study's Entry page: its links for platforms, who came in by them, and what the platforms say of them."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.entry import PLATFORMS
from annotation.entry.base import Outcome, Platform, SubmissionRow
from annotation.entry.errors import EntryError
from annotation.forms.entry import MAX_FILE_BYTES, PlatformLinkForm, ReconcileForm
from annotation.models import PlatformLink, Study
from annotation.selectors.entry import arrivals_by_status, arrivals_of, entry_counts, platform_links_of
from annotation.selectors.overview import may_identify
from annotation.services.entry import platform_link_close, platform_link_reopen, platform_link_save
from annotation.services.reconcile import ReconcilePlan, Rules, Step, reconcile_apply, reconcile_plan
from annotation.services.secrets import keys_read, secret_read
from annotation.views.common import study_page, study_to_own
from web.access import (
    ResearcherRequest,
    is_researcher,
    researcher_action,
    researcher_page,
    researcher_required,
)
from web.bodies import FORM_BYTES, accepts_body

PEOPLE_PER_PAGE = 50
SALT = "annotation.reconcile"
PREVIEW_SECONDS = 60 * 60


def _platform(name: str) -> Platform:
    try:
        return PLATFORMS[name]
    except KeyError:
        raise Http404("There is no such platform.") from None


def _link(study: Study, name: str) -> PlatformLink:
    _platform(name)
    link = platform_links_of(study).get(name)
    if link is None:
        raise Http404("The study has no entry point for this platform.")
    return link


def _home(study: Study, anchor: str = "") -> HttpResponseRedirect:
    return redirect(reverse("annotation:study-entry", args=[study.slug]) + (f"#{anchor}" if anchor else ""))


@researcher_page
def entry(request: ResearcherRequest, slug: str) -> HttpResponse:
    return _page(request, study_to_own(request, slug))


def _page(
    request: ResearcherRequest, study: Study, *, bound: PlatformLinkForm | None = None, status: int = 200
) -> HttpResponse:
    links, counts = platform_links_of(study), entry_counts(study)
    entry_links = [
        _entry_link(platform, links.get(platform.name), bound, counts) for platform in PLATFORMS.values()
    ]
    context = study_page(study, ("Entry", None)) | {
        "entry_links": entry_links,
        "reconcile_form": ReconcileForm(),
        "statuses": [(PLATFORMS[row.platform], row) for row in arrivals_by_status(study)],
        "page_obj": Paginator(arrivals_of(study), PEOPLE_PER_PAGE).get_page(request.GET.get("page")),
        "may_identify": may_identify(request.user, study),
        "account_url": settings.SITE_URL + reverse("annotation:account"),
        "accounts": counts.get("account", 0),
    }
    return render(request, "annotation/researcher/entry.html", context, status=status)


def _entry_link(
    platform: Platform, link: PlatformLink | None, bound: PlatformLinkForm | None, counts: dict[str, int]
) -> dict[str, Any]:
    """What the page says of one platform; secrets as set or not, never as what they are."""
    is_bound = bound is not None and bound.platform is platform
    found: dict[str, Any] = {
        "platform": platform,
        "link": link,
        "form": bound if is_bound else PlatformLinkForm(platform=platform, link=link),
        "people": counts.get(platform.name, 0),
        "open": is_bound or link is not None,
    }
    if link is None:
        return found
    address = settings.SITE_URL + reverse("annotation:enter", args=[platform.name, link.token])
    query = "&".join(f"{name}={value}" for name, value in platform.parameters.placeholders.items())
    found["address"] = f"{address}?{query}" if query else address
    found["lacks"] = _lacking(platform, link)
    found["can_fetch"] = bool(secret_read(platform.api_variable))
    if platform.webhook_variable:
        found["hook"] = settings.SITE_URL + reverse("annotation:hook", args=[platform.name, link.token])
    found["secrets"] = [
        (variable, is_set, words)
        for variable, is_set, words in (
            (
                platform.webhook_variable,
                bool(secret_read(platform.webhook_variable)),
                "messages of the platform",
            ),
            (platform.api_variable, found["can_fetch"], "asking its API"),
            (platform.keys_variable, keys_read(platform.keys_variable) is not None, "signed tokens"),
        )
        if variable
    ]
    return found


def _lacking(platform: Platform, link: PlatformLink) -> list[str]:
    """The outcomes for which the platform could take people back, but has no code."""
    outcomes = (
        (Outcome.COMPLETED, link.completed_code, "completed"),
        (Outcome.SCREENED_OUT, link.screened_out_code, "screened out"),
        (Outcome.NO_CONSENT, link.no_consent_code, "no consent"),
    )
    return [
        words for outcome, code, words in outcomes if not code and platform.return_url(link, outcome, "x")
    ]


@researcher_action
def link_save(request: ResearcherRequest, slug: str, platform: str) -> HttpResponse:
    study, adapter = study_to_own(request, slug), _platform(platform)
    form = PlatformLinkForm(request.POST, platform=adapter)
    if not form.is_valid():
        return _page(request, study, bound=form, status=422)
    platform_link_save(study=study, platform=adapter.name, **form.cleaned_data)
    messages.success(request, f"{adapter.label}: saved.")
    return _home(study, adapter.name)


@researcher_action
def link_state(request: ResearcherRequest, slug: str, platform: str) -> HttpResponse:
    study = study_to_own(request, slug)
    link, label = _link(study, platform), PLATFORMS[platform].label
    action = request.POST.get("action", "")
    if action == "close":
        platform_link_close(link=link)
        messages.success(request, f"Nobody new can join from {label}. People who joined can continue.")
    elif action == "open":
        platform_link_reopen(link=link)
        messages.success(request, f"People can join from {label} again.")
    else:
        raise Http404("There is no such action.")
    return _home(study, platform)


@accepts_body(MAX_FILE_BYTES + FORM_BYTES, who=is_researcher)
@require_http_methods(["POST"])
@researcher_required
def reconcile(request: ResearcherRequest, slug: str, platform: str) -> HttpResponse:
    """A file, or the platform's API, becomes a preview; the preview, confirmed, is done."""
    study = study_to_own(request, slug)
    link = _link(study, platform)
    if "rows" in request.POST:
        return _confirm(request, study, link)
    adapter = PLATFORMS[link.platform]
    at: datetime | None
    try:
        if request.POST.get("source") == "api":
            token = secret_read(adapter.api_variable)
            if not token:
                raise Http404("This platform has no API that Touchstone can use.")
            rows, at, exact = adapter.fetch(link, token), timezone.now(), True
            name = f"{adapter.label}'s API"
        else:
            form = ReconcileForm(request.POST, request.FILES)
            if not form.is_valid():
                raise EntryError(form.errors["file"][0])
            file = form.cleaned_data["file"]
            name, exact = file.name, False
            rows = adapter.rows(file.read(), name)
            at = max((row.at for row in rows if row.at), default=None)
    except EntryError as error:
        messages.error(request, f"Nothing was changed. {error}")
        return _home(study, platform)
    return _preview(request, study, link, name=name, rows=rows, at=at, exact=exact)


def _preview(
    request: ResearcherRequest,
    study: Study,
    link: PlatformLink,
    *,
    name: str,
    rows: list[SubmissionRow],
    at: datetime | None,
    exact: bool,
) -> HttpResponse:
    plan = reconcile_plan(link=link, rows=rows, at=at, exact=exact)
    packed = {
        "rows": [[row.session, row.external_id, row.status, row.code] for row in rows],
        "at": at and at.isoformat(),
        "exact": exact,
    }
    entry_url = reverse("annotation:study-entry", args=[study.slug])
    crumbs = ("Entry", entry_url), (PLATFORMS[link.platform].label, None)
    context = study_page(study, *crumbs) | {
        "link": link,
        "platform": PLATFORMS[link.platform],
        "name": name,
        "total": len(rows),
        "plan": plan,
        "leaving": plan.of(Step.LEAVE),
        "returning": plan.of(Step.RETURN),
        "noted": len(plan.of(Step.NOTE)),
        "unchanged": len(plan.of(Step.SAME, Step.OLDER)),
        "strangers": len(plan.of(Step.STRANGER, Step.OTHER)),
        "mismatched": plan.of(Step.MISMATCH),
        "changes": bool(plan.of(Step.LEAVE, Step.RETURN, Step.NOTE)),
        "packed": signing.dumps(packed, salt=f"{SALT}.{link.pk}", compress=True),
    }
    return render(request, "annotation/researcher/reconcile.html", context)


def _confirm(request: ResearcherRequest, study: Study, link: PlatformLink) -> HttpResponse:
    try:
        packed = signing.loads(request.POST["rows"], salt=f"{SALT}.{link.pk}", max_age=PREVIEW_SECONDS)
    except signing.BadSignature:
        messages.error(request, "Nothing was changed: the preview has expired. Upload the file again.")
        return _home(study, link.platform)
    plan = reconcile_apply(
        link=link,
        rows=[SubmissionRow(*row) for row in packed["rows"]],
        channel="api" if packed["exact"] else "file",
        by=request.user,
        rules=Rules(
            returned=bool(request.POST.get("set_aside_returned")),
            timed_out=bool(request.POST.get("set_aside_timed_out")),
        ),
        at=datetime.fromisoformat(packed["at"]) if packed["at"] else None,
        exact=packed["exact"],
    )
    messages.success(request, _done_words(plan))
    return _home(study, "arrivals")


def _done_words(plan: ReconcilePlan) -> str:
    left, back = len(plan.of(Step.LEAVE)), len(plan.of(Step.RETURN))
    noted = len(plan.of(Step.NOTE))
    if not left and not back and not noted:
        return "Nothing changed: the file agrees with this study."
    parts = [f"{left} left", f"{back} came back", f"{noted} with a new status"]
    aside = f" {plan.labels} labels were excluded." if plan.labels else ""
    return f"Done: {', '.join(parts)}.{aside}"
