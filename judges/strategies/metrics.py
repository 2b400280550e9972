"""Self-generated metrics, self-generated reference, and both.

Metrics, Reference and Metrics+Reference of Zeng et al. (LLMBar), ICLR 2024. The prompts are our own. What is generated
depends on the instruction alone, so it is asked once for all strategies that use it and for both orders.
"""

from judges.strategies.pairwise import about_instruction, one_question, render_pair
from judges.strategies.parsing import unparsed
from judges.strategies.types import Answer, ItemView, Steps, StrategyConfig, several, single


def metrics(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask what matters for this instruction, then which response is better by it."""
    listed = single((yield about_instruction(item, config, "metrics")))
    return (yield from _informed(item, config, metrics=listed))


def reference_self(item: ItemView, config: StrategyConfig) -> Steps:
    """Have the model carry out the instruction itself, then ask which response is better beside its own."""
    own = single((yield about_instruction(item, config, "answer")))
    return (yield from _informed(item, config, answer=own))


def metrics_reference(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for both, at once, and then which response is better."""
    asked = (about_instruction(item, config, "metrics"), about_instruction(item, config, "answer"))
    listed, own = several((yield asked))
    return (yield from _informed(item, config, metrics=listed, answer=own))


def _informed(item: ItemView, config: StrategyConfig, **prepared: Answer) -> Steps:
    """Ask for the verdict with what was prepared; a text that was cut off is used as far as it goes."""
    texts = {}
    for name, answer in prepared.items():
        texts[name] = answer.text.strip()
        if not texts[name]:
            return unparsed(answer.text, f"the step '{name}' got an answer without text")
    return (yield from one_question(item, config, lambda view: render_pair(view, config, texts=texts)))
