"""Published prompts, run word for word from a user's own copy.

LLMBar's evaluators: Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024.
AlpacaEval's annotators: Li et al., "AlpacaEval: An Automatic Evaluator of Instruction-following Models", 2023.
Neither's prompts are part of this project.
"""

from collections.abc import Generator

from judges.strategies.errors import MissingReferenceError
from judges.strategies.pairwise import pair
from judges.strategies.parsing import unparsed
from judges.strategies.published_config import (
    ALPACA_EVAL,
    RATE,
    SWAP,
    Published,
    PublishedStep,
    messages,
    published_read,
)
from judges.strategies.published_parsers import Reading, Unreadable, read_integer, read_published
from judges.strategies.types import (
    Answer,
    Chat,
    ItemView,
    Sent,
    Steps,
    StrategyConfig,
    Verdict,
    Yielded,
    several,
    single,
)


def published(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as the published evaluator asks, and read the answer with its parser."""
    assert config.prompt is not None, "a specification without a prompt cannot be built"
    evaluator = published_read(config.prompt.source)
    if evaluator.mode == RATE:
        return (yield from _rate(item, evaluator))
    if evaluator.mode == SWAP:
        return (yield from _swap(item, evaluator))
    return (yield from _compare(item, evaluator))


def _texts(item: ItemView, evaluator: Published) -> dict[str, str]:
    """Return what the prompts may show of an item, under the published names."""
    whole = "\n\n".join(part for part in (item.instruction, item.context) if part)
    if evaluator.dialect == ALPACA_EVAL:
        if not item.reference and any("{reference}" in step.template for step in evaluator.steps):
            raise MissingReferenceError(item_id=item.item_id, strategy="published")
        apart = any("{input}" in step.template for step in evaluator.steps)
        texts = {"instruction": item.instruction if apart else whole, "input": item.context}
        return texts | ({"reference": item.reference} if item.reference else {})
    return {"input": whole}


def _ask(step: PublishedStep, evaluator: Published, values: dict[str, str]) -> Chat:
    return Chat(
        messages(step.template, evaluator.dialect, values),
        max_tokens=step.max_tokens,
        temperature=step.temperature,
        logprobs=step.logprobs,
        json_schema=step.json_schema,
    )


def _prepare(item: ItemView, evaluator: Published) -> Generator[Yielded, Sent, dict[str, str]]:
    """Run the steps before the last, which see the instruction alone; returns what the last may show."""
    values = _texts(item, evaluator)
    earlier = evaluator.steps[:-1]
    if earlier:
        answers = several((yield tuple(_ask(step, evaluator, values) for step in earlier)))
        values |= {f"auxiliary_input_{k}": answer.text.strip() for k, answer in enumerate(answers)}
    return values


def _compare(item: ItemView, evaluator: Published) -> Steps:
    first, second = pair(item)
    values = yield from _prepare(item, evaluator)
    answer = single(
        (yield _ask(evaluator.steps[-1], evaluator, values | {"output_1": first, "output_2": second}))
    )
    return _verdict(answer, evaluator, evaluator.steps[-1])


def _rate(item: ItemView, evaluator: Published) -> Steps:
    outputs = pair(item)
    values = yield from _prepare(item, evaluator)
    step = evaluator.steps[-1]
    answers = several((yield tuple(_ask(step, evaluator, values | {"output": output}) for output in outputs)))
    text = "\n\n".join(answer.text for answer in answers)
    try:
        first, second = (read_integer(answer.text) for answer in answers)
    except Unreadable as error:
        return unparsed(text, str(error))
    choice = 1 if first > second else 2 if first < second else 0
    return Verdict(
        choice=choice,
        status="parsed",
        raw_text=text,
        scores=(float(first), float(second)),
        value={"hedge": True} if choice == 0 else None,
    )


def _swap(item: ItemView, evaluator: Published) -> Steps:
    """Compare in both orders; where the two contradict each other, show both explanations and ask again."""
    first, second = pair(item)
    compare, synthesise = evaluator.steps[0], evaluator.steps[-1]
    values = _texts(item, evaluator) | {"output_1": first, "output_2": second}
    turned = values | {"output_1": second, "output_2": first}
    here, there = several((yield (_ask(compare, evaluator, values), _ask(compare, evaluator, turned))))
    verdict, other = _verdict(here, evaluator, compare), _verdict(there, evaluator, compare)
    if verdict.choice not in (1, 2) or verdict.choice != other.choice:
        return verdict
    # Both prefer what they were shown in the same place: one of them speaks for A, the other for B.
    explained = {verdict.choice: here.text.strip(), 3 - verdict.choice: _turned(there.text.strip())}
    values |= {"explanation_1": explained[1], "explanation_2": explained[2]}
    answer = single((yield _ask(synthesise, evaluator, values)))
    return _verdict(answer, evaluator, synthesise)


def _turned(explanation: str) -> str:
    """Let an explanation that was given in the other order speak of the outputs as they are shown now."""
    for word in ("Output", "output"):
        halves = explanation.split(f"{word} (a)")
        explanation = f"{word} (b)".join(half.replace(f"{word} (b)", f"{word} (a)") for half in halves)
    return explanation


def _verdict(answer: Answer, evaluator: Published, step: PublishedStep) -> Verdict:
    try:
        reading: Reading = read_published(evaluator.parser, evaluator.options_of(step), answer)
    except Unreadable as error:
        return unparsed(answer.text, str(error))
    return Verdict(
        choice=reading.choice, status="parsed", raw_text=answer.text, probability=reading.probability
    )
