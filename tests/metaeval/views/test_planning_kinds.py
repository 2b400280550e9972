"""Planning of kinds other than pairs: a pilot says of its own size what its report says; guesses; what was kept."""

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Criterion, Kind
from metaeval.figures import FIGURES
from metaeval.models import Preregistration, Report
from metaeval.reports.planning import plan_words
from metaeval.reports.report import report_of
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.views.test_study_judges import studied

pytestmark = pytest.mark.django_db

OTHERS = [kind for kind in Kind.values if kind != Kind.PAIRWISE]
# The pilot's own size.
SAME = {"items": "12", "labels": "2,6", "people": "6", "question": "precise", "width": "40"}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_pilot_says_of_its_own_size_what_its_report_says(cast: Cast, kind: str) -> None:
    study = studied(cast.alice, kind)
    client, address = client_of(cast.alice), reverse("metaeval:plan", args=[study.dataset.name])
    made = report_request(user=cast.alice, study=study.slug)
    assert isinstance(made, Report)
    report, figures = report_of(made.content), FIGURES[kind]
    judge = next(one for one in report.judges if one.name.startswith("Near"))
    asked = SAME | {"kind": kind, "pilot": f"study-{study.slug}", "judge": judge.fingerprint}
    for figure, name in (("judge", figures.primaries[0]), ("judge_minus_people", "minus_people")):
        response = client.get(address, asked | {"figure": figure})
        assert response.context["error"] is None
        assert response.context["estimand"] == figures.of_judges(name).estimand
        found = judge.measures[name]["overall"]
        few, row = response.context["page"].rows
        width = 1.0 if figures.of_judges(figures.primaries[0]).unit == "percent" else 2.0
        assert row.interval.value == pytest.approx(found["value"], abs=1e-6)
        seen = (found["high"] - found["low"]) / 2 / width
        assert row.interval.half_width == pytest.approx(seen, rel=0.12, abs=0.004)
        # Fewer labels say less of others, and the range holds the mean, unless most studies reach the end of the scale.
        low, high = row.interval.low_alike, row.interval.high_alike
        assert low <= row.interval.half_width_alike <= high or low == high
        assert few.interval.half_width > 0
    text = response.content.decode()
    assert ("1% of the range of a correlation" in text) == (plan_words(kind).point != "")
    # Two judges, and the power of their difference.
    response = client.get(
        address, asked | {"figure": "judge_minus_judge", "question": "superior", "margin": "0"}
    )
    assert all(0 <= row.power.these <= 1 for row in response.context["page"].rows)
    assert response.context["form"]["rival"].value()
    link = client.get(reverse("annotation:study-detail", args=[study.slug])).content.decode()
    assert f"{address}?kind={kind}&amp;pilot=study-{study.slug}" in link


def test_a_plan_of_rubrics_speaks_of_the_scales_of_its_criteria(cast: Cast) -> None:
    study = studied(cast.alice, Kind.RUBRIC)
    first = Criterion.objects.filter(dataset=study.dataset).first()
    Criterion.objects.filter(pk=first.pk).update(scale={"low": 0, "high": 100})
    asked = {"kind": "rubric", "figure": "judge", "question": "precise"}
    page = client_of(cast.alice).get(reverse("metaeval:plan", args=[study.dataset.name]), asked)
    assert "Criteria have several scales" in page.context["estimand"]


@pytest.mark.parametrize("kind", OTHERS)
def test_guesses_make_a_plan_and_a_registration_that_a_report_answers(cast: Cast, kind: str) -> None:
    study = studied(cast.alice, kind)
    client = client_of(cast.alice)
    page = client.get(reverse("metaeval:plan", args=[study.dataset.name]), {"kind": kind})
    powers = [row.power.these for row in page.context["page"].rows if row.design.labels_per_item == 3]
    assert powers == sorted(powers)
    assert not np.isnan(powers).any()
    query = f"?kind={kind}&items=12&labels=6&people=6&margin=5"
    sent = {
        "design": "12-6-6",
        "title": "Kept?",
        "question": "May the judge label?",
        "stopping": "fixed",
        "notes": "",
    }
    client.post(reverse("metaeval:plan-register", args=[study.dataset.name]) + query, sent)
    frozen = Preregistration.objects.get()
    assert (frozen.content["kind"], frozen.content["labels_before"]) == (kind, 72)
    assert {"items_sd", "within_sd", "person_sd"} <= set(frozen.content["assumptions"])
    asked = {"name": f"study/{study.slug}", "margin": "5", "preregistration": str(frozen.pk)}
    client.post("/reports/new/", asked)
    lines = {line["what"]: line for line in Report.objects.get().content["planned"]["lines"]}
    for what in ("Dataset", "Estimand", "Items", "Labels per item", "Annotators", "Judges", "Margin"):
        assert lines[what]["kept"] is True, what
    # Other kinds have no alternative annotator test, so nothing is said of its epsilon.
    assert frozen.content["epsilon"] is None
    assert "Epsilon" not in lines
    assert "Epsilon" not in client.get(reverse("metaeval:preregistration", args=[frozen.pk])).content.decode()


def test_a_dataset_without_items_can_be_planned_for_any_kind(client) -> None:
    client.force_login(user_make(username="alice"))
    address = reverse("metaeval:plan", args=[dataset_make(pairs=0).name])
    for kind in Kind.values:
        response = client.get(address, {"kind": kind})
        assert response.context["page"].rows
        assert response.context["form"]["kind"].value() == kind
    assert client.get(address, {"kind": "nothing"}).context["form"]["kind"].value() == Kind.PAIRWISE
    refused = client.get(
        address, {"kind": "rubric", "items_sd": "90", "figure": "judge", "question": "precise"}
    )
    assert "These assumptions contradict each other" in refused.content.decode()
