"""The filter of a list of items, as its address has it.

Any table or picture leads to the items behind one of its cells by such an address (`judges.selectors.item_addresses`).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, QueryDict

from annotation.kinds import kind_of
from annotation.models import Dataset, Study, User
from annotation.selectors.judged_items import dataset_kinds
from annotation.selectors.judging_labels import annotator_by_pseudonym
from annotation.selectors.overview import reader_of, study_get_for
from judges.forms.judgment_filters import number_from
from judges.selectors.item_filter import CASES, HAS, SORTS, TRUTHS, VERDICTS, ItemFilter
from judges.selectors.reading import judges_of_dataset
from metaeval.figures import FIGURES

NO_JUDGE = 0
"""In place of a judge that has judged nothing of the dataset: nothing fits."""
NO_ANNOTATOR = 0
"""In place of an annotator of whom there is no label: nothing fits."""
ANY = "any"
"""In place of a right answer: there is one."""
MOST_TEXT = 200
MOST_JUDGES = 200
VALUE = re.compile(r"[-−+]?\$?[0-9][0-9,]{0,12}(\.[0-9]{1,6})?( ?%| points| ms| s| min| h)?\Z")
"""The text of a figure, as tables write it: what else an address says is not repeated."""


@dataclass(frozen=True, slots=True)
class CellFigure:
    """The figure of the cell that led to a list of items; `label` is empty where its name is not known."""

    label: str
    value: str
    n: int | None


def item_filter_from(query: QueryDict, dataset: Dataset, user: User) -> tuple[ItemFilter, Study | None]:
    """Read the filter from an address; what cannot be read does not filter. Http404 for a study they may not see."""
    kinds = dataset_kinds(dataset)
    kind = query.get("kind", "")
    study = _study(query.get("study", ""), dataset, user)
    if study is not None:
        kind = study.kind
    kind = kind if kind in kinds else next(iter(kinds), "")
    sides = (ANY, "0", "1", "2") if kind and kind_of(kind).presented else (ANY, "1", "2")
    truth = next((name for name in TRUTHS if query.get(name, "") in sides), "")
    answer = query.get(truth, "") if truth else ""
    sort = query.get("sort", "")
    annotator = _text(query.get("annotator", ""))
    reader = reader_of(user)
    found = ItemFilter(
        dataset_id=dataset.pk,
        kind=kind,
        judge_ids=_judges(query.getlist("judge"), dataset),
        category=_text(query.get("category", "")),
        subset=_text(query.get("subset", "")),
        study=study,
        case=case if (case := query.get("case", "")) in CASES else "",
        text=_text(query.get("q", "")).strip(),
        sort=sort if sort in SORTS else next(iter(SORTS)),
        truth=truth,
        answer=None if answer in ("", ANY) else int(answer),
        verdict=verdict if (verdict := query.get("verdict", "")) in VERDICTS else "",
        mark=_number(query.get("mark", "")) if truth else None,
        has=tuple(name for name in HAS if name in query.getlist("has")),
        judged_by=_judges(query.getlist("judged_by"), dataset),
        system=_text(query.get("system", "")),
        against=_text(query.get("against", "")),
        certainty_from=_number(query.get("certainty_from", "")),
        certainty_below=_number(query.get("certainty_below", "")),
        annotator_id=_annotator(annotator, dataset, study, reader) if annotator else None,
        annotator=annotator,
        reader=reader,
    )
    return found, study


def _annotator(name: str, dataset: Dataset, study: Study | None, reader: User | None) -> int:
    study_id = None if study is None else study.pk
    found = annotator_by_pseudonym(name, dataset_id=dataset.pk, reader=reader, study_id=study_id)
    return NO_ANNOTATOR if found is None else found


def cell_figure_from(query: QueryDict, kind: str) -> CellFigure | None:
    """The figure of the cell that an address came from, or None."""
    value, n, name = query.get("value", ""), query.get("n", ""), query.get("figure", "")
    if VALUE.match(value) is None:
        return None
    known = FIGURES.get(kind)
    every = () if known is None else (*known.judges, *known.gold, *known.people, known.of_one_person)
    label = next((one.label for one in every if one.name == name), "")
    return CellFigure(label, value, int(n) if n.isascii() and n.isdigit() and len(n) < 10 else None)


def cell_query_of(cell: CellFigure | None, name: str) -> dict[str, Any]:
    """Undo `cell_figure_from`."""
    if cell is None:
        return {}
    given = {"figure": name if cell.label else "", "value": cell.value, "n": cell.n}
    return {key: value for key, value in given.items() if value not in (None, "")}


def item_query_of(filters: ItemFilter, study: Study | None) -> dict[str, Any]:
    """Undo `item_filter_from`: only what filters."""
    given: dict[str, Any] = {
        "judge": list(filters.judge_ids),
        "kind": filters.kind,
        "category": filters.category,
        "subset": filters.subset,
        "study": "" if study is None else study.slug,
        "case": filters.case,
        "q": filters.text,
        "sort": "" if filters.sort == next(iter(SORTS)) else filters.sort,
        **item_query_of_counted(filters),
    }
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def _number(text: str) -> float | None:
    try:
        number = float(text[:24])
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(value: str) -> str:
    return value.replace("\x00", "")[:MOST_TEXT]


def _study(slug: str, dataset: Dataset, user: User) -> Study | None:
    if not slug:
        return None
    try:
        study = study_get_for(user, slug.replace("\x00", ""))
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None
    if study.dataset_id != dataset.pk:
        raise Http404("That study is on another dataset.")
    return study


def _judges(asked: Sequence[str], dataset: Dataset) -> tuple[int, ...]:
    """Judges by primary key, or by fingerprint, which is how a comparison knows them."""
    wanted = [text.replace("\x00", "") for text in asked if text][:MOST_JUDGES]
    if not wanted:
        return ()
    numbers = [number for text in wanted if (number := number_from(text)) is not None]
    judges = judges_of_dataset(dataset)
    found = set(judges.filter(pk__in=numbers).values_list("pk", flat=True))
    found |= set(judges.filter(fingerprint__in=wanted).values_list("pk", flat=True))
    return tuple(sorted(found)) or (NO_JUDGE,)


def item_query_of_counted(filters: ItemFilter) -> dict[str, Any]:
    """The part of it that says what a figure counts, for which the page has no field."""
    given: dict[str, Any] = {
        "verdict": filters.verdict,
        "has": list(filters.has),
        "annotator": filters.annotator,
        "judged_by": list(filters.judged_by),
        "system": filters.system,
        "against": filters.against,
        "certainty_from": filters.certainty_from,
        "certainty_below": filters.certainty_below,
    }
    if filters.truth:
        given |= {filters.truth: ANY if filters.answer is None else filters.answer, "mark": filters.mark}
    return {name: value for name, value in given.items() if value not in (None, "", [])}
