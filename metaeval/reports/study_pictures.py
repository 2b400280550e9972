"""The picture of a study: agreement of people over time."""

from collections.abc import Sequence

from annotation.domain.scales import Scale
from metaeval.figures import FIGURES
from metaeval.pictures.curves import CurveAxes, CurvePoint, curve_spec
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.figures import full_text
from metaeval.reports.tables import axis_of

MOST_SYMBOLS = 12
EstimateAt = tuple[int, dict[str, float | None]]
"""After how many instructions, and the estimate as JSON values."""


def study_pictures(
    kind: str, looks: Sequence[EstimateAt], scales: Sequence[Scale] = ()
) -> tuple[Picture, ...]:
    """Agreement as instructions were finished, with its confidence sequence; none before the first is finished."""
    known = [
        (n, value, estimate["low"], estimate["high"])
        for n, estimate in looks
        if (value := estimate["value"]) is not None
    ]
    if not known:
        return ()
    figures = FIGURES[kind].on(scales)
    figure = figures.of_people(figures.of_everyone)
    points = [
        CurvePoint(
            n,
            value,
            low,
            high,
            f"After {n:,}: {full_text({'value': value, 'low': low, 'high': high}, figure.unit)}",
        )
        for n, value, low, high in known
    ]
    domain = axis_of([{"value": one.y, "low": one.low, "high": one.high} for one in points])
    axes = CurveAxes(
        "Finished instructions",
        figure.label,
        "count",
        figure.unit,
        x_domain=(0.0, float(points[-1].x)),
        y_domain=domain if figure.unit == "percent" else None,
    )
    last = points[-1]
    return (
        Picture(
            name="over-time",
            title=f"{figure.label} over time",
            description=(
                f"{figure.label} as instructions were finished, with a confidence sequence: the band is valid "
                f"however often you look. {last.said}."
            ),
            spec=curve_spec(points, axes, symbols=len(points) <= MOST_SYMBOLS),
            narrow=curve_spec(points, axes, symbols=len(points) <= MOST_SYMBOLS, narrow=True),
            columns=(
                PictureColumn("Finished instructions", "count"),
                *(PictureColumn(head, figure.unit) for head in (figure.label, "Low", "High")),
            ),
            rows=tuple(known),
        ),
    )
