"""Each figure of a table opens exactly the items that it counts, those that lower it first."""

import pytest

from annotation.models import Item, Kind, Label
from judges.models import Judgment
from judges.selectors.item_addresses import items_url
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports.behind import behind
from metaeval.reports.tables import OVERALL, group_tables, judges_table, people_table, people_tables
from metaeval.services.reports import report_build
from tests.annotation.cast import Cast, client_of
from tests.metaeval.kinds import kind_swept
from tests.metaeval.views.test_counted_items import n_items, uneven

pytestmark = pytest.mark.django_db
__all__ = ["uneven"]


def made_uneven(kind, owner):
    """Items of a kind with labels, gold and judgments on different ones."""
    dataset, sweep = kind_swept(kind, gold=True, owner=owner)
    places = list(dataset.items.order_by("position"))
    people = list(Label.objects.filter(item__dataset=dataset).values_list("annotator", flat=True).distinct())
    Label.objects.filter(annotator=people[0], item__in=places[:3]).update(is_set_aside=True)
    Label.objects.filter(annotator__in=people[1:], item__in=places[2:5]).update(is_set_aside=True)
    Item.objects.filter(pk__in=[one.pk for one in places[4:7]]).update(gold=None)
    judge = sweep.judges.order_by("name").first()
    Judgment.objects.filter(judge=judge, item=places[7]).delete()
    Judgment.objects.filter(judge=judge, item=places[6]).update(status="unparsed", value=None)
    return dataset


def in_groups(dataset):
    for k, item in enumerate(dataset.items.order_by("position").select_related("instruction")):
        item.instruction.subset = ("Adversarial/Hard", "Plain", "")[k % 3]
        item.instruction.category = ("QA", "Chat")[k % 2]
        item.instruction.save()


# Figures whose n counts something else: questions, ratings or categories, or the items with a preference.
ELSE = {
    Kind.PAIRWISE: {"first_shown_rate"},
    Kind.RUBRIC: {"alpha"},
    Kind.CHECKLIST: {"alpha", "minus_people", "below_best"},
    Kind.CLASSIFICATION: {"macro_f1", "macro_precision", "macro_recall"},
}


@pytest.mark.parametrize("against", ["people", "gold"])
@pytest.mark.parametrize("kind", FIGURES)
def test_each_figure_leads_to_the_items_that_it_counts(cast: Cast, kind, against, uneven):
    dataset = uneven[0] if kind == Kind.PAIRWISE else made_uneven(kind, cast.alice)
    in_groups(dataset)
    browser = client_of(cast.alice)
    mark = 3.0 if kind == Kind.RUBRIC else None
    content = report_build(
        dataset=dataset,
        kind=kind,
        against="" if kind == Kind.PAIRWISE else against,
        n_resamples=10,
        options=Options(pass_mark=mark),
    )
    tables = [judges_table(content), *group_tables(content), *people_tables(content)]
    cells = [
        (cell.figure.name, cell.place, row.fingerprint, cell.estimate)
        for table in tables
        for row in table.rows
        for cell in row.cells
        if row.fingerprint or row.status == "group"
    ]
    cells += [(figure.name, OVERALL, "", estimate) for figure, estimate in people_table(content)]
    found = {}
    for name, place, fingerprint, estimate in cells:
        if not estimate or not estimate["n"]:
            continue
        asked = behind(kind, figure=name, place=place, fingerprint=fingerprint, against=against, mark=mark)
        address = items_url(dataset.name, **asked)
        if address not in found:
            found[address] = n_items(browser, address)
        if name in ELSE.get(kind, ()):
            assert found[address] > 0
        else:
            assert found[address] == estimate["n"], (name, place, fingerprint)
    assert len(found) > 10
    assert len(set(found.values())) > 3


def test_the_wrong_ones_come_first(cast: Cast, uneven):
    dataset, _, one, _ = uneven
    browser = client_of(cast.alice)

    def shown(figure):
        page = browser.get(
            items_url(dataset.name, **behind("pairwise", figure=figure, fingerprint=one.fingerprint))
        )
        return page.context["page"].rows

    def comes_first(rows, is_so):
        flags = [is_so(row) for row in rows]
        assert flags == sorted(flags, reverse=True)
        assert len(set(flags)) == 2

    apart = [row.disagreement for row in shown("agreement")]
    assert apart == sorted(apart, reverse=True)
    comes_first(shown("accuracy"), lambda row: bool(row.n_wrong))
    comes_first(shown("positional_agreement"), lambda row: bool(row.n_differ))
    comes_first(shown("unparsed_rate"), lambda row: bool(row.n_unparsed))
    # The tabs of the list lead to them alone.
    page = browser.get(
        items_url(dataset.name, **behind("pairwise", figure="accuracy", fingerprint=one.fingerprint))
    )
    url = next(url for case, _, _, url, _ in page.context["cases"] if case == "wrong")
    only = browser.get(url).context["page"].rows
    assert [row.item.external_id for row in only] == [
        row.item.external_id for row in page.context["page"].rows if row.n_wrong
    ]
