"""Traces on the pages of those who may see all of an item: what is hidden, and few rows for many steps."""

import pytest
from django.urls import reverse

from annotation.models import Item
from judges.models import Judgment
from tests.annotation.cast import client_of, text_of
from tests.annotation.traces import SYSTEM, messages_of, step_row, trace_dataset
from tests.metaeval.rows import judge_make

pytestmark = pytest.mark.django_db


def page_of(cast, item: Item) -> str:
    page = client_of(cast.alice).get(reverse("metaeval:dataset-item", args=[item.dataset.name, item.pk]))
    assert page.status_code == 200
    return page.content.decode()


def test_what_is_hidden_is_marked_and_shown(cast, tmp_path):
    messages = messages_of(3)
    for message in messages:
        message["hidden"] = message["role"] in ("system", "tool")
    html = page_of(cast, trace_dataset(tmp_path, step_row(3, trace=messages)).items.get())
    assert html.count("data-step=") == 3
    assert SYSTEM in html
    assert "It has 1 lines." in html
    assert html.count("Hidden from annotators and judges") == 1
    assert html.count('<span class="chip">Hidden</span>') == 2


def test_of_many_steps_those_that_somebody_chose(cast, tmp_path):
    row = step_row(
        60, gold=7, labels=[{"annotator": "ann", "value": 9}, {"annotator": "ben", "value": "no wrong step"}]
    )
    item = trace_dataset(tmp_path, row).items.get()
    chosen = {key: key == "11" for key in item.gold["categories"]}
    Judgment.objects.create(
        judge=judge_make("Good"), item=item, order=0, status="parsed", value={"categories": chosen}
    )
    html = page_of(cast, item)
    table = html[html.index('id="parts-title"') :]
    assert [step for step in range(1, 61) if f">Step {step}<" in table] == [7, 9]
    assert "No step is wrong." in table
    assert "Step 11" in text_of(
        client_of(cast.alice).get(reverse("metaeval:dataset-item", args=["traces", item.pk]))
    )
