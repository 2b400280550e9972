"""Judges in files that somebody has: an export, YAML of one's own, or a published evaluator's files.

What a file is, is recognized by what is in it. In place of a strategy a file of one's own may name a published
evaluator in a copy of its authors' files::

    published: {format: alpaca_eval, path: evaluators_configs/weighted_alpaca_eval_gpt4_turbo}
    model: my-model
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import Any

from judges.services.published_files import PublishedError, PublishedJudge, evaluator_read
from judges.strategies.documents import JudgeDocument, document_read
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import known_fields, require
from web.yaml_text import YamlError, yaml_read

MOST_BYTES = 20_000_000
LISTED = 20
"""Evaluators that a message names."""
OWN = "judge"
"""The format of exports, and of files of one's own."""
FORMAT_WORDS: Mapping[str, str] = {
    OWN: "A Touchstone judge",
    "llmbar": "LLMBar",
    "alpaca_eval": "AlpacaEval",
    "fastchat": "MT-bench (FastChat)",
    "arena_hard": "Arena-Hard",
}
_PUBLISHED = frozenset({"format", "path", "evaluator"})
_OF_JUDGES = frozenset({"schema", "spec", "strategy", "published"})
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class FoundJudge:
    """A judge that a folder of files has.

    Attributes
    ----------
    name : str
        By which it is chosen; no other one of the folder has it.
    form : str
        A key of `FORMAT_WORDS`.
    path : str
        In the folder: what `evaluator_read` takes, or the file of one's own.
    evaluator : str
        Which one of a path that has several.
    """

    name: str
    form: str
    path: str
    evaluator: str = ""


@dataclass(frozen=True, slots=True)
class FileJudge:
    """A judge as it was read.

    Attributes
    ----------
    notes : tuple of str
        What of a published evaluator is not carried over, and why; for people.
    endpoint : str
        What a file of one's own names in the place of an address: an endpoint of a site.
    """

    document: JudgeDocument
    notes: tuple[str, ...] = ()
    endpoint: str = ""


def judges_found(folder: Path) -> list[FoundJudge]:
    """Return the judges that the files of a folder hold, in the order of their paths.

    Raises
    ------
    SpecError
        There is none; says what was expected, or why a file cannot be read.
    """
    found: list[FoundJudge] = []
    problems: list[SpecError] = []
    of_llmbar = [path for path in sorted(folder.rglob("config")) if (path.parent / "prompts").is_dir()]
    for config in of_llmbar:
        for path in sorted(config.rglob("*.json")):
            evaluator = path.relative_to(config).as_posix().removesuffix(".json")
            found.append(FoundJudge(evaluator, "llmbar", _inside(config.parent, folder), evaluator))
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(config in path.parents for config in of_llmbar):
            try:
                found += _found_in(path, _inside(path, folder))
            except SpecError as error:
                problems.append(SpecError(_inside(path, folder), error.problem))
    if not found:
        if problems:
            raise problems[0]
        raise SpecError(
            "files",
            "expected a judge: a judge.json, a YAML of your own with a strategy, AlpacaEval's or HREF's configs.yaml "
            "with its prompts, LLMBar's folders config and prompts, MT-bench's judge_prompts.jsonl, or Arena-Hard's "
            "configuration. None of these files is one.",
        )
    names = Counter(each.name for each in found)
    return [
        replace(each, name=f"{each.name} ({each.path})") if names[each.name] > 1 else each for each in found
    ]


def _inside(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _found_in(path: Path, inside: str) -> Iterator[FoundJudge]:
    """The judges of one file, which LLMBar's folder is not."""
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for line in path.read_bytes().splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                return
            if isinstance(row, dict) and isinstance(row.get("name"), str) and "prompt_template" in row:
                yield FoundJudge(row["name"], "fastchat", inside, row["name"])
        return
    if suffix not in (".json", *_YAML):
        return
    if suffix == ".json" and not path.read_bytes()[:1_000].lstrip().startswith(b"{"):
        return  # a list of data, which is no judge and would be read as YAML
    values = values_read(path)
    if not isinstance(values, dict):
        return
    if not _OF_JUDGES.isdisjoint(values):
        yield FoundJudge(path.name, OWN, inside)
    elif suffix not in _YAML:
        return
    elif "prompt_template" in values or "regex_pattern" in values or "regex_patterns" in values:
        yield FoundJudge(str(values.get("bench_name") or path.stem), "arena_hard", inside)
    else:
        for name, config in values.items():
            if isinstance(config, dict) and "prompt_template" in config:
                yield FoundJudge(str(name), "alpaca_eval", inside, str(name))


def judge_read(
    found: FoundJudge, folder: Path, *, model: str = "", params: Mapping[str, Any] | None = None
) -> FileJudge:
    """Read one of the judges of a folder.

    Parameters
    ----------
    folder : Path
        Where it was found; nothing that its files name may lead out of it.
    model : str
        In place of the one that a published evaluator, or a file of one's own, names.
    params : mapping or None
        Settings of the strategy for a published evaluator: ``drawn_order`` and ``seed``.

    Raises
    ------
    SpecError
        Names the field.
    """
    path = folder / found.path
    if found.form == OWN:
        return own_read(path, within=folder, model=model)
    try:
        read = evaluator_read(found.form, path, found.evaluator)
    except PublishedError as error:
        raise SpecError(found.name, str(error).replace(f"{folder}/", "")) from None
    given = {"model": model} if model else {}
    return FileJudge(document_read(_evaluator(read) | given | {"params": dict(params or {})}), read.notes)


def own_read(path: Path, *, within: Path | None = None, model: str = "") -> FileJudge:
    """Read an export, or YAML or JSON of one's own, which may name an endpoint of a site in place of an address.

    Parameters
    ----------
    within : Path or None
        A folder that nothing which the file names may lead out of.
    model : str
        In place of the one in a file of one's own.

    Raises
    ------
    SpecError
        Names the field.
    OSError
    """
    values = values_read(path)
    if not isinstance(values, dict) or "spec" in values:
        if model:
            raise SpecError("model", "an exported judge keeps its model; leave this empty.")
        return _read(values, path.parent, within=within)
    values |= {"model": model} if model else {}
    named = values.get("endpoint")
    if not isinstance(named, str) or "/" in named:
        return _read(values, path.parent, within=within)
    del values["endpoint"]
    return replace(_read(values, path.parent, within=within), endpoint=named)


def judge_of_file(path: Path, *, evaluator: str = "", model: str = "") -> FileJudge:
    """Read a judge from an export, from YAML or JSON of one's own, or from the authors' files of a published evaluator.

    Parameters
    ----------
    path : Path
        A file, or a folder of the authors' files.
    evaluator : str
        Which one, where the files have several.
    model : str
        In place of the one that a published evaluator names.

    Raises
    ------
    SpecError
        Names the file and the field; of several evaluators it lists their names.
    OSError
    """
    try:
        found = _published_found(path)
        if found is None:
            if evaluator:
                raise SpecError("evaluator", "expected none: the file is one judge.")
            return _read(values_read(path), path.parent)
        return judge_read(_chosen(found, evaluator), path if path.is_dir() else path.parent, model=model)
    except SpecError as error:
        where = "" if error.field == str(path) else f"{path}, "
        raise SpecError(f"{where}{error.field}", error.problem) from None


def _published_found(path: Path) -> list[FoundJudge] | None:
    """The judges of a folder, or of one of the authors' files; None where the file is a judge by itself."""
    if path.is_dir():
        return judges_found(path)
    for config in path.parents:
        if config.name == "config" and (config.parent / "prompts").is_dir():  # LLMBar's, one evaluator a file
            evaluator = path.relative_to(config).as_posix().removesuffix(".json")
            return [FoundJudge(evaluator, "llmbar", relpath(config.parent, path.parent), evaluator)]
    found = list(_found_in(path, path.name)) if path.stat().st_size <= MOST_BYTES else []
    return None if not found or found[0].form == OWN else found


def _chosen(found: list[FoundJudge], evaluator: str) -> FoundJudge:
    if len(found) == 1 and not evaluator:
        return found[0]
    for one in found:
        if one.name == evaluator:
            return one
    names = ", ".join(one.name for one in found[:LISTED])
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    said = f"there is no '{evaluator}'" if evaluator else f"there are {len(found)}: say which one"
    raise SpecError("evaluator", f"{said}. Expected one of {names}{more}.")


def values_read(path: Path) -> Any:
    """Return what a file of JSON or YAML says; raises SpecError, whose field is the path, and OSError."""
    if path.stat().st_size > MOST_BYTES:
        raise SpecError(str(path), f"larger than {MOST_BYTES:,} bytes.")
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if text.lstrip().startswith("{") else yaml_read(text)
    except UnicodeDecodeError:
        raise SpecError(str(path), "not UTF-8 text.") from None
    except (YamlError, ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, YamlError) else f"not JSON ({error})."
        raise SpecError(str(path), what) from None


def _read(values: Any, folder: Path, *, within: Path | None = None) -> FileJudge:
    if not isinstance(values, dict) or "published" not in values:
        return FileJudge(document_read(values))
    values = dict(values)
    given = known_fields(values.pop("published"), "published", _PUBLISHED, prefix="published.")
    for name in ("format", "path"):
        require(f"published.{name}", given.get(name), str)
    evaluator = given.get("evaluator", "")
    require("published.evaluator", evaluator, str)
    path = folder / given["path"]
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise SpecError("published.path", "expected a path inside the files that were sent.")
    try:
        read = evaluator_read(given["format"], path, evaluator)
    except PublishedError as error:
        raise SpecError("published", str(error).replace(f"{within}/", "")) from None
    return FileJudge(document_read({**_evaluator(read), **values, "strategy": "published"}), read.notes)


def _evaluator(read: PublishedJudge) -> dict[str, Any]:
    """Return the fields of a judge that asks as a published evaluator does."""
    return {
        "name": read.name,
        "model": read.model,
        "strategy": "published",
        "prompt": "published.v1",
        "prompt_source": read.evaluator.to_text(),
    }
