"""Files of verdicts for a dataset that is stored already: LLMBar's table, and the generic one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from annotation.domain.values import ValueRules
from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY, read_scores, readable
from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.records import Status, Value, VerdictRecord
from annotation.importers.rows import MAX_JUDGE, Row
from annotation.importers.tables import Columns, check_columns, csv_dicts, table_rows
from annotation.importers.values import read_value

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
WINNERS: Mapping[str, int | None] = {"1": 1, "2": 2, "": None}
ORDERS = {"winner_noswap": 0, "winner_swap": 1}

GENERIC_FIELDS = ("item", "judge", "order", "verdict", "raw", "model", "strategy", "score_1", "score_2")
GENERIC_COLUMNS = Columns(
    known=lambda name: name in GENERIC_FIELDS,
    names=GENERIC_FIELDS,
    required=("item", "judge", "verdict"),
    value=lambda name: name in ("order", "verdict", "score_1", "score_2"),
)
Progress = Callable[[str, int], None]


def read_llmbar_judgments(
    path: str | Path, gold: Mapping[str, int | None], progress: Progress | None = None
) -> tuple[VerdictRecord, ...]:
    """Read LLMBar's table of stored verdicts; each row holds both presentation orders.

    A rating strategy scores each response by itself. Equal scores are a hedge, stored as a tie (0) with the
    scores, and a missing score is unparsed, in both orders; what the table says of the winner, where it
    counts a hedge as one order each, is kept as `published`.

    Parameters
    ----------
    gold : mapping
        The dataset's items by external id, with their gold choice: every row must be about one of them, and
        agree with it.
    """
    file = Path(path)
    builder = BundleBuilder("llmbar")
    columns = Columns(
        known=LLMBAR_FIELDS.__contains__,
        names=LLMBAR_FIELDS,
        required=LLMBAR_FIELDS[:10],
    )
    rows = csv_dicts(file, lambda header: check_columns(file, header, columns, 1))
    for number, row in enumerate(rows, start=1):
        item = _llmbar_item(row, gold)
        judge, strategy = row.identifier("judge", limit=100), row.identifier("strategy", limit=MAX_STRATEGY)
        for field, order in ORDERS.items():
            value, status = _llmbar_value(row, field, strategy)
            builder.verdict(
                row,
                item=item,
                judge=f"{judge} / {strategy}",
                order=order,
                value=value,
                status=status,
                field=field,
                model=judge,
                strategy=strategy,
            )
        if progress is not None and number % 10_000 == 0:
            progress("rows", number)
    return _some(builder, file)


def _llmbar_item(row: Row, gold: Mapping[str, int | None]) -> str:
    """The item that the row is about, wherever the dataset has its folder."""
    group, subset, index = row.identifier("group"), row.identifier("subset"), row.identifier("idx")
    paths = (subset, f"Adversarial/{subset}")
    candidates = [*(f"{path}/{index}" for path in paths), *(f"{group}/{path}/{index}" for path in paths)]
    item = next((candidate for candidate in candidates if candidate in gold), None)
    if item is None:
        row.fail(
            "idx", f"expected an item of the dataset; it has neither {candidates[0]!r} nor {candidates[1]!r}."
        )
    if row.get("label") != str(gold[item]):
        row.fail("label", f"expected {gold[item]}, the gold of {item!r}, found {quoted(row.get('label'))}.")
    return item


def _llmbar_value(row: Row, field: str, strategy: str) -> tuple[Value | None, Status]:
    winner = row.get(field)
    if winner not in WINNERS:
        row.fail(field, f"expected 1, 2 or nothing, found {quoted(winner)}.")
    choice = WINNERS[winner]
    scores = [_score(row, name) for name in ("score_1", "score_2")]
    if not strategy.startswith("Rating") and scores == [None, None]:
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


def read_verdicts(
    path: str | Path, rules_by_item: Mapping[str, ValueRules], progress: Progress | None = None
) -> tuple[VerdictRecord, ...]:
    """Read a generic table of verdicts (JSONL, CSV or Parquet), one row a verdict.

    Parameters
    ----------
    rules_by_item : mapping
        The dataset's items by external id, with what decides which values are right.
    """
    file = Path(path)
    builder = BundleBuilder("generic")
    for number, row in enumerate(table_rows(file, GENERIC_COLUMNS), start=1):
        item = row.identifier("item")
        if item not in rules_by_item:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        if "verdict" not in row.data:
            row.fail("verdict", "expected a verdict, or null where the judge's answer could not be read.")
        raw_value = readable(row.get("verdict"))
        value = None if raw_value is None else read_value(row, "verdict", raw_value, rules_by_item[item])
        pair = [row.get("score_1"), row.get("score_2")]
        scores = read_scores(row, None if pair == [None, None] else pair, rules_by_item[item].n_responses)
        builder.verdict(
            row,
            item=item,
            judge=row.identifier("judge", limit=MAX_JUDGE),
            order=0 if row.get("order") is None else row.number_in("order", (0, 1)),
            value=value if scores is None else (value or {}) | {"scores": scores},
            status="unparsed" if value is None else "parsed",
            field="verdict",
            raw=row.text("raw"),
            model=row.text("model", limit=MAX_JUDGE),
            strategy=row.text("strategy", limit=MAX_STRATEGY) or "imported",
        )
        if progress is not None and number % 10_000 == 0:
            progress("rows", number)
    return _some(builder, file)


def _some(builder: BundleBuilder, file: Path) -> tuple[VerdictRecord, ...]:
    if not builder.verdicts:
        raise ImportFileError(file, None, None, "there is nothing in it; expected at least one verdict.")
    return builder.verdicts
