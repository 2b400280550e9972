"""Each page is at its own address, whatever the order in which addresses are looked through."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import NoReverseMatch, URLResolver, get_resolver, resolve, reverse

from web.addresses import address, row_address

NUMBERS = {"RowConverter", "IntConverter"}
TWICE = {"account_login"}
"""A second name of a page, under which a library looks for it."""


def pages(resolver: Any, namespace: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of pages, and something for each part of their addresses."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from pages(one, f"{namespace}{one.namespace}:" if one.namespace else namespace)
        elif one.name:
            parts = {
                name: 7 if type(how).__name__ in NUMBERS else "some"
                for name, how in one.pattern.converters.items()
            }
            yield f"{namespace}{one.name}", parts


def test_no_address_leads_to_another_page():
    looked_at, elsewhere = 0, {}
    for name, parts in pages(get_resolver()):
        try:
            path = reverse(name, kwargs=parts)
        except NoReverseMatch:  # one of its parts is of a fixed list
            continue
        looked_at += 1
        if (found := resolve(path).view_name) != name:
            elsewhere[name] = found
    assert looked_at > 400
    assert set(elsewhere) == TWICE


def test_what_is_uploaded_is_no_dataset():
    assert resolve("/datasets/upload/").view_name == "judges:dataset-upload"
    assert resolve("/datasets/uploads/").view_name == "annotation:dataset-detail"
    assert resolve("/datasets/my-upload/").view_name == "annotation:dataset-detail"


@pytest.mark.parametrize("slug", ["a-study", "study-0", "0"])
def test_kept_addresses_are_those_of_the_pages(slug):
    assert address("annotation:work", slug) == reverse("annotation:work", args=[slug])
    for pk in (1, 10, 900):
        assert row_address("annotation:assignment", slug, pk) == reverse(
            "annotation:assignment", args=[slug, pk]
        )


def test_an_unknown_name_has_no_address():
    with pytest.raises(NoReverseMatch):
        address("annotation:nothing")
