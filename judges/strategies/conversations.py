"""An instruction as a conversation: what a contestant is asked and answers, and what its likelihood is measured on.

One form for all of them, so that the perplexity of a reference is measured on the very prompt that the contestant
answers: the turns before, then one message of the user, the instruction and, a blank line below it, its input.
"""

from annotation.domain.conversation import SPEAKERS
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.prompts import Message
from judges.strategies.thoughts import EMPTY
from judges.strategies.types import Chat, ItemView, Steps, StrategyConfig, single


def question(item: ItemView) -> str:
    """Return the instruction and, a blank line below it, its input; without the turns before.

    >>> question(ItemView(1, "generation", "Shorten this.", (), context="A long text."))
    'Shorten this.\\n\\nA long text.'
    """
    given = item.context
    if item.conversation:
        # What is judged has the turns as text too, at the beginning of its context; a contestant's item has not.
        given = given.removeprefix(before(item)).removeprefix("\n\n")
    return f"{item.instruction}\n\n{given}" if given else item.instruction


def before(item: ItemView) -> str:
    """Return the turns before the instruction as one text; empty without any."""
    return "\n\n".join(f"{SPEAKERS.get(role, role)}: {text}" for role, text in item.conversation)


def asked(item: ItemView) -> tuple[Message, ...]:
    """Return the turns before the instruction and the message of the user that asks it.

    Results of tools come from the user: a server takes a message of a tool only where it has made the call itself.
    """
    before = (("user" if role == "tool" else role, text) for role, text in item.conversation)
    return (*before, ("user", question(item)))


def answered(item: ItemView, response: str) -> tuple[Message, ...]:
    """Return the conversation with a response to the instruction."""
    return (*asked(item), ("assistant", response))


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
