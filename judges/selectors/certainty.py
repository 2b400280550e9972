"""How certain a judge is of its verdicts, as figures of confidence have it (`metaeval.figures`)."""

import numpy as np
from django.db.models import QuerySet

from annotation.kinds import kind_of
from annotation.models import Item
from annotation.selectors.judged_items import keys_of_aspects
from judges.models import Judgment, Order
from metaeval.figures import FIGURES
from metaeval.figures.answers import judge_answers, judgment_columns
from metaeval.inputs import Inputs, Labels, Options, StoredItem, items_make


def items_by_certainty(
    items: QuerySet[Item],
    judgments: QuerySet[Judgment],
    kind_name: str,
    *,
    at_least: float | None = None,
    below: float | None = None,
) -> set[int]:
    """The items with a verdict of one judge that is so certain; three queries at most.

    Of a checklist that is one of its questions. A verdict that couldn't be read is below any certainty. Empty where
    nothing says how certain the judge is.

    Parameters
    ----------
    items : QuerySet of Item
        All items of the kind: whether a judge was asked in both orders depends on all of them.
    judgments : QuerySet of Judgment
        Of the one judge, the first sample of each request.
    at_least, below : float, optional
        In [0, 1]; items at or above the one, and below the other.
    """
    kind = kind_of(kind_name)
    if kind_name not in FIGURES or not FIGURES[kind_name].sides:
        return set()
    known_items = dict(items.order_by("pk").values_list("pk", "instruction_id"))
    pks = tuple(known_items)
    place = {pk: row for row, pk in enumerate(pks)}
    parts = keys_of_aspects(set(known_items.values())) if kind.parts == "aspects" else {}
    if not kind.presented:
        judgments = judgments.filter(order=Order.ORIGINAL)
    rows = [
        row
        for row in judgments.order_by().values_list("item_id", "order", kind.column, "status", "probability")
        if row[0] in place
    ]
    if not rows:
        return set()
    item, order, value, status, chance = zip(*rows, strict=True)
    stored = items_make(
        kind,
        [
            StoredItem(
                external_id=str(pk), cluster=str(one), parts=tuple(parts.get(one, ())) if parts else ("",)
            )
            for pk, one in known_items.items()
        ],
    )
    nothing = np.full(len(rows), np.nan)
    said = judgment_columns(
        kind, np.array([place[pk] for pk in item]), order, value, status, nothing, nothing, chance
    )
    shape = (len(pks), 2 if kind.presented else 1)
    none = np.zeros(0, dtype=np.intp)
    labels = Labels(none, none, np.zeros((0, stored.width)), np.zeros(0, dtype=np.bool_))
    answers = judge_answers(
        kind, [said], stored, shape, name="", fingerprint="", backend="", model="", strategy=""
    )
    inputs = Inputs(kind_name, "", {}, stored, labels, (answers,))
    (judge,) = FIGURES[kind_name].sample(inputs, Options(n_resamples=0)).judges
    found = judge.certainties()
    if found is None:
        return set()
    at, sure = found
    number = np.nan_to_num(sure, nan=-1.0)
    fits = np.ones(len(at), dtype=np.bool_)
    if at_least is not None:
        fits &= number >= at_least
    if below is not None:
        fits &= number < below
    return {pks[row] for row in np.unique(at[fits]).tolist()}
