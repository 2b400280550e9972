"""What the page of a study says of judges: what a report on the study says, or the latest that was made."""

from dataclasses import dataclass, replace

from annotation.models import Study, User
from annotation.selectors.overview import labels_visible_to
from judges.selectors.stored import judgments_on
from metaeval.inputs import Inputs
from metaeval.models import Report
from metaeval.reports.anytime import AnytimeEntry, anytime_row
from metaeval.reports.report import ReportContent, known, report_of
from metaeval.reports.selection.inputs import Part, dataset_inputs
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.reports import report_latest
from metaeval.selectors.selections import arrival_of
from metaeval.services.report_jobs import is_small
from metaeval.services.reports import content_get, options_against


@dataclass(frozen=True, slots=True)
class StudyJudges:
    """The report that the page quotes, and where it was stored; without content there are too many rows to wait for.

    ``anytime`` is the difference of the two best, ``leader`` being the first, while labels arrive.
    """

    content: ReportContent | None
    stored: Report | None = None
    leader: str = ""
    anytime: AnytimeEntry | None = None


def study_judges_get(*, study: Study, reader: User, dimension: str = "") -> StudyJudges | None:
    """What a report on a study says now, or of many rows what the latest said; None without judgments or labels.

    With a dimension, judges are held against the labels on it, and while labels arrive nothing is said.
    """
    labels = labels_visible_to(reader).current().filter(study=study)
    if not judgments_on([study.dataset], study.kind).exists() or not labels.exists():
        return None
    if is_small([study.dataset], study.kind):
        # As `report_build` does, with the inputs at hand.
        inputs = inputs_read(
            dataset=study.dataset, kind=study.kind, study=study, reader=reader, dimension=dimension
        )
        content = content_get(inputs, options_against(inputs))
        if dimension:
            return StudyJudges(content)
        return StudyJudges(content, None, *_two_best(study, reader, inputs, content))
    stored = report_latest(reader, study, dimension)
    return StudyJudges(None if stored is None else report_of(stored.content), stored)


def _two_best(
    study: Study, reader: User, inputs: Inputs, content: ReportContent
) -> tuple[str, AnytimeEntry | None]:
    """The leader of the report, and how it compares with the runner-up; None where labels decide nothing."""
    primary = content.primary
    ranked = [
        judge
        for index, judge in content.ranked()
        if content.status(index) not in ("baseline", "incomplete") and known(judge.overall(primary))
    ]
    if content.against != "people" or len(ranked) < 2:
        return "", None
    part = dataset_inputs(Part(study.dataset.name, "people", 1.0), inputs, inputs.items.cluster, primary)
    arrival = arrival_of(study.dataset, study.kind, reader, part.external_id, study)
    if not arrival:
        return "", None
    found = anytime_row(
        part.judged,
        arrival,
        part.most,
        (ranked[0].fingerprint, ranked[1].fingerprint),
        confidence=float(content.options["confidence"]),
        margin=float(content.options.get("margin", 0.0)),
        n_judges=len(ranked),
        n_shared=len(ranked) * (len(ranked) - 1) // 2,
        is_weighted=part.is_weighted,
    )
    return ranked[0].name, replace(AnytimeEntry(**found), rival=ranked[1].name)
