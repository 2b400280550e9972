"""Judges in the admin: defined, changed while unused, copied."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from annotation.admin import DeletingMixin
from annotation.models import User
from judges.admin.pages import ServiceAdmin
from judges.forms.judges import JudgeForm, judge_shown
from judges.models import BackendKind, Endpoint, Judge
from judges.selectors.items import judge_kind
from judges.selectors.judges import judge_has_judged, judge_places, judges_with_use
from judges.selectors.overview import judge_strategy
from judges.selectors.strategies import kind_words, strategy_facts
from judges.services.judges import heuristic_judges_ensure, judge_create, judge_delete, judge_update


@admin.register(Judge)
class JudgeAdmin(DeletingMixin, ServiceAdmin[Judge]):
    list_filter = ("backend",)
    search_fields = ("name", "model", "strategy", "endpoint__name", "fingerprint")
    change_list_template = "admin/judges/judge/change_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judge]:
        return judges_with_use()

    def has_change_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        """A judge that has judged is shown and not changed; a copy is offered instead."""
        if obj is not None and (obj.backend == BackendKind.IMPORTED or judge_has_judged(obj)):
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        if obj is not None and judge_has_judged(obj):
            return False
        return super().has_delete_permission(request, obj)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        judge = self.get_object(request, object_id)
        if judge is not None and judge_has_judged(judge):
            messages.error(
                request, f"'{judge}' is in use and can't be deleted: reports depend on its verdicts."
            )
            return HttpResponseRedirect(self.url("change", judge.pk))
        return super().delete_view(request, object_id, extra_context)

    def remove(self, obj: Judge) -> object:
        return judge_delete(judge=obj)

    def build_form(self, request: HttpRequest, obj: Judge | None) -> JudgeForm:
        source = obj or self._copied(request)
        initial: dict[str, Any] = {}
        if obj is None and source is not None:
            initial = {"name": f"{source.name} (copy)", "notes": source.notes}
        elif obj is None and (endpoint := Endpoint.objects.order_by("name").first()):
            initial = {"endpoint": endpoint.pk}
        data = request.POST if request.method == "POST" else None
        return JudgeForm(data, instance=obj, source=source, initial=initial)

    def _copied(self, request: HttpRequest) -> Judge | None:
        """`?copy=PK` starts from another judge."""
        wanted = request.GET.get("copy", "")
        if not wanted.isdecimal():
            return None
        return Judge.objects.exclude(backend=BackendKind.IMPORTED).filter(pk=int(wanted)).first()

    def save(self, form: JudgeForm, *, obj: Judge | None, user: User) -> Judge:
        data = {"name": form.cleaned_data["name"], "notes": form.cleaned_data["notes"], **form.content()}
        if obj is None:
            return judge_create(created_by=user, **data)
        return judge_update(judge=obj, **data)

    def page_context(self, request: HttpRequest, obj: Judge | None) -> dict[str, Any]:
        if obj is None:
            return {"copied": self._copied(request)}
        info, places = judge_strategy(obj), judge_places(obj)
        return {
            "n_judgments": sum(place.n for place in places),
            **judge_shown(obj),
            "facts": strategy_facts(info) if info is not None else None,
            "places": places,
            "members": list(obj.memberships.select_related("member")),
            "member_of": list(obj.member_of.select_related("judge").order_by("judge__name")),
        }

    def rows(self, result_list: Any) -> list[Any]:
        return [(judge, judge_strategy(judge), kind_words(judge_kind(judge))) for judge in result_list]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.heuristics_view))
        return [
            path("without-model/", view, name="judges_judge_heuristics"),
            *super().get_urls(),
        ]

    def heuristics_view(self, request: HttpRequest) -> HttpResponse:
        """Make the judges that need no model, where they are missing."""
        judges = heuristic_judges_ensure()
        messages.success(request, f"The {len(judges)} baselines (no LLM) are there.")
        return HttpResponseRedirect(self.url("changelist"))
