"""Judgments as a table, a row a judgment, streamed so that memory does not grow with the dataset."""

import json
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any

from django.db.models import CharField, QuerySet, TextField
from django.db.models.functions import Cast

from annotation.kinds import kind_of
from annotation.models import Item
from judges.backends.answerers import answerers_words
from judges.models import Order
from judges.selectors.reading import judge_identities, judgments_on_items
from web.batches import batched
from web.tables import ExportTable, TableColumn, json_normal

CHUNK = 100
"""Items whose judgments are read at once: with 100 judges in both orders, 20,000 rows."""
COLUMNS = (
    TableColumn("item", "text", "Identifier of the item in the dataset."),
    TableColumn("judge", "text", "Name of the judge."),
    TableColumn("order", "integer", "Presentation order: 0 as stored, 1 swapped."),
    TableColumn("choice", "integer", "Of a pair, canonical: 1 or 2 = this response is better, 0 = tie."),
    TableColumn(
        "value", "json", "The verdict in the form of a label, in the canonical order of the responses."
    ),
    TableColumn("raw_text", "text", "The judge's answer."),
    TableColumn(
        "fingerprint", "text", "Hash of everything in the judge's configuration that can change an answer."
    ),
    TableColumn("kind", "text", "Kind of the item."),
    TableColumn("sample", "integer", "Number of the repetition, from 0."),
    TableColumn("status", "text", "parsed, unparsed or failed."),
    TableColumn(
        "probability", "number", "Of a pair: probability that the first response is better, canonical."
    ),
    TableColumn("category", "text", "Category of the instruction."),
    TableColumn("subset", "text", "Subset of the instruction, a path."),
    TableColumn("gold", "json", "The known right answer of the item."),
    TableColumn("requests", "integer", "Requests that it took, shared ones included."),
    TableColumn("cost", "number", "US dollars, at the prices when it was made."),
    TableColumn("latency_ms", "number", "Model time, summed over its requests."),
    TableColumn("source", "text", "Of an imported verdict: file and row."),
    TableColumn("created_at", "time", "When it was stored, in UTC."),
    TableColumn("answered_by", "text", "The models that answered, as their servers name them."),
    TableColumn("dataset", "text", "Name of the dataset."),
    TableColumn("instruction", "text", "Identifier of the instruction. Items of one are not independent."),
    TableColumn("model", "text", "Model of the judge."),
    TableColumn("strategy", "text", "Prompting strategy of the judge."),
    TableColumn("shown_order", "integers", "Of a pair: positions in the order shown; [1, 0] is swapped."),
    TableColumn("prompt_tokens", "integer", "Over its requests, where the servers report it."),
    TableColumn("completion_tokens", "integer", "Over its requests, where the servers report it."),
    TableColumn(
        "reasoning_tokens", "integer", "How many of them were thoughts, where the servers report it."
    ),
    TableColumn("reason", "text", "Why a verdict couldn't be parsed, or the judge's reason."),
    TableColumn("thought", "text", "The models' reasoning before the answer."),
)
_SHOWN: dict[int, list[int]] = {Order.ORIGINAL: [0, 1], Order.SWAPPED: [1, 0]}
_READ = (
    "item_id", "judge_id", "order", "sample", "status", "choice", "probability", "value_text", "raw_text", "thought",
    "source", "requests", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost", "latency_ms",
    "answered_by", "made",
)  # fmt: skip


def judgments_table(
    items: QuerySet[Item],
    *,
    judge_ids: Collection[int] | None = None,
    on_items: Callable[[int], None] | None = None,
) -> ExportTable:
    """Judgments of these items, or those of some judges, in the order of the items, then by judge, order and sample.

    Parameters
    ----------
    on_items : callable, optional
        Called now and then with how many items are done.
    """
    return ExportTable(COLUMNS, _rows(items, judge_ids, on_items))


def _rows(
    items: QuerySet[Item], judge_ids: Collection[int] | None, on_items: Callable[[int], None] | None
) -> Iterator[tuple[Any, ...]]:
    judges: dict[int, tuple[str, ...]] = {}
    texts = ("external_id", "instruction__external_id", "instruction__category", "instruction__subset")
    about = (
        items.annotate(gold_text=Cast("gold", TextField()))
        .order_by("dataset_id", "position", "pk")
        .values_list("pk", "kind", "dataset__name", "gold_text", *texts)
    )
    done = 0
    for chunk in batched(about.iterator(chunk_size=CHUNK), CHUNK):
        known = {row[0]: (place, *row[1:]) for place, row in enumerate(chunk)}
        # What needs no Python value is read as text: this is what most of the time would go to.
        read = judgments_on_items(known, judge_ids=judge_ids).annotate(
            value_text=Cast("value", TextField()), made=Cast("created_at", CharField())
        )
        rows = list(read.values_list(*_READ))
        if new := {row[1] for row in rows} - judges.keys():
            judges |= judge_identities(new)
        rows.sort(key=lambda row: (known[row[0]][0], judges[row[1]][0], row[1], row[2], row[3]))
        for (
            item, judge, order, sample, status, choice, probability, value, raw, thought,
            source, requests, prompt_tokens, completion_tokens, reasoning_tokens, cost, latency, answered_by, made,
        ) in rows:  # fmt: skip
            _, kind, dataset, gold, external_id, instruction, category, subset = known[item]
            name, fingerprint, model, strategy = judges[judge]
            yield (
                external_id, name, order, choice, None if value is None else json_normal(value), raw, fingerprint,
                kind, sample, status, probability, category, subset, None if gold is None else json_normal(gold),
                requests, cost, latency, source, _utc(made), answered_by and _answerers(answered_by), dataset,
                instruction, model, strategy, _SHOWN[order] if _is_presented(kind) else None,
                prompt_tokens, completion_tokens, reasoning_tokens,
                _reason(value) if value and '"reason"' in value else None, thought,
            )  # fmt: skip
        done += len(chunk)
        if on_items is not None:
            on_items(done)


_answerers = lru_cache(maxsize=1_024)(answerers_words)


@lru_cache
def _is_presented(kind: str) -> bool:
    return kind_of(kind).presented


def _reason(value: str) -> str | None:
    said = json.loads(value).get("reason")
    return said if isinstance(said, str) else None


def _utc(moment: str) -> str:
    """A time as a database writes it, in the form of files."""
    text = f"{moment[:10]}T{moment[11:].removesuffix('+00')}"
    return f"{text.ljust(26, '0') if '.' in text else text}Z"  # PostgreSQL leaves out zeros at the end
