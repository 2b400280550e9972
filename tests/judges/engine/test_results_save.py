"""Results of works are stored in statements of many rows: each once, none twice."""

import json

import pytest

from judges.engine.sinks import JUDGMENTS
from judges.models import Judgment
from tests.annotation.factories import dataset_make
from tests.judges.props import judge_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def rows_of(judge, dataset):
    return [
        (*(judge.pk, item.pk, order, "parsed", 1 + order, 0.25, json.dumps({"choice": 1 + order})),
         *(f"answer {item.external_id} \x7f\u2028'\"", 1, "", 500, None, 7, 0.125, 12.5, ""))
        for item in dataset.items.order_by("position")
        for order in (0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("pairs", [1, 26, 27, 70])
def test_rows_are_stored_as_they_are_and_once(pairs):
    """52 rows of 19 columns are one statement of SQLite: sizes below, at and above it, and of three."""
    judge, dataset = judge_make(), dataset_make(pairs=pairs)
    rows = rows_of(judge, dataset)
    assert JUDGMENTS.save(rows[::2]) == pairs
    assert JUDGMENTS.save(rows) == pairs
    assert JUDGMENTS.save(rows) == 0
    assert JUDGMENTS.save([]) == 0
    names = ("judge_id", "item_id", "order", "status", "choice", "probability", "value", "raw_text")
    more = (
        "requests",
        "thought",
        "prompt_tokens",
        "completion_tokens",
        "reasoning_tokens",
        "cost",
        "latency_ms",
    )
    stored = Judgment.objects.order_by("item__position", "order").values_list(
        *names, *more, "sample", "source"
    )
    assert list(stored) == [(*row[:6], {"choice": row[4]}, *row[7:15], 0, "") for row in rows]
    assert Judgment.objects.exclude(created_at=None).count() == 2 * pairs
