"""Swap and synthesise: ask in both orders, and settle what they contradict each other in.

Swap and Swap+CoT of Zeng et al. (LLMBar), ICLR 2024. The prompts are our own, and two things differ: the first two
requests are those of vanilla (or chain of thought), so that they are shared with it; and the last one shows the pair in
canonical order, whatever order is judged, so that both orders have one verdict. With ``params["faithful"]`` the steps
are those of the paper: reasons are asked for in both forms, and the last question is put in the order that is judged.
"""

from judges.strategies.item_prompt import step_prompt
from judges.strategies.pairwise import (
    Reader,
    ask_alone,
    both_texts,
    canonical_verdict,
    disagreement,
    in_both_orders,
    in_order,
    read_alone,
    read_last_line,
    render_pair,
)
from judges.strategies.prompts import Message
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, Verdict, several, single

_WORDS = {1: "Output A is better", 2: "Output B is better", 0: "neither is better"}


def swap(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask vanilla's question in both orders; where the verdicts differ, ask again with both at hand."""
    if config.params.get("faithful"):
        return (yield from _as_published(item, config, first="reasons", last="settle", reasons=False))
    return (yield from _settled(item, config, reasons=False))


def swap_cot(item: ItemView, config: StrategyConfig) -> Steps:
    """The same with chain of thought throughout: the last question shows the reasons of both orders."""
    if config.params.get("faithful"):
        return (yield from _as_published(item, config, first="", last="synthesis", reasons=True))
    return (yield from _settled(item, config, reasons=True))


def _settled(item: ItemView, config: StrategyConfig, *, reasons: bool) -> Steps:
    read: Reader = read_last_line if reasons else read_alone

    def ask(messages: tuple[Message, ...]) -> Chat:
        return Chat(messages) if reasons else ask_alone(config, messages)

    first, second = several((yield tuple(ask(render_pair(view, config)) for view in in_both_orders(item))))
    choices = disagreement(read(first, config), read(second, config))
    if isinstance(choices, Verdict):
        return choices
    value = {"orders": list(choices), "synthesised": choices[0] != choices[1]}
    if choices[0] == choices[1]:
        return canonical_verdict(item, choices[0], raw_text=both_texts(first.text, second.text), value=value)
    stored = in_order(item, 0)
    answer = single((yield ask(_conflict(stored, config, choices, (first, second), reasons=reasons))))
    verdict = read(answer, config)
    if verdict.choice is None:
        return verdict
    return canonical_verdict(item, verdict.choice, raw_text=answer.text, value=value)


def _as_published(item: ItemView, config: StrategyConfig, *, first: str, last: str, reasons: bool) -> Steps:
    """Compare with reasons in both orders; settle a contradiction in the order that is judged.

    Parameters
    ----------
    first, last : str
        The steps whose prompts compare and settle; an empty one is the main prompt.
    reasons : bool
        Reasons are asked for once more when it is settled.
    """
    prompt = step_prompt(config, first) if first else None
    views = item, in_order(item, 1 - item.order)
    asked = tuple(Chat(render_pair(view, config, prompt=prompt)) for view in views)
    here, there = several((yield asked))
    verdict, other = read_last_line(here, config), read_last_line(there, config)
    # As published, one that cannot be read contradicts nothing, and leaves the verdict to the order that is judged.
    if verdict.choice not in (1, 2) or verdict.choice != other.choice:
        return verdict
    choices = verdict.choice, 3 - verdict.choice
    messages = _conflict(item, config, choices, (here, there), reasons=True, step=last)
    answer = single((yield Chat(messages) if reasons else ask_alone(config, messages)))
    return (read_last_line if reasons else read_alone)(answer, config)


def _conflict(
    item: ItemView,
    config: StrategyConfig,
    choices: tuple[int, int],
    answers: tuple[Answer, Answer],
    *,
    reasons: bool,
    step: str = "synthesis",
) -> tuple[Message, ...]:
    texts = {"first_verdict": _WORDS[choices[0]], "second_verdict": _WORDS[choices[1]]}
    if reasons:
        texts |= {
            "first_reasons": answers[0].text.strip(),
            "second_reasons": answers[1].text.strip(),
        }
    flags = ("reasons",) if reasons else ()
    return render_pair(item, config, *flags, prompt=step_prompt(config, step), texts=texts)
