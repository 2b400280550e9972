"""Upload of judges: files, what they would become, and the button that adds the judge."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from judges.forms.judge_upload import JudgeChoiceForm, JudgeUploadForm
from judges.forms.judges import param_label
from judges.selectors.judge_preview import judge_preview
from judges.selectors.reading import judges_visible_to
from judges.services.judge_files import FORMAT_WORDS
from judges.services.judge_uploads import (
    MOST_BYTES,
    JudgeUploadError,
    judge_upload_create,
    judge_upload_define,
    judge_upload_delete,
    judge_upload_found,
    judge_upload_get_for,
    judge_upload_read,
    judge_uploads_of,
)
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_form, researcher_page
from web.bodies import FORM_BYTES, accepts_body

CHOICES = ("evaluator", "endpoint", "model", "name", "drawn_order", "seed")


@accepts_body(MOST_BYTES + FORM_BYTES, who=is_researcher)
@never_cache
@researcher_form
def judge_upload_page(request: ResearcherRequest) -> HttpResponse:
    """GET shows the form and what was sent before; POST sends files."""
    form = JudgeUploadForm(request.POST, request.FILES) if request.method == "POST" else JudgeUploadForm()
    if form.is_bound and form.is_valid():
        try:
            upload = judge_upload_create(
                user=request.user, texts=form.cleaned_data["judge_files"], name=form.names
            )
        except JudgeUploadError as error:
            form.add_error("judge_files", str(error))
        else:
            return redirect("judges:judge-upload", upload.pk)
    context = {
        "section": "judges",
        "crumbs": [("Judges", reverse("judges:judge-list")), ("Upload a judge", None)],
        "form": form,
        "uploads": judge_uploads_of(request.user),
    }
    return render(request, "judges/judge_upload.html", context)


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
def judge_upload_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    """What the files would become, with the choices in the address."""
    upload = judge_upload_get_for(request.user, pk)
    form = JudgeChoiceForm(request.GET, found=judge_upload_found(upload))
    form.is_valid()
    read = judge_upload_read(upload=upload, choice=form.choice())
    spec = read.shown
    visible = judges_visible_to(request.user)
    context = {
        "section": "judges",
        "crumbs": [
            ("Judges", reverse("judges:judge-list")),
            ("Upload a judge", reverse("judges:judge-uploads")),
            (upload.name, None),
        ],
        "upload": upload,
        "form": form,
        "read": read,
        "chosen_form": "" if read.chosen is None else FORMAT_WORDS[read.chosen.form],
        "judge_preview": None if spec is None else judge_preview(spec),
        "params": [] if spec is None else [(param_label(name), value) for name, value in spec.params.items()],
        "name": form.choice().name or (read.read.document.name if read.read else ""),
        "fields": [(name, request.GET[name]) for name in CHOICES if request.GET.get(name)],
        "existing_seen": read.existing is not None and visible.filter(pk=read.existing.pk).exists(),
        "added": visible.filter(uploads=upload),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    return render(request, f"judges/judge_upload_preview.html{'#preview' if part else ''}", context)


@researcher_action
def judge_upload_act(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Add the judge that was shown, or remove the files."""
    upload = judge_upload_get_for(request.user, pk)
    action = request.POST.get("action")
    if action == "remove":
        judge_upload_delete(upload=upload)
        messages.success(request, "The files were removed. Judges that they defined stay.")
        return redirect("judges:judge-uploads")
    if action != "add":
        raise Http404("There is no such action.")
    form = JudgeChoiceForm(request.POST, found=judge_upload_found(upload))
    asked = {name: request.POST[name] for name in CHOICES if request.POST.get(name)}
    back = redirect(f"{reverse('judges:judge-upload', args=[upload.pk])}?{urlencode(asked)}")
    if not form.is_valid():
        return back  # the page says what is wrong with which field
    try:
        made = judge_upload_define(
            upload=upload, choice=form.choice(), fingerprint=request.POST.get("fingerprint", "")
        )
    except JudgeUploadError as error:
        messages.error(request, f"Nothing was added. {error}")
        return back
    for note in made.notes:
        messages.warning(request, note)
    said = "was added." if made.is_new else "is this judge already; nothing was added."
    messages.success(request, f"'{made.judge}' {said}")
    return redirect("judges:judge-detail", made.judge.pk)
