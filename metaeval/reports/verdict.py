"""What is said of a verdict: one set of sentences, so that a report, a comparison and a decision say the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import points_text, range_text, value_text
from metaeval.selection.verdict import VerdictKind

LABELS: dict[str, str] = {
    "clear": "Clear winner",
    "clear_here": "Clear for these annotators",
    "equivalent": "Equivalent within the margin",
    "equivalent_here": "Equivalent for these annotators",
    "open": "Undecided",
    "single": "Only one eligible",
    "floor": "Not better than a baseline",
    "none": "None eligible",
    "people": "Human annotators only",
    "scores": "Not compared",
}

Gap = Mapping[str, Any]
"""A difference as JSON: value, low and high, None with a reason where undefined."""


@dataclass(frozen=True, slots=True)
class VerdictText:
    """What a report or a choice says.

    Attributes
    ----------
    kind : str
        As `metaeval.selection.verdict.verdict_of_leads` explains; of reports also "people" (people alone) and "scores"
        (judges, and nothing to compare them with).
    headline : str
    sentences : tuple of str
        Why, most important first.
    cautions : tuple of str
        What a reader must know before relying on it.
    leader : int or None
        Index of the leading judge, of a report.
    """

    kind: str
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]
    leader: int | None = None

    @property
    def label(self) -> str:
        """The kind, as a chip says it."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class Rival:
    """Another judge that may be chosen, and how far the leader is ahead of it; gaps as in `metaeval.selection.Lead`.

    ``is_tied``: it is not significantly different from the leader.
    """

    name: str
    gap: Gap
    is_tied: bool
    practical: Gap | None = None
    alike: Gap | None = None
    practical_alike: Gap | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """All that the sentences on a verdict are made from, whatever was compared.

    ``rivals`` are nearest first; ``unit`` is that of a difference, and ``width`` that of the scale that judges are
    ranked on, of which ``margin`` is a share. ``of_people`` says whether judges were compared with people's labels, and
    ``is_set`` whether the leader and those tied with it are a model confidence set.
    """

    kind: VerdictKind
    leader: str
    rivals: tuple[Rival, ...]
    confidence: float
    margin: float = 0.0
    annotators: str = "alike"
    of_people: bool = True
    unit: str = "points"
    width: float = 1.0
    is_set: bool = True

    @property
    def contenders(self) -> tuple[Rival, ...]:
        """Those that the leader is not shown to be better than, by more than the margin."""
        limit = self.margin * self.width
        return tuple(one for one in self.rivals if one.is_tied or not _above(one.gap["low"], limit))

    @property
    def tied(self) -> tuple[Rival, ...]:
        """Those that are not significantly different from the leader."""
        return tuple(one for one in self.rivals if one.is_tied)

    @property
    def margin_text(self) -> str:
        """The practical margin: "2.0 points"."""
        return gap_text(self.margin * self.width, self.unit)


def headline_of(found: Compared) -> str:
    """What was found in a line, of a winner, of equivalent judges, or of neither."""
    here = " for these annotators" if found.kind.endswith("_here") else ""
    if found.kind in ("clear", "clear_here"):
        if found.margin:
            return f"{found.leader} is better than the other judges by more than {found.margin_text}{here}"
        return f"{found.leader} is significantly better than the other judges{here}"
    if found.kind in ("equivalent", "equivalent_here"):
        names = listed([found.leader, *(one.name for one in found.contenders)])
        return f"{names} are equivalent within {found.margin_text}{here}"
    return "No clear winner"


def reasons_of(found: Compared) -> list[str]:
    """Why, in sentences: the nearest judge, who is not shown to be worse, and over whom it holds."""
    if not found.rivals:
        return []
    if found.kind in ("clear", "clear_here"):
        nearest = found.rivals[0]
        gap = with_ends(nearest.gap, found.unit)
        return [f"The runner-up, {nearest.name}, is {gap} behind.", *_population(found, nearest)]
    if found.kind in ("equivalent", "equivalent_here"):
        return [*_equivalent(found), *_better_but(found), *_population(found, found.contenders[0])]
    return [*_tied(found), *_better_but(found), *_unsettled(found)]


def _equivalent(found: Compared) -> list[str]:
    level = _practical_level(found)
    return [
        f"{one.name} is within {found.margin_text} of {found.leader}: the difference is "
        f"{with_ends(one.practical or one.gap, found.unit, level)} (two one-sided tests at "
        f"{100 * (1 - found.confidence):g}%)."
        for one in found.contenders[:3]
    ]


def _practical_level(found: Compared) -> str:
    return f"{100 * (2 * found.confidence - 1):g}% CI"


def _tied(found: Compared) -> list[str]:
    """Who is not significantly different from the leader."""
    tied = found.tied
    if not tied:
        return []
    gap = f"difference {with_ends(tied[0].gap, found.unit)}"
    if len(tied) == 1:
        sentences = [f"{tied[0].name} is not significantly different from {found.leader} ({gap})."]
    else:
        names = listed([one.name for one in tied])
        sentences = [
            f"{names} are not significantly different from {found.leader} (from {tied[0].name}: {gap})."
        ]
    if found.is_set:
        sure = f"{100 * found.confidence:g}% confidence"
        sentences.append(f"The best eligible judge is one of these {len(tied) + 1} with {sure}.")
    return sentences


def _better_but(found: Compared) -> list[str]:
    """Who is significantly worse, and not shown to be so by more than the margin."""
    tied = {one.name for one in found.tied}
    return [
        f"{found.leader} is significantly better than {one.name} ({with_ends(one.gap, found.unit)}), but not shown to "
        f"be so by more than {found.margin_text}."
        for one in found.contenders
        if one.name not in tied
    ][:2]


def _unsettled(found: Compared) -> list[str]:
    """What "not significantly different" does not say, where nobody asked for more."""
    if not found.tied:
        return []
    if found.margin:
        return [f"Nor are they shown to be equivalent within {found.margin_text}: more labels are needed."]
    return ["That doesn't show that they are equally good: set a margin to test for equivalence."]


def _population(found: Compared, nearest: Rival) -> list[str]:
    """Over whom it holds: these annotators on new items, or others like them too."""
    if not found.of_people:
        return []
    if found.annotators == "these":
        return ["This holds for these annotators on new items, as you asked, not for other annotators."]
    equivalent = found.kind.startswith("equivalent")
    gap = nearest.practical_alike if equivalent and nearest.practical_alike else nearest.alike
    if gap is None:
        return ["This holds for these annotators on new items; other annotators may differ."]
    if gap["low"] is None:
        why = str(gap.get("reason") or "too few annotators")
        return [f"This holds for these annotators. There is no evidence about others ({why})."]
    ends = with_ends(gap, found.unit, _practical_level(found) if equivalent else "")
    if found.kind.endswith("_here"):
        kind = "Equivalent" if equivalent else "Clear"
        return [
            f"{kind} for these annotators; not shown for others: with new annotators like these the difference from "
            f"{nearest.name} is {ends}."
        ]
    return [f"It also holds for new annotators like these: {ends} against {nearest.name}."]


# --- judge and people ----------------------------------------------------------------------------------------------


def people_words(
    leader: str,
    these: Gap | None,
    alike: Gap | None,
    *,
    margin: float,
    where: str = "",
    unit: str = "points",
) -> list[str]:
    """How a judge compares with people; with a margin, whether it is shown not to be inferior to them by more.

    Parameters
    ----------
    these, alike : mapping or None
        The judge's agreement minus people's own, on new items with these annotators, and with others like them too.
    where : str
        On which dataset, where there are several: " on Farm".
    unit : str
        Of the difference, and of the margin.
    """
    if these is None or these["value"] is None:
        return []
    others = alike is not None and alike["low"] is not None
    gap = with_ends(these, unit)
    if alike is not None and others:
        gap += f"; with new annotators like these {with_ends(alike, unit)}"
    if not margin:
        return [f"{leader} minus human annotators{where}: {gap}."]
    limit = gap_text(margin, unit)
    if not _above(these["low"], -margin):
        unlike = f"at most {limit} worse than human annotators{where}"
        return [f"It is not shown that {leader} is {unlike}: judge minus human {gap}."]
    whom = "these annotators"
    if alike is not None and others and _above(alike["low"], -margin):
        whom += " and to others like them"
    return [f"{leader} is not inferior to {whom}{where} by more than {limit}: judge minus human {gap}."]


def best_words(
    leader: str, these: Gap | None, alike: Gap | None, *, where: str = "", unit: str = "points"
) -> list[str]:
    """How much better than a judge a judge could be, with these annotators and with others like them too."""
    if these is None or these["value"] is None:
        return []
    gap = with_ends(these, unit)
    if alike is not None and alike["low"] is not None:
        gap += f"; with new annotators like these {with_ends(alike, unit)}"
    return [f"Upper bound minus {leader}{where}: {gap}."]


# --- small words ---------------------------------------------------------------------------------------------------


def gap_text(value: float | None, unit: str = "points") -> str:
    """A difference in its unit: "2.0 points"."""
    if value is None or unit != "points":
        return value_text({"value": value}, unit)
    return points_text(value)


def with_ends(gap: Gap, unit: str = "points", level: str = "") -> str:
    """A difference and its interval: "2.0 points [1.0, 3.0]"."""
    ends = range_text(gap, unit)
    if not ends:
        return gap_text(gap["value"], unit)
    return f"{gap_text(gap['value'], unit)}{f', {level}' if level else ''} {ends}"


def listed(names: Sequence[str]) -> str:
    """ "A, B and C"; of more than four the first three and how many others."""
    shown = list(names)
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _above(value: float | None, limit: float) -> bool:
    """Whether an end of an interval lies above a limit; not known counts as not."""
    return value is not None and value > limit
