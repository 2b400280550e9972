"""Addresses of lists of items: one maker, for pages and for what a worker draws."""

from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.urls import get_script_prefix, reverse


def items_url(dataset: str, **asked: Any) -> str:
    """The address of a dataset's items that fit; what is empty is left out.

    Parameters
    ----------
    dataset : str
        Its name.
    asked
        ``judge`` (one or several primary keys or fingerprints), ``category``, ``subset``, ``kind``, ``study`` (its
        slug), ``case`` (of `CASES`), ``sort`` (of `SORTS`), ``has`` (one or several of `HAS`), ``judged_by`` (as
        ``judge``: who all judged them), ``annotator`` (a pseudonym), ``system`` and ``against`` (whose responses they
        are), ``certainty_from`` and ``certainty_below`` (of the one judge, in [0, 1]), ``q``. Of what a rate counts or
        of a cell of a confusion table ``people`` or ``gold`` (the choice, ``any`` for each; of other kinds 1 for the
        positive side and 2 for the other, with ``mark`` where a mark makes the sides) and ``verdict`` (of `VERDICTS`).
        Of the cell that leads there ``figure`` (its name), ``value`` (as text) and ``n``.
    """
    url = _items_path(dataset, get_script_prefix())
    given = {name: value for name, value in asked.items() if value not in (None, "", (), [])}
    return f"{url}?{urlencode(given, doseq=True)}" if given else url


@lru_cache(maxsize=256)
def _items_path(dataset: str, _prefix: str) -> str:
    """Looked up once: a report has a thousand of these addresses."""
    return reverse("metaeval:dataset-items", args=[dataset])
