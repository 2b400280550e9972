"""A debate of several personas, and a verdict at its end.

Chan et al., "ChatEval: Towards Better LLM-based Evaluators through Multi-Agent Debate", ICLR 2024: one by one or
simultaneous talk. The personas and prompts are our own. Instruction and outputs stand first in every turn, so that
backends that keep prefixes read them once.
"""

from collections import Counter
from typing import Any, NamedTuple

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import step_prompt
from judges.strategies.pairwise import choice_presented, read_last_line, render_pair
from judges.strategies.parsing import unparsed
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, Verdict, several, single


class Persona(NamedTuple):
    """Who speaks, and how they look at things."""

    name: str
    view: str


def personas(text: str) -> tuple[Persona, ...]:
    """Read ``"Name: how they look at things; Name: ..."``; line breaks part them too.

    Raises
    ------
    StrategyError
        There are fewer than two, one has no name or no point of view, or two have the same name.
    """
    found = []
    for part in text.replace("\n", ";").split(";"):
        if part.strip():
            name, _, view = (each.strip() for each in part.partition(":"))
            if not name or not view:
                raise StrategyError(
                    f"A persona is written 'Name: how they look at things', not '{part.strip()}'."
                )
            found.append(Persona(name, view.rstrip(".")))
    if len(found) < 2 or len({each.name for each in found}) < len(found):
        raise StrategyError("A debate needs two personas or more, each with a different name.")
    return tuple(found)


def debate(item: ItemView, config: StrategyConfig) -> Steps:
    """Let the personas speak for some rounds, then take the moderator's verdict or the majority of the last round."""
    people = personas(config.params["personas"])
    said: list[tuple[Persona, Answer]] = []
    for _ in range(config.params["rounds"]):
        if config.params["turns"] == "together":
            answers = several((yield tuple(_turn(item, config, person, said) for person in people)))
            said += zip(people, answers, strict=True)
        else:
            for person in people:
                said.append((person, single((yield _turn(item, config, person, said)))))
    votes = [read_last_line(answer, config).choice for _, answer in said[-len(people) :]]
    value = {
        "votes": {
            person.name: None if vote is None else choice_presented(vote, item.order)
            for person, vote in zip(people, votes, strict=True)
        }
    }
    if config.params["decision"] == "majority":
        return _majority(votes, _transcript(said), config, value)
    answer = single((yield _moderator(item, config, said)))
    verdict = read_last_line(answer, config)
    if verdict.choice is None:
        return verdict
    return Verdict(verdict.choice, "parsed", raw_text=answer.text, value=value)


def _turn(
    item: ItemView, config: StrategyConfig, person: Persona, said: list[tuple[Persona, Answer]]
) -> Chat:
    texts = {"persona": person.name, "view": person.view}
    if said:
        texts["discussion"] = _transcript(said)
    return Chat(render_pair(item, config, texts=texts))


def _moderator(item: ItemView, config: StrategyConfig, said: list[tuple[Persona, Answer]]) -> Chat:
    prompt = step_prompt(config, "moderator")
    return Chat(render_pair(item, config, prompt=prompt, texts={"discussion": _transcript(said)}))


def _transcript(said: list[tuple[Persona, Answer]]) -> str:
    spoke = [(person.name, answer.text.strip()) for person, answer in said]
    return "\n\n".join(f"{name} said:\n{text or '(nothing)'}" for name, text in spoke)


def _majority(votes: list[int | None], text: str, config: StrategyConfig, value: dict[str, Any]) -> Verdict:
    """Return what more of the personas said than anything else; those without a verdict have no vote."""
    counted = Counter(vote for vote in votes if vote is not None).most_common()
    if not counted:
        return unparsed(text, "none of the personas gave a verdict")
    if len(counted) > 1 and counted[0][1] == counted[1][1]:
        if not config.allow_tie:
            return unparsed(text, "the personas were evenly split, and a tie was not allowed")
        return Verdict(0, "parsed", raw_text=text, value=value)
    return Verdict(counted[0][0], "parsed", raw_text=text, value=value)
