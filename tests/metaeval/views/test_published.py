"""A published convention is chosen on the pages: a report's form, a comparison of pairs and of other kinds."""

import re
from html import unescape
from io import StringIO

import pytest
from django.contrib.messages import get_messages
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Dataset, Item, Kind
from judges.models import Judgment
from metaeval.figures import KIND_LABELS
from metaeval.models import Decision, Report, ReportJob
from metaeval.selectors.inputs import inputs_read
from metaeval.services.report_jobs import report_jobs_work
from tests.annotation.factories import dataset_make
from tests.annotation.importers.benchmarks import rubric_prompt, write_lines
from tests.metaeval.kinds import figures_set, kind_swept
from tests.metaeval.rows import judge_make, labels_make, swept

pytestmark = pytest.mark.django_db
TITLE = "As published (JudgeBench)"


@pytest.fixture
def sweep():
    dataset = dataset_make(pairs=20, name="pairs")
    labels_make(dataset=dataset, choices=[(1, 2, 1)] * 20)
    return swept(dataset=dataset)[0]


def compared(client, sweep, suffix="", **query):
    response = client.get(reverse("metaeval:comparison", args=[sweep.pk]) + suffix, query)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_a_report_by_its_form(client, researcher, sweep):
    page = unescape(client.get(reverse("metaeval:report-list")).content.decode())
    assert f'<optgroup label="{KIND_LABELS["pairwise"]}">' in page
    assert '<option value="judgebench">JudgeBench</option>' in page
    name = re.search(r'<option value="([^"]*pairwise)"', page)[1]
    client.post(reverse("metaeval:report-new"), {"name": name, "preset": "judgebench"})
    report = Report.objects.get()
    assert report.content["options"]["preset"] == "judgebench"
    text = unescape(client.get(reverse("metaeval:report-detail", args=[report.pk])).content.decode())
    assert TITLE in text
    assert "published convention (preset judgebench)" in text
    assert "JudgeBench: A Benchmark for Evaluating LLM-based Judges" in text
    client.post(reverse("metaeval:report-verify", args=[report.pk]))
    job = ReportJob.objects.latest("pk")
    assert job.content["changes"]["figures"] == []


@pytest.mark.parametrize(
    ("preset", "said"),
    [("x", "Published convention"), ("rewardbench2", "rewardbench2 has no figures of the kind pair")],
)
def test_what_a_report_has_not_is_refused(client, researcher, sweep, preset, said):
    name = re.search(
        r'<option value="([^"]*pairwise)"', client.get(reverse("metaeval:report-list")).content.decode()
    )[1]
    response = client.post(reverse("metaeval:report-new"), {"name": name, "preset": preset})
    assert said in " ".join(map(str, get_messages(response.wsgi_request)))
    assert not Report.objects.exists()


def test_a_report_that_a_worker_makes(client, researcher, sweep, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    name = re.search(
        r'<option value="([^"]*pairwise)"', client.get(reverse("metaeval:report-list")).content.decode()
    )[1]
    for preset in ("judgebench", "judgebench", "mt_bench_s1"):
        client.post(reverse("metaeval:report-new"), {"name": name, "preset": preset})
    assert ReportJob.objects.count() == 2
    assert report_jobs_work() == 2
    found = {one.content["options"]["preset"] for one in Report.objects.all()}
    assert found == {"judgebench", "mt_bench_s1"}


def test_a_comparison(client, administrator, sweep):
    plain = compared(client, sweep)
    assert TITLE not in plain
    assert '<option value="judgebench">JudgeBench</option>' in plain
    assert "RewardBench 2" not in plain  # it has no rankings of answers
    text = compared(client, sweep, preset="judgebench")
    assert TITLE in text
    assert '<option value="judgebench" selected>' in text
    assert "so ties and unparsed verdicts are wrong" in text
    assert "preset=judgebench" in re.search(r'href="([^"]*comparison\.json[^"]*)"', text)[1]
    address = re.search(r'href="([^"]*comparison\.json[^"]*)"', text)[1]
    stored = client.get(address).json()
    assert stored["judges"][0]["measures"]["judgebench_accuracy"]["overall"]["value"] == 1
    for unknown in ("x", "rewardbench2"):
        assert TITLE not in compared(client, sweep, preset=unknown)
    # The promotion rests on the figures that the page shows.
    form = dict(re.findall(r'name="(inputs_hash|seen)" value="([^"]*)"', text))
    action = re.search(r'action="([^"]*promote[^"]*)"', text)[1]
    judge = re.search(r'name="judge" value="([0-9a-f]{8,64})"', text)[1]
    response = client.post(action, form | {"judge": judge, "reason": "It wins.", "although": judge})
    assert response.status_code == 302
    assert Decision.objects.get().inputs_hash == form["inputs_hash"]


def test_a_comparison_that_a_worker_makes(client, administrator, sweep, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    compared(client, sweep, preset="judgebench", now="1")
    job = ReportJob.objects.get()
    assert job.asked["preset"] == "judgebench"
    report_jobs_work()
    assert TITLE in compared(client, sweep, preset="judgebench")
    assert TITLE not in compared(client, sweep)


def test_a_comparison_of_rankings(client, researcher):
    dataset, sweep = kind_swept(Kind.ANSWER_RANKING, items=6, gold=True)
    text = compared(client, sweep, preset="rewardbench2", against="gold")
    assert "As published (RewardBench 2)" in text
    assert "no item is of a subset of this benchmark" in text
    assert "Best-of-n accuracy" in text
    assert 'value="judgebench"' not in text
    assert "As published" not in compared(client, sweep)
    address = reverse("metaeval:kind-comparison-download", args=[sweep.pk, Kind.ANSWER_RANKING, "json"])
    stored = client.get(
        address, {"dataset": dataset.name, "preset": "rewardbench2", "against": "gold"}
    ).json()
    assert stored["options"]["preset"] == "rewardbench2"


def test_healthbench_from_its_file(client, researcher, tmp_path):
    """Points come with the aspects, so a checklist has the paper's score."""
    path = write_lines(tmp_path / "h.jsonl", rubric_prompt(), rubric_prompt("h3"))
    call_command("import_dataset", "healthbench", str(path), name="health", stdout=StringIO())
    found = inputs_read(dataset=Dataset.objects.get(), kind=Kind.CHECKLIST, reader=researcher)
    assert found.items.points.tolist() == [[7.0, -5.0]] * 2
    grader = judge_make(name="Grader")
    for item in Item.objects.all():
        value = {"answers": {"c1": True, "c2": item.external_id == "h3"}}
        Judgment.objects.create(judge=grader, item=item, order=0, status="parsed", value=value)
    name = re.search(
        r'<option value="([^"]*checklist)"', client.get(reverse("metaeval:report-list")).content.decode()
    )[1]
    client.post(reverse("metaeval:report-new"), {"name": name, "preset": "healthbench"})
    report = Report.objects.get()
    measure = report.content["judges"][0]["measures"]["healthbench_score"]["overall"]
    assert measure["value"] == pytest.approx((1 + 2 / 7) / 2)
    text = unescape(client.get(reverse("metaeval:report-detail", args=[report.pk])).content.decode())
    assert "As published (HealthBench)" in text
    assert "Towards Improved Human Health" in text


@pytest.mark.parametrize(
    ("kind", "preset", "title"),
    [
        (Kind.CHECKLIST, "healthbench", "HealthBench"),
        (Kind.CLASSIFICATION, "alt_test_crowd", "Alternative annotator test of crowdworkers"),
    ],
)
def test_a_comparison_of_other_kinds(client, researcher, kind, preset, title):
    dataset, sweep = kind_swept(kind, items=6)
    text = compared(client, sweep, preset=preset)
    assert f"As published ({title})" in text
    assert f'<option value="{preset}" selected>{title}</option>' in text
    assert "As published" not in compared(client, sweep)
    address = reverse("metaeval:kind-comparison-download", args=[sweep.pk, kind, "json"])
    stored = client.get(address, {"dataset": dataset.name, "preset": preset}).json()
    assert stored["options"]["preset"] == preset
