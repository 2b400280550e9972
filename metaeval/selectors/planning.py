"""What a plan can rest on: the dataset's labels, or those of one of its studies, as a pilot; pay and prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.models import Dataset, Study, User
from annotation.selectors.overview import studies_visible_to
from metaeval.inputs import Inputs
from metaeval.selectors.inputs import inputs_read, kinds_of

DATASET = "dataset"
CURRENCIES = {"USD": "$", "EUR": "€", "GBP": "£"}


@dataclass(frozen=True, slots=True)
class Pilots:
    """What may be a pilot here, by the name that a form has for it."""

    kinds: tuple[str, ...]
    kind: str
    studies: dict[str, Study]

    @property
    def choices(self) -> list[tuple[str, str]]:
        """For a form."""
        if not self.kinds:
            return []
        studies = [(f"study-{slug}", f"study {study.title}") for slug, study in self.studies.items()]
        return [(DATASET, "all labels of this dataset"), *studies]

    def study(self, key: str) -> Study | None:
        """The study that a form names."""
        return self.studies.get(key.removeprefix("study-")) if key.startswith("study-") else None


def pilots_for(user: User, dataset: Dataset, kind: str = "") -> Pilots:
    """Labels of a kind on this dataset that this person may see; by default of pairs, or of the first kind it has."""
    kinds = kinds_of(dataset)
    possible = [each for each in KINDS if not kinds or each in kinds]
    chosen = kind if kind in possible else possible[0]
    studies = studies_visible_to(user).filter(dataset=dataset, kind=chosen).order_by("title", "slug")
    return Pilots(tuple(kinds), chosen, {study.slug: study for study in studies})


def pilot_inputs(user: User, dataset: Dataset, study: Study | None, kind: str = DEFAULT_KIND) -> Inputs:
    """The pilot's labels and verdicts. Raises ReportError where there are none."""
    return inputs_read(dataset=dataset, kind=kind, study=study, reader=user)


def verdict_price(inputs: Inputs, fingerprint: str) -> float | None:
    """What one verdict of a judge has cost on average; None where nobody knows."""
    costs = [one.cost for one in inputs.judges if one.fingerprint == fingerprint and not one.baseline]
    known = costs[0][~np.isnan(costs[0])] if costs else np.zeros(0)
    return float(known.mean()) if len(known) else None


def study_prices(study: Study | None) -> tuple[str, dict[str, str]]:
    """(the sign of the currency, what its labels cost as a form has it)."""
    if study is None:
        return "$", {}
    code = study.pay_currency
    sign = CURRENCIES.get(code, f"{code} ")
    return sign, {"label_price": f"{study.pay_per_item.normalize():f}"} if study.pay_per_item else {}
