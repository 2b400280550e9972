"""Files in the browser: a dataset, ready-made criteria for one, and the items that a study offers."""

import shlex

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from annotation.domain.errors import StudyRuleError
from annotation.forms.upload import (
    CriteriaForm,
    DatasetDocumentationForm,
    DatasetForm,
    DatasetUploadForm,
    ItemChoiceForm,
    import_file,
)
from annotation.importers import ImportFileError
from annotation.importers.errors import UnknownColumnsError, errors_of
from annotation.models import Dataset
from annotation.selectors.datasets import datasets_changeable_by, datasets_settled_by
from annotation.services.criteria import criteria_add
from annotation.services.datasets import DatasetImportError, dataset_document, dataset_import, dataset_update
from annotation.services.item_choice import chosen_items_read, items_choose
from annotation.views.common import study_of
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_form
from web.bodies import FORM_BYTES, accepts_body
from web.upload import MAX_BYTES


@accepts_body(MAX_BYTES + FORM_BYTES, who=is_researcher)
@researcher_form
def dataset_upload_view(request: ResearcherRequest) -> HttpResponse:
    """The form. What is wrong, or what the columns mean, is asked in a part of its own, so that the file stays."""
    form = DatasetUploadForm(request.POST or None, request.FILES or None)
    mapping: list[tuple[str, str, str]] = []
    if request.method == "POST" and form.is_valid():
        try:
            dataset = _import(request, form)
        except UnknownColumnsError as asked:
            mapping = form.mapping_rows(asked)
            missing = [str(one) for one in asked.errors if one.field not in asked.columns]
            unknown = "Some columns of the file are unknown. Choose what they are."
            form.add_error("file", missing if form.mapping and missing else unknown)
        else:
            if dataset is not None:
                address = reverse("annotation:dataset-detail", args=[dataset.name])
                return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
    context = {
        "section": "datasets",
        "form": form,
        "mapping": mapping,
        "problems": _problems(form),
        "crumbs": [("Datasets", reverse("annotation:dataset-list")), ("Import", None)],
    }
    return render(request, "annotation/researcher/dataset_upload.html", context)


def _problems(form: DatasetUploadForm) -> list[tuple[str, str, str]]:
    """(label, message, id of the field) of everything that is wrong."""
    return [
        (str(form[name].label), str(message), form[name].id_for_label or f"id_{name}")
        for name, messages in form.errors.items()
        if name in form.fields
        for message in messages
    ]


def _import(request: ResearcherRequest, form: DatasetUploadForm) -> Dataset | None:
    """The dataset of the file; None when it is refused, with what is wrong in the form.

    Raises
    ------
    UnknownColumnsError
        Somebody has to say first what the columns mean.
    """
    data = form.cleaned_data
    try:
        bundle = form.bundle()
        result = dataset_import(
            bundle=bundle,
            owner=request.user,
            name=data["name"],
            title=data["title"] or None,
            split=data["split"],
            licence=data["licence"] or None,
            source=f"{data['format']}: {data['file'].name[:150]}{bundle.remark}",
        )
    except UnknownColumnsError:
        raise
    except ImportFileError as error:
        for one in errors_of(error):
            if not one.file.startswith(f"{data['file'].name}/"):  # a member of an archive
                one.file = data[
                    "file"
                ].name  # what contradicts the stored rows is found after the copy is gone
        form.add_error("file", [str(one) for one in errors_of(error)])
        return None
    except DatasetImportError as error:
        form.add_error("name", str(error))
        return None
    messages.success(request, result.summary())
    if bundle.verdicts:
        messages.warning(request, _verdicts_words(form, len({one.judge for one in bundle.verdicts})))
    return result.dataset


def _verdicts_words(form: DatasetUploadForm, n_judges: int) -> str:
    """Judges are of the application above: which command stores the verdicts of this very file."""
    data, named = form.cleaned_data, form.mapping
    whose = "one judge" if n_judges == 1 else f"{n_judges:,} judges"
    command = [
        "python",
        "manage.py",
        "import_dataset",
        data["format"],
        data["file"].name,
        "--name",
        data["name"],
    ]
    if data["criteria"]:
        command += ["--criteria", data["criteria"]]
    if named:
        command += ["--map", *(f"{column}={field.removesuffix('.')}" for column, field in named.items())]
    return (
        f"The verdicts of {whose} in the file were not stored. Import them as a file of their own "
        f"(“Import verdicts” on this page), or run: {shlex.join(command)}"
    )


@researcher_action
def dataset_settings(request: ResearcherRequest, name: str) -> HttpResponse:
    """Change title, split and licence of a dataset of theirs; the same again changes nothing."""
    dataset = get_object_or_404(datasets_settled_by(request.user), name=name)
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
    dataset = get_object_or_404(datasets_settled_by(request.user), name=name)
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
    dataset = get_object_or_404(datasets_changeable_by(request.user), name=name)
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
    study = study_of(request, slug)
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
