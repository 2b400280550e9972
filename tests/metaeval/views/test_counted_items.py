"""A figure's link opens exactly the items that the figure counts."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Item, Kind, Label
from judges.models import Judgment, ParseStatus
from judges.selectors.item_addresses import items_url
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make

pytestmark = pytest.mark.django_db

# Three annotators who labeled different pairs: agreement, ties, draws, a pair of one label, and pairs without any.
LABELS = [
    (1, 1, 2),
    (1, 0, None),
    (2, 0, 0),
    (1, 2, 0),
    (0, 0, None),
    (2, None, None),
    (None, 1, 1),
    (None, None, 2),
    (None, None, None),
    (2, 2, None),
]
GOLD = [1, 2, 0, 1, None, 2, None, None, None, None]
# In both orders, in one, unparsed, not at all.
VERDICTS = [(1, 1), (2, None), (2, 2), (1, 1), (1, 2), (1, 1), (None, None), (1,), (1, 1), ()]
OTHERS = [(2, 2), (1, 1), (1, 0), (), (1, 1), (2, 1), (1,), (2, 2), (2, 2), (2, 0)]


@pytest.fixture
def uneven(cast):
    """Ten pairs in a sweep of two judges, with labels, verdicts and gold answers on different ones."""
    dataset = dataset_make(pairs=len(LABELS), owner=cast.alice)
    labels_make(dataset=dataset, choices=LABELS)
    for item, gold in zip(dataset.items.order_by("position"), GOLD, strict=True):
        Item.objects.filter(pk=item.pk).update(gold=None if gold is None else {"choice": gold})
    one, two = judge_make("One"), judge_make("Two", strategy="cot")
    judgments_make(judge=one, dataset=dataset, choices=VERDICTS)
    judgments_make(judge=two, dataset=dataset, choices=OTHERS)
    return dataset, sweep_make(judges=[one, two], datasets=[dataset]), one, two


def rows_of(page, caption):
    """The rows of the table with this caption: by the text of each row's head, its cells."""
    assert page.status_code == 200
    table = next(one for one in page.content.decode().split("<table ")[1:] if f">{caption}</caption>" in one)
    rows = re.findall(r"<tr[^>]*>(<th scope=\"row\".*?)</tr>", table.partition("</table>")[0], re.DOTALL)
    return {
        plain(row.partition("</th>")[0]): re.split(r"</td>", row.partition("</th>")[2])[:-1] for row in rows
    }


def plain(text):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text))).strip()


def link_in(cell):
    """The address of the items of a cell, whose name is not the number alone."""
    (found,) = re.findall(r'<a class="behind" href="([^"]+)">(.*?)</a>', cell, re.DOTALL)
    assert re.search(r"[a-z]{3}", plain(found[1])), found
    return unescape(found[0])


def n_items(browser, address):
    page = browser.get(address)
    assert page.status_code == 200, address
    return page.context["page"].n_found


@pytest.mark.parametrize("against", ["people", "gold"])
def test_each_figure_of_a_judges_errors_opens_the_items_that_it_counts(cast: Cast, uneven, against):
    _, sweep, *_ = uneven
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:confidence", args=[sweep.pk]), {"against": against})
    table = rows_of(page, "Error rates and cost of errors of each judge")
    rows = page.context["page"].rows
    assert len(rows) == 2
    for row in rows:
        cost, more, sensitivity, specificity, precision, f1, n = next(
            cells for head, cells in table.items() if head.startswith(row.name)
        )
        assert n_items(browser, link_in(cost)) == row.cost["n"] == row.n > 0
        assert n_items(browser, link_in(n)) == row.n
        for cell, name in (
            (sensitivity, "true_positive_rate"),
            (specificity, "true_negative_rate"),
            (precision, "precision"),
            (f1, "f1"),
        ):
            assert n_items(browser, link_in(cell)) == row.rates[name]["n"] > 0, (row.name, name)
        if row.behind is not None:
            assert n_items(browser, link_in(more)) == row.behind["n"] > 0


@pytest.mark.parametrize("kind", [Kind.CHECKLIST, Kind.RUBRIC])
def test_figures_of_errors_over_parts_open_the_items_that_have_these(cast: Cast, kind):
    dataset, sweep = kind_swept(kind, gold=True, owner=cast.alice)
    first, second = Label.objects.filter(item__dataset=dataset).values_list("annotator", flat=True).distinct()
    places = list(dataset.items.order_by("position"))
    Label.objects.filter(annotator=first, item__in=places[:3]).update(is_set_aside=True)
    Label.objects.filter(annotator=second, item__in=places[1:5]).update(is_set_aside=True)
    Judgment.objects.filter(item=places[7], judge__name__startswith="Near").delete()
    browser = client_of(cast.alice)
    page = browser.get(
        reverse("metaeval:confidence", args=[sweep.pk]), {"against": "people", "kind": kind, "mark": "3"}
    )
    for row, cells in zip(
        page.context["page"].rows,
        rows_of(page, "Error rates and cost of errors of each judge").values(),
        strict=True,
    ):
        names = ("cost", "true_positive_rate", "true_negative_rate", "precision", "f1")
        found = {
            name: n_items(browser, link_in(cell))
            for name, cell in zip(names, [cells[0], *cells[2:6]], strict=True)
        }
        assert found == row.n_items
        assert n_items(browser, link_in(cells[6])) == found["cost"]
        assert f"on {found['cost']} items" in plain(cells[6])
        assert found["cost"] < len(places)


def test_the_filters_of_counted_items(cast: Cast, uneven):
    dataset, _, one, two = uneven
    browser = client_of(cast.alice)

    def found(**asked):
        page = browser.get(items_url(dataset.name, **asked))
        names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
        return [names.index(row.item.external_id) for row in page.context["page"].rows]

    assert found(has="gold") == [0, 1, 2, 3, 5]
    assert found(has="label") == [0, 1, 2, 3, 4, 5, 6, 7, 9]
    assert found(has="labels") == [0, 1, 2, 3, 4, 6, 9]
    assert found(has=["labels", "gold"]) == [0, 1, 2, 3]
    assert found(has="judgment", judge=one.pk) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert found(has="all_judges", judge=[one.pk, two.pk]) == [0, 1, 2, 4, 5, 6, 7, 8]
    assert found(has="both_orders", judge=[one.pk, two.pk]) == [0, 1, 2, 4, 5, 8]
    assert found(has="nothing known") == list(range(10))
    assert found(people="any", judge=one.pk) == [0, 1, 2, 5, 6, 7]
    assert found(people=1, judge=one.pk) == [0, 1, 6]
    assert found(people="any", verdict="positive", judge=one.pk) == [0, 5, 7]
    assert found(people="any", verdict="either", judge=one.pk) == [0, 1, 5, 6, 7]


def test_the_words_above_a_list_say_what_it_counts(cast: Cast, uneven):
    dataset, _, one, _ = uneven
    page = client_of(cast.alice).get(
        items_url(dataset.name, judge=one.pk, people="any", verdict="either", has="labels")
    )
    text = text_of(page)
    assert "With labels of two annotators or more" in text
    assert "Verdict or answer: first response" in text
    # The form keeps them.
    for name, value in (("people", "any"), ("verdict", "either"), ("has", "labels")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page.content.decode()


def test_the_filters_of_counted_items_take_a_bounded_number_of_queries(cast: Cast, uneven):
    dataset, _, one, two = uneven
    browser = client_of(cast.alice)
    asked = [
        {"has": ["gold", "label", "labels", "judgment", "all_judges", "both_orders", "tested"]},
        {"people": "any", "verdict": "either"},
    ]
    for each in asked:
        address = items_url(dataset.name, judge=[one.pk, two.pk], **each)
        browser.get(address)
        with CaptureQueriesContext(connection) as queries:
            browser.get(address)
        assert len(queries) <= 30


def test_a_dataset_of_another_researcher_has_no_list(cast: Cast, uneven):
    dataset, *_ = uneven
    dataset.split, dataset.owner = "private", cast.alice
    dataset.save()
    address = items_url(dataset.name, has="labels")
    assert client_of(cast.bob).get(address).status_code == 404
    assert client_of(cast.carl).get(address).status_code == 403


def test_an_unparsed_verdict_counts_as_wrong_and_stays_in_the_list(cast: Cast, uneven):
    dataset, _, one, _ = uneven
    assert Judgment.objects.filter(judge=one, status=ParseStatus.UNPARSED, item__dataset=dataset).count() == 3
    browser = client_of(cast.alice)
    assert n_items(browser, items_url(dataset.name, judge=one.pk, people=1, verdict="wrong")) == 2
