"""RM-Bench: three right and three wrong responses to a prompt, each concise, detailed, and detailed in Markdown.

Source: https://github.com/THU-KEG/RM-Bench (`data/total_dataset.json` or its parts; Y. Liu et al., "RM-Bench:
Benchmarking Reward Models of Language Models with Subtlety and Style", ICLR 2025).
"""

from functools import partial
from itertools import product
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, quoted
from annotation.importers.folders import table_files
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import Row, one_of
from annotation.importers.tables import plain_rows

DOMAINS = ("chat", "code", "math", "safety-refuse", "safety-response")
STYLES = ("concise", "detailed", "markdown")


def read_rmbench(path: str | Path) -> DatasetBundle:
    """Read a file of prompts (JSON, JSON Lines or Parquet), or a folder: its total where it has one, or its parts.

    A prompt becomes nine pairs, each right response with each wrong one, of which the right one comes first and is
    gold. Their subset is the domain and how hard the styles make it, ``math/hard``: hard where the wrong one has
    the richer style, easy where the right one has it, normal where both have one. An item's id is the row's and
    both styles: ``12/concise-markdown``.
    """
    path = Path(path)
    files = table_files(path)
    files = [file for file in files if file.stem == "total_dataset"] or files
    builder = BundleBuilder(f"rmbench: {path.name}")
    faults = Faults()
    for file in files:
        faults.each(plain_rows(file, faults), partial(_add, builder))
    faults.check()
    return builder.finish(path)


def _add(builder: BundleBuilder, row: Row) -> None:
    external_id = row.identifier("id", limit=150)
    domain = row.require("domain")
    if not isinstance(domain, str) or domain not in DOMAINS:
        row.fail("domain", f"expected {one_of(DOMAINS)}, found {quoted(domain)}.")
    prompt = row.text("prompt", required=True)
    right, wrong = (_styles(row, name) for name in ("chosen", "rejected"))
    for one, other in product(range(len(STYLES)), repeat=2):
        level = difficulty(one, other)
        builder.pair(
            row,
            external_id=f"{external_id}/{STYLES[one]}-{STYLES[other]}",
            # A prompt of each level: a subset belongs to an instruction.
            instruction=builder.instruction(
                row, text=prompt, category=domain, subset=f"{domain}/{level}", key=f"{external_id}/{level}"
            ),
            texts=(right[one], wrong[other]),
            gold={"choice": 1},
        )


def difficulty(right: int, wrong: int) -> str:
    """How hard the styles of a right and a wrong response make it, by their places in `STYLES`.

    >>> difficulty(0, 2), difficulty(1, 1), difficulty(2, 0)
    ('hard', 'normal', 'easy')
    """
    return "hard" if right < wrong else "normal" if right == wrong else "easy"


def _styles(row: Row, field: str) -> list[str]:
    given = row.items(field)
    if len(given) != len(STYLES):
        row.fail(field, f"expected three responses ({', '.join(STYLES)}), found {len(given)}.")
    return [row.within(f"{field}[{n}]", {"text": one}).answer("text") for n, one in enumerate(given)]
