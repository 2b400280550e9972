"""Agreement so far: the labels of a study as arrays, and what `metaeval.stats` says of them, for each kind of work.

The figures are computed by functions of arrays alone. What is said of labels is never changed, so their number, how
many of them count and the latest of them say whether anything is new: figures are kept in the cache until then.
"""

from __future__ import annotations

from django.core.cache import cache

from annotation.kinds import kind_of
from annotation.models import Study
from annotation.selectors.agreement.common import (
    AnnotatorRow,
    LabelStamp,
    label_stamp,
)
from annotation.selectors.agreement.pairwise import Agreement, pairwise_agreement_so_far
from annotation.selectors.agreement.parts import PartsAgreement
from annotation.selectors.agreement.rankings import rankings_agreement_so_far
from annotation.selectors.agreement.ratings import ratings_agreement_so_far

__all__ = [
    "Agreement",
    "AnnotatorRow",
    "LabelStamp",
    "PartsAgreement",
    "agreement_so_far",
    "label_stamp",
]

# Part of the cache key: goes up when what is computed changes.
VERSION = 3
CACHE_SECONDS = 24 * 60 * 60


def agreement_so_far(study: Study, stamp: LabelStamp | None = None) -> Agreement | PartsAgreement:
    """What the labels of a study say so far of how far its people agree. No query where nothing is new."""
    stamp = stamp or label_stamp(study)
    key = f"agreement:{VERSION}:{study.pk}:{study.created_at.timestamp()}:{stamp}"
    known: Agreement | PartsAgreement | None = cache.get(key)
    if known is None:
        known = _compute(study)
        cache.set(key, known, CACHE_SECONDS)
    return known


def _compute(study: Study) -> Agreement | PartsAgreement:
    scale = kind_of(study.kind).scale
    if scale == "preference":
        return pairwise_agreement_so_far(study)
    return rankings_agreement_so_far(study) if scale == "ranks" else ratings_agreement_so_far(study)
