"""What the tables and figures of a paper are made from: typed inputs, read by `metaeval.selectors.papers`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metaeval.inputs import Inputs, JudgeAnswers, Options
from metaeval.reports.systems import OutsideTable


@dataclass(frozen=True, slots=True, eq=False)
class PaperData:
    """One dataset as a paper sees it.

    Attributes
    ----------
    name, title : str
        Of the dataset, or of the study whose labels count.
    inputs : mapping of str to Inputs
        By kind of item, of the kinds that the dataset has; baselines are judges of pairs.
    options : Options
        Seed, resamples and conventions.
    systems : mapping of str to tuple of str
        By an item's external name, the systems that its responses are of, in canonical order; items with a response
        of no named system are not there.
    specifications : mapping of str to mapping
        By a judge's fingerprint what it is: strategy, settings, reference, prompts.
    outside : tuple of OutsideTable
        Ratings of systems from elsewhere.
    """

    name: str
    title: str
    inputs: Mapping[str, Inputs]
    options: Options
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    specifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    outside: tuple[OutsideTable, ...] = ()

    def specification(self, judge: JudgeAnswers) -> Mapping[str, Any]:
        """What a judge is; nothing is known of a baseline."""
        return self.specifications.get(judge.fingerprint, {})

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of the inputs by kind."""
        return {kind: inputs.hash(self.options) for kind, inputs in sorted(self.inputs.items())}
