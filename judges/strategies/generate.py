"""Contestants: a model's own answer to an instruction, to be judged later."""

from judges.strategies.conversations import asked
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.thoughts import EMPTY
from judges.strategies.types import Chat, ItemView, Steps, StrategyConfig, single


def generate(item: ItemView, config: StrategyConfig) -> Steps:
    """Answer the instruction. The text is kept as it is, cut off or not; an empty one is unparsed.

    ``params["system"]`` is a message of the system put first; none where it is empty.
    """
    system = config.params.get("system", "")
    before = (("system", system),) if system else ()
    answer = single((yield Chat((*before, *asked(item)), sample=item.sample)))
    if not answer.text.strip():
        return unparsed(answer.text, f"{EMPTY} (it ended with {answer.finish_reason!r})")
    return parsed(answer.text, {"finish_reason": answer.finish_reason})
