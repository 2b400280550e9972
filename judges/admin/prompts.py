"""Prompts in the admin: read, tried on a real item, and changed by making new versions."""

from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.kinds import DEFAULT_KIND
from annotation.models import User
from judges.admin.pages import ServiceAdmin
from judges.forms.prompts import PreviewForm, PromptForm
from judges.models import PromptText
from judges.selectors.items import item_views
from judges.selectors.prompt_preview import PromptPreview, prompt_preview
from judges.selectors.prompts import (
    PromptVersion,
    judges_of_prompt,
    prompt_get,
    prompt_kinds,
    prompt_versions,
    prompts_listed,
)
from judges.selectors.strategies import kind_words
from judges.services.prompts import prompt_save, source_normalized
from judges.strategies.presentation import view_presented
from judges.strategies.prompt_language import known_parts, prompt_check, prompt_parts
from web.textdiff import lines_changed

STARTING_TEXT = "# system\n\n# user\n"
SHOWN_JUDGES = 20


@admin.register(PromptText)
class PromptTextAdmin(ServiceAdmin[PromptText]):
    def has_change_permission(self, request: HttpRequest, obj: PromptText | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: PromptText | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path(
                "text/<slug:kind>/<str:name>/",
                wrap(require_safe(self.prompt_view)),
                name="judges_prompttext_prompt",
            ),
            path("preview/", wrap(require_POST(self.preview_view)), name="judges_prompttext_preview"),
            *super().get_urls(),
        ]

    # --- the list and one prompt ------------------------------------------------------------------------------

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self.require_reading(request)
        groups: dict[str, list[Any]] = {}
        for family in prompts_listed():
            groups.setdefault(kind_words(family.kind), []).append(family)
        context: dict[str, Any] = {
            "title": "Prompts",
            "groups": list(groups.items()),
        }
        return self.own_page(request, "change_list.html", **context)

    def prompt_view(self, request: HttpRequest, kind: str, name: str) -> HttpResponse:
        """One version: its text, what changed, who uses it, and how it looks on an item."""
        prompt = prompt_get(kind, name)
        if prompt is None:
            raise Http404
        base = prompt_get(kind, prompt.based_on) if prompt.based_on else None
        judges = list(judges_of_prompt(prompt.sha)[: SHOWN_JUDGES + 1])
        context: dict[str, Any] = {
            "title": prompt.name,
            "prompt": prompt,
            "kind": kind_words(kind),
            "names": prompt_parts(prompt.source).names,
            "versions": prompt_versions(kind, prompt.stem),
            "base": base,
            "changes": lines_changed(base.source, prompt.source) if base is not None else (),
            "judges": judges[:SHOWN_JUDGES],
            "more_judges": len(judges) > SHOWN_JUDGES,
            "preview_form": PreviewForm(kind=kind, stem=prompt.stem),
        }
        return self.own_page(request, "prompt.html", **context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A row is shown on the page of its name; what has no row yet is a new version."""
        if object_id is None:
            return super().changeform_view(request, object_id, form_url, extra_context)
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return HttpResponseRedirect(prompt_url(row.kind, str(row)))

    # --- a new version ----------------------------------------------------------------------------------------

    def build_form(self, request: HttpRequest, obj: PromptText | None) -> PromptForm:
        kind, base = self._base(request)
        if request.method == "POST":
            form = PromptForm(request.POST)
            form.instance.kind = kind
            form.redraw = "_preview" in request.POST or "_random" in request.POST
            return form
        return PromptForm(
            initial={
                "name": base.stem if base is not None else "",
                "source": base.source if base is not None else STARTING_TEXT,
            }
        )

    def save(self, form: PromptForm, *, obj: PromptText | None, user: User) -> PromptText:
        return prompt_save(
            kind=form.instance.kind,
            name=form.cleaned_data["name"],
            source=form.cleaned_data["source"],
            notes=form.cleaned_data["notes"],
            based_on=form.data.get("based_on", ""),
            user=user,
        )

    def after_save(self, request: HttpRequest, obj: PromptText) -> HttpResponse:
        messages.success(request, f"Prompt '{obj}' is saved. Judges choose it by this name.")
        return HttpResponseRedirect(prompt_url(obj.kind, str(obj)))

    def page_context(self, request: HttpRequest, obj: PromptText | None) -> dict[str, Any]:
        kind, base = self._base(request)
        known = known_parts(kind)
        stem = base.stem if base is not None else ""
        preview_form = PreviewForm(request.POST or None, kind=kind, stem=stem)
        context: dict[str, Any] = {
            "kind": kind,
            "kind_words": kind_words(kind),
            "kinds": [(each, kind_words(each), each == kind) for each in prompt_kinds()],
            "base": base,
            "known_names": known.names,
            "own_names": (prompt_parts(base.source) if base is not None else known).names,
            "next_version": 1 + max((v.version for v in prompt_versions(kind, stem)), default=0)
            if stem
            else 1,
            "preview_form": preview_form,
            "title": f"New version of {stem}" if stem else "New prompt",
        }
        if "_preview" in request.POST or "_random" in request.POST:
            context |= self._preview(request, preview_form, kind, base)
        return context

    def _base(self, request: HttpRequest) -> tuple[str, PromptVersion | None]:
        """What the new version is made from: `?kind=pairwise&base=vanilla.v1`, or the same in the form."""
        given = request.POST if request.method == "POST" else request.GET
        kind = given.get("kind", DEFAULT_KIND)
        if kind not in prompt_kinds():
            kind = DEFAULT_KIND
        name = given.get("based_on" if request.method == "POST" else "base", "")
        return kind, prompt_get(kind, name) if name else None

    # --- the preview ------------------------------------------------------------------------------------------

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Show a text, or the prompt `based_on`, on an item; nothing is saved and nothing is sent."""
        kind, base = self._base(request)
        stem = base.stem if base is not None else ""
        form = PreviewForm(request.POST, kind=kind, stem=stem)
        name = "_preview" if getattr(request, "htmx", False) else "preview"
        return self.own_page(request, f"{name}.html", "Preview", **self._preview(request, form, kind, base))

    def _preview(
        self, request: HttpRequest, form: PreviewForm, kind: str, base: PromptVersion | None
    ) -> dict[str, Any]:
        typed = request.POST.get("source", "")
        source = source_normalized(typed) if typed else (base.source if base is not None else "")
        base_source = base.source if base is not None else ""
        problems = prompt_check(kind, source, base=base_source)
        context: dict[str, Any] = {
            "previewed": True,
            "problems": problems,
            "base": base,
            "changes": lines_changed(base_source, source) if base is not None else (),
            "item": None,
            "shown": None,
        }
        if not form.is_valid() or problems.errors:
            return context
        info, pk = form.info(), form.item_id(at_random="_random" in request.POST)
        if info is None or pk is None:
            words = "No strategy of this kind takes a prompt." if info is None else "There is no such item."
            return context | {"shown": PromptPreview((), words)}
        dataset_id = int(form.cleaned_data.get("dataset") or form.datasets[0].pk)
        item = next(item_views(dataset_id=dataset_id, kind=kind, item_ids=[pk]))
        shown = view_presented(item, 1 if form.cleaned_data.get("swapped") else 0)
        preview = prompt_preview(
            strategy=info.name,
            step=form.step(info),
            name=base.name if base is not None else "new.v1",
            source=source,
            item=shown,
            options=form.options(info),
        )
        return context | {"item": item, "strategy": info, "shown": preview}


def prompt_url(kind: str, name: str) -> str:
    """Return the address of a prompt's page."""
    return reverse("admin:judges_prompttext_prompt", args=[kind, name])
