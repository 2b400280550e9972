"""What contestants answered, in the admin: listed, opened, and made into pairs."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, URLPattern, path, reverse

from annotation.importers import ImportFileError
from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_by_name
from judges.admin.pages import ReadOnlyAdmin
from judges.forms.contestants import ALL, PairsForm
from judges.forms.judgment_filters import number_from
from judges.models import Generation, ParseStatus
from judges.selectors.generations import (
    GenerationFilter,
    contestants_with_generations,
    datasets_with_generations,
    generations_page,
)
from judges.selectors.trace import generation_trace
from judges.services.contestants import PairsError, PairsResult, pairs_make


@admin.register(Generation)
class GenerationAdmin(ReadOnlyAdmin[Generation]):
    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.pairs_view)
        return [path("make-pairs/", view, name="judges_generation_pairs"), *super().get_urls()]

    # --- the list and one of it -------------------------------------------------------------------------------

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self.require_reading(request)
        status = request.GET.get("status", "")
        filters = GenerationFilter(
            contestant_id=number_from(request.GET.get("contestant", "")),
            dataset_id=number_from(request.GET.get("dataset", "")),
            status=status if status in ParseStatus.values else "",
        )
        before, after = number_from(request.GET.get("before", "")), number_from(request.GET.get("after", ""))
        page = generations_page(filters, before=before, after=after)
        given = {
            "contestant": filters.contestant_id,
            "dataset": filters.dataset_id,
            "status": filters.status,
        }
        chosen = {name: value for name, value in given.items() if value not in (None, "")}
        context: dict[str, Any] = {
            "title": "Generations",
            "page": page,
            "filters": filters,
            "is_filtered": bool(chosen),
            "is_first": before is None and after is None,
            "query": urlencode(chosen),
            "newer_url": f"?{urlencode(chosen | {'after': page.newer})}" if page.newer else "",
            "older_url": f"?{urlencode(chosen | {'before': page.older})}" if page.older else "",
            "contestants": contestants_with_generations().only("name"),
            "datasets": datasets_with_generations().only("name"),
            "statuses": ParseStatus.choices,
        }
        return self.own_page(request, "change_list.html", **context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        self.require_reading(request)
        if object_id is None or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        rows = Generation.objects.select_related("contestant", "instruction__dataset")
        generation = rows.filter(pk=number_from(object_id) or 0).first()
        if generation is None:
            raise Http404
        context: dict[str, Any] = {
            "title": f"{generation.instruction.external_id}, answered by {generation.contestant}",
            "generation": generation,
            "instruction": generation.instruction,
            "trace": generation_trace(generation),
        }
        return self.own_page(request, "change_form.html", **context)

    # --- pairs ------------------------------------------------------------------------------------------------

    def pairs_view(self, request: HttpRequest) -> HttpResponse:
        """GET asks which dataset, then what to make of it; POST makes the pairs, twice the same ones once."""
        self.require_reading(request)
        source = datasets_by_name().filter(pk=number_from(request.GET.get("dataset", "")) or 0).first()
        form = None
        if source is not None:
            form = PairsForm(request.POST if request.method == "POST" else None, source=source)
            if form.is_bound and form.is_valid() and (made := self._pairs(request, form)):
                messages.success(request, made.summary())
                return HttpResponseRedirect(_dataset_url(made.dataset))
        context: dict[str, Any] = {
            "title": "Make pairs",
            "source": source,
            "form": form,
            "datasets": datasets_with_generations().only("name", "title"),
        }
        return self.own_page(request, "pairs.html", **context)

    def _pairs(self, request: HttpRequest, form: PairsForm) -> PairsResult | None:
        assert isinstance(request.user, User)
        values = form.cleaned_data
        try:
            return pairs_make(
                name=values["name"],
                title=values["title"],
                source=form.source,
                contestants=list(values["contestants"]),
                baseline=values["baseline"],
                all_samples=values["samples"] == ALL,
                seed=values["seed"],
                owner=request.user,
            )
        except (PairsError, ImportFileError) as error:
            form.add_error(None, str(error))
            return None


def _dataset_url(dataset: Dataset) -> str:
    """The dataset's page, which is of the application below."""
    try:
        return reverse("annotation:dataset-detail", args=[dataset.name])
    except NoReverseMatch:
        return reverse("admin:judges_generation_changelist")
