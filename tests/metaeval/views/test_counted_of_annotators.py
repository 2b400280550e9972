"""Figures of annotators and of a study's progress open exactly the items that they count."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Kind, Label, StudyItem, StudyState
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.annotators import annotators_of
from judges.selectors.item_addresses import items_url
from metaeval.models import Report
from metaeval.reports.report import report_of
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import label_make as study_label_make
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import kind_label_make, kind_study_make
from tests.metaeval.kinds import value_of
from tests.metaeval.views.test_counted_items import LABELS, link_in, n_items, plain, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(cast):
    """A study whose three annotators labeled different pairs; one label is excluded, one pair withdrawn."""
    dataset = dataset_make(pairs=len(LABELS), owner=cast.alice)
    made = study_make(dataset=dataset, owner=cast.alice, slug="uneven", overlap=3)
    people = study_labels_make(made, LABELS)
    places = list(made.study_items.order_by("position"))
    Label.objects.filter(item=places[0].item, annotator=people[2]).update(is_set_aside=True)
    StudyItem.objects.filter(pk=places[2].pk).update(withdrawn_at=timezone.now())
    other = study_make(dataset=dataset, owner=cast.alice, slug="other")
    study_label_make(study=other, item=places[8].item, choice=1, annotator=people[0])
    study_label_make(study=other, item=places[8].item, choice=2, annotator=people[1])
    return made


def test_the_agreement_of_an_annotator_opens_the_items_that_others_labeled_too(cast: Cast, study):
    browser = client_of(cast.alice)
    rows = rows_of(browser.get(reverse("annotation:study-detail", args=[study.slug])), "Annotators")
    known = agreement_so_far(study).by_annotator
    assert {(row.labels, row.agreement.n) for row in known} == {(7, 6), (7, 7), (4, 3)}
    for row in known:
        labels, _, agreement = rows[row.short_id]
        assert n_items(browser, link_in(labels)) == row.labels
        assert n_items(browser, link_in(agreement)) == row.agreement.n


def test_the_page_of_people_and_of_a_person_lead_there_too(cast: Cast, study):
    browser = client_of(cast.alice)
    rows = rows_of(browser.get(reverse("annotation:study-people", args=[study.slug])), "People of the study")
    for row in annotators_of(study).rows:
        cells = next(cells for head, cells in rows.items() if head.startswith(row.short_id))
        links = [link_in(cell) for cell in cells if 'class="behind"' in cell]
        assert [n_items(browser, link) for link in links] == [row.figures.labels, row.agreement.n]
        own = browser.get(reverse("annotation:study-person", args=[study.slug, row.pseudonym]))
        tiles = [
            tile for tile in own.content.decode().split('<div class="tile')[1:] if 'class="behind"' in tile
        ]
        links = [link_in(tile.partition("</dd>")[0]) for tile in tiles]
        assert [n_items(browser, link) for link in links] == [row.figures.labels, row.agreement.n]
        assert f"Annotator {row.short_id}" in text_of(browser.get(links[0]))


@pytest.mark.parametrize("kind", [Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE])
def test_annotators_of_other_kinds_lead_to_the_items_they_share(cast: Cast, kind):
    study = kind_study_make(kind, items=6, owner=cast.alice)
    items = list(study.dataset.items.order_by("position"))
    first = kind_label_make(study, items[0], value_of(kind, 0)).annotator
    second = kind_label_make(study, items[0], value_of(kind, 1)).annotator
    for k, who in ((1, first), (1, second), (2, first), (3, second), (4, second)):
        kind_label_make(study, items[k], value_of(kind, k), annotator=who)
    browser = client_of(cast.alice)
    rows = rows_of(browser.get(reverse("annotation:study-detail", args=[study.slug])), "Annotators")
    for row in agreement_so_far(study).by_annotator:
        labels, _, agreement = rows[row.short_id]
        assert n_items(browser, link_in(labels)) == row.labels
        assert n_items(browser, link_in(agreement)) == row.agreement.n == 2


def test_numbers_of_progress_open_their_items(cast: Cast, study):
    page = client_of(cast.alice).get(reverse("annotation:study-detail", args=[study.slug]))
    browser, progress, agreement = client_of(cast.alice), page.context["progress"], page.context["agreement"]
    tile = next(
        one
        for one in page.content.decode().split('<div class="tile">')
        if one.startswith("<dt>Items complete")
    )
    complete, asked = (link_in(f"{part}</a>") for part in tile.split("</a>")[:2])
    assert n_items(browser, complete) == progress.complete > 0
    assert n_items(browser, asked) == progress.items == len(LABELS) - 1
    over = next(one for one in page.content.decode().split("<p ") if "Intervals are 95%" in one)
    labeled, with_two = (link_in(f"{part}</a>") for part in over.split("</a>")[:2])
    assert n_items(browser, labeled) == agreement.items
    assert n_items(browser, with_two) == agreement.items_with_two


def test_an_annotator_of_another_study_or_nobody_has_no_items(cast: Cast, study):
    dataset = study.dataset.name
    browser = client_of(cast.alice)
    name = annotators_of(study).rows[0].pseudonym
    assert n_items(browser, items_url(dataset, study="uneven", annotator=name)) > 0
    assert n_items(browser, items_url(dataset, study="other", annotator=name)) == 0
    assert n_items(browser, items_url(dataset, annotator="nobody")) == 0
    # A researcher who may not see the study may not ask for its annotators, and finds none by the dataset either.
    assert client_of(cast.bob).get(items_url(dataset, study="uneven", annotator=name)).status_code == 404
    assert n_items(client_of(cast.bob), items_url(dataset, annotator=name)) == 0


def test_an_annotators_list_takes_a_bounded_number_of_queries(cast: Cast, study):
    browser = client_of(cast.alice)
    name = annotators_of(study).rows[0].pseudonym
    address = items_url(study.dataset.name, study="uneven", annotator=name, has=["labels", "complete"])
    browser.get(address)
    with CaptureQueriesContext(connection) as queries:
        browser.get(address)
    assert len(queries) <= 30


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        (StudyState.DRAFT, ["Open"]),
        (StudyState.OPEN, ["Pause", "Close"]),
        (StudyState.PAUSED, ["Open again", "Close"]),
    ],
)
def test_the_buttons_of_a_studys_state_name_the_study(cast: Cast, state, buttons):
    study = study_make(owner=cast.alice, slug="s", title="Which <one>?", state=state)
    page = client_of(cast.alice).get(reverse("annotation:study-detail", args=[study.slug])).content.decode()
    found = re.findall(r'<button[^>]* value="(?:open|pause|close)"[^>]*>(.*?)</button>', page, re.DOTALL)
    assert [plain(one) for one in found] == [f"{words} study Which <one>?" for words in buttons]
    assert [one.partition("<")[0].strip() for one in found] == buttons


@pytest.mark.parametrize("of_study", [True, False])
def test_annotators_of_a_report_lead_to_the_items_they_share_until_labels_change(cast: Cast, study, of_study):
    dataset, browser = study.dataset, client_of(cast.alice)
    asked = {"study": study.slug} if of_study else {"dataset": dataset.name}
    report = report_request(user=cast.alice, **asked)
    address = reverse("metaeval:report-detail", args=[report.pk])
    rows = rows_of(browser.get(address), "Labels of each annotator, and agreement with the others")
    annotators = report_of(report.content).people.annotators
    assert len(rows) == len(annotators) == 3
    for row in annotators:
        labels, agreement, _, shared = rows[str(row.number)]
        assert n_items(browser, link_in(labels)) == row.n_labels
        for cell in (agreement, shared):
            assert n_items(browser, link_in(cell)) == row.agreement["n"] > 0
    browser.get(address)
    with CaptureQueriesContext(connection) as queries:
        browser.get(address)
    assert len(queries) <= 25
    # Their numbers are those of their first labels, which may be others' by now.
    study_label_make(study=study, item=study.study_items.last().item, choice=1)
    page = browser.get(address)
    rows = rows_of(page, "Labels of each annotator, and agreement with the others")
    assert not any('class="behind"' in cell for cells in rows.values() for cell in cells)
    assert "Labels have changed since this report was made" in text_of(page)


def test_another_reader_of_a_report_does_not_see_whose_labels_they_are(cast: Cast, study):
    report = report_request(user=cast.ann, dataset=study.dataset.name)
    Report.objects.update(created_by=cast.bob)
    page = client_of(cast.bob).get(reverse("metaeval:report-detail", args=[report.pk]))
    rows = rows_of(page, "Labels of each annotator, and agreement with the others")
    assert not any('class="behind"' in cell for cells in rows.values() for cell in cells)
