"""May a judge replace a person? The alternative annotator test of each judge, for a report."""

import warnings
from typing import Any

import numpy as np

from metaeval.reports.estimates import plain
from metaeval.reports.inputs import Floats, ItemColumns, JudgeColumns, LabelColumns
from metaeval.reports.tables import ranked
from metaeval.stats import Resamples, StatisticsWarning, alternative_annotator_test

# Beyond it the people of a study are a crowd of whom each labelled a handful.
_MOST_CELLS = 20_000_000


def labels_by_person(items: ItemColumns, labels: LabelColumns) -> Floats | None:
    """Labels as (n_items, n_people), a column a person; None where that would be too large a table to be of use."""
    n_people = int(labels.annotator.max(initial=-1)) + 1
    if len(items) * n_people > _MOST_CELLS:
        return None
    table = np.full((len(items), n_people), np.nan)
    table[labels.item, labels.annotator] = labels.choice
    return table


def replacement_section(
    judge: JudgeColumns, by_person: Floats | None, resamples: Resamples, confidence: float
) -> dict[str, Any]:
    """Whether the judge may stand in for one of the people; with a reason where that cannot be tested.

    Verdicts that were never asked for take no part; what could not be read loses against the person.
    """
    if by_person is None:
        return _not_tested("too many people for a table of them")
    judged = judge.judged.any(axis=1)
    if not judged.any():
        return _not_tested("nothing was judged")
    verdicts = judge.verdicts
    if not judge.judged[judged].all():
        # One order an item: the one that there is.
        verdicts = np.where(judge.judged[:, 0], verdicts[:, 0], verdicts[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the reason is kept with the result
        found = alternative_annotator_test(
            by_person, verdicts, where=judged, resamples=resamples, confidence=confidence
        )
    return {
        "passed": found.passed,
        "winning_rate": None if np.isnan(found.winning_rate) else found.winning_rate,
        "advantage_probability": plain(found.advantage_probability),
        "n_tested": found.n_tested,
        "n_won": found.n_won,
        "epsilon": found.epsilon,
        "alpha": found.alpha,
        "threshold": found.threshold,
        "reason": found.reason,
    }


def replacements(content: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(judge, its test) of the judges that were tested, as ranked; none where nobody could be."""
    rows = [(judge, judge.get("replaces")) for _, judge in ranked(content, content["primary"])]
    return [(judge, test) for judge, test in rows if test is not None and test["passed"] is not None]


def _not_tested(reason: str) -> dict[str, Any]:
    nothing = {"value": None, "low": None, "high": None, "n": 0, "method": "none", "reason": reason}
    return {
        "passed": None,
        "winning_rate": None,
        "advantage_probability": nothing,
        "n_tested": 0,
        "n_won": 0,
        "epsilon": None,
        "alpha": None,
        "threshold": None,
        "reason": reason,
    }
