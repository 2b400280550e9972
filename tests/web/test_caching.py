"""The cache of a process: bounded, the least recently used goes first, safe between threads."""

from hypothesis import given
from hypothesis import strategies as st

from tests.races import all_at_once
from web.caching import BoundedCache
from web.rendering import render_markdown


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40))))
def test_it_never_holds_more_than_its_limit(asked):
    held: dict[int, str] = {}
    cache = BoundedCache(limit=100, weight=len)
    for key, size in asked:
        assert cache.get(key, lambda size=size: "x" * size) == held.setdefault(key, "x" * size)
        held = {name: text for name, text in held.items() if name in cache}
        assert sum(map(len, held.values())) <= 100


def test_what_was_used_last_stays_longest():
    cache = BoundedCache(limit=2, weight=lambda _: 1)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: "x")
    assert ("a" in cache, "b" in cache, "c" in cache) == (True, False, True)
    cache.clear()
    assert "a" not in cache


def test_what_is_too_large_is_made_and_not_kept():
    cache = BoundedCache(limit=2, weight=len)
    assert cache.get("a", lambda: "too large") == "too large"
    assert "a" not in cache


def test_threads_share_it():
    cache = BoundedCache(limit=50, weight=lambda _: 1)

    def work(seed: int) -> list[int]:
        keys = [(k * 7 + seed) % 90 for k in range(2000)]
        return [key for key in keys if cache.get(key, lambda key=key: key * 2) != key * 2]

    assert all_at_once(work, range(4)) == [[]] * 4


def test_a_text_is_rendered_once():
    text = "Only **here** and nowhere else."
    assert render_markdown(text) is render_markdown(text)
