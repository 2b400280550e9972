"""What the tables and figures of a paper are made from: typed inputs, read by `metaeval.selectors.papers`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metaeval.inputs import Booleans, Inputs, Items, JudgeAnswers, Labels, Options
from metaeval.reports.systems import OutsideTable


@dataclass(frozen=True, slots=True, eq=False)
class AgreementSet:
    """Pairs that people labeled, apart from those on which systems are ranked."""

    title: str
    inputs: Inputs


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
    examples : mapping of (str, str) to str
        By category and subset the beginning of their first instruction.
    baselines : tuple of str
        The systems that others are compared with, the first of them in tables; empty: those that stand in every pair.
    agreement : AgreementSet or None
        Where judges' agreement with people comes from when systems are ranked; None: the data itself.
    """

    name: str
    title: str
    inputs: Mapping[str, Inputs]
    options: Options
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    specifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    outside: tuple[OutsideTable, ...] = ()
    examples: Mapping[tuple[str, str], str] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()
    agreement: AgreementSet | None = None

    def specification(self, judge: JudgeAnswers) -> Mapping[str, Any]:
        """What a judge is; nothing is known of a baseline."""
        return self.specifications.get(judge.fingerprint, {})

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of the inputs by kind, and of the agreement set's."""
        found = {kind: inputs.hash(self.options) for kind, inputs in sorted(self.inputs.items())}
        if self.agreement is not None:
            found["agreement"] = self.agreement.inputs.hash(self.options)
        return found


def inputs_where(inputs: Inputs, members: Booleans) -> Inputs:
    """The same inputs with these items only, (n_items,): what was said of the others is no part of them."""
    rows = np.flatnonzero(members)
    items, labels = inputs.items, inputs.labels
    kept = members[labels.item]
    place = np.cumsum(members) - 1

    def of(values: Any) -> Any:
        return tuple(values[row] for row in rows.tolist())

    def cut(values: Any) -> Any:
        return None if values is None else values[rows]

    return replace(
        inputs,
        items=Items(
            external_id=of(items.external_id),
            cluster=of(items.cluster),
            category=of(items.category),
            subset=of(items.subset),
            parts=of(items.parts),
            gold=cut(items.gold),
            lengths=cut(items.lengths),
            parents=of(items.parents),
            voted=cut(items.voted),
        ),
        labels=Labels(
            item=place[labels.item[kept]],
            annotator=labels.annotator[kept],
            values=labels.values[kept],
            simulated=labels.simulated[kept],
            n_repeated=labels.n_repeated,
            ties_allowed=labels.ties_allowed,
            shown_first=None if labels.shown_first is None else labels.shown_first[kept],
            group=tuple(name for name, own in zip(labels.group, kept, strict=False) if own),
        ),
        judges=tuple(
            replace(
                judge,
                **{
                    name: cut(getattr(judge, name))
                    for name in (
                        *("values", "judged", "unparsed", "failed", "cost", "seconds"),
                        *("finer", "probability"),
                    )
                },
            )
            for judge in inputs.judges
        ),
        weights=cut(inputs.weights),
    )
