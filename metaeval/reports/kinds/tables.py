"""What the page shows of a comparison of one kind: sentences and tables. Pure functions of its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import full_text, value_text
from metaeval.reports.groups import AVERAGE
from metaeval.reports.kinds.measures import MEASURES, OF_RESPONSES, PEOPLE, MeasureInfo
from metaeval.reports.tables import Slice
from metaeval.reports.words import simulated_words
from web.csv_text import csv_text as csv_document

Content = Mapping[str, Any]
_MUCH_UNPARSED = 0.05
_AXES = (("criterion", "criterion"), ("subset", "subset"), ("category", "category"))
_WHO = ["kind", "against", "who", "fingerprint", "measure", "group_kind", "group"]
_CSV_COLUMNS = [*_WHO, "value", "low", "high", "n", "reason"]
_OF_A_PERSON = MeasureInfo("agreement_with_others", "Agreement with the others")
_AGAINST = {"people": "people", "gold": "the gold answers"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure; `drawn` on its axis from `low` to `high`."""

    estimate: Mapping[str, Any] | None
    info: MeasureInfo
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class KindRow:
    """A line: people, the gold answers, or a judge. `status`: "people", "gold", "leads", "tied", "behind",
    "incomplete"; `notes` stand below the name; `fingerprint` is a judge's.
    """

    name: str
    status: str
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class KindTable:
    """A table of figures; `heads` are those of its cells."""

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[KindRow, ...]
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class KindVerdict:
    """Who leads, in words. `kind`: "clear", "open", "single", "floor", "people" (no judges), "scores" (judges, and
    nothing to compare them with), "none".
    """

    kind: str
    label: str
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]


def main_table(content: Content, *, of_judges: bool = False) -> KindTable:
    """All judges, best first, below people and gold. ``of_judges`` leaves out the figures that only people have."""
    infos = [info for info in MEASURES[content["kind"]] if _is_there(content, info.key, of_judges=of_judges)]
    if of_judges and (known := [info for info in infos if _is_known(content, info.key)]):
        infos = known
    primary = content["primary"]
    rows = [
        KindRow(
            name,
            status,
            notes,
            tuple(Cell(_overall(measures, info.key), info, drawn=info.key == primary) for info in infos),
            fingerprint,
        )
        for name, status, notes, measures, fingerprint in _lines(content)
    ]
    people = _value(content["people"]["measures"], primary)
    return KindTable("all", "All judges", tuple(info.label for info in infos), tuple(rows), people)


def group_tables(content: Content, *, of_judges: bool = False) -> list[KindTable]:
    """A table for each figure and way to group: by criterion, subset, category; the primary figure first."""
    found = []
    for info in MEASURES[content["kind"]]:
        if not info.per_group or not _is_there(content, info.key, of_judges=of_judges):
            continue
        for axis, word in _AXES:
            groups = _groups(content, info.key, axis)
            if not any(
                (_in(measures, info.key, *group) or {}).get("value") is not None
                for *_, measures, _ in _lines(content)
                for group in groups
            ):
                continue  # a table of dashes says nothing
            rows = [
                KindRow(
                    name, status, (), tuple(Cell(_in(measures, info.key, *group), info) for group in groups)
                )
                for name, status, _, measures, _ in _lines(content)
                if info.key in measures
            ]
            heads = tuple(Slice(*group).label for group in groups)
            found.append(KindTable(f"{info.key}-{axis}", f"{info.label} by {word}", heads, tuple(rows)))
    return found


def differences(content: Content) -> list[tuple[str, Mapping[str, Any], bool]]:
    """(judge, how far it is behind the leader, whether it cannot be told apart) of each other judge."""
    selection = content["selection"]
    return [
        (content["judges"][row["judge"]]["name"], row, row["judge"] in selection["tied"])
        for row in selection["differences"]
    ]


def difference_unit(content: Content) -> str:
    """In what differences are given: points of a share, or plain numbers of a correlation."""
    return "points" if primary_info(content).unit == "percent" else "number"


def primary_info(content: Content) -> MeasureInfo:
    """The figure by which judges are ranked."""
    return next(info for info in MEASURES[content["kind"]] if info.key == content["primary"])


def verdict_of(content: Content) -> KindVerdict:
    """Put into words who leads."""
    selection, judges = content["selection"], content["judges"]
    if not judges:
        return _of_people(content)
    info, against = primary_info(content), _AGAINST[content["options"]["against"]]
    cautions = _cautions(content)
    if selection["leader"] is None:
        why = f"{info.label} with {against} is undefined for every judge so far."
        said = _of_responses(content)
        if said:
            why = f"{why} So nothing says how far to trust a judge here."
            return KindVerdict("scores", "Not compared", said, (why,), cautions)
        return KindVerdict("none", "No judges", "No judge can be compared yet", (why,), cautions)
    leader = judges[selection["leader"]]
    figure = full_text(leader["measures"][info.key]["overall"], info.unit)
    lead = f"{leader['name']}: {info.label} {figure} against {against}."
    people = _overall(content["people"]["measures"], info.key)
    beside = (
        [f"People among themselves: {full_text(people, info.unit)}."]
        if people and people["value"] is not None
        else []
    )
    floor = selection.get("best_baseline")
    if floor is not None and floor["value"] is not None and not (floor["low"] or 0.0) > 0:
        below, unit = floor["value"] < 0, difference_unit(content)
        headline = (
            f"No judge {'beats' if below else 'is significantly better than'} the baseline {floor['name']}"
        )
        why = f"The leading judge minus the baseline {floor['name']} (no LLM): {full_text(floor, unit)}."
        return KindVerdict("floor", "Not better than a baseline", headline, (lead, why, *beside), cautions)
    if not selection["differences"]:
        headline = f"{leader['name']} is the only judge here"
        return KindVerdict("single", "One judge", headline, (lead, *beside), cautions)
    if selection["clear"]:
        headline = f"{leader['name']} is the judge to use here"
        return KindVerdict("clear", "Clear winner", headline, (lead, *beside), cautions)
    names = ", ".join(judges[place]["name"] for place in selection["tied"])
    sentences = (lead, f"It leads, and cannot be told apart from {names}.", *beside)
    return KindVerdict("open", "Undecided", "No clear winner", sentences, cautions)


def _of_responses(content: Content) -> str:
    """What judges say of the responses, where there is nothing to compare them with; empty where they say nothing."""
    info = next(
        (one for one in MEASURES[content["kind"]] if one.key == OF_RESPONSES.get(content["kind"])), None
    )
    if info is None:
        return ""
    known = [
        (estimate["value"], judge["name"], estimate)
        for judge in content["judges"]
        if (estimate := _overall(judge["measures"], info.key)) and estimate["value"] is not None
    ]
    if not known:
        return ""
    if len(known) == 1:
        return f"{info.label}: {full_text(known[0][2], info.unit)}, according to {known[0][1]}"
    low, high = (value_text(end(known, key=lambda one: one[0])[2], info.unit) for end in (min, max))
    return f"{info.label}: {low} to {high}, according to {len(known)} judges"


def _of_people(content: Content) -> KindVerdict:
    """No judge has judged these items: what people say of them is what there is."""
    people, cautions = content["people"], _cautions(content)
    if not people["n_labels"]:
        why = "These items have neither labels nor judgments yet."
        return KindVerdict("none", "No labels", "There is nothing to report yet", (why,), cautions)
    sentences = (f"{labels_words(people)}.", "No judge has judged these items.")
    if not people["n_items_with_two_labels"]:
        headline = "No item has labels of two people yet"
        return KindVerdict("none", "Too early", headline, sentences, cautions)
    info = PEOPLE[content["kind"]][0]
    figure = full_text(_overall(people["measures"], info.key), info.unit)
    headline = f"People among themselves: {info.label} {figure}"
    return KindVerdict("people", "People only", headline, sentences, cautions)


def labels_words(people: Mapping[str, Any]) -> str:
    """How many labels there are, of whom, on how many items: "24 labels of 2 people on 12 items, 2 an item"."""
    n, persons, items = people["n_labels"], people["n_annotators"], people["n_items_labelled"]
    if not n:
        return "no labels"
    low, high = people["labels_per_item"]["min"], people["labels_per_item"]["max"]
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"{n:,} label{'' if n == 1 else 's'} of {persons:,} {'person' if persons == 1 else 'people'} on "
        f"{items:,} item{'' if items == 1 else 's'}, {each} an item"
    )


def people_figures(content: Content) -> list[tuple[MeasureInfo, Mapping[str, Any]]]:
    """What people agree on among themselves, all items together, in the order of a report."""
    measures = content["people"]["measures"]
    return [(info, measures[info.key]["overall"]) for info in PEOPLE[content["kind"]] if info.key in measures]


def people_tables(content: Content) -> list[KindTable]:
    """A table for each way to group: a line a criterion, subset or category, a column a figure of people."""
    measures = content["people"]["measures"]
    found = []
    for axis, word in _AXES:
        infos = [
            info for info in PEOPLE[content["kind"]] if info.per_group and axis in measures.get(info.key, {})
        ]
        if not infos:
            continue
        kinds = ("subset", "macro") if axis == "subset" else (axis,)
        groups = [
            (kind, name)
            for kind, name in _places(content)
            if kind in kinds and any(_in(measures, info.key, kind, name) for info in infos)
        ]
        rows = [
            KindRow(
                Slice(kind, name).label,
                "people",
                (),
                tuple(Cell(_in(measures, info.key, kind, name), info) for info in infos),
            )
            for kind, name in groups
        ]
        found.append(
            KindTable(f"people-{axis}", f"People by {word}", tuple(info.label for info in infos), tuple(rows))
        )
    return found


def csv_text(content: Content) -> str:
    """Every figure in a line of its own: who, figure, group, value, interval, n, reason."""
    return csv_document(_CSV_COLUMNS, _csv_rows(content))


def _csv_rows(content: Content) -> Iterator[list[object]]:
    keys = dict.fromkeys(
        info.key for info in (_OF_A_PERSON, *PEOPLE[content["kind"]], *MEASURES[content["kind"]])
    )
    places = _places(content)
    for who, fingerprint, measures in _with_each_person(content):
        for key in keys:
            for group_kind, group in places:
                estimate = _in(measures, key, group_kind, group)
                if estimate is None:
                    continue
                figures = [estimate[name] for name in ("value", "low", "high", "n")]
                cells = [who, fingerprint, key, group_kind, group, *figures, estimate.get("reason", "")]
                yield [content["kind"], content["options"]["against"], *cells]


def _with_each_person(content: Content) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for person in content["people"]["annotators"]:
        measures = {_OF_A_PERSON.key: {"overall": person["agreement"]}}
        yield f"person {person['number']}", "", measures
    yield from _all(content)


def _all(content: Content) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    yield "people", "", content["people"]["measures"]
    yield "gold", "", content["gold"]["measures"]
    for judge in content["judges"]:
        yield judge["name"], judge["fingerprint"], judge["measures"]


def _is_there(content: Content, key: str, *, of_judges: bool = False) -> bool:
    if of_judges:
        return any(key in judge["measures"] for judge in content["judges"])
    return any(key in measures for _, _, measures in _all(content))


def _is_known(content: Content, key: str) -> bool:
    """Whether a judge has the figure of all items."""
    return any(_value(judge["measures"], key) is not None for judge in content["judges"])


def _lines(content: Content) -> list[tuple[str, str, tuple[str, ...], Mapping[str, Any], str]]:
    """(name, status, notes, measures, fingerprint) of people, gold and judges, best first."""
    found: list[tuple[str, str, tuple[str, ...], Mapping[str, Any], str]] = []
    people = content["people"]
    if people["measures"]:
        word = "person" if people["n_annotators"] == 1 else "people"
        note = f"{people['n_annotators']:,} {word}, {people['n_labels']:,} labels"
        found.append(("People among themselves", "people", (note,), people["measures"], ""))
    if content["gold"]["measures"]:
        found.append(("Gold answers", "gold", (), content["gold"]["measures"], ""))
    places = sorted(range(len(content["judges"])), key=lambda place: _order(content, place))
    for place in places:
        judge = content["judges"][place]
        about = (judge["name"], _status(content, place), _notes(content, judge))
        found.append((*about, judge["measures"], judge["fingerprint"]))
    return found


def _order(content: Content, place: int) -> tuple[bool, bool, float]:
    """Best first; below them who has hardly begun, and who has no figure."""
    value = _value(content["judges"][place]["measures"], content["primary"])
    return value is None, place in content["selection"]["incomplete"], -(value or 0.0)


def _status(content: Content, place: int) -> str:
    selection = content["selection"]
    if place == selection["leader"]:
        return "leads"
    if place in selection["tied"]:
        return "tied"
    return "incomplete" if place in selection["incomplete"] else "behind"


def _notes(content: Content, judge: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if judge["n_judged"] < content["items"]["n_items"]:
        notes.append(f"{judge['n_judged']:,} of {content['items']['n_items']:,} items")
    if judge["n_unparsed"]:
        notes.append(f"{judge['n_unparsed']:,} unparsed")
    if judge["n_failed"]:
        notes.append(f"{judge['n_failed']:,} failed")
    notes.append("no model" if judge["backend"] == "heuristic" else judge["model"] or judge["backend"])
    return tuple(notes)


def _overall(measures: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    return _in(measures, key, "overall", "")


def _in(measures: Mapping[str, Any], key: str, kind: str, name: str) -> dict[str, Any] | None:
    part: Any = measures.get(key, {}).get(kind)
    if kind != "overall" and part is not None:
        part = part.get(name)
    found: dict[str, Any] | None = part
    return found


def _value(measures: Mapping[str, Any], key: str) -> float | None:
    estimate = _overall(measures, key)
    return None if estimate is None else estimate["value"]


def _groups(content: Content, key: str, axis: str) -> list[tuple[str, str]]:
    """Groups of an axis in which anybody has this figure; means over subsets stand beside the subsets."""
    kinds = ("subset", "macro") if axis == "subset" else (axis,)
    return [
        (kind, name)
        for kind, name in _places(content)
        if kind in kinds and any(_in(measures, key, kind, name) for _, _, measures in _all(content))
    ]


def _places(content: Content) -> list[tuple[str, str]]:
    """All groups, in the order of the dataset: that of the members of stored JSON means nothing."""
    breakdowns = [breakdown for _, _, measures in _all(content) for breakdown in measures.values()]
    macros = {name for breakdown in breakdowns for name in breakdown.get("macro", {})}
    return [
        ("overall", ""),
        *(("criterion", name) for name in content["criteria"]),
        *(("category", row["name"]) for row in content["items"]["categories"]),
        *(("subset", row["name"]) for row in content["items"]["subsets"]),
        *(("macro", name) for name in sorted(macros, key=lambda name: (name == AVERAGE, name))),
    ]


def _cautions(content: Content) -> tuple[str, ...]:
    selection, judges = content["selection"], content["judges"]
    found: Sequence[str] = (
        simulated_words({"humans": content["people"]}) if content["people"]["n_labels"] else []
    )
    cautions = [*found]
    if selection["incomplete"]:
        names = ", ".join(judges[place]["name"] for place in selection["incomplete"])
        cautions.append(f"Not ranked, because they judged a part of the items only: {names}.")
    compared = selection["n_compared"]
    if selection["ranking"] and compared < content["items"]["n_with_target"]:
        cautions.append(
            f"Judges are ranked on the {compared:,} items that all of them judged; the figure of each is of all the "
            "items that it judged itself."
        )
    if selection["leader"] is not None:
        unparsed = _value(judges[selection["leader"]]["measures"], "unparsed_rate")
        if unparsed is not None and unparsed > _MUCH_UNPARSED:
            cautions.append(f"The leader's answer could not be read on {100 * unparsed:.1f} % of items.")
    if selection["differences"]:
        cautions.append(
            "The leader was chosen on these same items, which flatters its figure: expect a little less on new ones."
        )
    return (*cautions, *content["remarks"])
