"""Annotations of people and of LLMs in two JSON files, as the alternative annotator test takes them.

Source: https://github.com/nitaytech/AltTest (`data/*/human_annotations.json`, `llm_annotations.json`, `prompts.json`;
N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge", ACL 2025).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.archives import folder_or_zip
from annotation.importers.build import AspectFields, BundleBuilder
from annotation.importers.categories import MOST
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.files import read_document
from annotation.importers.records import EMPTY, DatasetBundle, Origin
from annotation.importers.rows import MAX_ASPECT_KEY, MAX_JUDGE, Row
from annotation.kinds.classification import CategoryScheme, Classification

HUMANS, LLMS, PROMPTS = "human_annotations.json", "llm_annotations.json", "prompts.json"
PART = "__"
"""Joins the id of a text with the name of a feature in the id of an instance."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one annotator said of one instance; `row` is its place in the file."""

    row: Row
    annotator: str
    instance: str
    value: Any


def read_alternative_annotators(path: str | Path) -> DatasetBundle:
    """Read a folder, or a zip of it: `human_annotations.json`, and optionally `llm_annotations.json`, `prompts.json`.

    Each instance is an item to classify. Its categories are the values that people and LLMs gave in the files:
    numbers are categories in order, at interval level. The text is the prompt of the instance; an instance
    ``TEXT__FEATURE`` without a prompt of its own has the one of ``TEXT``, and items of one prompt share an
    instruction. Without prompts the text is the id. An LLM's null is an unparsed verdict.
    """
    with folder_or_zip(Path(path)) as top:
        found = sorted(top.rglob(HUMANS))
        if len(found) != 1:
            how_many = f"found {len(found)}" if found else "found none"
            raise ImportFileError(path, None, None, f"expected a folder with one file {HUMANS}, {how_many}.")
        humans, folder = found[0], found[0].parent
        builder = BundleBuilder(f"alternative-annotators: {Path(path).name}")
        faults = Faults()
        people = list(_said(humans, faults))
        llms = list(_said(folder / LLMS, faults)) if (folder / LLMS).is_file() else []
        prompts = _prompts(folder / PROMPTS) if (folder / PROMPTS).is_file() else EMPTY
        faults.check()
        with faults:
            _add(builder, people, llms, prompts, faults)
        faults.check()
        return builder.finish(path)


def _said(file: Path, faults: Faults) -> Iterator[_Said]:
    """Each annotation of a file that has an object of annotators, each with an object of instances."""
    document = read_document(file)
    if not isinstance(document, dict) or not document:
        raise ImportFileError(
            file, None, None, "expected an object of annotators, each with their annotations."
        )
    for number, (annotator, given) in enumerate(document.items(), start=1):
        row = Row(Origin(str(file), number), {"annotator": annotator})
        with faults:
            name = row.identifier("annotator", limit=MAX_JUDGE)
            if not isinstance(given, dict):
                row.fail(annotator, f"expected an object of instances, found {quoted(given)}.")
            for instance, value in given.items():
                yield _Said(row, name, instance, value)


def _prompts(file: Path) -> Mapping[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict):
        raise ImportFileError(file, None, None, "expected an object of instances, each with its prompt.")
    return document


def _add(
    builder: BundleBuilder, people: list[_Said], llms: list[_Said], prompts: Mapping[str, Any], faults: Faults
) -> None:
    names = {id(one): name for one in (*people, *llms) if (name := faults.tried(partial(_category, one)))}
    found = set(names.values())
    if len(found) > MOST:
        message = (
            f"expected at most {MOST} different values, found {len(found):,}: free text has no categories."
        )
        people[0].row.fail(None, message)
    # Text that looks like a number is a name.
    are_numbers = all(isinstance(one.value, int | float) for one in people) and all(map(_is_number, found))
    order = sorted(found, key=float) if are_numbers else sorted(found)
    scheme = CategoryScheme("interval" if are_numbers else "nominal", False, tuple(order))
    categories: list[AspectFields] = [(name, name, None, EMPTY) for name in order]
    known: set[str] = set()
    for one in people:
        with faults:
            if one.instance not in known:
                _add_item(builder, one, prompts, categories, scheme)
                known.add(one.instance)
            if id(one) in names:
                value = _value(names[id(one)], order)
                builder.label(
                    one.row, item=one.instance, annotator=one.annotator, value=value, field=one.instance
                )
    for one in llms:
        with faults:
            if one.instance not in known:
                continue  # what no person annotated says nothing of the judge
            name = names.get(id(one))
            builder.verdict(
                one.row,
                item=one.instance,
                judge=one.annotator,
                order=0,
                value=None if name is None else _value(name, order),
                field=one.instance,
                model=one.annotator,
            )


def _add_item(
    builder: BundleBuilder,
    one: _Said,
    prompts: Mapping[str, Any],
    categories: list[AspectFields],
    scheme: CategoryScheme,
) -> None:
    row = Row(one.row.origin, {"instance": one.instance})
    item = row.identifier("instance")
    builder.declare_categories(row, scheme, categories)
    key, prompt = _prompt(row, item, prompts)
    instruction = builder.instruction(row, text=prompt, key=key, aspects=categories)
    builder.item(row, external_id=item, kind=Classification.name, instruction=instruction)


def _prompt(row: Row, item: str, prompts: Mapping[str, Any]) -> tuple[str, str]:
    """The key and the text of an instance's prompt, or its id twice."""
    key = item
    while key not in prompts and PART in key:
        key = key.rpartition(PART)[0]
    if key not in prompts:
        return item, item
    prompt = row.within(f"prompts.{key}", prompts[key])
    return key, prompt.text("str_prompt", required=True)


def _category(one: _Said) -> str | None:
    """The name of a value as a category, None where it is null."""
    value = one.value
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        one.row.fail(one.instance, f"expected text or a number, found {quoted(value)}.")
    name = value if isinstance(value, str) else f"{value:g}"
    return Row(one.row.origin, {one.instance: name.strip()}).identifier(one.instance, limit=MAX_ASPECT_KEY)


def _value(name: str, order: list[str]) -> dict[str, Any]:
    return {"categories": {category: category == name for category in order}}


def _is_number(name: str) -> bool:
    try:
        return abs(float(name)) < float("inf")
    except ValueError:
        return False
