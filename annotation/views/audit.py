"""The audit log, for administrators."""

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from annotation.forms.audit import AuditForm
from annotation.models import AuditEvent
from annotation.selectors.audit import PER_PAGE, audit_actions, audit_events, audit_table
from annotation.services.audit import audit
from web.access import ResearcherRequest, researcher_page
from web.files import streamed
from web.tables import FORMATS, table_bytes


@never_cache
@researcher_page
def audit_log(request: ResearcherRequest) -> HttpResponse:
    """What was changed and exported, the newest first, with filters in the address."""
    form = _form(request)
    pages = Paginator(audit_events(form.filter()), PER_PAGE)
    page = pages.get_page(request.GET.get("page"))
    asked = request.GET.copy()
    asked.pop("page", None)
    context = {
        "form": form,
        "page_obj": page,
        "events": [(event, _changes(event)) for event in page],
        "query": asked.urlencode(),
        "section": "admin",
    }
    return render(request, "annotation/researcher/audit.html", context)


@researcher_page
def audit_export(request: ResearcherRequest, format: str) -> HttpResponseBase:
    """The events that match, as a file; that it was exported is an event too."""
    form = _form(request)
    if format not in FORMATS:
        raise Http404(f"There is no format {format}.")
    asked = {name: str(value) for name, value in vars(form.filter()).items() if value}
    audit("audit log.exported", "audit log", after={"format": format, **asked})
    table = audit_table(audit_events(form.filter()))
    return streamed(table_bytes(table, format), f"audit-{timezone.now():%Y%m%d}.{format}", FORMATS[format])


def _form(request: ResearcherRequest) -> AuditForm:
    if not request.user.is_administrator:
        raise PermissionDenied("The audit log is for administrators.")
    return AuditForm(request.GET, actions=audit_actions())


def _changes(event: AuditEvent) -> list[tuple[str, object, object]]:
    """Each field with what it was and is."""
    before, after = event.before or {}, event.after or {}
    return [(name, before.get(name), after.get(name)) for name in {**before, **after}]
