"""A prompt on a real item: the messages as a strategy would send them, with nothing sent and nothing saved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from judges.strategies.errors import StrategyError
from judges.strategies.prompts import Message, Prompt, load_prompt, prompt_fingerprint
from judges.strategies.registry import get_strategy, strategy_info
from judges.strategies.types import (
    Answer,
    Chat,
    Classify,
    Embed,
    ItemView,
    Match,
    Request,
    Score,
    Steps,
    StrategyConfig,
    StrategyWalk,
)

MOST_REQUESTS = 8
SHOT: Mapping[str, str] = {
    "instruction": "Name the capital of France.",
    "output_a": "Paris.",
    "output_b": "France is a country in Europe.",
    "verdict": "A",
    "reason": "A names the city that was asked for.",
}
"""An example to show where examples stand, for strategies that take them."""


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """What decides, beside the item, what a prompt shows."""

    use_reference: bool = False
    allow_tie: bool = False
    guidelines: str = ""
    with_shot: bool = False
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request of a strategy: its messages, or the raw text of those that have none."""

    number: int
    kind: str
    role: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...] = ()
    asked: Request | None = None
    """The request itself."""


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """The requests in their order; `problem` says why there are no more, where that is not the end."""

    requests: tuple[ShownRequest, ...]
    problem: str = ""


def prompt_preview(
    *, strategy: str, step: str, name: str, source: str, item: ItemView, options: PreviewOptions
) -> PromptPreview:
    """Run a strategy on an item with a prompt in one of its places, and return what it would send.

    Where a strategy asks several times, later messages hold placeholders for the answers to the earlier ones.

    Parameters
    ----------
    step : str
        Which of the strategy's prompts it is; empty: the main one.
    """
    info = strategy_info(strategy)
    written = Prompt(name=name, source=source, sha=prompt_fingerprint(source))
    main = load_prompt(info.prompt, info.kind) if info.prompt else None
    prompts = {key: load_prompt(default, info.kind) for key, default in info.all_prompts.items()}
    if step:
        prompts[step] = written
    else:
        main = written
    # A step that there is only with a setting is shown with it.
    needed = {name: True for name, steps in info.prompts_with.items() if step in steps}
    config = StrategyConfig(
        name=strategy,
        prompt=main,
        prompts=prompts,
        use_reference=options.use_reference or info.needs_reference,
        allow_tie=options.allow_tie and "tie" in info.takes,
        params={key: param.default for key, param in info.params.items()}
        | dict(options.params or {})
        | needed,
        guidelines=options.guidelines if "guidelines" in info.takes else "",
        shots=(SHOT,) if options.with_shot and "shots" in info.takes else (),
    )
    return requests_shown(lambda: get_strategy(strategy)(item, config), title=info.title)


def requests_shown(
    start: Callable[[], Steps], *, title: str, most_rounds: int = MOST_REQUESTS
) -> PromptPreview:
    """Return what a strategy asks on an item, placeholders in the places of answers.

    Parameters
    ----------
    start : callable
        Starts it.
    title : str
        The strategy's, for messages.
    most_rounds : int
        After so many rounds of requests no answer is given, so that none is read.
    """
    shown: list[ShownRequest] = []
    try:
        walk = StrategyWalk(start())
        goes_on = walk.advance()
        while goes_on and len(shown) < MOST_REQUESTS:
            numbered = list(enumerate(walk.asked, start=len(shown) + 1))
            shown += [_shown(number, each) for number, each in numbered]
            most_rounds -= 1
            goes_on = most_rounds > 0 and walk.advance([_placeholder(each, n) for n, each in numbered])
        walk.steps.close()
    except KeyError as error:
        return PromptPreview(
            tuple(shown), f"{{{{{error.args[0]}}}}} has no value with the strategy '{title}'."
        )
    except (StrategyError, ValueError, TypeError) as error:
        return PromptPreview(tuple(shown), str(error))
    return PromptPreview(tuple(shown))


def _placeholder(request: Request, number: int) -> Answer:
    if isinstance(request, Chat):
        return Answer(text=request.choices[0] if request.choices else f"⟦answer to request {number}⟧")
    return Answer(
        text="",
        logprob=-1.0,
        completion_tokens=1,
        vector=(1.0,),
        scores=(0.0,) * (3 if isinstance(request, Match) else 1),
    )


def _shown(number: int, request: Request) -> ShownRequest:
    if isinstance(request, Chat):
        return ShownRequest(number, request.kind, request.role, request.messages, request.choices, request)
    if isinstance(request, Score):
        given = request.messages or ((("text", request.prefix),) if request.prefix else ())
        return ShownRequest(
            number, request.kind, request.role, (*given, ("scored continuation", request.continuation))
        )
    if isinstance(request, Embed):
        return ShownRequest(number, request.kind, request.role, (("text", request.text),))
    if isinstance(request, Match):
        shown = (("text", request.text), ("reference", request.reference))
        return ShownRequest(number, request.kind, request.role, shown)
    assert isinstance(request, Classify)
    texts = tuple(("text", text) for text in (request.text, request.text_pair) if text)
    return ShownRequest(number, request.kind, request.role, request.messages or texts)
