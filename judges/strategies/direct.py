"""One question, one verdict: vanilla, with rules, with the human reference, by the annotators' guidelines, after
reasons (chain of thought), after worked examples (few-shot).

Vanilla and Rules: Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following"
(LLMBar), ICLR 2024, which also has a judge with chain of thought (Wei et al., "Chain-of-Thought Prompting Elicits
Reasoning in Large Language Models", NeurIPS 2022). The human-written reference as context: Lyu et al., "HREF: Human
Response-Guided Evaluation of Instruction Following in Language Models", 2024. Worked examples: Brown et al., "Language
Models are Few-Shot Learners", NeurIPS 2020; each is a turn of the conversation, the same question as the real one and
its verdict as the answer, so that an example is fenced as the real item is, and all items share the beginning of their
prompts. The prompts are our own.
"""

from collections.abc import Mapping
from dataclasses import replace

from annotation.kinds.values import DEFAULT_KIND
from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import step_prompt
from judges.strategies.pairwise import one_question, render_pair
from judges.strategies.prompts import Message, Prompt
from judges.strategies.types import ItemView, Steps, StrategyConfig


def vanilla(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask which response is better and for nothing else."""
    return one_question(item, config, lambda view: render_pair(view, config))


def rules(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, after rules that say what counts."""
    return one_question(item, config, lambda view: render_pair(view, config, "rules"))


def reference(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, with the human-written reference shown; an item without one is an error."""
    return vanilla(item, replace(config, use_reference=True))


def guidelines(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask by the guidelines that the annotators follow, after their worked examples if there are any."""
    if not config.guidelines.strip():
        raise StrategyError(f"The strategy '{config.name}' needs guidelines and its configuration has none.")
    return (yield from one_question(item, config, lambda view: with_shots(render_pair(view, config), config)))


def cot(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for reasons and then the verdict; ``params["rules"]`` puts the rules of judging before them."""
    return one_question(item, config, lambda view: render_pair(view, config), reasons=True)


def fewshot(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does after worked examples; ``params["cot"]``: reasons first, as the examples give them."""
    if not config.shots:
        raise StrategyError(
            f"The strategy '{config.name}' needs worked examples and its configuration has none."
        )
    reasons = bool(config.params.get("cot"))
    prompt = step_prompt(config, "cot") if reasons else config.prompt

    def show(view: ItemView) -> tuple[Message, ...]:
        return with_shots(render_pair(view, config, prompt=prompt), config, prompt=prompt, reasons=reasons)

    return (yield from one_question(item, config, show, reasons=reasons))


def with_shots(
    messages: tuple[Message, ...],
    config: StrategyConfig,
    *,
    prompt: Prompt | None = None,
    reasons: bool = False,
) -> tuple[Message, ...]:
    """Put the configuration's worked examples before the last question, as turns of the same conversation.

    Parameters
    ----------
    messages : tuple of Message
        The rendered prompt; its last message is the question.
    prompt : Prompt or None
        What the messages were rendered from; None: the main prompt.
    reasons : bool
        Examples answer with their reason before the verdict's line.

    Raises
    ------
    StrategyError
        An example's verdict is a tie, and ties are not allowed.
    """
    turns = [turn for shot in config.shots for turn in _turns(shot, config, prompt, reasons=reasons)]
    return (*messages[:-1], *turns, messages[-1])


def _turns(
    shot: Mapping[str, str], config: StrategyConfig, prompt: Prompt | None, *, reasons: bool
) -> tuple[Message, Message]:
    if shot["verdict"] == "tie" and not config.allow_tie:
        raise StrategyError(f"An example of '{config.name}' is a tie, which this judge can't answer.")
    item = ItemView(
        item_id=0,
        kind=DEFAULT_KIND,
        instruction=shot["instruction"],
        responses=(shot["output_a"], shot["output_b"]),
        context=shot.get("context", ""),
    )
    # Examples have no reference of their own.
    question = render_pair(item, replace(config, use_reference=False), prompt=prompt)[-1]
    answer = shot["verdict"]
    if reasons:
        answer = "\n\n".join(filter(None, (shot.get("reason", ""), f"Verdict: {shot['verdict']}")))
    return question, ("assistant", answer)
