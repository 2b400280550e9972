"""Judges that read log-likelihoods instead of answers.

`perplexity_reference`: Lyu et al., "HREF: Human Response-Guided Evaluation of Instruction Following in Language
Models", 2024: the contestant whose model finds the human-written reference less surprising wins.

`loglikelihood_ranking`: Gritta, Lampouras and Iacobacci, "HumanRankEval: Automatic Evaluation of LMs as
Conversational Assistants", NAACL 2024: answers are ranked by their log-likelihood given the question, divided by
their length in characters. `loglikelihood` is the same for two responses.
"""

import math

from judges.strategies.conversations import asked, before, question
from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import needed_reference
from judges.strategies.orders import ranked
from judges.strategies.pairwise import pair
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.types import Answer, ItemView, Score, Steps, StrategyConfig, Verdict, several

_NONE_GIVEN = "the backend gave no log-likelihood"


def perplexity_reference(item: ItemView, config: StrategyConfig) -> Steps:
    """Prefer the response of the system whose model gives the human reference the higher mean log-likelihood.

    ``params["normalise"]``: per "token" (perplexity proper), per "character" (fair where the models' tokenizers
    differ), or "none". Only exactly equal values are a tie. `scores` are the log-likelihoods so divided: at most 0,
    higher is better.

    Raises
    ------
    MissingReferenceError
    StrategyError
        A system has no model; the message names it and the roles there are.
    """
    pair(item)
    reference = needed_reference(item, config)
    messages, systems = asked(item), _systems_with_models(item, config)
    answers = several((yield tuple(Score(messages, reference, role=system) for system in systems)))
    values = [_normalised(answer, reference, config) for answer in answers]
    return _of_pair(item, systems, answers, values)


def loglikelihood(item: ItemView, config: StrategyConfig) -> Steps:
    """Prefer the response that the evaluated model finds likelier; the settings are those of the ranking."""
    texts = pair(item)
    if empty := _empty(texts):
        return unparsed("", empty)
    answers = several((yield _requests(item, config)))
    values = [_normalised(answer, text, config) for answer, text in zip(answers, texts, strict=True)]
    return _of_pair(item, ("A", "B"), answers, values)


def loglikelihood_ranking(item: ItemView, config: StrategyConfig) -> Steps:
    """Rank answers by their log-likelihood given the question, likeliest first; equal values share a rank.

    ``params["normalise"]``: by the answer's length in "character" (as published) or "token", or "none".
    ``params["template"]``: "plain" is raw text, ``Question: ...``, a new line, ``Answer:``, a space, the answer (as
    published); "chat" asks the question through the model's chat template.

    The value is ``{"ranks", "loglikelihoods", "normalised"}``, each by the answer's canonical position.
    """
    if len(item.responses) < 2:
        raise StrategyError(
            f"Item {item.item_id} has {len(item.responses)} answers; a ranking has two or more."
        )
    if empty := _empty(item.responses):
        return unparsed("", empty)
    answers = several((yield _requests(item, config)))
    values = [_normalised(answer, text, config) for answer, text in zip(answers, item.responses, strict=True)]
    known = [value for value in values if value is not None]
    text = _readable(range(1, len(values) + 1), answers)
    if len(known) < len(values):
        return unparsed(text, _NONE_GIVEN)
    # By canonical position, whatever the order in which they were presented.
    step = -1 if item.order == 1 else 1
    normalised = {str(place): value for place, value in enumerate(known[::step])}
    sums = {str(place): answer.logprob for place, answer in enumerate(answers[::step])}
    value = {
        "ranks": ranked({name: -value for name, value in normalised.items()}),
        "loglikelihoods": sums,
        "normalised": normalised,
    }
    return parsed(text, value)


def _systems_with_models(item: ItemView, config: StrategyConfig) -> tuple[str, ...]:
    if len(item.systems) != 2:
        raise StrategyError(f"Item {item.item_id} does not say which systems wrote its responses.")
    for system in item.systems:
        if system not in config.roles:
            known = ", ".join(config.roles) or "none"
            raise StrategyError(
                f"Item {item.item_id} has a response of the system '{system}', and the judge has no model for it; "
                f"it has models for: {known}."
            )
    return item.systems


def _requests(item: ItemView, config: StrategyConfig) -> tuple[Score, ...]:
    if config.params.get("template") == "chat":
        return tuple(Score(asked(item), text) for text in item.responses)
    turns = f"{before(item)}\n\n" if item.conversation else ""
    prefix = f"{turns}Question: {question(item)}\nAnswer:"
    return tuple(Score((), f" {text}", prefix=prefix) for text in item.responses)


def _empty(texts: tuple[str, ...]) -> str:
    """Say which text is empty, or nothing: the likelihood of nothing is no likelihood."""
    empty = [str(place) for place, text in enumerate(texts, start=1) if not text.strip()]
    return f"response {', '.join(empty)} is empty" if empty else ""


def _normalised(answer: Answer, text: str, config: StrategyConfig) -> float | None:
    """Return the log-likelihood divided as configured; None where there is none."""
    if answer.logprob is None or not math.isfinite(answer.logprob):
        return None
    by = config.params.get("normalise", "token")
    length = {"token": answer.completion_tokens, "character": len(text)}.get(by, 1)
    return answer.logprob / length if length > 0 else None


def _of_pair(
    item: ItemView, names: tuple[str, ...], answers: tuple[Answer, ...], values: list[float | None]
) -> Verdict:
    text = _readable(names, answers)
    a, b = values
    if a is None or b is None:
        return unparsed(text, _NONE_GIVEN)
    step = -1 if item.order == 1 else 1
    value = {
        "loglikelihoods": [answer.logprob for answer in answers][::step],
        "tokens": [answer.completion_tokens for answer in answers][::step],
    }
    choice = 0 if a == b else 1 if a > b else 2
    return Verdict(choice=choice, status="parsed", raw_text=text, scores=(a, b), value=value)


def _readable(names: tuple[str, ...] | range, answers: tuple[Answer, ...]) -> str:
    return "\n".join(
        f"{name}: log-likelihood {answer.logprob} over {answer.completion_tokens} tokens"
        for name, answer in zip(names, answers, strict=True)
    )
