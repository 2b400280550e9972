"""Names and their numbers on disk are those of a dictionary; reading ahead is reading."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.importers import keys
from annotation.importers.ahead import read_ahead
from annotation.importers.keys import KeyStore

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=3)
"""What readers let through: a NUL or a surrogate alone is refused with its row."""


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.dictionaries(NAMES, st.integers(0, 2**60), max_size=5), max_size=4),
    st.lists(NAMES, max_size=9),
)
def test_a_store_is_a_dictionary(batches, asked):
    store, known = KeyStore(), {}
    for batch in batches:
        store.add(batch.items())
        known |= batch
    assert store.is_empty == (not known)
    assert store.found([*known, *asked]) == {name: known[name] for name in [*known, *asked] if name in known}
    assert [store.get(name) for name in asked] == [known.get(name) for name in asked]


def test_a_filter_that_is_full_costs_looks_and_no_answer(monkeypatch):
    monkeypatch.setattr(keys, "BITS", 3)
    monkeypatch.setattr(keys, "MASK", 7)
    store = KeyStore()
    store.add((str(n), n) for n in range(100))
    assert store.found([str(n) for n in range(200)]) == {str(n): n for n in range(100)}


class TestReadAhead:
    def test_parts_come_in_order(self):
        assert list(read_ahead(iter(range(100)))) == list(range(100))

    def test_an_error_comes_after_the_parts_before_it(self):
        def parts():
            yield 1
            raise ValueError("bad row")

        ahead = read_ahead(parts())
        assert next(ahead) == 1
        with pytest.raises(ValueError, match="bad row"):
            next(ahead)

    def test_closing_it_closes_what_it_reads(self):
        closed = threading.Event()

        def parts():
            try:
                while True:
                    yield 1
            finally:
                closed.set()

        ahead = read_ahead(parts())
        assert next(ahead) == 1
        ahead.close()
        assert closed.is_set()
        assert "reading-ahead" not in [one.name for one in threading.enumerate()]

    def test_no_more_than_two_parts_are_waiting(self):
        made = []

        def parts():
            for number in range(10):
                made.append(number)
                yield number

        ahead = read_ahead(parts())
        assert next(ahead) == 0
        time.sleep(0.5)
        assert len(made) <= 3
        ahead.close()
