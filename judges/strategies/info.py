"""What is known of a strategy without importing it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from annotation.kinds.values import DEFAULT_KIND
from judges.strategies.differences import DIFFERENCES


class Param(NamedTuple):
    """A setting of a strategy's own.

    Attributes
    ----------
    kind : type
        bool, int, float or str.
    default : object
    help : str
        What it does, for whoever sets it.
    choices : tuple
        The values that are allowed; empty: any within the bounds.
    low, high : float or None
        Bounds of a number, both allowed.
    later : bool
        It came after judges of the strategy were defined: at its default it is no part of a judge's identity, so that
        those judges are the same ones today.
    """

    kind: type
    default: object
    help: str = ""
    choices: tuple[object, ...] = ()
    low: float | None = None
    high: float | None = None
    later: bool = False


NO_PARAMS: Mapping[str, Param] = MappingProxyType({})
NO_PROMPTS: Mapping[str, str] = MappingProxyType({})
NO_STEPS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """What is known of a strategy without importing it.

    Attributes
    ----------
    target : str
        ``"module:function"``, imported when first used.
    kind : str
        The kind of items that it judges; also the folder of its prompts. "generation" for contestants, "pairwise" for
        composed judges too, whose members say.
    family : str
        Under what heading it stands where people choose.
    source : str
        Where it was published.
    needs_model : bool
        False for heuristics: they yield no request, so the spec's backend, model and decoding do not matter.
    main_model : bool
        It asks a model in the role "judge". False if all of its models are in `roles`.
    needs_reference : bool
        Reads the human-written reference whatever ``use_reference`` says.
    prompt : str
        Name of the default prompt, such as ``"vanilla.v1"``; empty when it has none.
    needs_prompt : bool
        It cannot work without a prompt: one has to be given where there is no default.
    prompts : mapping of str to str
        Default prompts of its other steps, by the step's name.
    prompts_with : mapping of str to mapping
        Default prompts of steps that there are only with a setting, by the setting's name: they are no part of a judge
        without it.
    params : mapping of str to Param
        The strategy's own settings. Others are refused.
    roles : tuple of str
        Roles other than "judge" that must be named.
    open_roles : bool
        Roles are names of systems, as many as there are.
    composed : bool
        Made of other judges.
    member_paths : bool
        Its members are named by paths, as categories are: ``"Coding/Python"``.
    takes : frozenset of str
        What of ``"reference"``, ``"tie"``, ``"guidelines"``, ``"shots"`` and ``"decoding"`` makes a difference to it.
    needs : frozenset of str
        What of ``"guidelines"`` and ``"shots"`` it cannot work without.
    requests : frozenset of str
        Kinds of requests that it yields: "chat", "score", "embed", "classify", "match".
    order_matters : bool
        False when the canonical verdict cannot depend on the presentation order.
    order_with : frozenset of str
        The settings with which it can all the same.
    check : str
        ``"module:function"`` that is called with this, the prompt's text and the settings of a judge when it is
        defined, and raises SpecError.
    version : int
        Raised when the code asks or reads differently, so that a judge's fingerprint changes with it.
    summary : str
        What it is, for whoever chooses it: a sentence or two.
    """

    name: str
    title: str
    target: str
    kind: str = DEFAULT_KIND
    family: str = "One question"
    source: str = ""
    needs_model: bool = True
    main_model: bool = True
    needs_reference: bool = False
    prompt: str = ""
    needs_prompt: bool = True
    prompts: Mapping[str, str] = field(default_factory=lambda: NO_PROMPTS)
    prompts_with: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: NO_STEPS)
    params: Mapping[str, Param] = field(default_factory=lambda: NO_PARAMS)
    roles: tuple[str, ...] = ()
    open_roles: bool = False
    composed: bool = False
    member_paths: bool = False
    takes: frozenset[str] = frozenset({"reference", "tie", "decoding"})
    needs: frozenset[str] = frozenset()
    requests: frozenset[str] = frozenset({"chat"})
    order_matters: bool = True
    order_with: frozenset[str] = frozenset()
    check: str = ""
    version: int = 1
    summary: str = ""

    def prompts_of(self, params: Mapping[str, object]) -> dict[str, str]:
        """Return the default prompts of the steps that a judge with these settings takes."""
        found = dict(self.prompts)
        for name, prompts in self.prompts_with.items():
            found |= prompts if params.get(name) else {}
        return found

    @property
    def difference(self) -> str:
        """What it does otherwise than its source; empty where that is not said."""
        return DIFFERENCES.get(self.name, "")

    @property
    def all_prompts(self) -> dict[str, str]:
        """The default prompts of all steps, whatever the settings."""
        return self.prompts_of(dict.fromkeys(self.prompts_with, True))
