"""A page with nothing but a ranking on it, for the tests of its parts: the product's templates, form and scripts."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from annotation.forms.work import WorkForm
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.shown import ShownAspect, ShownItem, ShownResponse
from annotation.models import Study

ASPECTS = (
    ("letter", "Is the generated text a letter from a parent to their child?"),
    ("warm", "Is the letter warm and supportive?"),
    ("college", "Is the child leaving for college?"),
    ("memory", "Does the letter mention one memory?"),
    ("saying", "Does the letter end with a saying?"),
)
INSTRUCTION = (
    "Write a letter from a parent to their child who is leaving for college. Keep it warm and supportive, "
    "mention one memory, and end with a saying."
)
LONG = "\n\n".join(
    f"**Step {k}.** Fold the paper along the dotted line, then turn it over and repeat on the other side."
    for k in range(12)
)
ANSWERS = (
    "Because air scatters blue light more than red: *Rayleigh scattering*.",
    LONG,
    "- The sun is yellow\n- the sea is blue\n- the sky mirrors the sea",
    "I do not know.\n\n```python\nprint('blue')\n```",
)
PAGE = """{% extends "base_annotator.html" %}
{% block title %}Ranking{% endblock %}
{% block question %}<h1>{{ study.question }}</h1>{% endblock %}
{% block progress %}{% include "components/progress.html" with done=11 total=20 %}{% endblock %}
{% block main %}<form method="post" data-annotate data-assignment="1">{% csrf_token %}
<main id="main" class="page work" tabindex="-1">
{% if error %}<p class="flash flash-error" role="alert">{{ error }}</p>{% endif %}
{% include kind_template %}
</main>
{% include bar_template %}</form>{% endblock %}
"""
received: list[dict[str, Any]] = []


def item_of(kind: str, size: int | None) -> ShownItem:
    aspects = tuple(ShownAspect(key, text) for key, text in ASPECTS)
    if size:
        aspects = tuple(
            ShownAspect(f"aspect-{k}", f"Does it meet requirement number {k}?") for k in range(size)
        )
    if kind == "importance":
        return ShownItem(kind=kind, instruction=INSTRUCTION, aspects=aspects)
    return ShownItem(
        kind=kind,
        instruction="Why is the sky blue?",
        responses=tuple(ShownResponse(text) for text in ANSWERS),
    )


@csrf_exempt
def ranking(request: HttpRequest, kind: str, ties: str) -> HttpResponse:
    item = item_of(kind, int(request.GET.get("size", 0)))
    study = Study(kind=kind, tie_policy="tie" if ties == "ties" else "off", question="What matters most?")
    rules = ValueRules(
        kind=kind,
        ties=ties == "ties",
        n_responses=len(item.responses),
        aspects=tuple(aspect.key for aspect in item.aspects),
    )
    form = WorkForm(study, rules, request.POST if request.method == "POST" else None)
    if form.is_valid():
        received.append(form.shown_value)
        return HttpResponse(
            "<!doctype html><html lang=en><link rel=icon href=data:,><title>Thanks</title><h1>Thanks</h1></html>"
        )
    # A draft comes as the query, as the work page would take it from the assignment.
    fields = (
        form.fields if form.is_bound else {name: text for name, text in request.GET.items() if name != "size"}
    )
    context: dict[str, Any] = {
        "item": item,
        "study": study,
        "fields": fields,
        "submit": "Submit",
        "error": form.error,
    }
    context |= {"kind_template": kind_of(kind).template, "bar_template": kind_of(kind).bar_template}
    page = engines["django"].from_string(PAGE).render(context, request)
    return HttpResponse(page)


urlpatterns = [path("<str:kind>/<str:ties>/", ranking)]
