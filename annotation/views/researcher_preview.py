"""A study as its annotators see it, for a researcher: their own templates, and nothing is stored.

The pages are those of the annotators byte for byte, but for a banner and for their addresses, which lead back here.
Where somebody is stands in the address alone.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django_htmx.http import HttpResponseClientRedirect

from annotation.domain.eligibility import eligibility_read, is_eligible
from annotation.forms.annotator import EligibilityForm
from annotation.forms.work import WorkForm, draft_fields
from annotation.kinds import kind_of
from annotation.kinds.shown import ShownItem
from annotation.models import Annotator, Enrollment, EvidenceRule, Stage
from annotation.selectors.preview import Preview, preview_of
from annotation.selectors.shown import item_shown, question_of, value_rules
from annotation.views.annotator.common import STEP_WORDS, money, study_context
from annotation.views.annotator.steps import CHECK_FIRST
from annotation.views.common import study_of
from web.access import ResearcherRequest, researcher_form
from web.languages import language_use

PAGES = "annotation/annotator"
ADDRESSES = {Stage.QUALIFICATION: "test"}
STAGES = {"test": Stage.QUALIFICATION}
NOBODY = "preview"
ITEM_STEPS = (Stage.TRAINING, Stage.QUALIFICATION, Stage.WORK)


class Walk:
    """One request on the way through a preview."""

    def __init__(self, request: ResearcherRequest, preview: Preview, step: str, place: int) -> None:
        self.request, self.preview, self.step, self.place = request, preview, step, place
        self.study = preview.study
        self.stage = step
        self.root = reverse("annotation:study-preview", args=[self.study.slug])

    def address(self, step: str, place: int = 0) -> str:
        """Where a step is; an item of it is counted from 1 in the address."""
        path = f"{self.root}{ADDRESSES.get(Stage(step), step)}/"
        return f"{path}{place + 1}/" if step in ITEM_STEPS else path

    def following(self) -> str:
        """The address of what comes next."""
        if self.step in ITEM_STEPS and self.place + 1 < len(self.preview.items[self.step]):
            return self.address(self.step, self.place + 1)
        steps = self.preview.steps
        at = steps.index(self.step) + 1
        return self.address(steps[at]) if at < len(steps) else f"{self.root}end/"

    def go(self, address: str) -> HttpResponse:
        return HttpResponseClientRedirect(address) if self.request.htmx else HttpResponseRedirect(address)

    def page(self, template: str, *, status: int = 200, **extra: Any) -> HttpResponse:
        """A page of the annotators with the banner, its addresses led back here."""
        study = self.study
        # Nobody, never saved: the pages name a person's stage, and an address of theirs that is replaced below.
        person = Enrollment(
            study=study,
            annotator=Annotator(),
            stage=self.stage,
            resume_token=NOBODY,
            completion_code=study.completion_code or "TS-PREVIEW",
        )
        context = study_context(self.request, person) | {
            "pay_for_test": money(study.pay_for_test, study),
            "resume_url": self.request.build_absolute_uri(self.root),
            "preview": True,
            "preview_steps": self._steps(),
            "section": "studies",
        }
        html: str = render_to_string(f"{PAGES}/{template}.html", context | extra, request=self.request)
        place = reverse("annotation:place", args=[study.slug])
        html = html.replace(f'"{place}"', f'"{self.following()}"').replace(f'"{place}', f'"{self.root}')
        return HttpResponse(html, status=status)

    def _steps(self) -> list[tuple[str, str, bool]]:
        return [
            (
                gettext(STEP_WORDS.get(step, kind_of(self.study.kind).work)),
                self.address(step),
                step == self.step,
            )
            for step in self.preview.steps
        ]


@researcher_form
def study_preview(request: ResearcherRequest, slug: str, path: str = "") -> HttpResponse:
    """`path` is as the annotator's address after the study: `consent/`, `training/2/`, `work/1/`."""
    study = study_of(request, slug)
    language_use(request, study.language)
    preview = preview_of(study)
    name, _, rest = path.strip("/").partition("/")
    number, _, beyond = rest.partition("/")
    if not preview.steps:
        messages.error(request, "There is nothing to preview yet: the study has no items.")
        return redirect("annotation:study-detail", slug=slug)
    step = str(STAGES.get(name, name))
    first = Walk(request, preview, preview.steps[0], 0)
    if not name:
        return first.go(first.address(preview.steps[0]))
    if name == "end":
        return _end(Walk(request, preview, preview.steps[-1], WORK_END))
    if step not in preview.steps:
        messages.info(request, "In the study, annotators would continue here. The preview starts again.")
        return first.go(first.address(preview.steps[0]))
    walk = Walk(request, preview, step, _place(preview, step, number or request.POST.get("question", "")))
    if beyond.startswith("draft"):
        return HttpResponse(status=204)
    if beyond and request.method == "POST":
        return walk.go(walk.following())
    return VIEWS[Stage(step)](walk)


WORK_END = 10**6  # after every item


def _place(preview: Preview, step: str, number: str) -> int:
    if step not in ITEM_STEPS:
        return 0
    place = int(number) - 1 if number.isdecimal() and len(number) < 6 else 0
    if not 0 <= place < len(preview.items[step]):
        raise Http404("There is no such item in the preview.")
    return place


def _consent(walk: Walk) -> HttpResponse:
    if walk.request.method == "POST":
        if walk.request.POST.get("answer") == "decline":
            return walk.page("declined")
        if walk.request.POST.get("agree"):
            return walk.go(walk.following())
        messages.warning(walk.request, gettext(CHECK_FIRST))
    return walk.page("consent", fingerprint="")


def _eligibility(walk: Walk) -> HttpResponse:
    questions = eligibility_read(walk.study.eligibility)
    form = EligibilityForm(questions, walk.request.POST if walk.request.method == "POST" else None)
    if form.is_valid():
        if not is_eligible(questions, form.answers):
            messages.info(
                walk.request, "People with these answers are told that they aren't a match for this study."
            )
        return walk.go(walk.following())
    return walk.page("eligibility", form=form, status=422 if form.is_bound else 200)


def _guidelines(walk: Walk) -> HttpResponse:
    if walk.request.method == "POST":
        return walk.go(walk.following())
    steps = walk.preview.steps
    return walk.page("guidelines", next_step=steps[steps.index(walk.step) + 1])


def _answer(walk: Walk, shown: ShownItem | None = None) -> WorkForm:
    item = walk.preview.item(walk.step, walk.place)
    asker = walk.preview.asker(walk.step)
    return WorkForm(asker, value_rules(asker, item), walk.request.POST, shown)


def _training(walk: Walk) -> HttpResponse:
    """An answer leads to what is said of it; the answer stands in the address, since nothing is stored."""
    post = walk.request.POST
    if walk.request.method == "POST":
        if "finish" in post:
            return walk.go(_after(walk, Stage.TRAINING))
        form = _answer(walk)
        if not form.is_valid():
            return _ask(walk, "training", form)
        given = urlencode(draft_fields(post))
        return walk.go(f"{walk.address(Stage.TRAINING, walk.place)}?{given}")
    if walk.request.GET:
        return _feedback(walk)
    return _ask(walk, "training", None)


def _feedback(walk: Walk) -> HttpResponse:
    item, study = walk.preview.item(walk.step, walk.place), walk.study
    given = draft_fields(walk.request.GET)
    form = WorkForm(study, value_rules(study, item), given)
    if not form.is_valid():
        return _ask(walk, "training", None)
    return walk.page("training_feedback", feedback=walk.preview.feedback(walk.place, given, form.shown_value))


def _after(walk: Walk, step: str) -> str:
    last = Walk(walk.request, walk.preview, step, WORK_END)
    return last.following()


def _test(walk: Walk) -> HttpResponse:
    if walk.request.method == "POST":
        form = _answer(walk)
        return walk.go(walk.following()) if form.is_valid() else _ask(walk, "qualification", form)
    return _ask(walk, "qualification", None)


def _ask(walk: Walk, template: str, form: WorkForm | None) -> HttpResponse:
    return walk.page(
        template,
        status=422 if form else 200,
        question=walk.preview.question(walk.step, walk.place),
        asker=walk.preview.asker(walk.step),
        done=walk.place,
        fields=draft_fields(walk.request.POST) if form else {},
        error=form.error if form else "",
    )


def _work(walk: Walk) -> HttpResponse:
    study, item = walk.study, walk.preview.item(Stage.WORK, walk.place)
    shown = item_shown(study, item, walk.preview.order(Stage.WORK, item))
    form = _answer(walk, shown) if walk.request.method == "POST" else None
    if form is not None and form.is_valid():
        return walk.go(walk.following())
    is_marked = study.evidence != EvidenceRule.OFF
    total = len(walk.preview.items[Stage.WORK])
    return walk.page(
        "work",
        status=422 if form else 200,
        state="item",
        title=question_of(study, shown),
        state_template=f"{PAGES}/_item.html",
        here=walk.address(Stage.WORK, walk.place),
        progress={"done": walk.place, "total": total},
        assignment={"pk": f"preview-{item.pk}"},
        item=shown,
        evidence=is_marked,
        marking=is_marked,
        fields=draft_fields(walk.request.POST) if form else {},
        submit=gettext("Submit"),
        active_ms=0,
        error=form.error if form else "",
    )


def _end(walk: Walk) -> HttpResponse:
    study = walk.study
    answers = len(walk.preview.items[Stage.WORK])
    walk.stage = Stage.DONE
    return walk.page("done", answers=answers, earned=money(answers * study.pay_per_item, study))


VIEWS = {
    Stage.CONSENT: _consent,
    Stage.ELIGIBILITY: _eligibility,
    Stage.GUIDELINES: _guidelines,
    Stage.TRAINING: _training,
    Stage.QUALIFICATION: _test,
    Stage.WORK: _work,
}
