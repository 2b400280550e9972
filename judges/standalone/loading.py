"""A judge from a file: an export, or a specification of your own in YAML or JSON.

In place of a strategy it may name a published evaluator in a copy of its authors' files::

    published: {format: alpaca_eval, path: evaluators_configs/weighted_alpaca_eval_gpt4_turbo}
    model: my-model
"""

import json
from pathlib import Path
from typing import Any

from judges.services.published_files import PublishedError, evaluator_read
from judges.strategies.documents import JudgeDocument, document_read
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import known_fields, require
from web.yaml_text import YamlError, yaml_read

MOST_BYTES = 20_000_000


def judge_of_file(path: Path) -> JudgeDocument:
    """Read a judge.

    Raises
    ------
    SpecError
        Names the file and the field.
    OSError
    """
    if path.stat().st_size > MOST_BYTES:
        raise SpecError(str(path), f"larger than {MOST_BYTES:,} bytes.")
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if text.lstrip().startswith("{") else yaml_read(text)
    except UnicodeDecodeError:
        raise SpecError(str(path), "not UTF-8 text.") from None
    except (YamlError, ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, YamlError) else f"not JSON ({error})."
        raise SpecError(str(path), what) from None
    try:
        if isinstance(values, dict) and "published" in values:
            values = _published(dict(values), path.parent)
        return document_read(values)
    except SpecError as error:
        raise SpecError(f"{path}, {error.field}", error.problem) from None


def _published(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the fields of a judge that asks as a published evaluator does, read from its files."""
    given = known_fields(values.pop("published"), "published", _PUBLISHED, prefix="published.")
    for name in ("format", "path"):
        require(f"published.{name}", given.get(name), str)
    evaluator = given.get("evaluator", "")
    require("published.evaluator", evaluator, str)
    try:
        read = evaluator_read(given["format"], folder / given["path"], evaluator)
    except PublishedError as error:
        raise SpecError("published", str(error)) from None
    own = {"name": read.name, "model": read.model, "prompt": "published.v1"}
    return {**own, **values, "strategy": "published", "prompt_source": read.evaluator.to_text()}


_PUBLISHED = frozenset({"format", "path", "evaluator"})
