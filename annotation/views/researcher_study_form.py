"""Making and changing a study: its form, what it would ask and cost, its guidelines over time, a copy of it."""

from typing import Any

from django.contrib import messages
from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify

from annotation.domain.errors import StudyRuleError
from annotation.domain.planning import Plan
from annotation.forms.answers import dimension_rows_read
from annotation.forms.eligibility import rows_read
from annotation.forms.study import LISTS, MARKDOWN_FIELDS, StudyForm, plan_of
from annotation.forms.study_fields import usual_seconds
from annotation.kinds import KINDS, kind_of
from annotation.models import Dataset, Study, StudyState
from annotation.selectors.guidelines import guidelines_versions, starting_text
from annotation.selectors.overview import may_copy
from annotation.services.studies import study_create, study_duplicate, study_update
from annotation.views.common import study_of, study_page, study_to_edit
from web.access import ResearcherRequest, researcher_action, researcher_form, researcher_page
from web.rendering import MAX_MARKDOWN

# What a button beside "Save" asks for: the same form again, with more to choose from or with a text.
REFRESH, KIND, STARTING_TEXT = "refresh", "kind", "starting-text"
FORM_SECTIONS = (
    ("s-data", "Data and slice"),
    ("s-work", "Work"),
    ("s-texts", "Guidelines and consent"),
    ("s-who", "Who may work"),
    ("s-checks", "Hidden checks"),
    ("s-entry", "Entry"),
    ("s-pay", "Pay"),
    ("s-deadline", "Deadline"),
    ("s-privacy", "Privacy"),
)


@researcher_form
def study_create_view(request: ResearcherRequest) -> HttpResponse:
    if request.method != "POST":
        form = _new_form(request)
        if not form.fields["dataset"].queryset.exists():  # type: ignore[attr-defined]
            messages.info(request, "A study needs a dataset. Import one first.")
            return redirect("judges:dataset-upload")
        return _form_page(request, form)
    if request.POST.get("action"):
        return _form_page(request, _form_again(request, None))
    form = StudyForm(request.POST, user=request.user)
    study = _create(request, form) if form.is_valid() else None
    if study is None:
        return _form_page(request, form)
    return redirect("annotation:study-detail", slug=study.slug)


def _new_form(request: ResearcherRequest) -> StudyForm:
    # PostgreSQL refuses a query with a NUL in it.
    wanted = request.GET.get("dataset", "").replace("\x00", "")
    form = StudyForm(user=request.user)
    chosen = form.fields["dataset"].queryset.filter(name=wanted).first()  # type: ignore[attr-defined]
    if chosen is None:
        return form
    kind = _first_kind(form, chosen)
    study = Study(dataset=chosen, kind=kind, question=kind_of(kind).question)
    form = StudyForm(user=request.user, instance=study)
    # The plan is of the study, the field begins with what is suggested.
    study.qualification_size = form.suggested_test()
    return form


def _first_kind(form: StudyForm, dataset: Dataset) -> str:
    """The first kind that the dataset has, in the order in which kinds are offered."""
    return next(kind for kind in KINDS if kind in form.sizes[dataset.pk])


def _form_again(request: ResearcherRequest, study: Study | None) -> StudyForm:
    """The form with what was typed, unchecked, after a button that saves nothing."""
    blank = StudyForm(user=request.user, instance=study)
    typed: dict[str, Any] = {
        name: request.POST.getlist(name) if name in LISTS else request.POST.get(name, "")
        for name in blank.fields
        if name not in blank.locked and name not in ("eligibility", "dimensions")
    }
    if study is None:
        _follow_dataset(blank, typed, is_kind_chosen=request.POST.get("action") == KIND)
    if request.POST.get("action") == STARTING_TEXT:
        typed["guidelines"] = starting_text(typed.get("kind") or blank.kind_chosen())
    form = StudyForm(user=request.user, instance=study, initial=typed)
    form.initial.update(typed)
    if study is None and typed.get("qualification_size") in ("", request.POST.get("suggested_test")):
        # Nobody has touched the suggestion: it follows the dataset.
        form.initial["qualification_size"] = form.suggested_test()
    form.question_rows = rows_read(request.POST)
    if "dimensions" not in form.locked:
        form.dimension_rows = dimension_rows_read(request.POST)
    return form


def _follow_dataset(blank: StudyForm, typed: dict[str, Any], *, is_kind_chosen: bool) -> None:
    """Let the kind follow the dataset, unless somebody has just chosen it, and the usual question follow the kind."""
    dataset = str(typed["dataset"])
    chosen = blank.fields["dataset"].queryset.filter(pk=dataset).first() if dataset.isdecimal() else None  # type: ignore[attr-defined]
    if chosen is not None and not is_kind_chosen and typed["kind"] not in blank.sizes[chosen.pk]:
        typed["kind"] = _first_kind(blank, chosen)
    if typed["kind"] in KINDS and typed["question"] in {kind.question for kind in KINDS.values()}:
        typed["question"] = kind_of(typed["kind"]).question


def _create(request: ResearcherRequest, form: StudyForm) -> Study | None:
    """The new study, or the one that the same form has made before; None when it is refused."""
    slug = _slug(form)
    made = Study.objects.filter(slug=slug, owner=request.user)
    if study := made.first():
        return study
    try:
        study = study_create(
            dataset=form.cleaned_data["dataset"], slug=slug, owner=request.user, **form.rules()
        )
    except (StudyRuleError, IntegrityError) as refusal:
        # Two of the same form at once, and the other was faster.
        if study := made.first():
            return study
        if isinstance(refusal, IntegrityError):
            raise
        form.show_rule(refusal.field, refusal.message)
        return None
    messages.success(request, "The study is a draft: check it, then open it.")
    return study


def _slug(form: StudyForm) -> str:
    """The address of a new study: its title, and a part that is the form's own."""
    nonce = slugify(form.cleaned_data["nonce"])[:8]
    return f"{slugify(form.cleaned_data['title'])[:48].strip('-') or 'study'}-{nonce}".strip("-")


@researcher_form
def study_edit(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = study_to_edit(request, slug)
    if request.method != "POST":
        return _form_page(request, StudyForm(instance=study, user=request.user))
    if request.POST.get("action"):
        return _form_page(request, _form_again(request, study))
    form = StudyForm(request.POST, instance=study, user=request.user)
    if form.is_valid():
        try:
            study_update(study=study, **form.rules())
        except StudyRuleError as refusal:
            form.show_rule(refusal.field, refusal.message)
        else:
            messages.success(request, "Saved.")
            return redirect("annotation:study-detail", slug=study.slug)
    return _form_page(request, form)


def _form_page(request: ResearcherRequest, form: StudyForm) -> HttpResponse:
    study = form.instance if form.instance.pk else None
    crumbs = [("Studies", reverse("annotation:study-list"))]
    if study:
        # The form has written what was typed into its instance; the page is named after what is stored.
        stored = Study.objects.values_list("title", flat=True).get(pk=study.pk)
        crumbs.append((stored, reverse("annotation:study-detail", args=[study.slug])))
    seconds = request.POST.get("assumed_seconds", "")
    context = {
        "section": "studies",
        "form": form,
        "study": study,
        "stored_title": crumbs[-1][0] if study else "",
        "crumbs": [*crumbs, ("Edit" if study else "New study", None)],
        "sections": FORM_SECTIONS,
        "kinds_offered": form.kinds_offered(),
        "problems": _problems(form),
        "plan": _plan(request, form, seconds),
        "assumed_seconds": seconds,
        "usual_seconds": usual_seconds(form.kind_chosen()),
        "opened": study is not None and study.state != StudyState.DRAFT,
    }
    return render(request, "annotation/researcher/study_form.html", context)


def _plan(request: ResearcherRequest, form: StudyForm, seconds: str) -> Plan | None:
    """Of what was typed, also where the form is shown again unchecked."""
    if form.is_bound or request.method != "POST":
        return plan_of(form, seconds=seconds)
    stored = Study.objects.get(pk=form.instance.pk) if form.instance.pk else None
    typed = StudyForm(request.POST, user=request.user, instance=stored)
    plan = plan_of(typed, seconds=seconds)
    if plan is not None:
        form.slice = typed.slice
    return plan


def _problems(form: StudyForm) -> list[tuple[str, str, str]]:
    """(label, first message, where it is) of each field that is at fault, for the summary at the top."""
    found = []
    for name in form.errors:
        if name not in form.fields:
            continue
        field = form[name]
        target = name if name in ("eligibility", "dimensions") else field.id_for_label or f"{field.auto_id}_0"
        found.append((str(field.label), str(form.errors[name][0]), target))
    return found


@researcher_action
def study_estimate(request: ResearcherRequest) -> HttpResponse:
    """What the form as it stands would ask and cost: the fragment in its margin. `?study=` is the one edited."""
    slug = request.GET.get("study", "")
    study = study_to_edit(request, slug) if slug else None
    form = StudyForm(request.POST, instance=study, user=request.user)
    seconds = request.POST.get("assumed_seconds", "")
    context = {
        "plan": plan_of(form, seconds=seconds),
        "form": form,
        "study": study,
        "assumed_seconds": seconds,
        "usual_seconds": usual_seconds(form.kind_chosen()),
    }
    return render(request, "annotation/researcher/study_form.html#estimate", context)


@researcher_action
def markdown_preview(request: ResearcherRequest) -> HttpResponse:
    """What a text will look like: the fragment beside its field."""
    field = request.GET.get("field", "")
    if field not in MARKDOWN_FIELDS:
        raise Http404("There is no such field.")
    text = request.POST.get(field, "")[:MAX_MARKDOWN]
    return render(request, "annotation/researcher/form/texts.html#preview", {"field": field, "text": text})


@researcher_page
def study_guidelines(request: ResearcherRequest, slug: str) -> HttpResponse:
    """The guidelines in each of their versions, and what changed."""
    study = study_of(request, slug)
    context = study_page(study, ("Guidelines", None)) | {"versions": guidelines_versions(study)}
    return render(request, "annotation/researcher/study_guidelines.html", context)


@researcher_action
def study_copy(request: ResearcherRequest, slug: str) -> HttpResponse:
    """A new draft with the same rules. The form's own number keeps a second press from making a second copy."""
    study = study_of(request, slug)
    if not may_copy(request.user, study):
        raise Http404("There is no such study to copy.")
    nonce = slugify(request.POST.get("nonce", ""))[:8]
    if not nonce:
        raise Http404("The form of the copy has no number.")
    wanted = f"copy-of-{study.slug}"[:54].strip("-") + f"-{nonce}"
    try:
        copied = study_duplicate(study=study, owner=request.user, slug=wanted)
    except StudyRuleError as refusal:
        messages.error(request, f"It can't be copied as it is: {refusal.message}.")
        return redirect("annotation:study-detail", slug=study.slug)
    except IntegrityError:
        copied = study_of(request, wanted)
    messages.success(request, "This is a copy: a new draft.")
    return redirect("annotation:study-edit", slug=copied.slug)
