"""The pictures of a ranking of systems."""

from metaeval.pictures.intervals import IntervalRow, forest_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.evaluator_pictures import capacity_picture
from metaeval.reports.figures import full_text
from metaeval.reports.pictures import MOST_ROWS, cut_words
from metaeval.reports.systems import SourceRanking, SystemsReport
from metaeval.reports.tables import axis_of

_HALF = 0.5


def systems_pictures(report: SystemsReport, chosen: SourceRanking) -> tuple[Picture, ...]:
    """Win rates of the systems by one source, in the order of their ranks, and how many instructions distinguish them;
    none where nothing is known.
    """
    found = [(rank, row.system, row.win_rate) for rank, row in enumerate(chosen.ordered, start=1)]
    if not any(rate["value"] is not None for *_, rate in found):
        return ()
    rows = [
        IntervalRow(f"{rank}. {name}", rate["value"], rate["low"], rate["high"], "Systems", full_text(rate))
        for rank, name, rate in found
    ]
    lines = [ReferenceLine(_HALF, "One half")]
    shown = rows[:MOST_ROWS]
    domain = axis_of(
        [*(rate for *_, rate in found[:MOST_ROWS]), {"low": _HALF, "value": _HALF, "high": _HALF}]
    )
    capacity = capacity_picture(chosen.capacity, "systems")
    return (
        Picture(
            name="win-rates",
            title=f"Win rates by {chosen.name}",
            description=(
                f"Win rate of {len(found):,} systems by {chosen.name} with {100 * report.confidence:g}% intervals, "
                f"by rank. A tie counts one half.{cut_words(len(shown), len(rows))}"
            ),
            spec=forest_spec(shown, unit="percent", axis_title="Win rate", lines=lines, domain=domain),
            narrow=forest_spec(
                shown, unit="percent", axis_title="Win rate", lines=lines, domain=domain, narrow=True
            ),
            columns=(
                PictureColumn("System"),
                PictureColumn("Rank", "count"),
                *(PictureColumn(head, "percent") for head in ("Win rate", "Low", "High")),
            ),
            rows=tuple((name, rank, rate["value"], rate["low"], rate["high"]) for rank, name, rate in found),
        ),
        *([] if capacity is None else [capacity]),
    )
