"""Published evaluators, read from a user's own copy of LLMBar's or AlpacaEval's files, as judges."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.models import User
from judges.models import Endpoint, Judge
from judges.services.judges import judge_create
from judges.services.yaml_text import YamlError, yaml_read
from judges.strategies.errors import SpecError
from judges.strategies.published_config import (
    ALPACA_EVAL,
    COMPARE,
    LLMBAR,
    RATE,
    SWAP,
    Published,
    PublishedStep,
    published_check,
)
from judges.strategies.published_parsers import parser_check

MOST_BYTES = 1_000_000
_LLMBAR_STEP = frozenset(
    {"prompt", "model_name", "openai_kwargs", "generate_kwargs", "palm_kwargs", "parsing"}
)
_CARRIED = frozenset(
    {
        *("max_tokens", "max_output_tokens", "max_new_tokens", "max_tokens_to_sample"),
        *("temperature", "engine", "model_name"),
    }
)
_ALPACA_CARRIED = _CARRIED | {
    "logprobs",
    "top_logprobs",
    "functions",
    "function_call",
    "tools",
    "tool_choice",
}
_ALPACA_KNOWN = frozenset(
    {
        "prompt_template",
        "fn_completions",
        "completions_kwargs",
        "fn_completion_parser",
        "completion_parser_kwargs",
        "batch_size",
    }
)


class PublishedError(Exception):
    """The files cannot be read as a published evaluator; names the file and the field."""


@dataclass(frozen=True, slots=True)
class PublishedJudge:
    """An evaluator as it was read.

    Attributes
    ----------
    model : str
        The model that it names.
    notes : tuple of str
        What of it is not carried over, and why; for people.
    """

    name: str
    evaluator: Published
    model: str
    notes: tuple[str, ...] = ()


def llmbar_read(*, folder: Path, evaluator: str) -> PublishedJudge:
    """Read one of LLMBar's evaluators.

    Parameters
    ----------
    folder : Path
        The folder with ``config/`` and ``prompts/``: ``LLMEvaluator/evaluators`` in its repository.
    evaluator : str
        Such as ``"GPT-4/Swap_CoT"``.

    Raises
    ------
    PublishedError
    """
    path = _inside(folder / "config", f"{evaluator}.json")
    rows = _json(path)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise PublishedError(f"{path}: expected a list of steps.")
    notes: dict[str, None] = {}
    steps, folders = [], []
    for place, row in enumerate(rows):
        where = f"{path}, step {place + 1}"
        prompt = row.get("prompt")
        if not isinstance(prompt, str):
            raise PublishedError(f"{where}: 'prompt' is missing.")
        if unknown := sorted(row.keys() - _LLMBAR_STEP):
            raise PublishedError(f"{where}: '{unknown[0]}' is not known.")
        settings: object = next(
            (row[name] for name in ("openai_kwargs", "generate_kwargs", "palm_kwargs") if name in row), {}
        )
        steps.append(_step(where, _text(_inside(folder / "prompts", prompt)), settings, _CARRIED, notes))
        folders.append(Path(prompt).parts[0])
    parsing = rows[-1].get("parsing")
    mode = RATE if folders[-1] == "rating" else SWAP if folders[-1] == "swap_and_synthesize" else COMPARE
    if mode == SWAP and len(steps) != 2:
        raise PublishedError(f"{path}: expected two steps, found {len(steps)}.")
    if mode != RATE and not isinstance(parsing, Mapping):
        raise PublishedError(f"{path}, last step: 'parsing' is missing.")
    if mode == SWAP and (first := rows[0].get("parsing")) != parsing:
        if not isinstance(first, Mapping):
            raise PublishedError(f"{path}, step 1: 'parsing' is missing.")
        steps[0] = replace(steps[0], parser_options={"parsing": first})
    return _checked(
        path,
        PublishedJudge(
            name=f"LLMBar {evaluator}",
            evaluator=Published(
                dialect=LLMBAR,
                mode=mode,
                steps=tuple(steps),
                parser="llmbar_parser",
                parser_options={"parsing": parsing or {}},
            ),
            model=str(rows[-1].get("model_name", "")),
            notes=tuple(notes),
        ),
    )


def alpaca_eval_read(*, path: Path, name: str = "") -> PublishedJudge:
    """Read an annotator of AlpacaEval.

    Parameters
    ----------
    path : Path
        A ``configs.yaml``, or its folder. Prompt files are looked for beside it and beside its folder, as there.
    name : str
        Which of its annotators; needed only if there are several.

    Raises
    ------
    PublishedError
    """
    path = path / "configs.yaml" if path.is_dir() else path
    try:
        configs = yaml_read(_text(path))
    except YamlError as error:
        raise PublishedError(f"{path}: {error}") from None
    if not isinstance(configs, dict) or not configs:
        raise PublishedError(f"{path}: expected annotators by name.")
    if not name and len(configs) > 1:
        raise PublishedError(f"{path}: has {', '.join(map(str, configs))}; say which.")
    name = name or str(next(iter(configs)))
    config = configs.get(name)
    if not isinstance(config, dict):
        raise PublishedError(
            f"{path}: there is no annotator '{name}'; there is {', '.join(map(str, configs))}."
        )
    where = f"{path}, {name}"
    if config.get("batch_size", 1) != 1:
        raise PublishedError(f"{where}, batch_size: judges are asked one pair at a time, so it has to be 1.")
    settings = config.get("completions_kwargs") or {}
    notes = {
        f"'{key}' is not carried over.": None
        for key in config
        if key not in _ALPACA_KNOWN | {"completion_key"}
    }
    template = _text(_template_path(path, where, config.get("prompt_template")))
    step = _step(where, template, settings, _ALPACA_CARRIED, notes)
    return _checked(
        path,
        PublishedJudge(
            name=f"AlpacaEval {name}",
            evaluator=Published(
                dialect=ALPACA_EVAL,
                mode=COMPARE,
                steps=(step,),
                parser=str(config.get("fn_completion_parser", "regex_parser")),
                parser_options=config.get("completion_parser_kwargs") or {},
            ),
            model=str(settings.get("model_name", "")),
            notes=tuple(notes),
        ),
    )


def published_create(
    *,
    read: PublishedJudge,
    endpoint: Endpoint,
    model: str = "",
    name: str = "",
    created_by: User | None = None,
) -> Judge:
    """Define the judge; raises ValidationError, or DuplicateJudgeError if it is there already.

    Parameters
    ----------
    model : str
        In place of the model that the evaluator names.
    """
    return judge_create(
        name=name or read.name,
        strategy="published",
        endpoint=endpoint,
        model=model or read.model,
        prompt="published.v1",
        prompt_source=read.evaluator.to_text(),
        notes=" ".join(read.notes),
        created_by=created_by,
    )


def _checked(path: Path, read: PublishedJudge) -> PublishedJudge:
    try:
        published_check(read.evaluator)
        if read.evaluator.mode != RATE:
            for step in read.evaluator.steps:
                parser_check(read.evaluator.parser, read.evaluator.options_of(step))
    except SpecError as error:
        raise PublishedError(f"{path}: {error}") from None
    return read


def _step(
    where: str, template: str, settings: object, carried: frozenset[str], notes: dict[str, None]
) -> PublishedStep:
    if not isinstance(settings, Mapping):
        raise PublishedError(f"{where}: expected settings by name, found {settings!r}.")
    for key in settings:
        if key not in carried:
            notes[f"The setting '{key}' is not carried over."] = None
    tokens = next(
        (settings[key] for key in sorted(settings) if key.startswith("max_") and key in _CARRIED),
        None,
    )
    temperature = settings.get("temperature")
    for key, value, kinds in (("max_tokens", tokens, (int,)), ("temperature", temperature, (int, float))):
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise PublishedError(f"{where}, {key}: expected a number, found {value!r}.")
    return PublishedStep(
        template=template,
        max_tokens=tokens,
        temperature=None if temperature is None else float(temperature),
        logprobs=bool(settings.get("logprobs")),
        json_schema=_schema(where, settings, notes),
    )


def _schema(where: str, settings: Mapping[str, Any], notes: dict[str, None]) -> str | None:
    """Return the parameters of the function that the model is made to call, as a schema for its answer."""
    functions = settings.get("functions") or [
        tool.get("function") for tool in settings.get("tools") or () if isinstance(tool, Mapping)
    ]
    if not functions:
        return None
    try:
        (function,) = functions
        schema = dict(function["parameters"])
    except (TypeError, ValueError, KeyError):
        raise PublishedError(f"{where}, functions: expected one function with its parameters.") from None
    notes["The function that it calls is asked for as a JSON answer of the same form."] = None
    return json.dumps(schema, sort_keys=True)


def _template_path(path: Path, where: str, template: object) -> Path:
    if not isinstance(template, str) or not template.strip():
        raise PublishedError(f"{where}, prompt_template: the path of a text file is missing.")
    # In AlpacaEval's repository the path begins with the folder's own name; a copy of one folder has not that above it.
    for base in (path.parent.parent, path.parent):
        found = base / template
        if found.is_file() and found.resolve().is_relative_to(base.resolve()):
            return found
    beside = path.parent / Path(template).name
    if beside.is_file():
        return beside
    raise PublishedError(f"{where}, prompt_template: there is no file '{template}' beside it.")


def _inside(base: Path, name: str) -> Path:
    path = base / name
    if not path.resolve().is_relative_to(base.resolve()):
        raise PublishedError(f"{name}: leads out of {base}.")
    return path


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PublishedError(f"{path}: larger than {MOST_BYTES:,} bytes.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PublishedError(f"{path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise PublishedError(f"{path}: not UTF-8 text.") from None


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except ValueError as error:
        raise PublishedError(f"{path}: not JSON ({error}).") from None
