"""A preregistration that a comparison, a decision or the command names: what was kept of it, and who may ask."""

import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from metaeval.models import Decision, Report
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.preregistrations import preregistered
from tests.metaeval.rows import labels_make, swept
from tests.metaeval.views.test_study_judges import studied

pytestmark = pytest.mark.django_db
DESIGN = {"items": "12", "labels": "3", "people": "3", "margin": "2"}


@pytest.fixture
def planned(administrator):
    """A finished sweep on 12 pairs with three labels each, and the plan of just that."""
    dataset = dataset_make(pairs=12, name="pairs")
    plan = preregistered(dataset=dataset, user=administrator, title="As good as <people>?", **DESIGN)
    choices = [[1 + (k % 2)] * 2 + [1 + (k % 3 == 0)] for k in range(12)]
    labels_make(dataset=dataset, choices=choices, study=study_make(dataset=dataset, overlap=3, state="draft"))
    return swept(dataset=dataset)[0], plan


def kept(lines):
    return {line["what"]: line["kept"] for line in lines}


def test_a_comparison_says_what_was_kept(client, administrator, planned):
    sweep, plan = planned
    address = reverse("metaeval:comparison", args=[sweep.pk])
    plain = client.get(address).content.decode()
    assert "Preregistered plan" not in plain
    assert f'<option value="{plan.pk}">' in plain
    asked = client.get(address, {"plan": plan.pk, "margin": "2"}).content.decode()
    assert "Preregistered plan" in asked
    assert plan.sha256[:12] in asked
    assert "May the judge label in place of people?" in asked
    assert "<people>" not in asked
    # Sorting redraws the table alone, and the measure the whole of it.
    part = client.get(
        address, {"plan": plan.pk}, headers={"HX-Request": "true", "HX-Target": "comparison"}
    ).content.decode()
    assert "Preregistered plan" in part
    for suffix, words in (
        ("json", '"planned"'),
        ("md", "## Preregistered plan"),
        ("html", "Preregistered plan"),
    ):
        file = reverse("metaeval:comparison-download", args=[sweep.pk, suffix])
        assert words in client.get(file, {"plan": plan.pk, "margin": "2"}).content.decode()
        assert words not in client.get(file).content.decode()
    found = json.loads(
        client.get(
            reverse("metaeval:comparison-download", args=[sweep.pk, "json"]), {"plan": plan.pk, "margin": "2"}
        ).content
    )
    assert kept(found["planned"]["lines"]) == {
        "Dataset": True, "Estimand": True, "Hypothesis": None, "Items": True, "Labels per item": True,
        "Annotators": True, "Judges": True, "Population": True, "Margin": True, "Epsilon": True,
        "Confidence level": True, "Stopping rule": True,
    }  # fmt: skip


def test_a_decision_says_what_was_kept_and_keeps_it(client, administrator, planned):
    sweep, plan = planned
    address = reverse("metaeval:decision", args=[sweep.pk])
    assert "Preregistered plan" not in client.get(address).content.decode()
    response = client.get(address, {"plan": plan.pk, "margin": "3"})
    page = response.content.decode()
    assert "Preregistered plan" in page
    assert f"plan={plan.pk}" in response.context["query"]
    section = response.context["report"].planned
    assert kept(section["lines"]) == {
        "Dataset": True, "Estimand": True, "Hypothesis": None, "Labels": True, "Annotators": True, "Judges": True,
        "Population": True, "Margin": False, "Epsilon": True, "Confidence level": True, "Stopping rule": None,
    }  # fmt: skip
    for suffix, words in (("json", '"planned"'), ("md", "## Preregistered plan")):
        file = reverse("metaeval:decision-download", args=[sweep.pk, suffix])
        assert words in client.get(f"{file}?{response.context['query']}").content.decode()
        assert words not in client.get(file).content.decode()
    # What is promoted from the page keeps it, sent once or twice.
    comparison = client.get(reverse("metaeval:comparison", args=[sweep.pk]), {"plan": plan.pk})
    for name, text in (("comparison", comparison.content.decode()), ("decision", page)):
        form = dict(re.findall(r'name="(inputs_hash|seen)" value="([^"]*)"', text))
        action = re.search(r'action="([^"]*promote[^"]*)"', text)[1].replace("&amp;", "&")
        assert f"plan={plan.pk}" in action, name
        judge = re.search(r'name="judge" value="([0-9a-f]{8,64})"', text)[1]
        if name == "decision":
            form["seen"] = f"{plan.dataset_id}:{Decision.objects.get().pk}"
        sent = form | {"judge": judge, "reason": f"By the plan, {name}."}
        assert client.post(action, sent).status_code == 302
        assert client.post(action, sent).status_code == 302
        made = Decision.objects.get(replaced_by__isnull=True)
        assert made.evidence["planned"]["sha256"] == plan.sha256
    assert Decision.objects.count() == 2
    assert Report.objects.get().preregistration == plan
    exported = json.loads(client.get(reverse("metaeval:decision-judge", args=[made.pk])).content)
    assert exported["decision"]["planned"]["sha256"] == plan.sha256
    history = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert f"({plan.sha256[:8]})" in history


def test_a_comparison_of_another_kind_says_what_was_kept_of_its_plan(client, administrator):
    dataset = studied(administrator, "rubric").dataset
    plan = preregistered(dataset=dataset, user=administrator, kind="rubric", **DESIGN)
    address = reverse("metaeval:dataset-comparison", args=[dataset.name])
    assert "Preregistered plan" in client.get(address, {"plan": plan.pk}).content.decode()
    assert "Preregistered plan" not in client.get(address).content.decode()


@pytest.mark.parametrize("page", ["comparison", "decision"])
def test_a_plan_is_whose_it_is(client, administrator, researcher, planned, page):
    sweep, plan = planned
    address = reverse(f"metaeval:{page}", args=[sweep.pk])
    client.force_login(researcher)
    assert client.get(address, {"plan": plan.pk}).status_code == 404
    assert plan.sha256[:8] not in client.get(address).content.decode()
    for hostile in ("0", "-1", "x", "9" * 40, "٣", "1 or 1=1", "<script>"):
        assert client.get(address, {"plan": hostile}).status_code == 404
    client.logout()
    assert client.get(address, {"plan": plan.pk}).status_code == 302


def test_the_command_names_a_plan_by_its_hash(planned, tmp_path):
    _, plan = planned
    path = tmp_path / "report.json"
    options = {"output": path, "resamples": 0, "margin": 2, "verbosity": 0}
    call_command("report", "pairs", preregistration=plan.sha256[:10].upper(), save=True, **options)
    found = json.loads(path.read_text())
    assert found["planned"]["sha256"] == plan.sha256
    assert kept(found["planned"]["lines"])["Margin"] is True
    assert Report.objects.get().preregistration == plan
    for wrong in (plan.sha256[:7], "f" * 64, "' or 1=1 --", "%"):
        with pytest.raises(CommandError, match="preregistration: There is no preregistration"):
            call_command("report", "pairs", preregistration=wrong, **options)
    call_command("report", "pairs", **options)
    assert "planned" not in json.loads(path.read_text())
