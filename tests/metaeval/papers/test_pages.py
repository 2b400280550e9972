"""The pages of papers: what a dataset has, each paper's tables, the archive."""

import io
import sys
import zipfile

import pytest
from django.urls import reverse

from annotation.models import Dataset, Response, Split
from metaeval.models import ReportJob
from metaeval.papers import PAPERS
from metaeval.services.papers import paper_files, paper_make
from metaeval.services.report_jobs import report_jobs_work
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.kinds import figures_set
from tests.metaeval.rows import judge_make, judgments_make, labels_make, swept

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def pairs():
    dataset = dataset_make(pairs=6, name="pairs", per_instruction=2)
    labels_make(dataset=dataset, choices=[(1, 1, 2), (2, 2), (1, None), (0, 1, 1), (1, 2)])
    swept(dataset=dataset)
    return dataset


def test_the_list_links_what_the_dataset_carries(client, researcher, pairs):
    page = client.get(reverse("metaeval:paper-list", args=["pairs"])).content.decode()
    for key, paper in PAPERS.items():
        address = reverse("metaeval:paper-detail", args=["pairs", key])
        assert (f'href="{address}"' in page) == ("pairwise" in paper.kinds), key
    comparison = client.get(reverse("metaeval:dataset-comparison", args=["pairs"])).content.decode()
    assert reverse("metaeval:paper-list", args=["pairs"]) in comparison


def test_a_page_shows_each_table_and_the_archive_has_the_files_of_the_command(client, researcher, pairs):
    page = client.get(reverse("metaeval:paper-detail", args=["pairs", "llmbar"]))
    made = paper_make(paper="llmbar", dataset=pairs, reader=researcher)
    assert made.tables
    for table in made.tables:
        assert f'<h2 id="{table.name}">' in page.content.decode()
    answer = client.get(reverse("metaeval:paper-download", args=["pairs", "llmbar", "zip"]))
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            f"llmbar/{name}": content for name, content in paper_files(made).items()
        }


def test_one_file_of_all_is_offered_as_html_and_pdf(client, researcher, pairs, monkeypatch):
    page = client.get(reverse("metaeval:paper-detail", args=["pairs", "llmbar"])).content.decode()
    for suffix, begins, kind in (
        ("html", b"<!doctype html>", "text/html"),
        ("pdf", b"%PDF", "application/pdf"),
    ):
        address = reverse("metaeval:paper-download", args=["pairs", "llmbar", suffix])
        assert f'href="{address}"' in page
        answer = client.get(address)
        assert answer.content.startswith(begins)
        assert answer["Content-Type"].startswith(kind)
        assert f"pairs-llmbar.{suffix}" in answer["Content-Disposition"]
    # Without Typst there is no link to a PDF, and its address says what to install.
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setattr("metaeval.services.papers.pdf_available", lambda: False)
    page = client.get(reverse("metaeval:paper-detail", args=["pairs", "llmbar"])).content.decode()
    assert "llmbar.html" in page
    assert "llmbar.pdf" not in page
    answer = client.get(address)
    assert (answer.status_code, "touchstone-judge[pdf]" in answer.content.decode()) == (409, True)


def test_pictures_are_drawn_for_the_page_and_as_files(client, researcher, pairs):
    page = client.get(reverse("metaeval:paper-detail", args=["pairs", "llmbar"])).content.decode()
    address = reverse("metaeval:paper-picture", args=["pairs", "llmbar", "f4-mean-accuracy", "html"])
    assert f'hx-get="{address}?v=' in page
    assert "<svg" in client.get(address).content.decode()
    for suffix, begins in (("svg", b"<svg"), ("pdf", b"%PDF"), ("csv", b"Set,Evaluators,Mean accuracy")):
        assert client.get(address.replace(".html", f".{suffix}")).content.startswith(begins)
    assert client.get(address.replace("f4-mean", "f9-mean")).status_code == 404


def test_labels_of_others_do_not_count(client, researcher):
    """Of a public dataset, not those of a study that is somebody else's."""
    from tests.annotation.factories import study_make

    dataset = dataset_make(pairs=4, name="shared")
    study = study_make(dataset=dataset, owner=user_make())
    labels_make(dataset=dataset, choices=[(1, 1), (2, 2), (1, 1), (2, 1)], study=study)
    mine = paper_make(paper="llmbar", dataset=dataset, reader=researcher)
    everybody = paper_make(paper="llmbar", dataset=dataset)
    assert mine.hashes != everybody.hashes


@pytest.mark.parametrize("paper", ["llmbar", "href"])
def test_what_is_too_large_to_wait_for_is_made_by_a_worker(client, researcher, pairs, monkeypatch, paper):
    """Byte for byte what the command writes."""
    expected = paper_files(paper_make(paper=paper, dataset=pairs, reader=researcher))
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    here = reverse("metaeval:paper-detail", args=["pairs", paper])
    archive = reverse("metaeval:paper-download", args=["pairs", paper, "zip"])
    with monkeypatch.context() as context:
        context.delattr("metaeval.views.papers.paper_make")
        assert "now=1" in client.get(here).content.decode()
        assert client.get(archive).status_code == 409
        assert not ReportJob.objects.exists()  # looking alone asks for nothing
        for _ in range(2):
            assert "Waiting for a worker" in client.get(here, {"now": "1"}).content.decode()
        job = ReportJob.objects.get()
        assert (job.page, job.address) == ("paper", here)
        # Another paper of the dataset is another job.
        other = reverse("metaeval:paper-detail", args=["pairs", "href" if paper == "llmbar" else "llmbar"])
        assert "Waiting for a worker" not in client.get(other).content.decode()
        assert report_jobs_work() == 1
        page = client.get(here).content.decode()
        assert "Compute again" in page
        with zipfile.ZipFile(io.BytesIO(client.get(archive).content)) as found:
            assert {name: found.read(name) for name in found.namelist()} == {
                f"{paper}/{name}": content for name, content in expected.items()
            }


def test_a_dataset_without_such_items_says_so(client, researcher):
    from tests.annotation.kinds import kind_dataset_make

    dataset = kind_dataset_make(kind="checklist")
    page = client.get(reverse("metaeval:paper-detail", args=[dataset.name, "llmbar"]))
    assert page.status_code == 200
    assert "has no items of the kind pairwise" in page.content.decode()


@pytest.fixture
def robin():
    """Every two of three systems; no labels: these are those of another dataset."""
    dataset = dataset_make(pairs=6, per_instruction=3, name="robin", gold=False)
    systems = [("one", "two"), ("two", "three"), ("three", "one")]
    for item in dataset.items.order_by("position"):
        for link in item.item_responses.all():
            Response.objects.filter(pk=link.response_id).update(
                system=systems[item.position % 3][link.position]
            )
    judgments_make(judge=judge_make("Judge"), dataset=dataset, choices=[(1, 1)] * 6)
    return dataset


def test_the_page_takes_baselines_and_an_agreement_set(client, researcher, robin, pairs):
    here = reverse("metaeval:paper-detail", args=["robin", "href"])
    page = client.get(here).content.decode()
    assert "No one or two systems stand in every pair" in page
    asked = {"baseline": ["two", "one"], "agreement": "pairs"}
    page = client.get(here, asked).content.decode()
    assert "Expected win rate against two" in page
    assert "<option selected>two</option>" in page
    assert '<option value="pairs" selected>' in page
    archive = reverse("metaeval:paper-download", args=["robin", "href", "zip"])
    query = "?baseline=two&amp;baseline=one&amp;agreement=pairs"
    assert f'href="{archive}{query}"' in page
    expected = paper_make(
        paper="href", dataset=robin, reader=researcher, baselines=("two", "one"), agreement=pairs
    )
    with zipfile.ZipFile(io.BytesIO(client.get(archive, asked).content)) as found:
        assert {name: found.read(name) for name in found.namelist()} == {
            f"href/{name}": content for name, content in paper_files(expected).items()
        }
    picture = reverse("metaeval:paper-picture", args=["robin", "href", "f6-p-values", "csv"])
    assert client.get(picture).status_code == 404
    assert client.get(picture, asked).content.startswith(b"Over pairs of systems")
    # The form sends empty fields for what is left as it is.
    assert client.get(here, {"baseline": ["", ""], "agreement": ""}).status_code == 200
    wrong = client.get(here, {"baseline": "four"})
    assert "has a response of system &#x27;four&#x27;" in wrong.content.decode()


def test_an_agreement_set_is_one_that_the_reader_may_see(client, researcher, robin, pairs):
    here = reverse("metaeval:paper-detail", args=["robin", "href"])
    assert 'value="pairs"' in client.get(here).content.decode()
    Dataset.objects.filter(name="pairs").update(split=Split.PRIVATE, owner=user_make())
    assert 'value="pairs"' not in client.get(here).content.decode()
    for name in ("pairs", "nothing"):
        assert client.get(here, {"agreement": name}).status_code == 404
        archive = reverse("metaeval:paper-download", args=["robin", "href", "zip"])
        assert client.get(archive, {"agreement": name}).status_code == 404


def test_a_worker_keeps_tables_of_other_baselines_apart(client, researcher, robin, pairs, monkeypatch):
    expected = paper_files(
        paper_make(paper="href", dataset=robin, reader=researcher, baselines=("two",), agreement=pairs)
    )
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    here = reverse("metaeval:paper-detail", args=["robin", "href"])
    archive = reverse("metaeval:paper-download", args=["robin", "href", "zip"])
    asked = {"baseline": "two", "agreement": "pairs"}
    client.get(here, asked | {"now": "1"})
    assert report_jobs_work() == 1
    assert ReportJob.objects.get().address == f"{here}?baseline=two&agreement=pairs"
    assert "Expected win rate against two" in client.get(here, asked).content.decode()
    with zipfile.ZipFile(io.BytesIO(client.get(archive, asked).content)) as found:
        assert {name: found.read(name) for name in found.namelist()} == {
            f"href/{name}": content for name, content in expected.items()
        }
    assert client.get(archive, {"baseline": "one"}).status_code == 409
