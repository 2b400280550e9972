"""Endpoints in the admin: made, changed, tried."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from annotation.models import User
from judges.admin.pages import ServiceAdmin
from judges.forms.endpoints import EndpointForm
from judges.forms.redrawn import REDRAW
from judges.models import IN_WORKER, Endpoint, Judge
from judges.selectors.overview import endpoint_models, endpoints_overview, key_state
from judges.services.endpoints import endpoint_create, endpoint_try, endpoint_update

SHOWN_ANSWER = 200
"""Characters of a trial's answer that are shown: enough to see that it is one."""


@admin.register(Endpoint)
class EndpointAdmin(ServiceAdmin[Endpoint]):
    change_list_template = "admin/judges/endpoint/change_list.html"
    search_fields = ("name", "base_url")
    list_filter = ("kind",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        return endpoints_overview()

    def build_form(self, request: HttpRequest, obj: Endpoint | None) -> EndpointForm:
        form = EndpointForm(request.POST if request.method == "POST" else None, instance=obj)
        form.redraw = REDRAW in request.POST
        return form

    def save(self, form: EndpointForm, *, obj: Endpoint | None, user: User) -> Endpoint:
        fields = form.fields_saved()
        return endpoint_create(**fields) if obj is None else endpoint_update(endpoint=obj, **fields)

    def after_save(self, request: HttpRequest, obj: Endpoint) -> HttpResponse:
        tried = "" if obj.kind in IN_WORKER else " Test it to see whether it answers."
        messages.success(request, f"Endpoint '{obj}' is saved.{tried}")
        return HttpResponseRedirect(self.url("change", obj.pk))

    def page_context(self, request: HttpRequest, obj: Endpoint | None) -> dict[str, Any]:
        if obj is None:
            return {"in_worker": IN_WORKER}
        stored = Endpoint.objects.get(pk=obj.pk)  # the form may have written into `obj`
        return {
            "key_state": key_state(stored),
            "stored": stored,
            "models": endpoint_models(stored),
            "tried": request.GET.get("tried", ""),
            "in_worker": IN_WORKER,
        }

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the judges that an endpoint is needed for, once each; their models' rows are no news."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        judges = Judge.objects.filter(models__endpoint__in=list(objs)).distinct().order_by("name")
        return deleted, counts, lacking, [f"Judge: {judge}" for judge in judges] or protected

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"in_worker": IN_WORKER, **(extra_context or {})})

    def rows(self, result_list: Any) -> list[Any]:
        return [(endpoint, key_state(endpoint)) for endpoint in result_list]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.try_view))
        return [path("<int:pk>/try/", view, name="judges_endpoint_try"), *super().get_urls()]

    def try_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask one short question, so that a wrong address, key or model shows before a sweep does."""
        endpoint = get_object_or_404(Endpoint, pk=pk)
        model = request.POST.get("model", "").strip()
        if not model:
            messages.error(request, "Enter a model to test the endpoint with.")
        else:
            trial = endpoint_try(endpoint=endpoint, model=model)
            if trial.error:
                messages.error(request, f"'{endpoint}' did not answer: {trial.error}")
            else:
                answer = " ".join(trial.text.split())[:SHOWN_ANSWER] or "an empty text"
                messages.success(
                    request, f"'{endpoint}' answered as {model} in {trial.latency_ms:.0f} ms: {answer}"
                )
        tried = f"?{urlencode({'tried': model})}" if model else ""
        return HttpResponseRedirect(self.url("change", pk) + tried)
