"""The picture of a judge in time: the evidence that it has drifted, after each check of its anchors."""

from collections.abc import Sequence

from metaeval.pictures.curves import CurveAxes, CurvePoint, curve_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn

MOST_SYMBOLS = 40
# Evidence beyond is drawn at the ends.
_LEAST, _MOST = 1e-6, 1e8
_LOW, _HIGH = 0.1, 100.0


def drift_pictures(judge: str, looks: Sequence[tuple[int, float]], alarm: float) -> tuple[Picture, ...]:
    """The e-value after each check, (number, e-value), with the alarm level; none before the first."""
    if not looks:
        return ()
    points = [CurvePoint(0.0, 1.0, None, None, "Frozen: e-value 1")] + [
        CurvePoint(
            number, min(max(value, _LEAST), _MOST), None, None, f"Check {number}: e-value {value:,.3g}"
        )
        for number, value in looks
    ]
    heights = [point.y for point in points]
    axes = CurveAxes(
        "Check",
        "E-value",
        "count",
        "e-value",
        x_domain=(0.0, points[-1].x),
        y_domain=(min(_LOW, *heights), max(_HIGH, 2 * alarm, *heights)),
        y_log=True,
    )
    lines = [ReferenceLine(alarm, "Alarm")]
    symbols = len(points) <= MOST_SYMBOLS
    last = looks[-1]
    beyond = any(value > _MOST for _, value in looks)
    return (
        Picture(
            name="evidence",
            title="Evidence of drift",
            description=(
                f"Evidence (e-value, logarithmic) that {judge} has drifted, after each check. Dashed line: alarm, "
                f"{alarm:,.3g}. After check {last[0]}: {last[1]:,.3g}."
                f"{' Values above 100 million are drawn there.' if beyond else ''}"
            ),
            spec=curve_spec(points, axes, across=lines, symbols=symbols),
            narrow=curve_spec(points, axes, across=lines, symbols=symbols, narrow=True),
            columns=(PictureColumn("Check", "count"), PictureColumn("E-value", "e-value")),
            rows=tuple(looks),
        ),
    )
