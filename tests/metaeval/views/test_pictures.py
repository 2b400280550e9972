"""The pictures of a page: drawn after it, as files, with the data behind them, for who may see the page."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from metaeval.models import Report
from metaeval.reports.report import report_of
from tests.annotation.factories import dataset_make, user_make

STORED = Path("tests/metaeval/reports/stored/pairwise.json")


@pytest.fixture
def report(db):
    content = json.loads(STORED.read_text())
    owner = user_make(username="alice", role=Role.RESEARCHER)
    dataset = dataset_make(name="pairs", owner=owner, split="private")
    return Report.objects.create(
        dataset=dataset, created_by=owner, content=content, inputs_hash="a" * 64, options=content["options"]
    )


@pytest.fixture
def owner(report):
    browser = Client()
    browser.force_login(report.created_by)
    return browser


def test_page_of_a_report_names_its_pictures_and_has_the_data_behind_each(report, owner):
    page = owner.get(reverse("metaeval:report-detail", args=[report.pk])).content.decode()

    forest = reverse("metaeval:report-picture", args=[report.pk, "forest-plot", "html"])
    assert f'hx-get="{forest}?v=' in page
    assert "Data behind the picture" in page
    for judge in report_of(report.content).judges:
        assert judge.name in page


@pytest.mark.parametrize(
    ("file", "start", "content_type"),
    [
        ("svg", b"<svg ", "image/svg+xml"),
        ("pdf", b"%PDF", "application/pdf"),
        ("png", b"\x89PNG", "image/png"),
        ("csv", b"Judge,", "text/csv; charset=utf-8"),
        ("html", b"<svg ", "text/html; charset=utf-8"),
    ],
)
def test_each_file_of_a_picture(report, owner, file, start, content_type):
    url = reverse("metaeval:report-picture", args=[report.pk, "forest-plot", file])
    answer = owner.get(url)

    assert answer.content.startswith(start)
    assert answer["Content-Type"] == content_type
    assert answer["Cache-Control"].startswith("private")
    assert ("attachment" in answer.get("Content-Disposition", "")) == (file != "html")
    assert b"style=" not in answer.content or file in ("pdf", "png")
    again = owner.get(url, headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_pictures_of_others_and_unknown_ones_are_not_there(report, owner):
    url = reverse("metaeval:report-picture", args=[report.pk, "forest-plot", "svg"])
    stranger = Client()
    stranger.force_login(user_make(username="bob", role=Role.RESEARCHER))

    assert stranger.get(url).status_code == 404
    assert Client().get(url).status_code == 302
    assert owner.get(url.replace("forest-plot", "nothing")).status_code == 404
    assert owner.post(url).status_code == 405


def test_without_the_extra_a_page_has_the_data_alone(report, owner, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    page = owner.get(reverse("metaeval:report-detail", args=[report.pk])).content.decode()

    assert "picture-frame" not in page
    assert '<details class="disclosure" open><summary>Data behind the picture' in page
    files = [
        reverse("metaeval:report-picture", args=[report.pk, "forest-plot", file]) for file in ("csv", "svg")
    ]
    assert files[0] in page
    assert files[1] not in page


def test_a_page_seen_before_is_not_rendered_again(report, owner, monkeypatch, django_assert_max_num_queries):
    page = reverse("metaeval:report-detail", args=[report.pk])
    first = owner.get(page).content.decode()

    def rendered(*_):
        raise AssertionError("the figures were rendered again")

    with monkeypatch.context() as context:
        context.setattr("metaeval.views.reports.render_to_string", rendered)
        with django_assert_max_num_queries(6):
            again = owner.get(page).content.decode()
    assert '<section class="section" id="methods">' in again
    figures = re.compile(r'<div class="report">.*id="verification"', re.DOTALL)
    assert figures.search(again)[0] == figures.search(first)[0]

    # Another content, another page.
    report.content["dataset"]["licence"] = "a licence of its own"
    report.save()
    assert "a licence of its own" in owner.get(page).content.decode()
