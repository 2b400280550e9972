"""What the pages say of a strategy: what it asks for, and what it costs."""

from dataclasses import dataclass
from functools import cache

from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.selectors.judging import GENERATION
from judges.strategies.info import StrategyInfo
from judges.strategies.registry import STRATEGIES

REQUEST_WORDS = {
    "chat": "generates text",
    "score": "reads likelihoods",
    "embed": "reads vectors",
    "classify": "reads a classifier's scores",
    "match": "compares tokens",
}


@dataclass(frozen=True, slots=True)
class StrategyFacts:
    """A strategy in words.

    Attributes
    ----------
    kind : str
        What it judges, in words; empty for pairs.
    cost : str
        What it asks of models.
    """

    info: StrategyInfo
    kind: str
    cost: str

    @property
    def searched(self) -> str:
        """The words by which it is found, in lower case."""
        info = self.info
        return " ".join((info.title, info.name, info.summary, info.source, info.family, self.kind)).lower()


def kind_words(kind: str) -> str:
    """Return what a kind of items is called on the pages."""
    if kind == GENERATION:
        return "Contestant"
    return KINDS[kind].label if kind in KINDS else kind


def kind_named(kind: str) -> str:
    """Return what a kind of items is called where pairs are what is usual; empty for pairs."""
    return "" if kind == DEFAULT_KIND else kind_words(kind)


def strategy_facts(info: StrategyInfo) -> StrategyFacts:
    return StrategyFacts(info, kind_named(info.kind), _cost(info))


@cache
def strategies_by_family() -> list[tuple[str, list[StrategyFacts]]]:
    """Return all strategies, grouped by family in the order of the registry."""
    groups: dict[str, list[StrategyFacts]] = {}
    for info in STRATEGIES.values():
        groups.setdefault(info.family, []).append(strategy_facts(info))
    return list(groups.items())


def _cost(info: StrategyInfo) -> str:
    if info.composed:
        return "Those of its members"
    if not info.needs_model:
        return "No LLM"
    n_prompts = bool(info.prompt) + len(info.prompts)
    words = [REQUEST_WORDS[kind] for kind in REQUEST_WORDS if kind in info.requests]
    if n_prompts > 1:
        words.append(f"{n_prompts} prompts of its own")
    models = len(info.roles) + info.main_model
    if info.open_roles:
        words.append("one model per system")
    elif models > 1:
        words.append(f"{models} models")
    if not info.order_matters:
        words.append("independent of the order")
    text = ", ".join(words)
    return text[:1].upper() + text[1:]
