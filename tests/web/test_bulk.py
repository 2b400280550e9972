"""Rows that are inserted at once are those that `bulk_create` would make."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from annotation.models import Annotator, Dataset, Instruction, Item, Label
from web import bulk
from web.bulk import keys_take, rows_insert

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": TEXTS,
            "reference": st.none() | TEXTS,
            "metadata": st.dictionaries(TEXTS, VALUES, max_size=3),
            "conversation": st.lists(VALUES, max_size=2),
        }
    ),
    min_size=1,
    max_size=5,
)
FIELDS = ("id", "dataset_id", "external_id", "text", "reference", "metadata", "conversation")


def of(dataset: Dataset) -> list[dict[str, Any]]:
    rows = Instruction.objects.filter(dataset=dataset).order_by("pk").values()
    return [{name: value for name, value in row.items() if name not in ("id", "dataset_id")} for row in rows]


@pytest.mark.both_databases
class TestSameAsBulkCreate(TestCase):
    @settings(max_examples=30, deadline=None)
    @given(ROWS)
    def test_of_any_values(self, rows):
        one, other = Dataset.objects.create(name="one"), Dataset.objects.create(name="other")
        Instruction.objects.bulk_create(
            [Instruction(dataset=one, external_id=str(place), **row) for place, row in enumerate(rows)]
        )
        keys = keys_take(Instruction, len(rows))
        rows_insert(
            Instruction,
            FIELDS,
            [
                (key, other.pk, str(place), *(row[name] for name in FIELDS[3:]))
                for place, (key, row) in enumerate(zip(keys, rows, strict=True))
            ],
        )
        assert of(one) == of(other)
        assert list(keys) == list(
            Instruction.objects.filter(dataset=other).order_by("pk").values_list("pk", flat=True)
        )
        # The next row that Django makes has a key of its own.
        Instruction.objects.create(dataset=other, external_id="later")


@pytest.fixture
def item() -> Item:
    dataset = Dataset.objects.create(name="one")
    instruction = Instruction.objects.create(dataset=dataset, external_id="i")
    return Item.objects.create(
        dataset=dataset, instruction=instruction, external_id="q", kind="pairwise", position=0
    )


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite stores the text")
@pytest.mark.parametrize("value", [{"score": float("nan")}, {"none": None, "of": [float("inf")]}])
def test_what_is_no_number_is_refused_and_not_made_null(value):
    dataset = Dataset.objects.create(name="one")
    with pytest.raises(DataError), transaction.atomic():
        rows_insert(
            Instruction,
            ("dataset_id", "external_id", "text", "metadata"),
            [(dataset.pk, "i", "", value)],
        )
    assert not Instruction.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db
class TestLabels:
    FIELDS = ("item_id", "annotator_id", "kind", "value", "choice")

    def test_defaults_and_times_are_those_of_the_model(self, item):
        first, second = (Annotator.objects.create(source="x", external_id=name) for name in "ab")
        made = Label.objects.create(
            item=item, annotator=first, kind="pairwise", value={"choice": 1}, choice=1
        )
        rows_insert(Label, self.FIELDS, [(item.pk, second.pk, "pairwise", {"choice": 1}, 1)])
        one, other = Label.objects.order_by("pk").values()
        assert abs(timezone.now() - other.pop("created_at")) < timedelta(minutes=1)
        del one["created_at"]
        assert other == one | {"id": other["id"], "annotator_id": second.pk}
        assert other["id"] > made.pk

    def test_more_rows_than_one_statement_takes(self, item, monkeypatch):
        monkeypatch.setattr(bulk, "MAX_PARAMETERS", 40)
        people = [Annotator.objects.create(source="x", external_id=str(n)) for n in range(11)]
        rows_insert(Label, self.FIELDS, ((item.pk, one.pk, "pairwise", {"choice": 2}, 2) for one in people))
        assert Label.objects.filter(choice=2).count() == 11

    def test_constraints_hold(self, item):
        person = Annotator.objects.create(source="x", external_id="a")
        row = (item.pk, person.pk, "pairwise", {"choice": 1}, 1)
        with pytest.raises(IntegrityError), transaction.atomic():
            rows_insert(Label, self.FIELDS, [row, row])
        assert not Label.objects.exists()
