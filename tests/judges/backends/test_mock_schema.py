"""What the mock's models fill into JSON schemas, and what they say to prompts that describe one in words."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.backends.mock_schema import described_schema, fill
from judges.strategies.aspect_tree import tree_problem, tree_schema
from judges.strategies.orders import order_schema
from judges.strategies.structured import closed, label_schema

NESTED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name", "parts"],
}
SCHEMAS = [
    label_schema(["1", "2", "3"], ["yes", "no"]),
    label_schema(["clarity", "truth"], [1, 2, 3, 4, 5]),
    closed({"reasons": {"type": "string"}, "ratings": label_schema(["a"], [1, 2])}),
    order_schema(4, ties=False),
    order_schema(4, ties=True),
    tree_schema(5),
    NESTED,
    {"type": "object", "properties": {"n": {"type": ["number", "null"], "minimum": 0, "maximum": 1}}},
    {"type": "array", "items": {"anyOf": [{"type": "boolean"}, {"type": "string"}]}, "minItems": 3},
    {"const": 7},
    {"type": "integer", "minimum": 3, "maximum": 4},
    {"type": "null"},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@settings(max_examples=12)  # of each schema
@given(seed=st.integers(0, 99), liking=st.floats(0, 1))
def test_a_schema_is_filled_with_what_it_allows(schema, seed, liking):
    value = fill(schema, seed, liking=liking)

    jsonschema.validate(json.loads(json.dumps(value)), schema)
    assert value == fill(schema, seed, liking=liking)


@given(st.integers(0, 99), st.integers(2, 6))
def test_orders_name_each_number_once_and_trees_are_trees(seed, count):
    assert sorted(fill(order_schema(count, ties=False), seed)["ranking"]) == list(range(1, count + 1))
    tree = fill(tree_schema(count), seed)
    edges = [(child, str(parent) if parent else "") for child, parent in tree.items()]
    assert tree_problem(edges, {str(number): f"aspect {number}" for number in range(1, count + 1)}) == ""


def test_the_better_an_output_is_liked_the_higher_its_ratings():
    schema = label_schema(map(str, range(40)), [1, 2, 3, 4, 5])
    low, high = (sum(fill(schema, 0, liking=liking).values()) for liking in (0.1, 0.9))

    assert low < high


def test_json_in_words():
    assert fill(described_schema('Reply with one JSON object: {"1": ..., "2": ...}', ""), 0).keys() == {
        "1",
        "2",
    }
    assert set(fill(described_schema('"yes" or "no": {"1": ...}', ""), 0).values()) <= {"yes", "no"}
    ratings = described_schema('{"reasons": "...", "ratings": {"truth": ...}}', "truth\n1: bad\n3: good")
    assert fill(ratings, 0)["ratings"]["truth"] in {1, 2, 3}
