"""What labels differ by, items or people or neither, and what to pay for next: more people, or more items."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_items
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_number, as_positive
from metaeval.stats.results import Result

UNKNOWN = "no variance components: no two labels share an item, or a person, or neither"


@dataclass(frozen=True, slots=True)
class NextStep(Result):
    """What the same money does to the standard error, spent on people or on items.

    Attributes
    ----------
    answer : {"people", "items"}
        Which makes the standard error smaller: more people on the same items, or more items for the same people.
    now, with_people, with_items : float
        Standard error of the mean as it is, and after either.
    labels_more, items_more : float
        What the money buys: further labels on each item there is, or further items with as many labels as now.
    """

    answer: Literal["people", "items"]
    now: float
    with_people: float
    with_items: float
    labels_more: float
    items_more: float


@dataclass(frozen=True, slots=True)
class GeneralizabilityStudy(Result):
    """Variance components of scores of items by people, who need not have scored all.

    Attributes
    ----------
    item, person, residual : float
        Variance between items, between people, and of the rest: how people differ on single items, and chance. A
        negative estimate is 0. NaN, with a warning, where the labels cannot tell.
    n_items, n_people, n_labels : int
    people_worth : float
        How many people of equal workload they are worth (Kish).
    reason : str or None
        Why the components are unknown.
    """

    item: float
    person: float
    residual: float
    n_items: int
    n_people: int
    n_labels: int
    people_worth: float
    reason: str | None = None

    @property
    def labels_per_item(self) -> float:
        """Labels of an item, on average."""
        return self.n_labels / self.n_items if self.n_items else math.nan

    def standard_error(self, n_items: float, labels_per_item: float, n_people: float) -> float:
        """Standard error of the mean, for new items and people like these, of a study of this size.

        Examples
        --------
        >>> found = GeneralizabilityStudy(0.09, 0.01, 0.1, 50, 5, 250, 5.0)
        >>> round(found.standard_error(100, 4, 10) ** 2, 6)             # 0.09/100 + 0.01/10 + 0.1/400
        0.00215
        """
        items = as_positive(n_items, "n_items")
        each = as_positive(labels_per_item, "labels_per_item")
        people = as_positive(n_people, "n_people")
        return math.sqrt(self.item / items + self.person / people + self.residual / (items * each))

    def next_step(self, *, money: float, label_cost: float, item_cost: float = 0.0) -> NextStep:
        """Whether more people on the same items or more items lower the standard error further, for the same money.

        Parameters
        ----------
        money : float
            What there is to spend.
        label_cost : float
            What one label costs: the pay of a person for an item.
        item_cost : float, default 0
            What one more item costs beside its labels: judgments of all judges on it, say.

        Returns
        -------
        NextStep

        Examples
        --------
        >>> found = GeneralizabilityStudy(0.02, 0.04, 0.1, 100, 4, 400, 4.0)
        >>> found.next_step(money=200, label_cost=0.5).answer           # four people are the larger uncertainty
        'people'
        """
        spent, price = as_positive(money, "money"), as_positive(label_cost, "label_cost")
        beside = as_number(item_cost, "item_cost", 0)
        items, each, people = self.n_items, self.labels_per_item, self.people_worth
        now = self.standard_error(items, each, people)
        labels_more = spent / (price * items)
        items_more = spent / (beside + price * each)
        # New people label as much as those before them did.
        grown = (each + labels_more) / each
        with_people = self.standard_error(items, each + labels_more, people * grown)
        with_items = self.standard_error(items + items_more, each, people)
        answer: Literal["people", "items"] = "people" if with_people < with_items else "items"
        return NextStep(answer, now, with_people, with_items, labels_more, items_more)


@aligned(rows=("item", "scores", "annotator"))
def generalizability_study(scores: ArrayLike, item: Any, annotator: Any) -> GeneralizabilityStudy:
    """Variance components of scores between items, between people, and of the rest.

    Parameters
    ----------
    scores : array_like of shape (n_labels,)
        A number for each label: whether it is what the judge said, its agreement with the others, a rating. NaN takes
        no part.
    item, annotator : array_like of shape (n_labels,)
        The item and the annotator of each. A crowd in which each labels some of the items will do.

    Returns
    -------
    GeneralizabilityStudy

    Raises
    ------
    InvalidInputError
        Where an annotator has two scores of one item.

    References
    ----------
    G. G. Koch, "Some further remarks concerning 'A general approach to the estimation of variance components'",
    Technometrics 10 (1968) (symmetric differences). R. L. Brennan, "Generalizability theory", Springer 2001, chapter 3
    (the p x i design).

    Examples
    --------
    >>> scores = [[1, 2], [3, 4], [5, 6]]                               # items x people: the second gives one more
    >>> found = generalizability_study(np.ravel(scores), np.repeat([0, 1, 2], 2), np.tile([0, 1], 3))
    >>> found.item, found.person, found.residual
    (4.0, 0.5, 0.0)
    """
    values = as_items(scores, "scores")
    items, n_items = as_codes(item, "item", len(values))
    people, n_people = as_codes(annotator, "annotator", len(values))
    pairs = items * max(1, n_people) + people
    # The same sums whatever the order of the rows.
    order = np.argsort(pairs, kind="stable")
    if (np.diff(pairs[order]) == 0).any():
        raise InvalidInputError("annotator: an annotator has a score for one item twice")
    values, items, people = values[order], items[order], people[order]
    known = ~np.isnan(values)
    values, items, people = values[known], items[known], people[known]
    n = len(values)
    centred = values - values.mean() if n else values
    load = np.bincount(people, minlength=n_people).astype(np.float64)
    worth = float(load.sum() ** 2 / (load @ load)) if n else 0.0
    counts = int(np.count_nonzero(np.bincount(items, minlength=n_items))), int(np.count_nonzero(load)), n
    # Half of the mean squared difference of two labels: of one item, of one person, of neither.
    in_item, of_item = _squares(centred, items, n_items)
    in_person, of_person = _squares(centred, people, n_people)
    in_all, of_all = _squares(centred, np.zeros(n, dtype=np.intp), 1)
    apart = of_all - of_item - of_person
    if min(of_item, of_person, apart) <= 0:
        warn(UNKNOWN)
        return GeneralizabilityStudy(math.nan, math.nan, math.nan, *counts, worth, UNKNOWN)
    same_item, same_person = in_item / of_item, in_person / of_person
    neither = (in_all - in_item - in_person) / apart
    found = (neither - same_item, neither - same_person, same_item + same_person - neither)
    grain = 1e-12 * max(1.0, float(centred @ centred))
    item_part, person_part, rest = (0.0 if part < grain else part for part in found)
    return GeneralizabilityStudy(item_part, person_part, rest, *counts, worth)


def _squares(values: Floats, codes: Integers, n_codes: int) -> tuple[float, float]:
    """Half of the sum of squared differences over ordered pairs in one group, and the number of such pairs."""
    size = np.bincount(codes, minlength=n_codes).astype(np.float64)
    sums = np.bincount(codes, weights=values, minlength=n_codes)
    squares = np.bincount(codes, weights=values**2, minlength=n_codes)
    return float(size @ squares - sums @ sums), float((size * (size - 1)).sum())
