"""Pages of many rows: a worker computes their figures, as it makes a report, and no request does."""

import re
from html import unescape
from urllib.parse import urljoin

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from annotation.models import Dataset, Kind
from judges.models import Judge, Judgment
from metaeval.figures import FIGURES
from metaeval.models import JobState, Report, ReportJob
from metaeval.services.report_jobs import report_jobs_work
from metaeval.views import comparisons, confidence, selections, systems
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.metaeval.kinds import figures_set, kind_swept
from tests.metaeval.rows import labels_make, swept

pytestmark = pytest.mark.django_db
LEADS = {
    "comparison": "Good judge",
    "decision": "Held-out estimate",
    "systems": "systems, ranked by",
    "confidence": "Errors of all judges",
}
COMPUTE = {
    "comparison": (comparisons, "comparison_get"),
    "decision": (selections, "selection_get"),
    "systems": (systems, "systems_get"),
    "confidence": (confidence, "confidence_page"),
}


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page takes long."""
    for kind in FIGURES:
        figures_set(monkeypatch, kind, quick_rows=1)
    cache.clear()


@pytest.fixture
def dataset(db: None) -> Dataset:
    dataset = dataset_make(pairs=40)
    labels_make(dataset=dataset, choices=[[1, 1, 2]] * 40)
    swept(dataset=dataset)
    return dataset


def at(page: str, dataset: Dataset) -> str:
    if page == "systems":
        return reverse("metaeval:systems", args=[dataset.name])
    return reverse(f"metaeval:{page}", args=[dataset.sweeps.get().pk])


def of_htmx(target: str) -> dict[str, str]:
    return {"HX-Request": "true", "HX-Target": target}


@pytest.mark.parametrize("page", LEADS)
def test_a_worker_computes_what_the_page_shows(
    cast: Cast, dataset: Dataset, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, browser, words = at(page, dataset), client_of(cast.alice), LEADS[page]
    with monkeypatch.context() as context:
        # What computes is not there while the requests are answered.
        context.delattr(*COMPUTE[page])
        first = browser.get(here)
        assert "Computing" in text_of(first)
        assert "now=1" in first.content.decode()
        assert not ReportJob.objects.exists()  # looking alone asks for nothing
        for _ in range(2):
            assert "Waiting for a worker" in text_of(browser.get(here, {"now": "1"}))
        job = ReportJob.objects.get()
        assert (job.page, job.key != "", job.address) == (page, True, here)
        assert "Waiting for a worker" in text_of(browser.get(here))
        assert words not in text_of(browser.get(here))
    assert f"/reports/jobs/{job.pk}/" in browser.get("/reports/").content.decode()
    assert report_jobs_work() == 1
    polled = browser.get(reverse("metaeval:report-job", args=[job.pk]), headers={"HX-Request": "true"})
    assert polled["HX-Redirect"] == here
    cache.clear()  # a worker's is another process's
    shown = text_of(browser.get(here))
    assert words in shown
    assert "Compute again" in shown
    assert "came later" not in shown
    assert not Report.objects.exists()
    # It stands until somebody asks anew, and is nobody else's.
    labels_make(dataset=dataset, choices=[[2]])
    later = text_of(browser.get(here))
    assert words in later
    assert "1 label came later and isn't counted. Compute again" in unescape(later)
    judge = Judge.objects.get(name="Good judge")
    Judgment.objects.filter(judge=judge).update(created_at=timezone.now())
    assert "judgments came later and aren't counted" in unescape(text_of(browser.get(here)))
    file = browser.get(urljoin(here, f"../{page}.json"))  # has the figures of the page
    assert file.json() == ReportJob.objects.get().content
    assert "Computing" in text_of(client_of(cast.ann).get(here))
    browser.get(here, {"now": "1"})
    assert ReportJob.objects.filter(state=JobState.QUEUED).count() == 1
    assert report_jobs_work() == 1
    assert "came later" not in text_of(browser.get(here))


def test_small_ones_are_computed_at_once(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures_set(monkeypatch, "pairwise", quick_rows=1_000)
    for page, words in LEADS.items():
        assert words in text_of(client_of(cast.alice).get(at(page, dataset)))
    assert not ReportJob.objects.exists()


@pytest.mark.parametrize("kind", [Kind.RUBRIC, Kind.CHECKLIST])
@pytest.mark.parametrize("page", ["comparison", "decision"])
def test_other_kinds(cast: Cast, kind: str, page: str) -> None:
    dataset, _ = kind_swept(kind, items=30)
    here, browser = at(page, dataset), client_of(cast.alice)
    target = {"comparison": "kinds", "decision": "decision"}[page]
    part = browser.get(here, {"now": "1", "kind": kind}, headers=of_htmx(target)).content.decode()
    assert "Waiting for a worker" in part
    assert "<html" not in part
    assert report_jobs_work() == 1
    assert "Near" in text_of(browser.get(here, {"kind": kind}))


def test_each_choice_is_a_job_of_its_own(cast: Cast, dataset: Dataset) -> None:
    here, browser = at("decision", dataset), client_of(cast.alice)
    asked = [{}, {"max_unparsed": "5"}, {"epsilon": "0.2"}]
    for given in asked:
        part = browser.get(here, given | {"now": "1"}, headers=of_htmx("decision"))
        assert "Waiting for a worker" in part.content.decode()
    assert report_jobs_work() == len(set(ReportJob.objects.values_list("key", flat=True))) == 3
    for given in asked:
        content = ReportJob.objects.get(address=f"{here}?{urlencode(given)}" if given else here).content
        assert content["constraints"]["max_unparsed"] == (0.05 if "max_unparsed" in given else None)
        assert content["options"]["epsilon"] == float(given.get("epsilon", 0.1))


def test_a_chosen_part_of_the_judges_is_a_job_of_its_own(cast: Cast, dataset: Dataset) -> None:
    judge = Judge.objects.get(name="Good judge")
    here = reverse("metaeval:dataset-comparison", args=[f"{dataset.name}/judges/{judge.pk}"])
    browser = client_of(cast.alice)
    browser.get(here, {"now": "1"})
    assert report_jobs_work() == 1
    names = [row["name"] for row in ReportJob.objects.get().content["judges"] if not row["baseline"]]
    assert names == ["Good judge"]
    assert "Compute again" in text_of(browser.get(here))


def test_what_may_not_be_seen_any_more_is_not_computed(cast: Cast, dataset: Dataset) -> None:
    here, browser = at("comparison", dataset), client_of(cast.alice)
    browser.get(here, {"now": "1"})
    Dataset.objects.update(split="private")
    assert report_jobs_work() == 0
    assert ReportJob.objects.get().state == JobState.FAILED
    job = reverse("metaeval:report-job", args=[ReportJob.objects.get().pk])
    for page in (job, here):
        assert browser.get(page).status_code == 404


def test_whoever_did_not_ask_sees_no_figures_of_it(cast: Cast, dataset: Dataset) -> None:
    client_of(cast.alice).get(at("comparison", dataset), {"now": "1"})
    assert report_jobs_work() == 1
    job = reverse("metaeval:report-job", args=[ReportJob.objects.get().pk])
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
        assert client_of(user).get(job).status_code == status
        assert client_of(user).get(at("comparison", dataset), {"now": "1"}).status_code in (200, 302, 403)
    assert ReportJob.objects.filter(requested_by=cast.alice).count() == 1


@pytest.mark.parametrize(("page", "most"), [("comparison", 24), ("decision", 27)])
def test_who_looks_again_reads_no_rows_of_labels_or_judgments(
    cast: Cast, dataset: Dataset, page: str, most: int
) -> None:
    here, browser = at(page, dataset), client_of(cast.alice)
    browser.get(here, {"now": "1"})
    assert report_jobs_work() == 1
    with CaptureQueriesContext(connection) as queries:
        assert LEADS[page] in text_of(browser.get(here))
    statements = [query["sql"] for query in queries.captured_queries]
    assert len(statements) <= most
    counted = re.compile(r"SELECT COUNT\(|.* LIMIT 1$", re.DOTALL)
    rows = [sql for sql in statements if re.search(r'FROM "(judges_judgment|annotation_label)"', sql)]
    assert [sql for sql in rows if not counted.match(sql) and "EXISTS(" not in sql] == []
