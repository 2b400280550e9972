"""The decision in words: what to use, how sure that is, and what it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from metaeval.reports.figures import points_text, range_text, value_text
from metaeval.reports.judges import needs_no_model

_MUCH_UNPARSED = 0.05
_LABELS = {
    "clear": "Clear winner",
    "open": "Undecided",
    "single": "One judge",
    "floor": "Not better than a baseline",
    "none": "No judges",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison says.

    Attributes
    ----------
    kind : {"clear", "open", "single", "floor", "none"}
        A clear winner; several that are not significantly different; only one judge; none that is significantly
        better than every baseline; nothing to compare.
    headline : str
    sentences : tuple of str
        Why, most important first.
    cautions : tuple of str
        What a reader must know before relying on it.
    leader : int or None
        Place of the leading judge.
    """

    kind: str
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]
    leader: int | None = None

    @property
    def label(self) -> str:
        """The kind, as a chip says it."""
        return _LABELS[self.kind]


def verdict_of(content: dict[str, Any], primary: str) -> Verdict:
    """Put the selection by one figure into words."""
    found = _verdict(content, primary)
    return replace(found, sentences=_unbroken(found.sentences), cautions=_unbroken(found.cautions))


def _unbroken(sentences: Sequence[str]) -> tuple[str, ...]:
    """A number and its sign stay on one line."""
    return tuple(sentence.replace(" %", "\u00a0%") for sentence in sentences)


def _verdict(content: dict[str, Any], primary: str) -> Verdict:
    selection = content["selection"][primary]
    judges = content["judges"]
    place = selection["leader"]
    if place is None:
        sentences = (_why_none(content, primary), *_to_beat(content, primary))
        return Verdict("none", "No judge can be compared yet", sentences, _cautions(content, primary))
    leader = judges[place]
    estimate = leader["measures"][primary]["overall"]
    lead = _lead(leader["name"], primary, estimate)
    cautions = _cautions(content, primary)
    floor, gap = _against_floor(content, primary), selection["best_baseline"]
    known = bool(content["options"]["n_resamples"])
    # Without intervals a figure below a baseline's is all that can be seen.
    if floor and not _above_floor(gap) and (known or gap["value"] <= 0):
        name = judges[gap["judge"]]["name"]
        headline = (
            f"No judge {'beats' if gap['value'] < 0 else 'is significantly better than'} the baseline {name}"
        )
        tied = _tied(content, primary) if selection["tied"] and known else []
        return Verdict("floor", headline, (f"{lead} and leads.", *floor, *tied), cautions, place)
    if not known:
        why = "No intervals were asked for, so nothing tells it apart from the others or from chance."
        return Verdict(
            "open", f"{leader['name']} leads; by how much is not known", (f"{lead}.", why), cautions, place
        )
    if needs_no_model(leader) and not all(needs_no_model(judges[one]) for one in selection["ranking"]):
        tied = _tied(content, primary) if selection["tied"] else []
        headline = f"No judge beats the baseline {leader['name']}"
        return Verdict("floor", headline, (f"{lead} and leads, without an LLM.", *tied), cautions, place)
    if not selection["differences"]:
        headline = f"{leader['name']} is the only judge here"
        return Verdict("single", headline, (f"{lead}.", *floor), cautions, place)
    if selection["clear"]:
        nearest = selection["differences"][0]
        behind = (
            f"The next, {judges[nearest['judge']]['name']}, is {points_text(nearest['value'])} behind "
            f"({range_text(nearest, 'points')})."
        )
        headline = f"{leader['name']} is the judge to use here"
        return Verdict("clear", headline, (f"{lead}.", *floor, behind), cautions, place)
    sentences = (f"{lead} and leads.", *floor, *_tied(content, primary))
    return Verdict("open", "No clear winner", sentences, cautions, place)


def _lead(name: str, primary: str, estimate: dict[str, Any]) -> str:
    if primary == "agreement":
        # Not "of items": agreement is a mean over the labels left out.
        return f"{name} agrees with people on {_with_range(estimate)}"
    return f"{name} gives the gold answer on {_with_range(estimate)} of items"


def _to_beat(content: dict[str, Any], primary: str) -> list[str]:
    """What people reach among themselves, and what a rule reaches: the range in which a judge will lie."""
    people = content["humans"]["measures"]
    own, best = people["leave_one_out"]["overall"], people["best_reachable"]["overall"]
    found = []
    if primary == "agreement" and own["value"] is not None:
        found.append(
            f"People agree with each other on {_with_range(own)}; a judge could reach {value_text(best)} at best."
        )
    rules = [judge for judge in content["judges"] if judge["baseline"]]
    known = [(judge, judge["measures"][primary]["overall"]) for judge in rules]
    known = [(judge, estimate) for judge, estimate in known if estimate["value"] is not None]
    if known:
        judge, estimate = max(known, key=lambda pair: pair[1]["value"])
        found.append(
            f"The best baseline (no LLM), {judge['name']}, reaches {_with_range(estimate)}: a judge must beat that."
        )
    return found


def _with_range(estimate: dict[str, Any]) -> str:
    ends = range_text(estimate)
    return value_text(estimate) + (f" ({ends})" if ends else "")


def _tied(content: dict[str, Any], primary: str) -> list[str]:
    selection, judges = content["selection"][primary], content["judges"]
    tied = selection["tied"]
    names = [judges[place]["name"] for place in tied]
    first = next(row for row in selection["differences"] if row["judge"] == tied[0])
    ends = range_text(first, "points")
    difference = f"difference {points_text(first['value'])}{', ' + ends if ends else ''}"
    if len(names) == 1:
        sentences = [f"{names[0]} is not significantly different from the leader ({difference})."]
    else:
        sentences = [
            f"{_listed(names)} are not significantly different from the leader (to {names[0]}: {difference})."
        ]
    cheaper = _cheapest(judges, selection["leader"], tied)
    return [*sentences, cheaper] if cheaper else sentences


def _cheapest(judges: Sequence[dict[str, Any]], leader: int, tied: Sequence[int]) -> str:
    def cost(place: int) -> float | None:
        value: float | None = judges[place]["measures"]["cost_per_1000"]["overall"]["value"]
        return value

    own = cost(leader)
    priced = [(amount, place) for place in tied if (amount := cost(place)) is not None]
    if not own or not priced:
        return ""
    amount, place = min(priced)
    saving = 1 - amount / own
    if saving < 0.05:
        return ""
    price = value_text({"value": amount}, "money")
    name = judges[place]["name"]
    return f"Of these, {name} costs least: {price} per 1,000 judgments, {100 * saving:.0f} % less than the leader."


def _above_floor(gap: dict[str, Any]) -> bool:
    """Whether the leader is significantly better than the baseline; not known counts as not."""
    return gap["low"] is not None and gap["low"] > 0


def _against_floor(content: dict[str, Any], primary: str) -> list[str]:
    gap = content["selection"][primary]["best_baseline"]
    if gap is None:
        return []
    name = content["judges"][gap["judge"]]["name"]
    ends = range_text(gap, "points")
    ends = f" ({ends})" if ends else ""
    if gap["value"] is None:
        return []
    if _above_floor(gap):
        return [f"That is {points_text(gap['value'])}{ends} above the best baseline (no LLM), {name}."]
    if gap["value"] < 0:
        return [f"It is {points_text(-gap['value'])} below the baseline {name} (no LLM)."]
    return [
        f"It is not significantly different from the baseline {name} (no LLM; difference "
        f"{points_text(gap['value'])}{ends})."
    ]


def _cautions(content: dict[str, Any], primary: str) -> tuple[str, ...]:
    found = [*simulated_words(content)] if primary == "agreement" else []
    selection = content["selection"][primary]
    if selection["incomplete"]:
        names = [content["judges"][place]["name"] for place in selection["incomplete"]]
        found.append(f"Not ranked, because they judged a part of the items only: {_listed(names)}.")
    compared = selection.get("n_compared")
    if compared is not None and any(
        content["judges"][place]["measures"][primary]["overall"]["n"] > compared
        for place in selection["ranking"]
    ):
        found.append(
            f"Judges are ranked on the {compared:,} items that all of them judged; "
            "the figure of each is of all the items that it judged itself."
        )
    if selection["leader"] is not None:
        unparsed = content["judges"][selection["leader"]]["measures"]["unparsed_rate"]["overall"]
        if unparsed["value"] is not None and unparsed["value"] > _MUCH_UNPARSED:
            found.append(f"The leader's answer could not be read in {value_text(unparsed)} of its judgments.")
    if selection["differences"]:
        found.append(
            "The leader was chosen on these same items, which flatters its figure: expect a little less on new ones."
        )
    return tuple(found)


def simulated_words(content: dict[str, Any]) -> list[str]:
    """What to say where labels come from simulated annotators."""
    share = content["humans"]["simulated_share"]
    if not share:
        return []
    if share == 1:
        return [
            "All labels come from simulated annotators. "
            "The figures show how the machinery works and nothing about people."
        ]
    return [f"{100 * share:.0f} % of the labels come from simulated annotators, not from people."]


def _why_none(content: dict[str, Any], primary: str) -> str:
    if not any(not judge["baseline"] for judge in content["judges"]):
        return "No judge has judged this dataset."
    if primary == "agreement":
        return "No judged item has two labels, so there is nobody to agree with yet."
    return "No judged item has a gold answer."


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:3])
    if len(names) > 3:
        rest = len(names) - 3
        return f"{', '.join(shown)} and {rest} other{'s' if rest > 1 else ''}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
