"""Figures of one dimension of pairs: inputs, reports, jobs, comparisons, the command, the API, verification."""

import json
from html import unescape

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Item, Label, Study
from annotation.services.tokens import token_create
from judges.selectors.stored import judgments_on
from metaeval.models import JobState, Report, ReportJob
from metaeval.reports.errors import UnknownNameError
from metaeval.reports.report import report_of
from metaeval.selectors.inputs import dimensions_known, inputs_read
from metaeval.selectors.reports import report_targets
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.report_jobs import report_jobs_work, report_request
from metaeval.services.reports import report_build
from metaeval.services.study_judges import study_judges_get
from metaeval.services.verification import report_verify
from tests.annotation.cast import client_of
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.metaeval.kinds import figures_set
from tests.metaeval.rows import judge_make, judgments_make, sweep_make

pytestmark = pytest.mark.django_db
DIMENSIONS = [
    {"key": "all", "name": "Overall", "overall": True},
    {"key": "factual", "name": "Factual accuracy"},
    {"key": "style", "name": "Style"},
]


@pytest.fixture
def study(cast) -> Study:
    """Overall people choose the first response, on the facts the second; of style only the first annotator speaks. One
    judge chooses the first, another the second.
    """
    dataset = dataset_make(pairs=6, name="pairs", gold=None)
    Item.objects.filter(dataset=dataset).update(gold={"choice": 1, "dimensions": {"factual": {"choice": 2}}})
    study = study_make(
        dataset=dataset, owner=cast.alice, overlap=3, dimensions=DIMENSIONS, preference_points=5
    )
    for place in range(3):
        person = annotator_make()
        for item in dataset.items.order_by("position"):
            said = {"factual": {"choice": 2, "strength": "much"}}
            if place == 0:
                said["style"] = {"choice": 0}
            value = {"choice": 1, "strength": "slightly", "dimensions": said}
            Label.objects.create(
                item=item, annotator=person, study=study, kind="pairwise", value=value, choice=1
            )
    for name, choice in (("First", 1), ("Second", 2)):
        judgments_make(judge=judge_make(name), dataset=dataset, choices=[(choice, choice)] * 6)
    return study


@pytest.fixture
def sweep(study):
    judges = {row.judge for row in judgments_on([study.dataset], "pairwise").select_related("judge")}
    return sweep_make(judges=sorted(judges, key=lambda judge: judge.name), datasets=[study.dataset])


def leader_of(content) -> str:
    return content.judges[content.selection.ranking[0]].name


def test_inputs_are_of_the_dimension_alone(study):
    overall = inputs_read(dataset=study.dataset, study=study)
    factual = inputs_read(dataset=study.dataset, study=study, dimension="factual")
    style = inputs_read(dataset=study.dataset, study=study, dimension="style")
    assert set(overall.labels.choice) == {1.0}
    assert set(factual.labels.choice) == {2.0}
    assert set(overall.labels.grades) == {1.0}
    assert set(factual.labels.grades) == {-3.0}
    assert (len(factual.labels), len(style.labels)) == (18, 6)
    assert set(factual.items.gold[:, 0]) == {2.0}
    assert np.isnan(style.items.gold).all()
    assert "dimension" not in overall.facts
    assert factual.facts["dimension"] == {"key": "factual", "name": "Factual accuracy"}
    # What a judge said is the same, and so is the hash of what is about the overall one.
    for one, other in zip(overall.judges, factual.judges, strict=True):
        assert np.array_equal(one.values, other.values, equal_nan=True)
    for name in ("depth", "all"):
        with pytest.raises(UnknownNameError, match=f"no dimension '{name}'; it has factual, style beside"):
            inputs_read(dataset=study.dataset, study=study, dimension=name)


def test_imported_labels_name_theirs(study):
    dataset = study.dataset
    Label.objects.create(
        item=dataset.items.first(),
        annotator=annotator_make(),
        kind="pairwise",
        value={"choice": 1, "dimensions": {"more_detail": {"choice": 2}}},
        choice=1,
    )
    assert dimensions_known(dataset, "pairwise") == {
        "factual": "Factual accuracy",
        "style": "Style",
        "more_detail": "More detail",
    }
    assert len(inputs_read(dataset=dataset, dimension="more_detail").labels) == 1
    assert dimensions_known(dataset, "rubric") == {}


def test_the_judge_that_leads_on_it(study, sweep):
    assert leader_of(report_build(dataset=study.dataset, study=study, n_resamples=0)) == "First"
    content = report_build(dataset=study.dataset, study=study, n_resamples=0, dimension="factual")
    assert leader_of(content) == "Second"
    assert report_of(content.as_json()) == content
    compared = comparison_get(sweep=sweep_view(sweep.pk), dataset=study.dataset, dimension="factual")
    assert leader_of(compared) == "Second"


def test_a_report_is_made_stored_and_verified(cast, study):
    targets = [target for target in report_targets(cast.alice) if target.study]
    assert [target.key for target in targets] == [
        f"study/{study.slug}",
        f"study/{study.slug}/factual",
        f"study/{study.slug}/style",
    ]
    browser = client_of(cast.alice)
    listed = browser.get(
        reverse("metaeval:report-list"), {"study": study.slug, "dimension": "factual"}
    ).content.decode()
    assert f'value="study/{study.slug}/factual" selected' in listed
    sent = {"name": f"study/{study.slug}/factual"}
    first, second = (browser.post(reverse("metaeval:report-new"), sent) for _ in range(2))
    report = Report.objects.get()
    assert first["Location"] == second["Location"]
    assert report.options["dimension"] == "factual"
    content = report_of(report.content)
    assert leader_of(content) == "Second"
    page = unescape(browser.get(first["Location"]).content.decode())
    assert "dimension Factual accuracy" in page
    for suffix in ("md", "tex", "html"):
        file = browser.get(reverse("metaeval:report-download", args=[report.pk, suffix])).content.decode()
        assert "Factual accuracy" in file, suffix
    assert report_verify(content).holds
    Label.objects.create(
        item=study.dataset.items.first(),
        annotator=annotator_make(),
        study=study,
        kind="pairwise",
        value={"choice": 1, "dimensions": {"factual": {"choice": 1}}},
        choice=1,
    )
    assert not report_verify(content).holds


def test_a_report_that_a_worker_makes(cast, study, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    jobs = [
        report_request(user=cast.alice, study=study.slug, dimension=key)
        for key in ("factual", "factual", "", "style")
    ]
    assert len({job.pk for job in jobs}) == ReportJob.objects.count() == 3
    with pytest.raises(UnknownNameError):
        report_request(user=cast.alice, study=study.slug, dimension="depth")
    report_jobs_work()
    job = ReportJob.objects.get(pk=jobs[0].pk)
    assert job.state == JobState.DONE
    assert job.report.content["dimension"]["key"] == "factual"
    # The page of the study quotes the report of what it shows.
    assert study_judges_get(study=study, reader=cast.alice).stored.content.get("dimension") is None
    assert study_judges_get(study=study, reader=cast.alice, dimension="factual").stored == job.report


def test_the_page_of_the_study_has_judges_on_it(cast, study):
    browser, address = client_of(cast.alice), reverse("metaeval:study-judges", args=[study.slug])
    for query, leader in (({}, "First"), ({"dimension": "factual"}, "Second"), ({"dimension": "x"}, "First")):
        response = browser.get(address, query)
        assert leader_of(response.context["content"]) == leader
    assert client_of(cast.bob).get(address, {"dimension": "factual"}).status_code == 404


def test_the_page_of_a_comparison(cast, study, sweep, monkeypatch):
    browser, address = client_of(cast.ann), reverse("metaeval:comparison", args=[sweep.pk])
    overall = browser.get(address).content.decode()
    assert "?dataset=pairs&amp;dimension=factual" in overall
    assert "promote-judges" in overall
    response = browser.get(address, {"dataset": "pairs", "dimension": "factual"})
    html = unescape(response.content.decode())
    assert leader_of(response.context["content"]) == "Second"
    assert "compared with the labels on Factual accuracy" in html
    assert "promote-judges" not in html
    download = f"{reverse('metaeval:comparison-download', args=[sweep.pk, 'json'])}?dataset=pairs"
    assert f"{download}&dimension=factual" in html
    assert json.loads(browser.get(f"{download}&dimension=factual").content)["dimension"]["key"] == "factual"
    assert browser.get(f"{download}&dimension=depth").status_code == 404
    assert "has no dimension 'depth'" in unescape(
        browser.get(address, {"dimension": "depth"}).content.decode()
    )
    # Of many rows a worker computes each.
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    browser.get(address, {"dataset": "pairs", "dimension": "style", "now": "1"})
    assert ReportJob.objects.get().asked["dimension"] == "style"
    report_jobs_work()
    shown = browser.get(address, {"dataset": "pairs", "dimension": "style"})
    assert shown.context["content"].dimension["name"] == "Style"


def test_the_command(study, tmp_path):
    file = tmp_path / "r.json"
    call_command("report", study.slug, "--dimension", "factual", "--output", str(file), "--resamples", "0")
    assert json.loads(file.read_text())["dimension"]["name"] == "Factual accuracy"
    with pytest.raises(CommandError, match="no dimension 'depth'"):
        call_command("report", study.slug, "--dimension", "depth", "--output", str(file))


def test_over_the_api(cast, study, sweep, client):
    secret = token_create(user=cast.alice, name="t")[1]
    headers = {"Authorization": f"Bearer {secret}"}

    def ask(path, values):
        return client.post(
            f"/api/v1/{path}", json.dumps(values), content_type="application/json", headers=headers
        )

    made = ask("reports/", {"study": study.slug, "dimension": "factual"})
    assert made.status_code == 201
    assert made.json()["content"]["dimension"]["key"] == "factual"
    compared = ask("comparisons/", {"dataset": "pairs", "dimension": "factual"})
    assert compared.json()["dimension"]["name"] == "Factual accuracy"
    for path, values in (("reports/", {"study": study.slug}), ("comparisons/", {"dataset": "pairs"})):
        refused = ask(path, values | {"dimension": "depth"})
        assert refused.status_code == 400
        assert "no dimension 'depth'" in refused.content.decode().replace('\\"', '"')
