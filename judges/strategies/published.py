"""Published prompts, run word for word from a user's own copy.

LLMBar's evaluators: Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024.
AlpacaEval's annotators: Li et al., "AlpacaEval: An Automatic Evaluator of Instruction-following Models", 2023.
MT-bench's prompts (FastChat): Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023.
Arena-Hard: Li et al., "From Crowdsourced Data to High-Quality Benchmarks: Arena-Hard and BenchBuilder Pipeline", 2024.
None of their prompts is part of this project.
"""

import random
from collections.abc import Generator
from dataclasses import replace

from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.pairwise import choice_presented, in_order, pair
from judges.strategies.parsing import unparsed
from judges.strategies.published_config import (
    ALPACA_EVAL,
    FASTCHAT,
    PADDING,
    RATE,
    REFERENCES,
    SWAP,
    Published,
    PublishedStep,
    messages,
    published_read,
)
from judges.strategies.published_parsers import Reading, Unreadable, published_score, read_published
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
    """Ask as the published evaluator asks, and read the answer with its parser.

    ``params["drawn_order"]`` shows the pair in the one order that AlpacaEval's run draws for it with
    ``params["seed"]``, whatever order is judged.
    """
    assert config.prompt is not None, "a specification without a prompt cannot be built"
    evaluator = published_read(config.prompt.source)
    if not config.params.get("drawn_order"):
        return (yield from _asked(item, evaluator))
    is_swapped = evaluator.is_randomized and drawn_swap(
        _texts(item, evaluator)["instruction" if evaluator.dialect == ALPACA_EVAL else "input"],
        int(config.params.get("seed", 0)),
    )
    view = in_order(item, int(is_swapped))
    verdict = yield from _asked(view, evaluator)
    return verdict if view.order == item.order else _from_other_order(verdict)


def drawn_swap(instruction: str, seed: int) -> bool:
    """Return whether AlpacaEval's run shows the second output first.

    It seeds a generator for each instruction with "is_switched_outputs", the instruction and the annotator's seed
    (`RandomSwitchTwoColumnsProcessor`), which is 0 unless it was set; HREF sets 42.

    >>> [drawn_swap(text, 0) for text in ("Say hi.", "Say no.", "Add 1.")]
    [False, True, True]
    """
    drawn = random.Random(f"is_switched_outputs{instruction}{seed}")  # noqa: S311 (repeatable, not secret)
    return drawn.choices([False, True], k=1)[0]


def _from_other_order(verdict: Verdict) -> Verdict:
    """Return the verdict on a pair that was shown in the other order than the one judged."""
    if verdict.choice is None:
        return verdict
    return replace(
        verdict,
        choice=choice_presented(verdict.choice, 1),
        scores=verdict.scores and (verdict.scores[1], verdict.scores[0]),
        probability=None if verdict.probability is None else 1.0 - verdict.probability,
    )


def _asked(item: ItemView, evaluator: Published) -> Steps:
    if evaluator.equal_is_tie and len(set(pair(item))) == 1:
        return Verdict(
            0, "parsed", probability=0.5, value={"note": "The outputs are the same; nothing was asked."}
        )
    if evaluator.mode == RATE:
        return (yield from _rate(item, evaluator))
    if evaluator.mode == SWAP:
        return (yield from _swap(item, evaluator))
    return (yield from _compare(item, evaluator))


def _texts(item: ItemView, evaluator: Published) -> dict[str, str]:
    """Return what the prompts may show of an item, under the published names."""
    whole = "\n\n".join(part for part in (item.instruction, item.context) if part)
    if evaluator.dialect == FASTCHAT:
        return _turns(item, evaluator, whole)
    if evaluator.dialect == ALPACA_EVAL:
        if not item.reference and _names_one(evaluator, REFERENCES):
            raise MissingReferenceError(item_id=item.item_id, strategy="published")
        apart = any("{input}" in step.template for step in evaluator.steps)
        texts = {"instruction": item.instruction if apart else whole, "input": item.context}
        return texts | (dict.fromkeys(REFERENCES, item.reference) if item.reference else {})
    return {"input": whole}


def _turns(item: ItemView, evaluator: Published, whole: str) -> dict[str, str]:
    """Return the question and the reference, and of a prompt for two turns those of the first.

    The first turn is the item's conversation, which all responses continue.
    """
    values = dict.fromkeys(("question", "QUESTION", "question_1", "input"), whole)
    if item.reference:
        values["ref_answer_1"] = item.reference
    elif _names_one(evaluator, ("ref_answer_1", "ref_answer_2")):
        raise MissingReferenceError(item_id=item.item_id, strategy="published")
    if _names_one(evaluator, ("question_2",)):
        said = [content for role, content in item.conversation if role != "system"]
        if len(said) != 2:
            raise StrategyError(
                f"Item {item.item_id}: the prompt is about the second of two turns, and {len(said) // 2} came before."
            )
        values |= {"question_1": said[0], "first_answer": said[1], "question_2": item.instruction}
        if item.reference:
            values |= {"ref_answer_1": said[1], "ref_answer_2": item.reference}
    return values


def _outputs(evaluator: Published, values: dict[str, str], *outputs: str) -> dict[str, str]:
    """Return what a prompt may show with the names under which it shows one output, or a pair."""
    if evaluator.dialect != FASTCHAT:
        names = ("output",) if len(outputs) == 1 else ("output_1", "output_2")
        return values | dict(zip(names, outputs, strict=True))
    first = values.get("first_answer")
    if len(outputs) == 1:
        later = {"answer_1": first, "answer_2": outputs[0]} if first is not None else {"answer_1": outputs[0]}
        return values | {"answer": outputs[0]} | later
    a, b = outputs
    shown = {"answer_a": a, "answer_b": b, "ANSWER_A": a, "ANSWER_B": b, "answer_1": a, "answer_2": b}
    turns = {} if first is None else {"answer_a_1": first, "answer_b_1": first}
    return values | shown | turns | {"answer_a_2": a, "answer_b_2": b}


def _names_one(evaluator: Published, names: tuple[str, ...]) -> bool:
    return any(f"{{{name}}}" in step.template for step in evaluator.steps for name in names)


def _ask(step: PublishedStep, evaluator: Published, values: dict[str, str]) -> Chat:
    rows = [dict(PADDING) for _ in range(evaluator.batch_size)]
    rows[evaluator.batch_place] = values
    return Chat(
        messages(step.template, evaluator.dialect, *rows, system=step.system),
        max_tokens=step.max_tokens,
        temperature=step.temperature,
        top_p=step.top_p,
        logprobs=step.logprobs,
        json_schema=step.json_schema,
        biases=step.biases,
        function=step.function,
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
    answer = single((yield _ask(evaluator.steps[-1], evaluator, _outputs(evaluator, values, first, second))))
    return _verdict(answer, evaluator, evaluator.steps[-1])


def _rate(item: ItemView, evaluator: Published) -> Steps:
    outputs = pair(item)
    values = yield from _prepare(item, evaluator)
    step = evaluator.steps[-1]
    answers = several(
        (yield tuple(_ask(step, evaluator, _outputs(evaluator, values, output)) for output in outputs))
    )
    text = "\n\n".join(answer.text for answer in answers)
    try:
        first, second = (published_score(evaluator.parser, answer.text) for answer in answers)
    except Unreadable as error:
        return unparsed(text, str(error))
    choice = 1 if first > second else 2 if first < second else 0
    return Verdict(
        choice=choice,
        status="parsed",
        raw_text=text,
        scores=(first, second),
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
        reading: Reading = read_published(
            evaluator.parser,
            evaluator.options_of(step),
            answer,
            count=evaluator.batch_size,
            place=evaluator.batch_place,
        )
    except Unreadable as error:
        return unparsed(answer.text, str(error))
    return Verdict(
        choice=reading.choice,
        status="parsed",
        raw_text=answer.text,
        probability=reading.probability,
        value={"strength": reading.strength} if reading.strength else None,
    )
