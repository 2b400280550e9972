"""The files of AlpacaEval's annotations and of LLMBar; `annotation.importers` reads them again. Both hold pairs."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from annotation.kinds import kind_of
from annotation.peers.items import PeerItem
from annotation.peers.records import json_list

UNSAFE = re.compile(r"[^A-Za-z0-9 _.-]")


def alpaca_eval_write(items: Iterable[PeerItem]) -> Iterator[bytes]:
    """A row a label of a pair, as AlpacaEval's human annotations: 1, 2, or 1.5 for a draw."""
    people: dict[str, int] = {}

    def rows() -> Iterator[dict[str, Any]]:
        for item in items:
            if not is_pair(item):
                continue
            first, second = item.responses
            for label in item.labels:
                yield {
                    "instruction": item.instruction,
                    "output_1": first["text"],
                    "output_2": second["text"],
                    "preference": label.value["choice"] or 1.5,
                    "annotator_index": people.setdefault(label.annotator, len(people)),
                    "dataset": item.subset,
                    "datasplit": "eval",
                }

    return json_list(rows())


def llmbar_write(items: Iterable[PeerItem]) -> Iterator[bytes]:
    """The items of one subset that have a gold that is no tie."""
    return json_list(
        {
            "input": item.instruction,
            "output_1": item.responses[0]["text"],
            "output_2": item.responses[1]["text"],
            "label": item.gold["choice"],
        }
        for item in items
        if is_pair(item) and item.gold is not None and item.gold.get("choice") in (1, 2)
    )


def is_pair(item: PeerItem) -> bool:
    """Whether an item is two responses as one text each."""
    return kind_of(item.kind).responses == (2, 2) and all("text" in one for one in item.responses)


def member_path(subset: str) -> str:
    """The folder of a subset in an archive: no part of it leads out of where it is unpacked."""
    parts = [UNSAFE.sub("_", part).strip(". ") for part in subset.split("/")]
    return "/".join(part for part in parts if part) or "items"
