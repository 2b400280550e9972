"""Endpoints and judges in the admin. Forms collect; services decide."""

import json
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from judges.forms import EndpointForm, JudgeForm
from judges.models import BackendKind, Endpoint, Judge
from judges.selectors.judges import judge_has_judged, judges_with_use
from judges.services.endpoints import endpoint_create, endpoint_try, endpoint_update
from judges.services.judges import heuristic_judges_ensure, judge_content, judge_create, judge_update

JUDGE_SECTIONS = (
    (None, {"fields": ("name", "strategy")}),
    ("Model", {"fields": ("endpoint", "model", "revision")}),
    ("What it is asked", {"fields": ("prompt", "use_reference", "allow_tie", "params")}),
    ("How it samples", {"fields": ("temperature", "max_tokens", "top_p", "seed")}),
    ("For people", {"fields": ("notes",)}),
)


class RefusalsShown(admin.ModelAdmin[Any]):
    """What a service refuses while saving is shown as a message on the form's page, with nothing saved."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return HttpResponseRedirect(request.get_full_path())


@admin.register(Endpoint)
class EndpointAdmin(RefusalsShown):
    form = EndpointForm
    list_display = ("name", "base_url", "is_local", "max_concurrency", "price_input", "price_output")
    change_form_template = "admin/judges/endpoint/change_form.html"

    def save_form(self, request: HttpRequest, form: ModelForm[Endpoint], change: bool) -> Endpoint:
        """Keep the row as it is in the database; the service applies the change."""
        return form.instance

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Endpoint], change: bool) -> None:
        data = form.cleaned_data
        if change:
            endpoint_update(endpoint=Endpoint.objects.get(pk=obj.pk), **data)
        else:
            obj.pk = endpoint_create(**data).pk

    def get_urls(self) -> list[URLPattern]:
        own = path("<int:pk>/try/", self.admin_site.admin_view(self.try_view), name="judges_endpoint_try")
        return [own, *super().get_urls()]

    def try_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask one short question, so that a wrong address, key or model shows before a sweep does."""
        endpoint = get_object_or_404(Endpoint, pk=pk)
        if request.method == "POST":
            model = request.POST.get("model", "").strip()
            if not model:
                messages.error(request, "Name a model to try the endpoint with.")
            else:
                trial = endpoint_try(endpoint=endpoint, model=model)
                if trial.error:
                    messages.error(request, f"'{endpoint}' did not answer: {trial.error}")
                else:
                    messages.success(
                        request, f"'{endpoint}' answered in {trial.latency_ms:.0f} ms: {trial.text[:200]!r}"
                    )
        return HttpResponseRedirect(reverse("admin:judges_endpoint_change", args=[pk]))


@admin.register(Judge)
class JudgeAdmin(RefusalsShown):
    form = JudgeForm
    fieldsets = JUDGE_SECTIONS
    list_display = ("name", "strategy", "model", "endpoint", "used", "short_fingerprint", "created_at")
    list_filter = ("backend", "strategy", "endpoint")
    search_fields = ("name", "model", "fingerprint")
    change_form_template = "admin/judges/judge/change_form.html"
    change_list_template = "admin/judges/judge/change_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judge]:
        return judges_with_use()

    @admin.display(description="Has judged", boolean=True)
    def used(self, judge: Judge) -> bool:
        return bool(getattr(judge, "has_judged", False))

    @admin.display(description="Fingerprint")
    def short_fingerprint(self, judge: Judge) -> str:
        return format_html("<code>{}</code>", judge.fingerprint[:12])

    def has_change_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        """A judge that has judged is shown and not changed; a copy is offered instead."""
        if obj is not None and (obj.backend == BackendKind.IMPORTED or judge_has_judged(obj)):
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        if obj is not None and judge_has_judged(obj):
            return False
        return super().has_delete_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Judge | None = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            shown = ("name", "strategy", "endpoint", "model", "content", "fingerprint", "notes")
            return ((None, {"fields": shown}),)
        return JUDGE_SECTIONS

    def get_readonly_fields(self, request: HttpRequest, obj: Judge | None = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            return ("name", "strategy", "endpoint", "model", "content", "fingerprint", "notes")
        return ()

    @admin.display(description="Content")
    def content(self, judge: Judge) -> str:
        return format_html("<pre>{}</pre>", json.dumps(judge.spec, indent=2, sort_keys=True))

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        """`?copy=PK` starts from another judge."""
        initial = super().get_changeform_initial_data(request)
        source = Judge.objects.filter(pk=request.GET.get("copy") or 0).first()
        if source is None or source.backend == BackendKind.IMPORTED:
            return initial
        content = judge_content(source)
        decoding = content.pop("decoding", {})
        return {"name": f"{source.name} (copy)", **content, **decoding}

    def save_form(self, request: HttpRequest, form: ModelForm[Judge], change: bool) -> Judge:
        return form.instance

    def save_model(self, request: HttpRequest, obj: Judge, form: ModelForm[Judge], change: bool) -> None:
        assert isinstance(form, JudgeForm)
        data = {"name": form.cleaned_data["name"], "notes": form.cleaned_data["notes"], **form.content()}
        if change:
            judge_update(judge=Judge.objects.get(pk=obj.pk), **data)
        else:
            obj.pk = judge_create(created_by=request.user, **data).pk  # type: ignore[misc]

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "without-model/",
            self.admin_site.admin_view(require_POST(self.heuristics_view)),
            name="judges_judge_heuristics",
        )
        return [own, *super().get_urls()]

    def heuristics_view(self, request: HttpRequest) -> HttpResponse:
        """Make the judges that need no model, where they are missing."""
        judges = heuristic_judges_ensure()
        messages.success(request, f"The {len(judges)} judges that need no model are there.")
        return HttpResponseRedirect(reverse("admin:judges_judge_changelist"))
