"""What the comparison page of a sweep shows, of each kind of its items."""

from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.models import Dataset
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.report import ReportContent
from metaeval.selection.verdict import Annotators
from metaeval.selectors.inputs import inputs_read, kinds_of
from metaeval.selectors.sweeps import SweepView
from metaeval.services.reports import content_cached, content_get, options_against, preset_check

CONTESTANTS_ONLY = (
    "This sweep has contestants only: they write responses, and judges compare them in another sweep."
)


def kinds_compared(dataset: Dataset) -> tuple[tuple[str, ...], bool]:
    """The kinds to compare judges on beside pairs, and whether there are pairs. One query."""
    kinds = kinds_of(dataset)
    others = tuple(kind for kind in FIGURES if kind in kinds and not kind_of(kind).presented)
    return others, len(others) < len(kinds)


def comparison_get(
    *,
    sweep: SweepView,
    dataset: Dataset,
    kind: str = DEFAULT_KIND,
    against: str = "",
    verdict: tuple[float, Annotators] = (0.0, "alike"),
    preset: str = "",
    dimension: str = "",
) -> ReportContent:
    """Compare the judges of a sweep on one dataset, from the cache where the same inputs were computed lately.

    Parameters
    ----------
    against : {"people", "gold"}
        Of other kinds than pairs: what judges are compared with; by default what more items have.
    verdict : (float, {"alike", "these"})
        The practical margin, and over which annotators a winner must win.
    preset : str
        The paper whose figures are computed beside the others.
    dimension : str
        Of pairs: the key of the dimension that labels and gold are read on; empty for the overall one.

    Raises
    ------
    NothingJudgedError
        No judge of the sweep has judged any such item.
    ReportError
        There is nothing to compare, or the preset has no figures of this kind.
    """
    preset_check(kind, preset)
    if sweep.n_contestants and not sweep.judge_ids:
        raise NothingJudgedError(CONTESTANTS_ONLY)
    inputs = inputs_read(dataset=dataset, kind=kind, sweep=sweep, dimension=dimension)
    targets = inputs.targets()
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged items of this kind yet.")
    if not targets and not FIGURES[kind].shows_baselines:
        raise ReportError(
            "There are neither labels nor gold answers yet, so there is nothing to compare judges with."
        )
    asked = Options(margin=verdict[0], annotators=verdict[1], preset=preset)
    options = options_against(inputs, against if against in targets else "", asked)
    return content_get(inputs, options)


def comparison_cached(*, inputs_hash: str, sweep: SweepView, dataset: Dataset) -> ReportContent | None:
    """The comparison with this hash, if it was computed lately and is of this sweep and dataset.

    Sorting a table need not read a hundred thousand rows again.
    """
    content = content_cached(inputs_hash)
    if content is None or content.dataset["name"] != dataset.name:
        return None
    about = content.sweep
    return content if about is not None and about["name"] == sweep.name else None
