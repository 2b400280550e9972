"""Columns of groups in the table of a comparison have the colors of the heat map."""

import re

import pytest
from django.urls import reverse

from annotation.models import Item
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make
from tests.metaeval.rows import judge_make, judgments_make, sweep_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def sweep(cast: Cast):
    """Sixteen pairs in two subsets with gold: a judge that is right on all of the first and a quarter of the second."""
    dataset = dataset_make(pairs=16, owner=cast.alice)
    for k, item in enumerate(dataset.items.order_by("position").select_related("instruction")):
        item.instruction.subset = "One" if k < 8 else "Two"
        item.instruction.save()
    Item.objects.filter(dataset=dataset).update(gold={"choice": 1})
    judge = judge_make("Uneven")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 10 + [(2, 2)] * 6)
    return sweep_make(judges=[judge], datasets=[dataset])


def colors(page) -> list[tuple[str, str]]:
    """Step and figure of each colored cell of the judge's row; its items stand behind the figures."""
    row = re.search(r"<tr[^>]*><th[^>]*><a[^>]*>Uneven.*?</tr>", page.content.decode(), re.DOTALL)
    assert row is not None
    return re.findall(r'<td class="r heat heat-(\d)"><a [^>]*>([\d.]+)<', row[0])


def test_a_cell_has_the_color_of_its_figure(cast: Cast, sweep):
    page = client_of(cast.alice).get(reverse("metaeval:comparison", args=[sweep.pk]))
    # 100% is 50 points above the middle (the strongest step begins at 40), 25% as far below as the second: 25 of 40.
    assert colors(page)[:2] == [("6", "100.0"), ("1", "25.0")]


def test_other_columns_have_none(cast: Cast, sweep):
    page = client_of(cast.alice).get(reverse("metaeval:comparison", args=[sweep.pk]) + "?group=subset:One")
    assert "heat-" not in page.content.decode()
