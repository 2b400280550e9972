"""Cells of tables lead to the items that they count, those that lower them first."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotation.models import Item, Kind
from metaeval.reports.behind import behind
from metaeval.reports.tables import Slice
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make

pytestmark = pytest.mark.django_db


def links(page):
    """The addresses of the cells of a page that lead to items, in their order."""
    assert page.status_code == 200
    found = re.findall(r'<a (?:class="behind" )?href="(/datasets/[^"/]+/items/[^"]*)"', page.content.decode())
    return [unescape(address) for address in found]


@pytest.fixture
def compared(cast):
    """Eight pairs in two categories and two subsets, with labels, gold, and a judge that errs in the second half."""
    dataset = dataset_make(pairs=8, owner=cast.alice)
    for k, item in enumerate(dataset.items.order_by("position").select_related("instruction")):
        item.instruction.subset = f"Set/{'Two' if k > 3 else 'One'}"
        item.instruction.save()
    labels_make(dataset=dataset, choices=[(1, 1, 1)] * 8)
    Item.objects.filter(dataset=dataset).update(gold={"choice": 1})
    good, poor = judge_make("Good"), judge_make("Poor", strategy="cot")
    judgments_make(judge=good, dataset=dataset, choices=[(1, 1)] * 7 + [(1, 2)])
    judgments_make(judge=poor, dataset=dataset, choices=[(1, 1)] * 4 + [(2, 2)] * 3 + [(None, 1)])
    return dataset, sweep_make(judges=[good, poor], datasets=[dataset]), good, poor


def shown(browser, address):
    page = browser.get(address)
    assert page.status_code == 200, address
    return [row.item.external_id for row in page.context["page"].rows]


def test_cells_of_a_comparison_lead_to_their_items_with_those_that_lower_them_first(cast: Cast, compared):
    dataset, sweep, _, poor = compared
    browser = client_of(cast.alice)
    found = links(browser.get(reverse("metaeval:comparison", args=[sweep.pk]) + "?measure=agreement"))
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    of_poor = [address for address in found if poor.fingerprint in address]
    assert shown(browser, of_poor[0]) == [*names[4:], *names[:4]]
    two = next(address for address in of_poor if "Two" in address)
    assert shown(browser, two) == names[4:]
    one = next(address for address in of_poor if "One" in address)
    assert shown(browser, one) == names[:4]
    unparsed = next(address for address in of_poor if "sort=unparsed" in address)
    assert shown(browser, unparsed) == [names[7], *names[:7]]
    for address in found:
        shown(browser, address)


def test_cells_of_decision_confidence_and_report_lead_to_items(cast: Cast, compared):
    dataset, sweep, _, poor = compared
    browser = client_of(cast.alice)
    for name in ("decision", "confidence"):
        found = links(browser.get(reverse(f"metaeval:{name}", args=[sweep.pk])))
        assert found
        for address in found:
            shown(browser, address)
    address = reverse("metaeval:confidence", args=[sweep.pk]) + f"?judge={poor.fingerprint}"
    cells = {
        (right[1], verdict[1]): len(shown(browser, cell))
        for cell in links(browser.get(address))
        if (right := re.search(r"people=(\d)", cell)) and (verdict := re.search(r"verdict=(\w+)", cell))
    }
    # Right in both orders of four pairs and in one of another; wrong, or unparsed, in the rest and in that one.
    assert cells[("1", "right")] == 5
    assert cells[("1", "wrong")] == 4
    study = study_make(dataset=dataset, owner=cast.alice, slug="s")
    study_labels_make(study, [[1, 1], [1, 2], [2, 2], [1, 1]])
    report = report_request(user=cast.alice, study="s")
    found = links(browser.get(reverse("metaeval:report-detail", args=[report.pk])))
    assert found
    for cell in found:
        assert "study=s" in cell
        shown(browser, cell)
    file = browser.get(reverse("metaeval:report-download", args=[report.pk, "html"]))
    assert "/items/" not in file.content.decode()


@pytest.mark.parametrize("kind", [Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE])
def test_cells_of_other_kinds_lead_to_items(cast: Cast, kind):
    _, sweep = kind_swept(kind, gold=True, owner=cast.alice)
    browser = client_of(cast.alice)
    found = links(browser.get(reverse("metaeval:comparison", args=[sweep.pk])))
    assert found
    for address in set(found):
        shown(browser, address)


def test_the_filter_behind_a_figure():
    assert behind("pairwise", figure="agreement", place=Slice("category", "QA"), fingerprint="f") == {
        "kind": "pairwise",
        "judge": "f",
        "category": "QA",
        "has": ["judgment", "labels"],
        "sort": "disagreement",
    }
    assert behind("pairwise", figure="accuracy", fingerprint="f")["sort"] == "wrong"
    assert behind("pairwise", figure="positional_agreement", fingerprint="f")["sort"] == "orders_differ"
    assert behind("pairwise", figure="cost_per_1000", fingerprint="f") == {
        "kind": "pairwise",
        "judge": "f",
        "has": ["judgment"],
    }
    assert behind("rubric", place=Slice("subset", "A/B"))["sort"] == "split"
    assert (
        behind("pairwise", figure="accuracy", place=Slice("macro", "Adversarial"), fingerprint="f")["subset"]
        == "Adversarial"
    )


def test_the_drawer_is_a_part_of_the_page_of_items(cast: Cast, compared):
    dataset, _, _, poor = compared
    address = f"{reverse('metaeval:dataset-items', args=[dataset.name])}?judge={poor.pk}&case=disagrees"
    part = client_of(cast.alice).get(address, headers={"HX-Request": "true", "HX-Target": "drawer-body"})
    text = part.content.decode()
    assert "<html" not in text
    assert "3 items" in text_of(part)
    assert "Open all 3 items" in text_of(part)
    # Its links are whole: it stands on another page.
    assert 'href="?' not in text


def in_table(page, caption):
    """The addresses in the table with this caption."""
    text = page.content.decode()
    table = next(one for one in text.split("<table ")[1:] if caption in one.partition("</caption>")[0])
    found = re.findall(r'href="(/datasets/[^"/]+/items/[^"]*)"', table.partition("</table>")[0])
    return [unescape(address) for address in found]


def test_figures_of_annotators_and_differences_of_a_report_lead_to_items(cast: Cast, compared):
    dataset, _, _, poor = compared
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk]))
    of_people = in_table(page, "Inter-annotator agreement")
    defined = [figure for figure, estimate in page.context["people"] if estimate["value"] is not None]
    assert len(of_people) == len(defined) > 5
    assert shown(browser, of_people[0]) == [
        *dataset.items.order_by("position").values_list("external_id", flat=True)
    ]
    (of_difference,) = in_table(page, "Difference of each judge")
    assert poor.fingerprint in of_difference
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    assert shown(browser, of_difference) == [*names[4:], *names[:4]]


def test_figures_of_a_study_lead_to_the_items_on_which_its_annotators_disagree(cast: Cast, compared):
    dataset, *_ = compared
    for k, item in enumerate(dataset.items.select_related("instruction").order_by("position")):
        item.instruction.category = "Q/A & more" if k < 4 else "Chat"
        item.instruction.save()
    study = study_make(dataset=dataset, owner=cast.alice, slug="s")
    study_labels_make(study, [[1, 1], [1, 2], [2, 2], [1, 1], [1, 2]])
    browser = client_of(cast.alice)
    page = browser.get(reverse("annotation:study-detail", args=["s"]))
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    found = links(page)
    tile = next(address for address in found if "case=split" in address)
    assert shown(browser, tile) == [names[1], names[4]]  # of all
    rows = [address for address in found if "category=Q%2FA" in address]
    assert shown(browser, rows[0]) == names[:4]
    assert shown(browser, rows[1]) == [names[1]]


def test_error_rates_and_the_score_of_a_decision_lead_to_items(cast: Cast, compared):
    dataset, sweep, _, poor = compared
    browser = client_of(cast.alice)
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    page = browser.get(reverse("metaeval:confidence", args=[sweep.pk]))
    rates = [address for address in in_table(page, "Error rates") if poor.fingerprint in address]
    # Cost, more than the cheapest, true positive and true negative rate, precision, F1, n: disagreement comes first.
    wrong_first = [*names[4:], *names[:4]]
    *_, precision, _, _ = found = [shown(browser, address) for address in rates]
    assert found == [wrong_first, wrong_first, wrong_first, [], precision, wrong_first, wrong_first]
    assert precision == [names[7], *names[:4]]
    page = browser.get(reverse("metaeval:decision", args=[sweep.pk]))
    score = next(address for address in in_table(page, "All judges by") if poor.fingerprint in address)
    assert shown(browser, score) == wrong_first


def test_the_name_of_a_link_says_figure_and_judge_after_the_number(cast: Cast, compared):
    dataset, sweep, good, poor = compared
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name)
    pages = [
        reverse("metaeval:comparison", args=[sweep.pk]) + "?measure=agreement",
        reverse("metaeval:decision", args=[sweep.pk]),
        reverse("metaeval:confidence", args=[sweep.pk]),
        reverse("metaeval:report-detail", args=[report.pk]),
    ]
    for address in pages:
        text = browser.get(address).content.decode()
        found = re.findall(r'<a class="behind" href="[^"]+">(.*?)</a>', text, re.DOTALL)
        assert len(found) > 10
        for content in found:
            name = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", content))).strip()
            assert re.search(r"[a-z]{3}", name), (address, content)
        of_table = text.partition("<table ")[2]
        for judge in (good, poor):
            cells = re.findall(
                rf'<a class="behind" href="[^"]*[?;]judge={judge.fingerprint}[^"]*">(.*?)</a>',
                of_table,
                re.DOTALL,
            )
            assert any(judge.name in cell for cell in cells), address
    comparison = browser.get(pages[0]).content.decode()
    assert re.search(
        r">[0-9.]+<span [^>]*>: Agreement with human annotators, Poor, Set/Two</span></a>", comparison
    )
