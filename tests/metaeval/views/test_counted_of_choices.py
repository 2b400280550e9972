"""The alternative annotator test, the selection frequency and a report's error rates open the items that they count."""

import re

import pytest
from django.urls import reverse

from annotation.models import Item, Kind, Label, Response
from judges.models import Judgment
from metaeval.reports.report import report_of
from metaeval.reports.tables import differences
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make
from tests.metaeval.views.test_counted_items import GOLD, link_in, n_items, plain, rows_of

pytestmark = pytest.mark.django_db
N = 45


@pytest.fixture
def tested(cast):
    """45 pairs: three annotators with 30 or more, one with ten that the test leaves out, and two judges."""
    dataset = dataset_make(pairs=N, owner=cast.alice)
    choices = [
        (
            1 + k % 2,
            1 + k % 2 if k < 40 else None,
            (0 if k % 7 == 0 else 1 + k % 2) if 4 < k < 42 else None,
            1 if k < 3 or k > 41 else None,
        )
        for k in range(N)
    ]
    # A pair that only the one who is left out shares with another annotator, and one of a single label.
    choices[43] = (None, None, None, 1)
    choices[44] = (None, None, None, None)
    labels_make(dataset=dataset, choices=choices)
    for k, item in enumerate(dataset.items.order_by("position")):
        Item.objects.filter(pk=item.pk).update(
            gold={"choice": GOLD[k % 10]} if GOLD[k % 10] is not None else None
        )
    both, part = judge_make("Both"), judge_make("Part", strategy="cot")
    judgments_make(judge=both, dataset=dataset, choices=[(1 + k % 2, 1 + k % 3 % 2) for k in range(N)])
    said = [(1,) if k > 36 else (None, 1 + k % 2) for k in range(N - 3)]
    judgments_make(judge=part, dataset=dataset, choices=said)
    return dataset, sweep_make(judges=[both, part], datasets=[dataset]), both, part


def test_the_alternative_annotator_test_of_a_report_opens_its_items(cast: Cast, tested):
    dataset, *_ = tested
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk]))
    rows = rows_of(page, "The alternative annotator test of each judge")
    judges = [one for one in report_of(report.content).judges if not one.baseline]
    assert len({one.replaces["advantage_probability"]["n"] for one in judges}) == 2
    for judge in judges:
        _, won, advantage = rows[judge.name]
        for cell in (won, advantage):
            assert n_items(browser, link_in(cell)) == judge.replaces["advantage_probability"]["n"] > 30
    # Of the judge that was chosen on the other folds items can't be listed: not all judged the same ones.
    held_out = next(cells for head, cells in rows.items() if "other folds" in head)
    assert not any("<a " in cell for cell in held_out)


def test_where_all_judged_all_the_held_out_test_opens_its_items_too(cast: Cast, tested):
    dataset, sweep, _, part = tested
    Judgment.objects.filter(judge=part).delete()
    judgments_make(judge=part, dataset=dataset, choices=[(1, 2)] * N)
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk]))
    rows = rows_of(page, "The alternative annotator test of each judge")
    held_out = next(cells for head, cells in rows.items() if "other folds" in head)
    n = report_of(report.content).replacement["advantage_probability"]["n"]
    assert [n_items(browser, link_in(cell)) for cell in held_out[1:]] == [n, n]
    page = browser.get(reverse("metaeval:decision", args=[sweep.pk]), by_people(dataset))
    test = page.context["report"].replaces[dataset.name]
    card = page.content.decode().partition('id="replace"')[2].partition("</section>")[0]
    rate, advantage = re.findall(r"<dd>(.*?)</dd>", card, re.DOTALL)[:2]
    for cell in (rate, advantage):
        assert n_items(browser, link_in(cell)) == test["advantage_probability"]["n"] > 30


def by_people(dataset):
    return {f"role-{dataset.name}": "people", f"weight-{dataset.name}": "1"}


@pytest.mark.parametrize("role", ["people", "gold"])
def test_the_selection_frequency_opens_the_items_that_resamples_draw_from(cast: Cast, tested, role):
    dataset, sweep, *_ = tested
    browser = client_of(cast.alice)
    page = decided_by(browser, sweep, dataset, role)
    report = page.context["report"]
    standings = {report.name(one.judge): one for one in report.standings}
    cells = selection_cells(page)
    asked = [name for name, one in standings.items() if one.chosen_share is not None]
    assert len(asked) == 2
    for name in asked:
        assert n_items(browser, link_in(cells[name])) == standings[name].objective["n"] > 0
    assert "Each resample draws instructions with replacement from" in plain(page.content.decode())


@pytest.mark.parametrize("kind", [Kind.CHECKLIST, Kind.RUBRIC])
def test_the_selection_frequency_of_other_kinds_does_too(cast: Cast, kind):
    dataset, sweep = kind_swept(kind, gold=True, owner=cast.alice)
    places = list(dataset.items.order_by("position"))
    Label.objects.filter(item__in=places[:2]).update(is_set_aside=True)
    Judgment.objects.filter(item=places[5], judge__name__startswith="Near").delete()
    browser = client_of(cast.alice)
    for role in ("people", "gold"):
        page = decided_by(browser, sweep, dataset, role, kind=kind)
        report = page.context["report"]
        for one in report.standings:
            if one.chosen_share is not None:
                cell = selection_cells(page)[report.name(one.judge)]
                assert n_items(browser, link_in(cell)) == one.objective["n"] < len(places)


def test_of_several_datasets_the_selection_frequency_leads_to_the_items_of_each(cast: Cast, tested):
    first, _, both, part = tested
    second = dataset_make(pairs=6, owner=cast.alice)
    labels_make(dataset=second, choices=[(1, 1), (1, 2), (1, None), (2, 2), (1, 1), (2, 2)])
    for one in (both, part):
        judgments_make(judge=one, dataset=second, choices=[(1, 1), (2, 2), (1, 2), (2, 2), (1, 1)])
    sweep = sweep_make(judges=[both, part], datasets=[first, second])
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:decision", args=[sweep.pk]), by_people(first) | by_people(second))
    report = page.context["report"]
    assert len(report.deciding) == 2
    assert all(
        'href="#resampled"' in cell
        for name, cell in selection_cells(page).items()
        if name in ("Both", "Part")
    )
    text = page.content.decode().partition('id="resampled"')[2].partition("</p>")[0]
    links = [link_in(f"{one}</a>") for one in text.split("</a>")[:-1]]
    leader = next(one for one in report.standings if one.chosen_share is not None)
    assert [n_items(browser, link) for link in links] == [
        leader.scores[row.name]["n"] for row in report.deciding
    ]


def decided_by(browser, sweep, dataset, role, **asked):
    page = browser.get(
        reverse("metaeval:decision", args=[sweep.pk]),
        asked | {f"role-{dataset.name}": role, f"weight-{dataset.name}": "1"},
    )
    (row,) = page.context["report"].deciding
    assert row.role == role
    return page


def selection_cells(page):
    """By judge, the cell of its selection frequency."""
    text = page.content.decode()
    caption = re.search(r">(All judges by [^<]*)</caption>", text)[1]
    place = len(page.context["table"].datasets) + 1
    heads = [one.judge.name for one in page.context["table"].rows]
    rows = rows_of(page, caption)
    return {
        name: next(cells for head, cells in rows.items() if head == name or head.startswith(f"{name} "))[
            place
        ]
        for name in heads
    }


@pytest.mark.parametrize("kind", [Kind.PAIRWISE, Kind.CHECKLIST, Kind.RUBRIC])
def test_error_rates_of_a_report_open_the_items_that_they_count(cast: Cast, tested, kind):
    if kind == Kind.PAIRWISE:
        dataset, *_ = tested
    else:
        dataset, _ = kind_swept(kind, gold=True, owner=cast.alice)
        places = list(dataset.items.order_by("position"))
        Label.objects.filter(item__in=places[:2]).update(is_set_aside=True)
    browser = client_of(cast.alice)
    report = report_request(
        user=cast.alice, dataset=dataset.name, kind=kind, pass_mark=3.0 if kind == Kind.RUBRIC else None
    )
    content = report_of(report.content)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk]))
    tables = [one for one in page.context["groups"] if one.title.startswith("Errors and confidence")]
    assert len(tables) == (2 if kind == Kind.PAIRWISE else 1)
    seen = set()
    for table in tables:
        rows = rows_of(page, table.title)
        for row in table.rows:
            judge = next((one for one in content.judges if one.fingerprint == row.fingerprint), None)
            if judge is None or judge.baseline:
                continue
            cells = next(cells for head, cells in rows.items() if head.startswith(judge.name))
            for cell, shown in zip(row.cells, cells, strict=False):
                name = cell.figure.name.removesuffix("_gold")
                if (
                    name in ("true_positive_rate", "true_negative_rate", "precision", "f1")
                    and cell.estimate["n"]
                ):
                    assert n_items(browser, link_in(shown)) == cell.estimate["n"], (
                        judge.name,
                        cell.figure.name,
                    )
                    seen.add(name)
    assert len(seen) == 4


def tiles_of(page):
    """By its name, the links of a tile."""
    assert page.status_code == 200
    tiles = re.findall(r'<div class="tile"><dt>(.*?)</dt>(.*?)</div>', page.content.decode(), re.DOTALL)
    return {
        name: [link_in(f"{one}</a>") for one in text.split("</a>") if 'class="behind"' in one]
        for name, text in tiles
    }


@pytest.mark.parametrize("measure", ["agreement", "accuracy"])
def test_tiles_of_a_comparison_open_the_items_that_they_count(cast: Cast, tested, measure):
    _, sweep, *_ = tested
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:comparison", args=[sweep.pk]), {"measure": measure})
    tiles = tiles_of(page)
    linked = [figure for figure in page.context["figures"] if tiles[figure.label]]
    assert len(linked) >= 2
    for figure in linked:
        (link,) = tiles[figure.label]
        assert n_items(browser, link) == figure.estimate["n"] > 0, figure.name


@pytest.mark.parametrize("role", ["people", "gold"])
def test_tiles_of_a_decision_open_the_items_that_they_count(cast: Cast, tested, role):
    dataset, sweep, *_ = tested
    browser = client_of(cast.alice)
    page = decided_by(browser, sweep, dataset, role)
    report, tiles = page.context["report"], tiles_of(page)
    held_out, in_sample, positional, cost = tiles
    for name, n in (
        (held_out, report.held_out["n"]),
        (in_sample, report.leading.objective["n"]),
        (positional, report.leading.positional_agreement["n"]),
        (cost, report.leading.cost_per_1000["n"]),
    ):
        (link,) = tiles[name]
        assert n_items(browser, link) == n > 0, name


@pytest.mark.parametrize("against", ["people", "gold"])
def test_tiles_of_confidence_open_the_items_that_they_count(cast: Cast, tested, against):
    _, sweep, both, part = tested
    browser = client_of(cast.alice)
    for judge in (both, part):
        page = browser.get(
            reverse("metaeval:confidence", args=[sweep.pk]),
            {"against": against, "judge": judge.fingerprint},
        )
        found, tiles = page.context["page"], tiles_of(page)
        counts = {"Judge's verdicts": found.n_rows, "Prediction-powered (PPI++)": found.n_rows}
        if found.certainty is not None:
            counts |= {
                "Calibration error": found.certainty.calibration["n"],
                "Brier score": found.certainty.brier["n"],
            }
        for name, n in counts.items():
            (link,) = tiles[name]
            assert n_items(browser, link) == n > 0, (judge.name, name)


def test_the_sentence_above_a_reports_agreement_opens_the_items_with_two_labels(cast: Cast, tested):
    dataset, *_ = tested
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk])).content.decode()
    link = link_in(re.search(r'<a class="behind"[^>]*>[^<]* with two labels or more</a>', page)[0])
    assert n_items(browser, link) == report_of(report.content).people.n_items_with_two_labels > 0


@pytest.mark.parametrize("role", ["people", "gold"])
def test_scores_of_a_decision_open_the_items_that_all_ranked_judges_judged(cast: Cast, tested, role):
    dataset, sweep, *_ = tested
    browser = client_of(cast.alice)
    page = decided_by(browser, sweep, dataset, role)
    report = page.context["report"]
    caption = re.search(r">(All judges by [^<]*)</caption>", page.content.decode())[1]
    rows = rows_of(page, caption)
    standings = [one for one in report.standings if one.chosen_share is not None]
    assert len(standings) == 2
    for one in standings:
        name = report.name(one.judge)
        objective, score = next(cells for head, cells in rows.items() if head.startswith(name))[:2]
        assert n_items(browser, link_in(objective)) == one.objective["n"] > 0
        assert n_items(browser, link_in(score)) == one.scores[dataset.name]["n"]


@pytest.mark.parametrize("kind", [Kind.PAIRWISE, Kind.CHECKLIST, Kind.RUBRIC])
def test_differences_of_a_report_open_the_items_that_all_compared_judges_judged(cast: Cast, tested, kind):
    if kind == Kind.PAIRWISE:
        dataset, *_ = tested
    else:
        dataset, _ = kind_swept(kind, gold=True, owner=cast.alice)
        places = list(dataset.items.order_by("position"))
        Label.objects.filter(item__in=places[:2]).update(is_set_aside=True)
        Judgment.objects.filter(item=places[5], judge__name__startswith="Near").delete()
    browser = client_of(cast.alice)
    report = report_request(user=cast.alice, dataset=dataset.name, kind=kind)
    content = report_of(report.content)
    page = browser.get(reverse("metaeval:report-detail", args=[report.pk]))
    rows = rows_of(page, "Difference of each judge to the leader, on the same items and resamples")
    compared = [(judge, row) for judge, row, _ in differences(content) if not judge.baseline]
    assert compared
    for judge, row in compared:
        assert n_items(browser, link_in(rows[judge.name][0])) == row["n"] > 0


def test_the_adversarial_gap_opens_its_subsets(cast: Cast, tested):
    dataset, sweep, *_ = tested
    for k, item in enumerate(dataset.items.order_by("position").select_related("instruction")):
        item.instruction.subset = ("Adversarial/Hard", "Plain", "", "adversarial too")[k % 4]
        item.instruction.save()
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:comparison", args=[sweep.pk]), {"measure": "agreement"})
    gap = next(figure for figure in page.context["figures"] if figure.name == "gap")
    whole, other, adversarial = (n_items(browser, link) for link in tiles_of(page)["Adversarial gap"])
    assert whole == gap.estimate["n"] == other + adversarial
    assert other < adversarial
    whole = page.context["content"].judges[page.context["verdict"].leader].measures["agreement"]
    assert other == whole["subset"]["Plain"]["n"]


def test_the_length_bias_opens_the_pairs_whose_lengths_differ(cast: Cast, tested):
    dataset, sweep, *_ = tested
    for k, item in enumerate(dataset.items.order_by("position")):
        for link in item.item_responses.all():
            text = "Longer" if link.position and k % 4 else "Long"
            Response.objects.filter(pk=link.response_id).update(text=text)
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:comparison", args=[sweep.pk]), {"measure": "accuracy"})
    figure = next(figure for figure in page.context["figures"] if figure.name == "length_bias")
    (link,) = tiles_of(page)["Length bias"]
    assert n_items(browser, link) == figure.estimate["n"] > 0
    caption = re.search(r">(All judges by [^<]*)</caption>", page.content.decode())[1]
    heads = [column.key for column in page.context["table"].columns]
    for row, _ in page.context["table"].rows:
        cell = rows_of(page, caption)
        cells = next(cells for head, cells in cell.items() if head.startswith(row.judge.name))
        if not row.judge.baseline:
            n = row.judge.measures["length_bias"]["overall"]["n"]
            assert n_items(browser, link_in(cells[heads.index("length") - 1])) == n
