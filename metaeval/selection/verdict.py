"""One rule for what a comparison, a decision and a report say: is there a winner, and over whom?"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from metaeval.stats import PairedDifference
from metaeval.stats.options import as_number
from metaeval.stats.results import Result

VerdictKind: TypeAlias = Literal[
    "clear", "clear_here", "equivalent", "equivalent_here", "open", "single", "none", "floor"
]
Annotators: TypeAlias = Literal["these", "alike"]

Alike: TypeAlias = Callable[[str, str, float], PairedDifference | None]
"""One judge minus another over new annotators like these as well, with an interval of a confidence; None where people
play no part."""

ANNOTATORS: tuple[Annotators, ...] = ("alike", "these")


@dataclass(frozen=True, slots=True)
class Lead(Result):
    """How far the leader is ahead of one other judge.

    Attributes
    ----------
    difference : PairedDifference
        On new items with these annotators; the interval allows for the leader having been chosen.
    practical : PairedDifference or None
        The same with the interval of two one-sided tests, of level 1 - 2 alpha: the two are equivalent where it lies
        within the margin. Nothing is corrected: that several judges are all equivalent takes every one of the tests,
        and choosing the one that is ahead makes the largest of the leads larger. None without a margin.
    alike, practical_alike : PairedDifference or None
        Both with new annotators like these as well; NaN with a reason where there are too few to speak of others. None
        where labels of people play no part.
    """

    difference: PairedDifference
    practical: PairedDifference | None = None
    alike: PairedDifference | None = None
    practical_alike: PairedDifference | None = None


def verdict_of_leads(
    leads: Mapping[str, Lead],
    floors: Iterable[PairedDifference] = (),
    *,
    leader: str,
    margin: float = 0.0,
    annotators: Annotators = "alike",
    rules: Collection[str] = (),
) -> VerdictKind:
    """What may be said of the leader.

    Parameters
    ----------
    leads : mapping of str to Lead
        Over each other judge that may be chosen.
    floors : iterable of PairedDifference
        The leader minus each baseline that nobody would choose.
    margin : float, default 0
        How much better is better in practice.
    annotators : {"alike", "these"}
        Whom a winner must win with: annotators like these as well, or these alone.
    rules : collection of str
        Judges among all of these that take no LLM.

    Returns
    -------
    str
        ``"floor"``: the leader is not significantly better than every baseline, whichever judges may be chosen, or
        takes no LLM itself where others do. ``"single"``: there is no other judge. ``"clear"``: better than each by
        more than the margin. ``"equivalent"``: those of which that is not shown are within the margin. ``"open"``:
        neither. With ``"_here"`` where it is shown for these annotators, and not for others like them.

    Examples
    --------
    >>> ahead = PairedDifference(0.05, 0.03, 0.07, 400)
    >>> verdict_of_leads({"b": Lead(ahead)}, leader="a")
    'clear'
    >>> verdict_of_leads({"b": Lead(ahead)}, leader="a", margin=0.04)
    'open'
    >>> near = PairedDifference(0.05, 0.033, 0.067, 400)
    >>> verdict_of_leads({"b": Lead(ahead, practical=near)}, leader="a", margin=0.07)
    'equivalent'
    >>> verdict_of_leads({"b": Lead(ahead, alike=PairedDifference(0.05, -0.02, 0.12, 400))}, leader="a")
    'clear_here'
    """
    of_rules = [key in rules for key in (leader, *leads)]
    bound = [*floors, *(lead.difference for key, lead in leads.items() if key in rules)]
    # Who does not beat what needs no LLM is nobody's recommendation; an unknown lead beats nothing.
    if not all(of_rules) and (of_rules[0] or not all(gap.low > 0 for gap in bound)):
        return "floor"
    if all(of_rules) and not all(gap.low > 0 for gap in floors):
        return "floor"
    if not leads:
        return "single"
    contenders = [lead for lead in leads.values() if not lead.difference.low > margin]
    if not contenders:
        shown = all(lead.alike is None or lead.alike.low > margin for lead in leads.values())
        return "clear" if shown or annotators == "these" else "clear_here"
    if all(within(lead.practical, margin) for lead in contenders):
        shown = all(
            lead.alike is None or within(lead.practical_alike, margin) or lead.alike.low > margin
            for lead in leads.values()
        )
        return "equivalent" if shown or annotators == "these" else "equivalent_here"
    return "open"


def within(practical: PairedDifference | None, margin: float) -> bool:
    """Whether two one-sided tests show that two judges are within the margin of each other.

    Examples
    --------
    >>> within(PairedDifference(0.0, -0.01, 0.01, 400), 0.02), within(None, 0.02)
    (True, False)
    """
    if practical is None or math.isnan(practical.low):
        return False
    return -margin < practical.low and practical.high < margin


def as_margin(margin: float) -> float:
    """Check a practical margin: a number from 0 to 1.

    Examples
    --------
    >>> as_margin(0.02)
    0.02
    """
    return as_number(margin, "margin", 0, 1)
