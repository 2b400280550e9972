"""What a choice of a judge is made from, and what it says. Arrays in, frozen results out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.selection.verdict import Annotators, VerdictKind
from metaeval.stats import Estimate, InvalidInputError, LabelTable, PairedDifference
from metaeval.stats.crossed import Crossing
from metaeval.stats.crossed_sums import CrossedSums
from metaeval.stats.results import Result

Floats: TypeAlias = NDArray[np.float64]
Booleans: TypeAlias = NDArray[np.bool_]
Role: TypeAlias = Literal["people", "gold"]

COMPOSITE = "composite"
"""Key of the composite that asks another judge for each category."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredLabels:
    """What each label of people does to scores of items that are no verdicts on pairs.

    Attributes
    ----------
    crossing : Crossing
        Who gave which label.
    sums : mapping of str to CrossedSums
        By judge: its scores, and what each label does to them.
    beside_people : mapping of str to (CrossedSums, CrossedSums)
        By judge: its agreement with each person, and that of people with one another, on the same items.
    beside_best : mapping of str to (CrossedSums, CrossedSums)
        By judge: the upper bound, and the judge's agreement with each person.
    """

    crossing: Crossing
    sums: Mapping[str, CrossedSums]
    beside_people: Mapping[str, tuple[CrossedSums, CrossedSums]] = field(default_factory=dict)
    beside_best: Mapping[str, tuple[CrossedSums, CrossedSums]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedDataset:
    """A dataset with a declared role, and what every judge said of it: verdicts on pairs, or ``scores`` of items.

    Attributes
    ----------
    name : str
    role : {"people", "gold"}
        Whether judges are scored by leave-one-out agreement with ``labels``, or by accuracy on ``gold``. Of scores of
        items: what they were computed from.
    verdicts : mapping of str to ndarray of shape (n_items,) or (n_items, 2)
        By judge; canonical 1, 2, 0, a column for each presentation order; NaN where unparsed or not judged.
    judged : mapping of str to ndarray of bool, of the shape of its verdicts
        Whether there is a judgment, readable or not. Default: where there is a verdict.
    clusters : ndarray of str, shape (n_items,)
        The instruction. The same name in two datasets is the same instruction: it is held out of both at once.
    categories : ndarray of str, shape (n_items,)
        For composites and slices; "" where there is none.
    labels : ndarray of shape (n_items, n_annotators), optional
        One column an annotator; NaN where missing. For role "people".
    gold : ndarray of shape (n_items,), optional
        1, 2 or 0; NaN where there is none. For role "gold".
    costs, seconds : mapping of str to ndarray of shape (n_items,) or (n_items, 2)
        US dollars and model time of each judgment; NaN where nobody measured.
    weights : ndarray of shape (n_items,), optional
        Inverse sampling probabilities; None weighs all items the same.
    weight : float, default 1
        Share of this dataset in the objective, the weighted mean of the datasets' scores; 0 means that it is shown and
        constrained, and decides nothing.
    scores : mapping of str to ndarray of shape (n_items,), optional
        In place of ``verdicts`` (which are empty then), where judges do something else than compare two responses: how
        good each judge is on each item, in [0, 1]; NaN where it does not count, and the item then counts for nobody
        who is compared with it. There is one presentation order: the first column of ``judged``, ``costs`` and
        ``seconds``.
    unparsed : mapping of str to ndarray of bool, shape (n_items,)
        With ``scores``: whether the answer could not be read. It scores 0 on an item that can be scored.
    scorable : ndarray of bool, shape (n_items,), optional
        With ``scores``: whether there is something to score against. Default: where any judge has a score.
    people_apart : bool, default True
        Whether each column of ``labels`` is one annotator; else nothing is said of other annotators.
    scored_labels : ScoredLabels, optional
        With ``scores`` of role "people": what each label does to them; else nothing is said of other annotators.
    """

    name: str
    role: Role
    verdicts: Mapping[str, Floats]
    judged: Mapping[str, Booleans]
    clusters: NDArray[Any]
    categories: NDArray[Any]
    labels: Floats | None = None
    gold: Floats | None = None
    costs: Mapping[str, Floats] = field(default_factory=dict)
    seconds: Mapping[str, Floats] = field(default_factory=dict)
    weights: Floats | None = None
    weight: float = 1.0
    scores: Mapping[str, Floats] | None = None
    unparsed: Mapping[str, Booleans] = field(default_factory=dict)
    scorable: Booleans | None = None
    people_apart: bool = True
    scored_labels: ScoredLabels | None = None

    @classmethod
    def from_table(
        cls, name: str, table: LabelTable, *, role: Role = "people", weight: float = 1.0
    ) -> "JudgedDataset":
        """A dataset of pairs for `choose`, from a table of labels and verdicts.

        Parameters
        ----------
        name : str
        table : LabelTable
            Read with ``unjudged="keep"`` it may lack verdicts of some judges: they are not taken for unparsed ones.
        role : {"people", "gold"}
            Whether judges are scored by people's labels or by the table's ``gold``.
        weight : float, default 1
            Share of this dataset in the objective.

        Returns
        -------
        JudgedDataset

        Raises
        ------
        InvalidInputError
            Where the table has none of what the role asks for.
        """
        n = len(table.items)
        if role == "gold" and table.gold is None:
            raise InvalidInputError(
                f"dataset {name!r}: the table has no gold answers, as role='gold' asks for"
            )
        if role == "people" and not len(table.people):
            raise InvalidInputError(
                f"dataset {name!r}: the table has no labels of people, as role='people' asks for"
            )
        return cls(
            name,
            role,
            table.verdicts,
            table.judged,
            clusters=table.clusters,
            categories=np.full(n, "") if table.categories is None else table.categories,
            labels=table.labels if len(table.people) else None,
            gold=table.gold,
            weights=table.weights,
            weight=weight,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A judge that may be chosen.

    Attributes
    ----------
    key : str
        Its key in the mappings of `JudgedDataset`.
    name : str
        What notes call it.
    is_open, is_local : bool or None
        Whether the weights of all its models are public, and whether all run under our own control; None: not known.
    is_baseline : bool
        A rule without a model: compared with, never chosen.
    takes_no_llm : bool
        A rule that was run as a judge: it may be chosen where all are rules, and the others must beat it.
    """

    key: str
    name: str
    is_open: bool | None = None
    is_local: bool | None = None
    is_baseline: bool = False
    takes_no_llm: bool = False


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a judge must satisfy to be chosen; None or False asks for nothing.

    Attributes
    ----------
    open_weights, local : bool
        "Not known" does not satisfy them.
    max_cost_per_1000 : float, optional
        US dollars for 1,000 judgments, one presentation order each.
    max_seconds : float, optional
        Mean model time of a judgment.
    min_positional_agreement, min_accuracy : float, optional
        In [0, 1], of the point estimates: on all items judged in both orders, and of the score on each dataset of role
        "gold". A judge for which the figure is undefined does not satisfy it.
    max_unparsed : float, optional
        Share of judgments that could not be read, in [0, 1].
    """

    open_weights: bool = False
    local: bool = False
    max_cost_per_1000: float | None = None
    max_seconds: float | None = None
    min_positional_agreement: float | None = None
    min_accuracy: float | None = None
    max_unparsed: float | None = None


@dataclass(frozen=True, slots=True)
class Violation(Result):
    """A constraint that a judge does not satisfy.

    Attributes
    ----------
    name : str
        The field of `Constraints`.
    limit, value : float
        What was asked for, and what there is; NaN where that is not known.
    dataset : str
        Empty where it is of all.
    """

    _named_by: ClassVar[str] = "name"

    name: str
    limit: float
    value: float
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class Standing(Result):
    """How one judge stands.

    Attributes
    ----------
    key : str
        The judge.
    objective : Estimate
        Weighted mean of its scores on the datasets, over the items that all candidates were asked.
    scores : mapping of str to Estimate
        By dataset, all of them, whatever their weight.
    positional_agreement, unparsed : Estimate
        Over all datasets.
    cost_per_1000, seconds : Estimate
        NaN with a reason where nobody measured.
    violations : tuple of Violation
        Empty: it may be chosen.
    chosen_share : float
        In how many of the resamples it, rather than another, would have been chosen; equally good judges share a
        resample. NaN for a baseline and a judge that is not ranked.
    behind : PairedDifference or None
        The leader's objective minus its own, allowing for the leader having been chosen; None for the leader. For a
        judge that may be chosen, 0 is in the interval exactly if the judge is in the confidence set.
    practical, alike, practical_alike : PairedDifference or None
        The same difference for the two one-sided tests, and with new annotators like these (`Lead`).
    in_confidence_set : bool
        Whether it cannot be told apart from the best (`Selection.confidence_set`).
    on_front : bool
        Whether no judge that may be chosen is both better and cheaper; False where the cost is not known.
    is_ranked : bool
        Whether it judged enough to be compared; False: its objective is NaN, and says why.
    """

    _named_by: ClassVar[str] = "key"

    key: str
    objective: Estimate
    scores: Mapping[str, Estimate]
    positional_agreement: Estimate
    unparsed: Estimate
    cost_per_1000: Estimate
    seconds: Estimate
    violations: tuple[Violation, ...] = ()
    chosen_share: float = float("nan")
    behind: PairedDifference | None = None
    practical: PairedDifference | None = None
    alike: PairedDifference | None = None
    practical_alike: PairedDifference | None = None
    in_confidence_set: bool = False
    on_front: bool = False
    is_ranked: bool = True


@dataclass(frozen=True, slots=True)
class CompositeFinding(Result):
    """Whether asking another judge for each category is worth it.

    Attributes
    ----------
    parts : mapping of str to str
        Category to judge, chosen on all data.
    naive : float
        Its objective on the data on which it was chosen: too high.
    held_out : Estimate
        The objective of composites chosen on the other folds.
    gain : PairedDifference
        Held-out composite minus held-out single judge, on the same items and folds.
    worth_it : bool
        Whether the interval of the gain lies above 0.
    """

    parts: Mapping[str, str]
    naive: float
    held_out: Estimate
    gain: PairedDifference
    worth_it: bool


@dataclass(frozen=True, slots=True)
class Settling(Result):
    """What data would settle what is open.

    Attributes
    ----------
    rival : str
        The judge that cannot be told apart from the leader.
    difference : float
        The lead, as it stands.
    dataset : str
        Where more items would help.
    n_now, n_needed : int
        Instructions there are, and how many would show a difference of this size with the power stated; ``n_needed`` is
        0 where no number would (the difference is nil).
    power : float
    together : bool
        Whether no dataset would do alone: this many are needed on this one *and* as many as the other lines of the
        same rival say on theirs.
    """

    _named_by: ClassVar[str] = "rival"

    rival: str
    difference: float
    dataset: str
    n_now: int
    n_needed: int
    power: float = 0.8
    together: bool = False


@dataclass(frozen=True, slots=True)
class Selection(Result):
    """The choice, and how far it holds on new data.

    Attributes
    ----------
    verdict : str
        As `metaeval.selection.verdict.verdict_of_leads` explains: "clear", "equivalent", both also with "_here",
        "open", "single", "floor"; "none" where no judge may be chosen.
    winner : str or None
        The clear winner or the only one; None where the choice is open or a baseline does as well.
    leader : str or None
        The best judge that may be chosen, by the point estimate of the objective.
    standings : tuple of Standing
        Best first; those that may not be chosen after those that may, baselines last.
    held_out : Estimate
        The objective on held-out instructions of the whole procedure: constraints, choice, composite or not.
    naive : float
        The objective of what was chosen (`chosen`) on the data on which it was chosen.
    optimism : PairedDifference or None
        Naive minus held-out, by item.
    confidence_set : tuple of str
        Judges that cannot be told apart from the leader, which comes first: the best judge, or all that are equally
        best, are among them with the confidence (a model confidence set).
    confidence : float
    front : tuple of str
        Judges that no other beats in both objective and cost, cheapest first.
    composite : CompositeFinding or None
        None where there are fewer than two categories or candidates.
    replaces : mapping of str to object
        By dataset of role "people": the alternative annotator test (`metaeval.stats.AlternativeAnnotatorTest`), where
        there are enough annotators. An item is judged by what was chosen without its fold, so no judge is tested on the
        data that it was chosen on.
    settling : tuple of Settling
        What data would settle what is open; empty where nothing is.
    n_folds, n_repeats : int
        Of the cross-validation that ``held_out`` comes from.
    notes : tuple of str
        What was left out and why, in plain words.
    chosen : str or None
        What the procedure that ``held_out`` is about arrives at on all data: `COMPOSITE` where the composite is worth
        it, else the leader.
    margin : float
        How much better is better in practice.
    annotators : {"alike", "these"}
        Whether a winner had to win with new annotators like these too.
    minus_people, minus_people_alike : mapping of str to PairedDifference
        By dataset of role "people" the leader's agreement minus people's own, on new items with these annotators, and
        with new annotators like these.
    below_best, below_best_alike : mapping of str to PairedDifference
        The same of the upper bound minus the leader's agreement: how much better a judge could be.
    """

    _drawn: ClassVar[tuple[str, ...]] = ("standings.objective",)

    verdict: VerdictKind
    winner: str | None
    leader: str | None
    standings: tuple[Standing, ...]
    held_out: Estimate
    naive: float
    optimism: PairedDifference | None
    confidence_set: tuple[str, ...]
    confidence: float
    front: tuple[str, ...] = ()
    composite: CompositeFinding | None = None
    replaces: Mapping[str, Any] = field(default_factory=dict)
    settling: tuple[Settling, ...] = ()
    n_folds: int = 0
    n_repeats: int = 0
    notes: tuple[str, ...] = ()
    chosen: str | None = None
    margin: float = 0.0
    annotators: Annotators = "alike"
    minus_people: Mapping[str, PairedDifference] = field(default_factory=dict)
    minus_people_alike: Mapping[str, PairedDifference] = field(default_factory=dict)
    below_best: Mapping[str, PairedDifference] = field(default_factory=dict)
    below_best_alike: Mapping[str, PairedDifference] = field(default_factory=dict)

    def standing(self, key: str) -> Standing:
        """The standing of one judge. Raises KeyError."""
        for found in self.standings:
            if found.key == key:
                return found
        raise KeyError(key)
