"""The site, and beside it a page that shows one item of each kind: the templates of the kinds without the work around
them. What is sent comes back as the form read it, or with what is missing.
"""

from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import include, path

from annotation.domain.conversation import Turn
from annotation.domain.scales import Scale
from annotation.forms.work import WorkForm, draft_fields
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem, ShownResponse
from annotation.models import Study
from annotation.services.criteria import criteria_set

PAGE = """{% extends "base_annotator.html" %}{% load static touchstone %}
{% block styles %}{{ block.super }}<link rel="stylesheet" href="{% static 'css/ranking.css' %}">{% endblock %}
{% block question %}<h1>{{ study.question }}</h1>{% endblock %}
{% block progress %}{% include "components/progress.html" with done=3 total=40 %}{% endblock %}
{% block main %}<form method="post" data-annotate data-once data-assignment="{{ kind }}">{% csrf_token %}
<input type="hidden" name="active_ms" value="0"><input type="hidden" name="wall_ms" value="0">
<main id="main" class="page work" tabindex="-1">
{% if error and not error.is_at_part %}<p class="flash flash-error" role="alert">{{ error }}</p>{% endif %}
{% if read %}<section class="card card-body" id="read"><h2>Read</h2><pre>{{ read }}</pre>
{% include "annotation/annotator/kinds/answer.html" with value_fields=fields %}</section>{% endif %}
{% include body %}</main>{% include bar %}</form>{% endblock %}"""

ANSWER = """The area is the sum of **six equal faces**.

1. One face: \\( s^2 = 16 \\)
2. All faces: \\( 6 s^2 = 96 \\)

```python
def area(side: float) -> float:
    return 6 * side ** 2
```

So a cube of side 4 has a surface of **96 square units**."""
OTHER = "A cube has six faces. Each has an area of 4 × 4 = 16, so together they have 96."
CRITERIA = tuple(
    ShownCriterion(key, question, Scale(words=tuple(enumerate(options, start=1))))
    for key, question, options in (
        (
            "helpfulness",
            "Does the answer do what the instruction is after?",
            ("It is of no use", "It helps a little", "It helps in part", "It helps", "It helps fully"),
        ),
        (
            "completeness",
            "Is everything there that was asked for?",
            ("Almost nothing", "Less than half", "About half", "Most of it", "All of it"),
        ),
        (
            "conciseness",
            "Is it as short as it can be?",
            ("Far too long", "Too long", "Somewhat long", "Almost right", "Just right"),
        ),
    )
)
SCALES = (
    ShownCriterion(
        "depth", "How deep is it?", Scale(0, 100, words=((0, "Says nothing"), (100, "Leaves nothing open")))
    ),
    ShownCriterion(
        "tone",
        "How warm is its tone?",
        Scale(
            -3, 3, not_applicable=True, words=((-3, "Far too cold"), (0, "Just right"), (3, "Far too warm"))
        ),
    ),
    ShownCriterion("safe", "Is it safe?", Scale(0, 1, words=((0, "Fail"), (1, "Pass")))),
    ShownCriterion("overall", "How good is it overall?", Scale(0, 10)),
    ShownCriterion("sources", "How well is it sourced?", Scale(0, 100, not_applicable=True)),
    ShownCriterion("rank", "Which grade does it earn?", Scale(1, 10)),
    CRITERIA[0],
)
HELM = tuple(
    ShownCriterion(record.key, record.question, record.rated_on) for record in criteria_set("helm-instruct")
)
ASPECTS = (
    ShownAspect("a1", "Does the answer give the surface area in square units?"),
    ShownAspect("a2", "Is the calculation shown in one line?"),
    ShownAspect(
        "a3", "Does it avoid anything that was not asked for, such as the volume or a general introduction?"
    ),
)
TOPICS = tuple(ShownAspect(name, name) for name in ("geometry", "algebra", "a calculation", "something else"))
TURNS = (
    Turn("user", "I am learning solid geometry. Can you help?"),
    Turn("assistant", "Gladly. Which solid are you looking at?"),
)


def item_of(kind: str, variant: str) -> ShownItem:
    responses = (ShownResponse(ANSWER), ShownResponse(OTHER))
    if variant == "turns":
        more = (
            Turn("assistant", ANSWER),
            Turn("user", "And for a side of 5?"),
            Turn("assistant", "Then it is **150**."),
        )
        responses = (ShownResponse("all", more), ShownResponse("all", more))
    if variant == "helm":
        responses = (ShownResponse("\n\n".join([ANSWER] * 4)),)
    if kind in ("rubric", "checklist", "classification"):
        responses = responses[:1]
    return ShownItem(
        kind=kind,
        instruction="Calculate the surface area of a cube with a side of 4. Show how you got there in one line.",
        context="",
        conversation=TURNS if variant == "turns" else (),
        responses=() if kind == "importance" else responses,
        criteria={"helm": HELM, "scales": SCALES}.get(variant, CRITERIA) if kind == "rubric" else (),
        aspects=TOPICS
        if kind == "classification"
        else ASPECTS
        if kind in ("checklist", "importance")
        else (),
    )


def kind_page(request: HttpRequest, kind: str, variant: str) -> HttpResponse:
    study = Study(
        kind=kind,
        tie_policy="both_bad" if variant == "full" else "tie",
        preference_points=7 if variant == "full" else 3,
        ask_comment=variant == "full",
        response_sets=variant == "sets",
    )
    item = item_of(kind, variant)
    rules = ValueRules(
        kind=kind,
        both_bad=variant == "full",
        response_sets=variant == "sets",
        strengths=study.strengths,
        n_responses=len(item.responses),
        criteria=tuple(row.key for row in item.criteria),
        scales={row.key: row.scale for row in item.criteria},
        aspects=tuple(row.key for row in item.aspects),
    )
    form = WorkForm(study, rules, request.POST if request.method == "POST" else None)
    read = None
    if form.is_valid():
        read = {"value": form.shown_value, "comment": form.comment, "pasted": form.pasted_chars}
    context = {
        "study": study,
        "kind": kind,
        "item": item,
        "fields": draft_fields(request.POST),
        "submit": "Submit",
        "error": form.error,
        "read": read,
        "body": kind_of(kind).template,
        "bar": kind_of(kind).bar_template,
    }
    page = engines["django"].from_string(PAGE).render(context, request)
    return HttpResponse(page)


urlpatterns = [path("kinds/<str:kind>/<str:variant>/", kind_page), path("", include("config.urls"))]
