"""What pages of a comparison, a decision, errors and the systems of a dataset show, of rows too many to wait for.

A worker computes it as it makes a report (`report_jobs`), and the page shows the last that its reader asked for.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from django.shortcuts import get_object_or_404

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_visible_to
from metaeval.models import JobPage
from metaeval.models import Report as StoredReport
from metaeval.papers.paper import paper_json
from metaeval.reports.changes import Verification
from metaeval.reports.confidence import Asked, confidence_page
from metaeval.reports.json_values import json_of
from metaeval.reports.report import canonical_json
from metaeval.reports.selection.inputs import Criteria
from metaeval.selection.verdict import Annotators
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.reports import report_get_for
from metaeval.selectors.sweeps import SweepView, dataset_of, source_get_for
from metaeval.services.comparisons import comparison_get
from metaeval.services.papers import paper_make
from metaeval.services.selections import selection_get
from metaeval.services.systems import systems_get
from metaeval.services.verification import stored_verify

MOST_FIGURES = 25
"""Fields of a report that no longer holds which are kept to be shown."""


@dataclass(frozen=True, slots=True)
class PageAsked:
    """What the figures of a page depend on beside the rows; JSON values alone.

    Attributes
    ----------
    sweep_id : int or None
    source : str
        Where it is no sweep, the dataset as an address has it (`SweepView.source`).
    dataset, kind : str
    against, margin, annotators
        Of a comparison: against what on other kinds than pairs, and what its verdict asks for.
    criteria : Criteria or None
        Of a decision.
    errors : Asked or None
        Of errors and confidence.
    report_id : int or None
        Of the verification of a stored report.
    paper : str
        Of the tables of a paper, its key.
    baselines : tuple of str
    agreement : str
        Of a paper that ranks systems: those that others are compared with, and the dataset that agreement comes from.
    preset : str
        Of a comparison: the paper whose figures stand beside the others.
    dimension : str
        Of a comparison of pairs: the key of the dimension; empty for the overall one.
    """

    page: str
    sweep_id: int | None
    source: str
    dataset: str
    kind: str
    against: str = ""
    criteria: Criteria | None = None
    margin: float = 0.0
    annotators: Annotators = "alike"
    errors: Asked | None = None
    report_id: int | None = None
    paper: str = ""
    baselines: tuple[str, ...] = ()
    agreement: str = ""
    preset: str = ""
    dimension: str = ""

    @property
    def key(self) -> str:
        """SHA-256 of it, in hexadecimal."""
        content = json_of(self)
        if self.report_id is None:  # what was asked for before there were verifications keeps its key
            del content["report_id"]
        if not self.paper:  # nor were there papers
            del content["paper"]
        for name in ("baselines", "agreement", "preset", "dimension"):
            if not content[name]:
                del content[name]
        return sha256(canonical_json(content).encode("ascii")).hexdigest()


def asked_of(
    sweep: SweepView,
    dataset: Dataset,
    kind: str,
    *,
    against: str = "",
    criteria: Criteria | None = None,
    verdict: tuple[float, Annotators] = (0.0, "alike"),
    preset: str = "",
    dimension: str = "",
) -> PageAsked:
    """Of the comparison of a sweep on one dataset, or with criteria of the decision."""
    page = JobPage.COMPARISON if criteria is None else JobPage.DECISION
    return PageAsked(
        page.value,
        sweep.pk,
        sweep.source,
        dataset.name,
        kind,
        against,
        criteria,
        *verdict,
        preset=preset,
        dimension=dimension,
    )


def asked_to_verify(report: StoredReport) -> PageAsked:
    """Of the verification of a stored report."""
    kind = report.options.get("kind", DEFAULT_KIND)
    return PageAsked(JobPage.VERIFICATION.value, None, "", report.dataset.name, kind, report_id=report.pk)


def verification_json(found: Verification) -> dict[str, Any]:
    """A verification as JSON values, with the figures of the largest move."""
    short = None if found.changes is None else found.changes.shortened(MOST_FIGURES)
    content: dict[str, Any] = json_of(replace(found, changes=short))
    return content


def page_content(asked: PageAsked, reader: User) -> dict[str, Any]:
    """Compute it, however long it takes.

    Raises
    ------
    ReportError
        There is nothing to compare, to choose from or to rank.
    Http404
        The reader may not see it (any more).
    """
    if asked.page == JobPage.SYSTEMS:
        dataset = get_object_or_404(datasets_visible_to(reader), name=asked.dataset)
        return systems_get(dataset=dataset, reader=reader).as_json()
    if asked.page == JobPage.PAPER:
        dataset = get_object_or_404(datasets_visible_to(reader), name=asked.dataset)
        agreement = None
        if asked.agreement:
            agreement = get_object_or_404(datasets_visible_to(reader), name=asked.agreement)
        made = paper_make(
            paper=asked.paper,
            dataset=dataset,
            reader=reader,
            baselines=asked.baselines,
            agreement=agreement,
        )
        return paper_json(made)
    if asked.report_id is not None:
        return verification_json(stored_verify(report_get_for(reader, asked.report_id)))
    sweep = source_get_for(reader, asked.sweep_id, asked.source)
    if asked.criteria is not None:
        return selection_get(sweep=sweep, criteria=asked.criteria).as_json()
    dataset = dataset_of(sweep, asked.dataset)
    if asked.errors is not None:
        inputs = inputs_read(dataset=dataset, kind=asked.kind, sweep=sweep)
        found: dict[str, Any] = json_of(confidence_page(inputs, asked.errors))
        return found
    verdict = asked.margin, asked.annotators
    return comparison_get(
        sweep=sweep,
        dataset=dataset,
        kind=asked.kind,
        against=asked.against,
        verdict=verdict,
        preset=asked.preset,
        dimension=asked.dimension,
    ).as_json()
