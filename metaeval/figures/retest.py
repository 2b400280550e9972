"""Test-retest reliability: whether independent samples of the same request to a judge say the same.

It is the judge's own noise, which bounds how well it can agree with anybody: no labels are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.kinds import kind_of
from metaeval.figures.figure import CORRELATION, Figure
from metaeval.figures.sample import ByGroup, JudgeSample, Ratio, mean_of, part_mask
from metaeval.inputs import Booleans, Floats, Integers
from metaeval.stats import Estimate, krippendorff_alpha, self_consistency_contributions
from metaeval.stats.alpha import Level

ONE_SAMPLE = "judged once: set the judge's samples to 2 or more, at a temperature above 0"
_SAYS_NOT = -1e9
"""In place of "not applicable", which is the same as itself: infinity minus infinity is no distance."""
_LEVELS: dict[str, Level] = {"ordinal": "ordinal", "ranks": "ordinal"}


def agreement(judge: JudgeSample) -> Ratio | None:
    """The share of pairs of samples that are equal, averaged over the parts and orders of an item, then over items."""
    if not _any_sampled(judge):
        return None
    n_items = judge.sample.n_items
    if judge.judge.samples is None:
        return mean_of(np.full(n_items, np.nan), ONE_SAMPLE)
    item, said = _requests(judge)
    same = (
        self_consistency_contributions(np.where(np.isinf(said), _SAYS_NOT, said))
        if len(said)
        else np.zeros(0)
    )
    n = np.bincount(item, minlength=n_items)
    total = np.bincount(item, weights=same, minlength=n_items)
    return mean_of(np.where(n > 0, total / np.maximum(n, 1), np.nan), ONE_SAMPLE)


def alpha(judge: JudgeSample) -> ByGroup | None:
    """The same beyond chance, over requests and parts; unparsed samples are missing."""
    if not _any_sampled(judge):
        return None
    if judge.judge.samples is None:
        return ByGroup(lambda _: Estimate(np.nan, np.nan, np.nan, n=0, reason=ONE_SAMPLE))
    item, said = _requests(judge)
    said = np.where(np.isinf(said), np.nan, said)
    sample = judge.sample
    options: dict[str, Any] = {
        "level": _LEVELS.get(kind_of(sample.inputs.kind).scale, "nominal"),
        "resamples": sample.resamples_of(item),
        "confidence": sample.options.confidence,
    }

    def of_group(members: Booleans) -> Estimate:
        if not len(said):
            return Estimate(np.nan, np.nan, np.nan, n=0, reason=ONE_SAMPLE)
        return krippendorff_alpha(said, where=members[item], **options)

    return ByGroup(of_group)


def _any_sampled(judge: JudgeSample) -> bool:
    return any(one.samples is not None for one in judge.sample.inputs.judges)


def _requests(judge: JudgeSample) -> tuple[Integers, Floats]:
    """The item of each request and part that was sampled, (n_rows,), and what each sample said, (n_rows, n_samples)."""
    samples = judge.judge.samples
    assert samples is not None
    items = judge.sample.items
    asked = judge.judge.judged & ~judge.judge.failed
    has_part = part_mask(items.parts, samples.shape[3])
    item, order, part = np.nonzero(asked[:, :, np.newaxis] & has_part[:, np.newaxis, :])
    return item, samples[item, order, :, part]


RETEST = (
    Figure(
        "test_retest",
        "Test-retest agreement",
        "Share of the pairs of independent samples of the same request in which the judge says the same, averaged over "
        "presentation orders and items; an unparsed sample agrees with none.",
        agreement,
        short="Test-retest",
    ),
    Figure(
        "test_retest_alpha",
        "Test-retest reliability (Krippendorff's alpha)",
        "Agreement of independent samples of the same request beyond chance: one minus observed over expected "
        "disagreement of a judge with itself; unparsed samples are left out.",
        alpha,
        "number",
        CORRELATION,
        short="Test-retest alpha",
    ),
)
