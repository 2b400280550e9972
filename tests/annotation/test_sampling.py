"""Samples and orders: what holds of every slice, and the studies that are opened with them."""

import doctest
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain import sampling
from annotation.domain.sampling import (
    Sides,
    allocate,
    draw,
    draw_length_balanced,
    draw_stratified,
    interleave,
    shuffled,
)

GROUPS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(0, 40), max_size=12)


def test_the_examples():
    assert doctest.testmod(sampling).failed == 0


class TestInterleave:
    @given(GROUPS)
    def test_every_prefix_has_the_groups_in_proportion(self, sizes):
        order = interleave({name: [(name, k) for k in range(size)] for name, size in sizes.items()})
        total = sum(sizes.values())
        assert sorted(order) == sorted((name, k) for name, size in sizes.items() for k in range(size))
        seen: Counter[str] = Counter()
        for position, (name, number) in enumerate(order, start=1):
            assert number == seen[name], "the order inside a group is kept"
            seen[name] += 1
            for group, size in sizes.items():
                assert abs(seen[group] * total - position * size) <= total, "off by more than one item"

    def test_nothing(self):
        assert interleave({}) == []
        assert interleave({"a": []}) == []


class TestAllocate:
    @given(GROUPS, st.integers(0, 200))
    def test_shares(self, sizes, total):
        places = allocate(sizes, total)
        assert sum(places.values()) == min(total, sum(sizes.values()))
        assert all(0 <= places[name] <= size for name, size in sizes.items())
        filled = sum(size > 0 for size in sizes.values())
        if total >= filled:
            assert all(places[name] for name, size in sizes.items() if size), "everybody has a chance"

    def test_fewer_than_none(self):
        with pytest.raises(ValueError, match="negative"):
            allocate({"a": 1}, -1)


class TestDraw:
    @given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 5))
    def test_a_random_sample(self, available, size, seed):
        drawn = draw(range(available), size, seed=str(seed))
        assert len(set(drawn.items)) == len(drawn.items) == min(size, available)
        assert drawn == draw(range(available), size, seed=str(seed))
        assert set(drawn.probability.values()) <= {min(size, available) / (available or 1)}

    def test_every_item_is_drawn_as_often_as_its_probability_says(self):
        times = Counter(item for seed in range(2_000) for item in draw(range(8), 2, seed=str(seed)).items)
        assert all(400 < times[item] < 600 for item in range(8))

    @given(GROUPS, st.integers(1, 60))
    def test_inverse_probabilities_add_up_to_the_strata(self, sizes, size):
        strata = {
            name: range(1_000 * place, 1_000 * place + count)
            for place, (name, count) in enumerate(sizes.items())
        }
        drawn = draw_stratified(strata, size, seed="1")
        for name, items in strata.items():
            mine = [item for item in drawn.items if item in items]
            if mine:
                assert sum(1 / drawn.probability[item] for item in mine) == pytest.approx(sizes[name])


class TestLengthBalanced:
    @given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8), st.integers(0, 3))
    def test_as_many_longer_as_shorter_of_each_instruction(self, counts, seed):
        sides = [
            Sides(tuple(range(100 * k, 100 * k + a)), tuple(range(100 * k + 50, 100 * k + 50 + b)))
            for k, (a, b) in enumerate(counts)
        ]
        drawn = draw_length_balanced(sides, seed=str(seed))
        for one in sides:
            longer, shorter = (set(side) & set(drawn.items) for side in (one.longer, one.shorter))
            assert len(longer) == len(shorter) == one.each
            for side, taken in ((one.longer, longer), (one.shorter, shorter)):
                assert all(drawn.probability[item] == one.each / len(side) for item in taken)
        assert drawn == draw_length_balanced(sides, seed=str(seed))

    def test_a_cap_takes_whole_couples(self):
        sides = [Sides((1, 2, 3), (4,)), Sides((5,), (6, 7))]
        drawn = draw_length_balanced(sides, seed="0", size=3)
        assert len(drawn.items) == 2
        longer = {1, 2, 3, 5} & set(drawn.items)
        assert len(longer) == 1

    def test_the_chances_under_a_cap_are_right(self):
        sides = [Sides((1, 2, 3), (4, 5)), Sides((6,), (7, 8, 9, 10))]
        times: Counter[int] = Counter()
        for seed in range(3_000):
            drawn = draw_length_balanced(sides, seed=str(seed), size=4)
            times.update(drawn.items)
            assert len(drawn.items) == 4
            for item, chance in drawn.probability.items():
                expected = 2 / 3 * (1 if item in (4, 5, 6) else 2 / 3 if item <= 3 else 1 / 4)
                assert chance == pytest.approx(expected)
        for item in range(1, 11):
            chance = 2 / 3 * (1 if item in (4, 5, 6) else 2 / 3 if item <= 3 else 1 / 4)
            assert times[item] / 3_000 == pytest.approx(chance, abs=0.04)


@given(st.lists(st.integers()), st.integers(0, 3))
def test_shuffling(items, seed):
    assert sorted(shuffled(items, seed=str(seed))) == sorted(items)
    assert shuffled(items, seed=str(seed)) == shuffled(items, seed=str(seed))
