"""What researchers send about a dataset that is there, and the items that a study offers."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from annotation.domain.errors import StudyRuleError
from annotation.forms.upload import (
    CriteriaForm,
    DatasetDocumentationForm,
    DatasetForm,
    ItemChoiceForm,
    import_file,
)
from annotation.importers import ImportFileError
from annotation.selectors.datasets import datasets_editable_by, datasets_owned_by
from annotation.services.criteria import criteria_add
from annotation.services.datasets import DatasetImportError, dataset_document, dataset_update
from annotation.services.item_choice import chosen_items_read, items_choose
from annotation.views.common import study_to_edit
from web.access import ResearcherRequest, is_researcher, researcher_action
from web.bodies import FORM_BYTES, accepts_body
from web.upload import MAX_BYTES


@researcher_action
def dataset_settings(request: ResearcherRequest, name: str) -> HttpResponse:
    """Change title, split and licence of a dataset of theirs; the same again changes nothing."""
    dataset = get_object_or_404(datasets_owned_by(request.user), name=name)
    form = DatasetForm(request.POST, instance=dataset)
    back = redirect(f"{reverse('annotation:dataset-detail', args=[name])}#about")
    if not form.is_valid():
        problems = [f"{form[field].label}: {words[0]}" for field, words in form.errors.items()]
        messages.error(request, f"Nothing was changed. {' '.join(problems)}")
        return back
    changed = dataset_update(dataset=dataset, **form.cleaned_data)
    messages.success(request, "The dataset was changed." if changed else "Nothing to change.")
    return back


@researcher_action
def dataset_documentation(request: ResearcherRequest, name: str) -> HttpResponse:
    """Describe a dataset of theirs for its exports; the same again changes nothing."""
    dataset = get_object_or_404(datasets_owned_by(request.user), name=name)
    form = DatasetDocumentationForm(request.POST)
    if not form.is_valid():
        problems = [f"{form[field].label}: {words[0]}" for field, words in form.errors.items()]
        messages.error(request, f"Nothing was changed. {' '.join(problems)}")
    else:
        changed = dataset_document(dataset=dataset, said=form.cleaned_data)
        messages.success(request, "The description was saved." if changed else "Nothing to change.")
    return redirect(f"{reverse('annotation:dataset-detail', args=[name])}export/#describe")


@researcher_action
def dataset_criteria(request: ResearcherRequest, name: str) -> HttpResponse:
    """Put a ready-made set of criteria on a dataset of theirs; the same set again changes nothing."""
    dataset = get_object_or_404(datasets_editable_by(request.user), name=name)
    form = CriteriaForm(request.POST)
    if not form.is_valid():
        raise Http404("There is no such set.")
    try:
        added = criteria_add(dataset=dataset, name=form.cleaned_data["criteria"])
    except DatasetImportError as error:
        messages.error(request, f"Nothing was added. {error}")
    else:
        words = f"{added} criteria were added." if added else "The dataset already has these criteria."
        messages.success(request, words)
    return redirect(f"{reverse('annotation:dataset-detail', args=[dataset.name])}#criteria")


@accepts_body(MAX_BYTES + FORM_BYTES, who=is_researcher)
@researcher_action
def study_items(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Choose the items of a draft, or prioritise those of an open study; `action=forget` undoes a choice."""
    study = study_to_edit(request, slug)
    back = redirect(f"{reverse('annotation:study-detail', args=[study.slug])}#items")
    if request.POST.get("action") == "forget":
        if study.state != "draft":
            raise Http404("Only a draft can discard its chosen items.")
        items_choose(study=study, rows=[])
        messages.success(request, "The study now offers what its rules select.")
        return back
    form = ItemChoiceForm(request.POST, request.FILES)
    if not form.is_valid():
        messages.error(request, f"Nothing was changed. {form.errors['file'][0]}")
        return back
    try:
        with import_file(form.cleaned_data["file"]) as path:
            choice = items_choose(study=study, rows=chosen_items_read(path))
    except ImportFileError as error:
        messages.error(request, f"Nothing was changed. {error}")
    except StudyRuleError as refusal:
        messages.error(request, f"Nothing was changed: {refusal.message}.")
    else:
        messages.success(request, f"{choice.added:,} items chosen, {choice.changed:,} changed.")
    return back
