"""Published evaluators, read from a user's own copy of LLMBar's, AlpacaEval's, MT-bench's or Arena-Hard's files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from judges.strategies.errors import SpecError
from judges.strategies.published_config import (
    ALPACA_EVAL,
    COMPARE,
    FASTCHAT,
    LLMBAR,
    RATE,
    SWAP,
    Published,
    PublishedStep,
    published_check,
)
from judges.strategies.published_parsers import RATING_PARSERS, parser_check
from web.yaml_text import YamlError, yaml_read

MOST_BYTES = 1_000_000
_LLMBAR_STEP = frozenset(
    {"prompt", "model_name", "openai_kwargs", "generate_kwargs", "palm_kwargs", "parsing"}
)
_TOKENS = ("max_tokens", "max_output_tokens", "max_new_tokens", "max_tokens_to_sample")
_CARRIED = frozenset(
    {
        *_TOKENS,
        *("temperature", "top_p", "tokens_to_favor", "tokens_to_avoid", "engine", "model_name", "model"),
        *("logprobs", "top_logprobs", "functions", "function_call", "tools", "tool_choice"),
        # How many prompts are sent at once, and that the prompt is ChatML, which is seen in it.
        *("batch_size", "num_procs", "requires_chatml", "is_chatml_prompt"),
    }
)
_OF_ENDPOINT = frozenset(
    {"client_kwargs", "client_function_name", "client_config_path", "model_kwargs", "price_per_token"}
)
_ALPACA_KNOWN = frozenset(
    {
        *("prompt_template", "fn_completions", "completions_kwargs", "fn_completion_parser"),
        *("completion_parser_kwargs", "completion_key", "batch_size", "is_randomize_output_order"),
        # They change what is stored beside a verdict, or the order in which items are asked.
        *("processors_to_kwargs", "is_shuffle", "is_store_raw_completions"),
    }
)
_COLUMNS_ONLY = frozenset({"ChainOfThoughtProcessor"})
"""Processors of AlpacaEval that change neither a prompt nor a verdict."""
_DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "openai_completions": {"max_tokens": 2048, "temperature": 0.7, "top_p": 1.0},
    "anthropic_completions": {"max_tokens_to_sample": 2048, "temperature": 0.7},
    "huggingface_local_completions": {"temperature": 0.0},
    "huggingface_api_completions": {"temperature": 0.0},
}
"""What AlpacaEval sends where a configuration says nothing."""
_FAVORED, _AVOIDED = 7.0, -100.0
"""How far LLMBar and AlpacaEval push tokens up and down."""
MOST_BATCH = 20
"""Pairs in one prompt."""


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


FORMATS = ("llmbar", "alpaca_eval", "fastchat", "arena_hard")


def evaluator_read(form: str, path: Path, evaluator: str = "") -> PublishedJudge:
    """Read one evaluator of a format.

    Parameters
    ----------
    form : str
        One of `FORMATS`.
    path : Path
        LLMBar: the folder with ``config/`` and ``prompts/``. AlpacaEval and HREF: a ``configs.yaml``, or its folder.
        FastChat: ``judge_prompts.jsonl``, or its folder. Arena-Hard: its configuration.
    evaluator : str
        Which one, where there are several.

    Raises
    ------
    PublishedError
    """
    if form == "alpaca_eval":
        return alpaca_eval_read(path=path, name=evaluator)
    if form == "arena_hard":
        return arena_hard_read(path=path)
    if form not in FORMATS:
        raise PublishedError(f"there is no format '{form}'; there is {', '.join(FORMATS)}.")
    if not evaluator:
        example = "GPT-4/Vanilla" if form == "llmbar" else "pair-v2"
        raise PublishedError(f"{path}: say which of its evaluators, such as {example}.")
    if form == "llmbar":
        return llmbar_read(folder=path, evaluator=evaluator)
    return fastchat_read(path=path, name=evaluator)


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
        steps.append(_step(where, _text(_inside(folder / "prompts", prompt)), settings, notes))
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
        A ``configs.yaml`` (or ``config.yaml``), or its folder. Prompt files are looked for beside it and beside its
        folder, as there.
    name : str
        Which of its annotators; needed only if there are several.

    Raises
    ------
    PublishedError
    """
    if path.is_dir():
        names = [found for found in ("configs.yaml", "config.yaml") if (path / found).is_file()]
        path = path / (names or ["configs.yaml"])[0]
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
    batch_size = config.get("batch_size", 1)
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or not 1 <= batch_size <= MOST_BATCH:
        raise PublishedError(f"{where}, batch_size: expected 1 to {MOST_BATCH}, found {batch_size!r}.")
    settings = config.get("completions_kwargs") or {}
    notes = {f"'{key}' is not carried over.": None for key in config if key not in _ALPACA_KNOWN}
    for processor in config.get("processors_to_kwargs") or ():
        if processor not in _COLUMNS_ONLY:
            raise PublishedError(f"{where}, processors_to_kwargs: '{processor}' cannot be run here.")
    if batch_size > 1:
        notes[
            f"The prompt shows {batch_size} pairs: the one that is judged, and AlpacaEval's padding example in the "
            "places of the others."
        ] = None
    template = _text(_template_path(path, where, config.get("prompt_template")))
    defaults = _DEFAULTS.get(str(config.get("fn_completions", "openai_completions")), {})
    step = _step(where, template, {**defaults, **settings} if isinstance(settings, dict) else settings, notes)
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
                batch_size=batch_size,
                batch_place=_place_of_first(batch_size),
                equal_is_tie=True,
                is_randomized=bool(config.get("is_randomize_output_order", True)),
            ),
            model=str(settings.get("model_name", "")),
            notes=tuple(notes),
        ),
    )


def fastchat_read(*, path: Path, name: str) -> PublishedJudge:
    """Read one of MT-bench's judge prompts.

    Parameters
    ----------
    path : Path
        FastChat's ``judge_prompts.jsonl``, or its folder.
    name : str
        Such as ``"pair-v2"`` or ``"single-math-v1-multi-turn"``.

    Raises
    ------
    PublishedError
    """
    path = path / "judge_prompts.jsonl" if path.is_dir() else path
    rows = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip():
            row = _parsed_json(f"{path}, line {number}", line)
            if not isinstance(row, dict) or not isinstance(row.get("name"), str):
                raise PublishedError(f"{path}, line {number}: expected a prompt with its name.")
            rows[row["name"]] = row
    if name not in rows:
        raise PublishedError(f"{path}: there is no prompt '{name}'; there is {', '.join(rows)}.")
    row, where = rows[name], f"{path}, {name}"
    mode, parser = _FASTCHAT_FORMS.get((str(row.get("type")), str(row.get("output_format"))), ("", ""))
    if not mode:
        raise PublishedError(
            f"{where}: prompts of the type {row.get('type')!r} with answers of the form "
            f"{row.get('output_format')!r} cannot be run here."
        )
    step = PublishedStep(
        template=_text_field(where, row, "prompt_template"),
        system=_text_field(where, row, "system_prompt"),
        # What FastChat's code sends with every prompt.
        max_tokens=2048,
        temperature=0.0,
    )
    evaluator = Published(dialect=FASTCHAT, mode=mode, steps=(step,), parser=parser)
    return _checked(path, PublishedJudge(name=f"MT-bench {name}", evaluator=evaluator, model="gpt-4"))


_FASTCHAT_FORMS = {
    ("pairwise", "[[A]]"): (COMPARE, "fastchat_parser"),
    ("pairwise", "[[rating_a,rating_b]]"): (COMPARE, "fastchat_scores_parser"),
    ("single", "[[rating]]"): (RATE, "fastchat_rating_parser"),
}


def arena_hard_read(*, path: Path) -> PublishedJudge:
    """Read the judge of an Arena-Hard configuration.

    Parameters
    ----------
    path : Path
        Such as ``config/judge_config.yaml``.

    Raises
    ------
    PublishedError
    """
    try:
        config = yaml_read(_text(path))
    except YamlError as error:
        raise PublishedError(f"{path}: {error}") from None
    if not isinstance(config, dict):
        raise PublishedError(f"{path}: expected settings by name.")
    if config.get("pairwise", True) is not True:
        raise PublishedError(f"{path}, pairwise: only judges of pairs can be run here.")
    if "system_prompt" not in config:
        raise PublishedError(
            f"{path}: 'system_prompt' is missing. Version 2 keeps it in its code (utils/judge_utils.py): add it to "
            "your copy of the file."
        )
    templates = config.get("prompt_template")
    templates = [templates] if isinstance(templates, str) else templates
    if not isinstance(templates, list) or len(templates) != 1 or not isinstance(templates[0], str):
        raise PublishedError(f"{path}, prompt_template: expected one text.")
    patterns = config.get("regex_patterns") or [config.get("regex_pattern")]
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise PublishedError(f"{path}, regex_pattern: expected a regular expression.")
    notes: dict[str, None] = {}
    if config.get("number_of_judgment_attempts") not in (None, 1):
        notes["An answer without a verdict is not asked for again."] = None
    settings = {key: config[key] for key in ("temperature", "max_tokens") if config.get(key) is not None}
    step = replace(
        _step(str(path), templates[0], settings, notes),
        system=_text_field(str(path), config, "system_prompt"),
    )
    evaluator = Published(
        dialect=FASTCHAT,
        mode=COMPARE,
        steps=(step,),
        parser="arena_hard_parser",
        parser_options={"regex_patterns": patterns},
    )
    name = str(config.get("bench_name") or path.stem)
    read = PublishedJudge(
        name=f"Arena-Hard {name}",
        evaluator=evaluator,
        model=str(config.get("judge_model") or ""),
        notes=tuple(notes),
    )
    return _checked(path, read)


def _text_field(where: str, row: Mapping[str, Any], name: str) -> str:
    if not isinstance(row.get(name), str):
        raise PublishedError(f"{where}, {name}: expected text.")
    return str(row[name])


def _place_of_first(batch_size: int) -> int:
    """Return where AlpacaEval's shuffle (pandas' ``sample`` with the seed 0) puts the first row of a batch."""
    places: list[int] = np.random.RandomState(0).choice(batch_size, size=batch_size, replace=False).tolist()
    return places.index(0)


def _checked(path: Path, read: PublishedJudge) -> PublishedJudge:
    try:
        published_check(read.evaluator)
        if read.evaluator.mode != RATE:
            for step in read.evaluator.steps:
                parser_check(read.evaluator.parser, read.evaluator.options_of(step))
        elif read.evaluator.parser not in RATING_PARSERS:
            raise SpecError("parser", f"'{read.evaluator.parser}' reads no score.")
    except SpecError as error:
        raise PublishedError(f"{path}: {error}") from None
    return read


def _step(where: str, template: str, settings: object, notes: dict[str, None]) -> PublishedStep:
    if not isinstance(settings, Mapping):
        raise PublishedError(f"{where}: expected settings by name, found {settings!r}.")
    for key in settings:
        if key in _OF_ENDPOINT:
            notes[f"The setting '{key}' belongs to the endpoint: set it there."] = None
        elif key not in _CARRIED:
            notes[f"The setting '{key}' is not carried over."] = None
    # One that the configuration names comes after a default.
    tokens = next((settings[key] for key in reversed(settings) if key in _TOKENS), None)
    temperature, top_p = settings.get("temperature"), settings.get("top_p")
    for key, value, kinds in (
        ("max_tokens", tokens, (int,)),
        ("temperature", temperature, (int, float)),
        ("top_p", top_p, (int, float)),
    ):
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise PublishedError(f"{where}, {key}: expected a number, found {value!r}.")
    function = _function(where, settings)
    return PublishedStep(
        template=template,
        max_tokens=tokens,
        temperature=None if temperature is None else float(temperature),
        top_p=None if top_p is None else float(top_p),
        biases=_biases(where, settings),
        logprobs=bool(settings.get("logprobs")),
        json_schema=None if function is None else json.dumps(function["parameters"], sort_keys=True),
        function=None if function is None else json.dumps(function),
    )


def _biases(where: str, settings: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    found = []
    # In this order: a token that is avoided and favored is favored, as there.
    for key, bias in (("tokens_to_avoid", _AVOIDED), ("tokens_to_favor", _FAVORED)):
        texts = settings.get(key) or ()
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise PublishedError(f"{where}, {key}: expected texts, found {texts!r}.")
        found += [(text, bias) for text in texts]
    return tuple(found)


def _function(where: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the function that the model is made to call."""
    functions = settings.get("functions") or [
        tool.get("function") for tool in settings.get("tools") or () if isinstance(tool, Mapping)
    ]
    if not functions:
        return None
    try:
        (function,) = functions
        found = dict(function)
        if isinstance(found["name"], str) and isinstance(found["parameters"], Mapping):
            return found
    except (TypeError, ValueError, KeyError):
        pass
    raise PublishedError(f"{where}, functions: expected one function with its name and parameters.")


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
    return _parsed_json(str(path), _text(path))


def _parsed_json(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PublishedError(f"{where}: not JSON ({error}).") from None
