"""The pictures of a judge's errors and of what its certainty is worth."""

from collections.abc import Callable
from typing import Any

from metaeval.pictures.curves import CurveAxes, CurvePoint, curve_spec
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.confidence import Certainty, ConfidencePage
from metaeval.reports.figures import full_text, value_text

ItemsOfCell = Callable[[int, bool], str]
"""Where a cell of the confusion table leads: of a side and whether the judge is right; empty where there is nothing."""
_HALF = 0.5
_MOST_SYMBOLS = 12


def confidence_pictures(
    page: ConfidencePage, leads: ItemsOfCell = lambda _side, _right: ""
) -> tuple[Picture, ...]:
    """The judge's confusion with what is right; reliability and risk against coverage where it says how sure it is."""
    found: list[Picture | None] = [confusion_picture(page, leads)]
    if page.certainty is not None:
        found += [
            reliability_picture(page.judge.name, page.certainty),
            coverage_picture(page.judge.name, page.certainty),
        ]
    return tuple(picture for picture in found if picture is not None)


def confusion_picture(page: ConfidencePage, leads: ItemsOfCell) -> Picture:
    """How often the judge is right and wrong where each answer is right."""
    rates, name = page.judge.rates, page.judge.name
    counts = (
        (rates["true_positives"], rates["false_negatives"]),
        (rates["true_negatives"], rates["false_positives"]),
    )
    of = "gold answer" if page.against == "gold" else "majority of human labels"
    heads = ("Judge right", "Judge wrong")
    cells, rows, links = [], [], {}
    for side, (label, pair) in enumerate(zip(page.sides, counts, strict=True)):
        total = sum(pair)
        line = []
        for place, (head, number) in enumerate(zip(heads, pair, strict=True)):
            share = number / total if total else None
            text = f"{number:,.10g}" + ("" if share is None else f" ({value_text({'value': share})})")
            href = leads(side, place == 0)
            if href:
                links[side, place + 1] = href
            line.append(HeatCell(share, text, f"{of} “{label}”, {head.lower()}: {text}", href))
        cells.append(line)
        rows.append((label, *pair))
    return Picture(
        name="confusion",
        title=f"Confusion of {name}",
        description=(
            f"Rows are the {of}, columns whether {name} is right. Each cell has the number of items and its share "
            "of the row. Ties and unparsed verdicts are wrong."
        ),
        spec=heat_map_spec(
            page.sides, heads, cells, middle=_HALF, reach=0.5, step=150, row_title=of.capitalize()
        ),
        narrow=heat_map_spec(page.sides, heads, cells, middle=_HALF, reach=0.5, step=92),
        columns=(PictureColumn(of.capitalize()), *(PictureColumn(head, "amount") for head in heads)),
        rows=tuple(rows),
        links=links,
    )


def reliability_picture(name: str, sure: Certainty) -> Picture | None:
    """How often the judge is right, by how sure it is; calibrated is the diagonal."""
    bins = [(one["probability"], one["outcome"]) for one in sure.calibration["bins"]]
    if not bins:
        return None
    points = [
        CurvePoint(
            max(_HALF, probability),
            outcome["value"],
            outcome["low"],
            outcome["high"],
            f"Certainty {value_text({'value': probability})}: right in {full_text(outcome)} of {outcome['n']:,}",
        )
        for probability, outcome in bins
    ]
    axes = CurveAxes("Certainty", "Share right", x_domain=(0.5, 1.0), y_domain=(0.0, 1.0))
    return Picture(
        name="reliability",
        title="Reliability diagram",
        description=(
            f"How often {name} is right, by its certainty. Dashed line: calibrated. Below it the judge is "
            "overconfident."
        ),
        spec=curve_spec(points, axes, line=False, diagonal=True),
        narrow=curve_spec(points, axes, line=False, diagonal=True, narrow=True),
        columns=(
            PictureColumn("Certainty", "percent"),
            *(PictureColumn(head, "percent") for head in ("Right", "Low", "High")),
            PictureColumn("n", "count"),
        ),
        rows=tuple((sure_of, one["value"], one["low"], one["high"], one["n"]) for sure_of, one in bins),
    )


def coverage_picture(name: str, sure: Certainty) -> Picture | None:
    """Errors among the verdicts that are kept, by how many are kept; None where an older version left no points."""
    rows = tuple(
        zip(*(sure.curve.get(part, ()) for part in ("coverage", "risk", "low", "high")), strict=False)
    )
    if not rows:
        return None
    points = [
        CurvePoint(x, y, low, high, f"Keeping {value_text({'value': x})}: {value_text({'value': y})} wrong")
        for x, y, low, high in rows
    ]
    threshold = sure.threshold
    across = [ReferenceLine(threshold["target"], "Allowed risk")]
    kept = threshold["coverage"]["value"] if threshold["threshold"] is not None else None
    upright = [] if kept is None else [ReferenceLine(kept, "Threshold")]
    most = max(threshold["target"], *(point.y for point in points), *(_median([row[3] for row in rows]),))
    axes = CurveAxes(
        "Share of items that the judge decides",
        "Share wrong",
        x_domain=(0.0, 1.0),
        y_domain=(0.0, min(1.0, 1.15 * most)),
    )
    shown: dict[str, Any] = {"symbols": len(points) <= _MOST_SYMBOLS, "across": across, "upright": upright}
    return Picture(
        name="risk-coverage",
        title="Risk against coverage",
        description=(
            f"Share of wrong verdicts of {name} among those kept, by the share that is kept, the most certain first. "
            f"Area under the curve {sure.area:.3f}. Dashed line: allowed risk."
            f"{'' if kept is None else ' Vertical line: the threshold.'}"
        ),
        spec=curve_spec(points, axes, **shown),
        narrow=curve_spec(points, axes, narrow=True, **shown),
        columns=tuple(PictureColumn(head, "percent") for head in ("Coverage", "Risk", "Low", "High")),
        rows=rows,
    )


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
