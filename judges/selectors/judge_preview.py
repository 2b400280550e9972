"""What a judge would be, before there is one: its questions on an example, how it reads answers, how it samples."""

import json
from dataclasses import dataclass
from functools import partial

from annotation.domain.scales import Scale
from annotation.kinds import KINDS
from judges.selectors.prompt_preview import MOST_REQUESTS, PromptPreview, ShownRequest, requests_shown
from judges.selectors.strategies import kind_words
from judges.strategies.info import StrategyInfo
from judges.strategies.published_config import SWAP, Published, published_read
from judges.strategies.registry import strategy_info
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import AspectView, Chat, CriterionView, Decoding, ItemView

_RESPONSES = (
    "Paris is the capital of France.",
    "France is a country in Europe. Its capital is Lyon.",
    "I'm not sure, but it may be Paris.",
)
_ASPECTS = (
    AspectView("a", "The answer names a city."),
    AspectView("b", "The city is the capital of France.", parent="a"),
)
_CRITERION = CriterionView(
    "correct",
    "How correct is the answer?",
    Scale(
        words=(
            (1, "Wrong"),
            (2, "Mostly wrong"),
            (3, "Partly correct"),
            (4, "Mostly correct"),
            (5, "Correct"),
        )
    ),
)
LONGEST_SHOWN = 20_000
"""Characters of a message that a page shows."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a request; `n_left_out` characters of its end are not shown."""

    role: str
    text: str
    n_left_out: int


@dataclass(frozen=True, slots=True)
class PreviewedRequest:
    """A request on the example item, with the decoding that it is sent with, in words."""

    number: int
    role: str
    messages: tuple[ShownMessage, ...]
    choices: tuple[str, ...]
    schema: str
    decoding: str


@dataclass(frozen=True, slots=True)
class JudgePreview:
    """What a specification means.

    Attributes
    ----------
    reading : tuple of (str, str)
        How answers are read, by what says it.
    problem : str
        Why there are no more requests, where that is not the end.
    """

    spec: JudgeSpec
    info: StrategyInfo
    kind: str
    item: ItemView
    requests: tuple[PreviewedRequest, ...]
    reading: tuple[tuple[str, str], ...]
    problem: str = ""


def judge_preview(spec: JudgeSpec) -> JudgePreview:
    """Return what a judge asks of an example item; nothing is sent."""
    info = strategy_info(spec.strategy)
    item = example_item(spec)
    evaluator = _published_of(spec)
    # A published evaluator's regular expressions may be anybody's: no answer is read by them here.
    rounds = MOST_REQUESTS if evaluator is None else 1 if evaluator.mode == SWAP else len(evaluator.steps)
    start = build_strategy(spec)
    shown: PromptPreview = requests_shown(partial(start, item), title=info.title, most_rounds=rounds)
    return JudgePreview(
        spec=spec,
        info=info,
        kind=kind_words(spec.kind),
        item=item,
        requests=tuple(_previewed(spec, each) for each in shown.requests),
        reading=_reading(evaluator),
        problem=shown.problem,
    )


def example_item(spec: JudgeSpec) -> ItemView:
    """Return a small item of the kind that a judge judges, with all that one may have."""
    kind = KINDS.get(spec.kind)
    least, most = (0, 0) if kind is None else kind.responses
    n = len(_RESPONSES) if most is None else least
    systems = sorted(spec.roles) if strategy_info(spec.strategy).open_roles else []
    return ItemView(
        item_id=0,
        kind=spec.kind,
        instruction="What is the capital of France?",
        responses=_RESPONSES[:n],
        reference="Paris",
        external_id="example",
        systems=tuple([*systems, *(f"system-{k}" for k in range(1, n + 1))][:n]),
        criteria=(_CRITERION,) if kind is not None and kind.parts == "criteria" else (),
        aspects=_ASPECTS if kind is not None and kind.parts == "aspects" else (),
        references=tuple(
            (name, "The capital of France is Paris.") for name in sorted(spec.reference_systems())
        ),
    )


def decoding_words(decoding: Decoding, asked: Chat | None = None) -> str:
    """Return how a model samples, in words; what a request says of its own comes first."""
    temperature, top_p, limit = decoding.temperature, decoding.top_p, decoding.limit
    if asked is not None:
        temperature = temperature if asked.temperature is None else asked.temperature
        top_p = top_p if asked.top_p is None else asked.top_p
        limit = limit if asked.max_tokens is None else asked.max_tokens
    words = [
        "the server's temperature" if temperature is None else f"temperature {temperature:g}",
        "the server's token limit" if limit is None else f"at most {limit:,} tokens",
    ]
    if top_p is not None:
        words.append(f"top p {top_p:g}")
    if decoding.seed is not None:
        words.append(f"seed {decoding.seed}")
    if decoding.stop:
        words.append(f"stops at {', '.join(map(repr, decoding.stop))}")
    if decoding.reasoning_effort:
        words.append(f"reasoning effort {decoding.reasoning_effort}")
    if decoding.thinking_budget is not None:
        words.append(f"thinking budget {decoding.thinking_budget:,} tokens")
    if asked is not None and asked.logprobs:
        words.append("with log-probabilities")
    if asked is not None and asked.biases:
        words.append(
            "with " + ", ".join(f"{text!r} {bias:+g}" for text, bias in asked.biases) + " as logit biases"
        )
    return ", ".join(words)


def _published_of(spec: JudgeSpec) -> Published | None:
    return published_read(spec.prompt_source) if spec.strategy == "published" else None


def _previewed(spec: JudgeSpec, shown: ShownRequest) -> PreviewedRequest:
    model = spec.models().get(shown.role)
    asked = shown.asked if isinstance(shown.asked, Chat) else None
    return PreviewedRequest(
        number=shown.number,
        role=shown.role,
        messages=tuple(
            ShownMessage(role, text[:LONGEST_SHOWN], max(0, len(text) - LONGEST_SHOWN))
            for role, text in shown.messages
        ),
        choices=shown.choices,
        schema=(asked.json_schema or "") if asked is not None else "",
        decoding="" if model is None or asked is None else decoding_words(model.decoding, asked),
    )


def _reading(evaluator: Published | None) -> tuple[tuple[str, str], ...]:
    if evaluator is None:
        return ()
    found = [("Parser", evaluator.parser)]
    own = [
        (f" of step {number}", step.parser_options)
        for number, step in enumerate(evaluator.steps, start=1)
        if step.parser_options is not None
    ]
    for place, options in (("", evaluator.parser_options), *own):
        if options:
            found.append((f"Parser settings{place}", json.dumps(dict(options), indent=1, ensure_ascii=False)))
    if evaluator.mode == SWAP:
        found.append(("Prompt of step 2, where the two orders disagree", evaluator.steps[-1].template))
    return tuple(found)
