"""LLMBar: pairs with an objectively better output, in folders that name the subset; and stored verdicts on them.

Source: https://github.com/princeton-nlp/LLMBar (`Dataset/LLMBar/**/dataset.json`). The authors' own results, in
`Dataset/**/evaluators/MODEL/STRATEGY/result.json`, repeat the items of their subset in their order; `results` holds the
answers of each step, the last one with the winner in both presentation orders, mapped back to the stored one. There is
one table of these results too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.archives import folder_or_zip
from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.records import DatasetBundle, Status, Value, VerdictRecord
from annotation.importers.rows import Progress, Row, counted_rows
from annotation.importers.tables import ColumnTypes, check_columns, csv_dicts, json_rows

FILE = "dataset.json"
FIELDS = ("input", "output_1", "output_2", "label")
LABELS = (1, 2)
LLMBAR_FIELDS = (
    "group",
    "subset",
    "idx",
    "label",
    "judge",
    "strategy",
    "winner_noswap",
    "winner_swap",
    "score_1",
    "score_2",
    "len_1",
    "len_2",
)
WINNERS: Mapping[Any, int | None] = {"1": 1, "2": 2, "": None, None: None}
ORDERS = {"winner_noswap": 0, "winner_swap": 1}
RESULT, EVALUATORS = "result.json", "evaluators"
RESULT_FIELDS = ("input", "output_1", "output_2", "label", "results")
RESULT_ORDERS = {"swap = False": 0, "swap = True": 1}
SCORE = re.compile(r"\s*[+-]?[0-9]{1,6}\s*\Z", re.ASCII)

Note = Callable[[str], None]
Gold = Mapping[str, int | None]


def read_llmbar(path: str | Path) -> DatasetBundle:
    """Read the folder, or a zip of it.

    An item's id is its subset path and its index there, ``Adversarial/Neighbor/12``. Gold is the file's `label`. An
    instruction that two subsets share is one instruction in each of them.
    """
    with folder_or_zip(Path(path)) as folder:
        files = sorted(folder.rglob(FILE), key=lambda file: file.relative_to(folder).parts)
        if not files:
            raise ImportFileError(path, None, None, f"expected a folder with files named {FILE}, found none.")
        builder = BundleBuilder(f"llmbar: {Path(path).name}")
        faults = Faults()
        for file in files:
            subset = file.parent.relative_to(folder).as_posix()
            if subset == ".":
                subset = folder.resolve().name
            faults.each(json_rows(file, faults), partial(_add_item, builder, subset))
        faults.check()
        return builder.finish(path)


def _add_item(builder: BundleBuilder, subset: str, row: Row) -> None:
    row.only(FIELDS)
    gold = row.number_in("label", LABELS)
    instruction = builder.instruction(row, text=row.text("input", required=True), subset=subset)
    builder.pair(
        row,
        external_id=f"{subset}/{(row.origin.row or 1) - 1}",
        instruction=instruction,
        texts=[row.answer("output_1"), row.answer("output_2")],
        gold={"choice": gold},
    )


def read_llmbar_judgments(
    path: str | Path, gold: Gold, progress: Progress | None = None, note: Note | None = None
) -> tuple[VerdictRecord, ...]:
    """Read verdicts on LLMBar in both presentation orders.

    A rating strategy scores each response by itself. Equal scores are a hedge, stored as a tie (0) with the
    scores, and a missing score is unparsed, in both orders; what the authors say of the winner, where they
    count a hedge as one order each, is kept as `published`.

    Parameters
    ----------
    path
        A file `result.json`, a folder with such files at `evaluators/MODEL/STRATEGY`, or a table (CSV), one row an
        item and judge.
    gold : mapping
        The dataset's items by external id, with their gold choice: what is said must be about one of them, and
        agree with it.
    note : callable, optional
        Called with a sentence for each group or subset that the dataset has no item of; it is left out.
    """
    path = Path(path)
    builder = BundleBuilder("llmbar")
    subsets = _Subsets(gold, note)
    faults = Faults()
    with faults:
        if path.is_dir() or path.suffix.lower() == ".json":
            _add_results(builder, path, subsets, progress, faults)
        else:
            _add_table(builder, path, subsets, progress, faults)
    faults.check()
    if not builder.verdicts:
        missing = f" The dataset has no item of {', '.join(subsets.missing)}." if subsets.missing else ""
        raise ImportFileError(
            path, None, None, f"expected at least one verdict on the dataset's items.{missing}"
        )
    return builder.verdicts


class _Subsets:
    """Which of the dataset's items a subset's are, wherever the dataset has its folder."""

    def __init__(self, gold: Gold, note: Note | None) -> None:
        self._gold = gold
        self._note = note
        self._known = {external_id.rpartition("/")[0] for external_id in gold}
        self._found: dict[tuple[str, ...], list[str]] = {}
        self.missing: list[str] = []

    def item(
        self, row: Row, candidates: Iterable[str], index: str, *, field: str | None, name: str
    ) -> str | None:
        """Return the item at an index of a subset, or None where the dataset has none of the subset's."""
        key = tuple(candidates)
        if key not in self._found:
            self._found[key] = [each for each in key if each in self._known]
            if not self._found[key]:
                self.missing.append(name)
                if self._note is not None:
                    self._note(f"Left out {name}: the dataset has no item of it.")
        paths = self._found[key]
        if not paths:
            return None
        item = next((found for path in paths if (found := f"{path}/{index}") in self._gold), None)
        if item is None:
            row.fail(field, f"expected an item of the dataset; it has no {paths[0]}/{index}.")
        label = row.get("label")
        if str(label) != str(self._gold[item]):
            row.fail("label", f"expected {self._gold[item]}, the gold of {item!r}, found {quoted(label)}.")
        return item


def _add_table(
    builder: BundleBuilder, file: Path, subsets: _Subsets, progress: Progress | None, faults: Faults
) -> None:
    columns = ColumnTypes(known=LLMBAR_FIELDS.__contains__, names=LLMBAR_FIELDS, required=LLMBAR_FIELDS[:10])

    def add(row: Row) -> None:
        group, subset = row.identifier("group"), row.identifier("subset")
        paths = (subset, f"Adversarial/{subset}")
        item = subsets.item(
            row,
            (*paths, *(f"{group}/{path}" for path in paths)),
            row.identifier("idx"),
            field="idx",
            name=f"{group}/{subset}",
        )
        judge, strategy = row.identifier("judge", limit=100), row.identifier("strategy", limit=MAX_STRATEGY)
        scores = [_score(row, name) for name in ("score_1", "score_2")]
        is_rating = strategy.startswith("Rating") or scores != [None, None]
        if item is not None:
            for field, order in ORDERS.items():
                value, status = _value(row, field, row.get(field), scores if is_rating else None)
                _add(builder, row, item, (judge, strategy), order, value, status, field)

    rows = csv_dicts(file, lambda header: check_columns(file, header, columns, 1), faults)
    faults.each(counted_rows(rows, progress), add)


def _add_results(
    builder: BundleBuilder, path: Path, subsets: _Subsets, progress: Progress | None, faults: Faults
) -> None:
    files = sorted(path.rglob(RESULT)) if path.is_dir() else [path]
    files = [file for file in files if EVALUATORS in _folders(file)]
    if not files:
        raise ImportFileError(
            path,
            None,
            None,
            f"expected {EVALUATORS}/MODEL/STRATEGY/{RESULT} or a folder with such files, found none.",
        )

    def rows() -> Iterator[Row]:
        for file in files:
            with faults:  # a file that cannot be read does not keep the others from it
                yield from json_rows(file, faults)

    faults.each(counted_rows(rows(), progress), partial(_add_result, builder, subsets))


def _add_result(builder: BundleBuilder, subsets: _Subsets, row: Row) -> None:
    index = (row.origin.row or 1) - 1
    folders = _folders(Path(row.origin.file))
    place = len(folders) - 1 - folders[::-1].index(EVALUATORS)
    # The longest path that the dataset may have of the subset first; not that of the disk.
    above = [part for part in folders[:place] if part not in ("/", "")][-4:]
    judge = tuple(folders[place + 1 :])
    if len(judge) != 2:
        row.fail(None, f"expected the file at {EVALUATORS}/MODEL/STRATEGY/{RESULT}.")
    row.only(RESULT_FIELDS)
    candidates = ("/".join(above[start:]) for start in range(len(above)))
    item = subsets.item(row, candidates, str(index), field=None, name="/".join(above[-2:]))
    steps = row.items("results")
    if not steps:
        row.fail("results", "expected at least one step, found none.")
    last = row.within(f"results[{len(steps) - 1}]", steps[-1])
    texts = [_said(last, f"score_{number}") for number in (1, 2)] if "score_1" in last.data else None
    scores = None if texts is None else [float(text) if SCORE.match(text) else None for text in texts]
    for field, order in RESULT_ORDERS.items():
        said = last.within(field, last.require(field))
        value, status = _value(said, "winner", said.get("winner"), scores)
        if texts is not None:
            raw = f"[first response]\n{texts[0]}\n\n[second response]\n{texts[1]}"
        else:
            raw = _said(said, "completion")
        if item is not None:
            _add(builder, row, item, judge, order, value, status, f"results.{field}", raw=raw)


def _folders(file: Path) -> list[str]:
    return list(file.absolute().parent.parts)


def _said(row: Row, field: str) -> str:
    """The text of ``[text, finish_reason]``."""
    parts = row.items(field)
    return row.within(field, {"text": parts[0]}).text("text") if parts else ""


def _add(
    builder: BundleBuilder,
    row: Row,
    item: str,
    judge: Sequence[str],
    order: int,
    value: Value | None,
    status: Status,
    field: str,
    *,
    raw: str = "",
) -> None:
    model, strategy = (
        Row(row.origin, {"judge": part}).identifier("judge", limit=MAX_STRATEGY) for part in judge
    )
    builder.verdict(
        row,
        item=item,
        judge=f"{model} / {strategy}",
        order=order,
        value=value,
        status=status,
        field=field,
        raw=raw,
        model=model,
        strategy=strategy,
    )


def _value(
    row: Row, field: str, winner: object, scores: list[float | None] | None
) -> tuple[Value | None, Status]:
    """The verdict that a winner is; with scores (None where there is no such thing) the one that these give."""
    if winner is not None and (not isinstance(winner, str) or winner not in WINNERS):
        row.fail(field, f"expected 1, 2 or nothing, found {quoted(winner)}.")
    choice = WINNERS[winner]
    if scores is None:
        return (None, "unparsed") if choice is None else ({"choice": choice}, "parsed")
    value: Value = {"scores": scores, "published": choice}
    first, second = scores
    if first is None or second is None:
        return value, "unparsed"
    if first == second:
        return {"choice": 0} | value, "parsed"
    if choice != (1 if first > second else 2):
        row.fail(field, f"expected the response with the higher score, found {quoted(winner)}.")
    return {"choice": choice} | value, "parsed"


def _score(row: Row, field: str) -> float | None:
    text = row.get(field)
    if not text:
        return None
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not abs(score) < 1e9:
        row.fail(field, f"expected a number or nothing, found {quoted(text)}.")
    return score
