"""The colors of pictures by what they mean, in the light and in the dark theme.

A specification has the light theme's colors, which differ from each other, so that rendering can replace each by its
counterpart or by a CSS variable (`static/css/pictures.css`). Series are near Okabe and Ito's hues, with a contrast of
4.5:1 on the surface and lightnesses that keep them different without red or green cones; cells run from orange to blue.
"""

from collections.abc import Mapping
from typing import Any, Literal

Theme = Literal["light", "dark", "page"]

LIGHT: Mapping[str, str] = {
    "surface": "#ffffff",
    "ink": "#1b1d22",
    "ink-2": "#575a63",
    "line": "#e3e0d9",
    "line-strong": "#87837a",
    "series-1": "#0072b2",
    "series-2": "#c04e00",
    "series-3": "#1d5f48",
    "series-4": "#9a5585",
    "series-5": "#4d3a00",
    "series-6": "#1c2040",
    "heat-0": "#eda860",
    "heat-1": "#f7d9b3",
    "heat-2": "#fbeedd",
    "heat-3": "#f0eee9",
    "heat-4": "#dbe4fb",
    "heat-5": "#a9bff5",
    "heat-6": "#3a61d2",
    "heat-6-ink": "#fefefe",
}
DARK: Mapping[str, str] = {
    "surface": "#1a1c20",
    "ink": "#eceae6",
    "ink-2": "#a9adb7",
    "line": "#2e3239",
    "line-strong": "#767d89",
    "series-1": "#56b4e9",
    "series-2": "#f5823c",
    "series-3": "#2fd39a",
    "series-4": "#c987ad",
    "series-5": "#f0e442",
    "series-6": "#e4e6ea",
    "heat-0": "#7a4a16",
    "heat-1": "#573a19",
    "heat-2": "#3b2e20",
    "heat-3": "#2a2c31",
    "heat-4": "#27345a",
    "heat-5": "#3a56a4",
    "heat-6": "#9db6ff",
    "heat-6-ink": "#0c183a",
}
N_SERIES = 6
HEAT = tuple(LIGHT[f"heat-{step}"] for step in range(7))
SERIES = tuple(LIGHT[f"series-{one}"] for one in range(1, N_SERIES + 1))
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4], [4, 1])

# Liberation Sans has the widths of Arial and Helvetica, so a drawing fits wherever it is opened.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


def heat_step(value: float, middle: float, reach: float) -> int:
    """Which of the seven steps a value has: 3 steps below the middle, itself, and 3 above.

    ``reach`` is how far from the middle the outermost steps begin.

    Examples
    --------
    >>> [heat_step(value, 0.5, 0.4) for value in (0.05, 0.3, 0.44, 0.5, 0.56, 0.72, 0.95)]
    [0, 1, 2, 3, 4, 5, 6]
    """
    away = (value - middle) / reach
    bounds = (-0.99, -0.45, -0.125, 0.125, 0.45, 0.99)
    return sum(away > bound for bound in bounds)


def rising_step(value: float, low: float, high: float) -> int:
    """Which of the steps from the middle on a value has: four of the same width that darken from low to high.

    Examples
    --------
    >>> [rising_step(value, 0.2, 0.6) for value in (0.1, 0.2, 0.31, 0.45, 0.6, 1.0)]
    [3, 3, 4, 5, 6, 6]
    """
    if high <= low:
        return 6 if value >= high else 3
    return 3 + max(0, min(3, int(4 * (value - low) / (high - low))))


def cell_ink(step: int) -> str:
    """The color of text on a step."""
    return LIGHT["heat-6-ink" if step == 6 else "ink"]


def colored(node: Any, theme: Theme) -> Any:
    """A specification in the colors of a theme.

    Examples
    --------
    >>> colored({"fill": "#1b1d22"}, "dark"), colored({"fill": "#1b1d22"}, "page")
    ({'fill': '#eceae6'}, {'fill': 'var(--picture-ink)'})
    """
    if theme == "light":
        return node
    to = {light: DARK[name] if theme == "dark" else f"var(--picture-{name})" for name, light in LIGHT.items()}
    return _replaced(node, to)


def _replaced(node: Any, to: Mapping[str, str]) -> Any:
    if isinstance(node, str):
        return to.get(node, node)
    if isinstance(node, Mapping):
        return {name: _replaced(child, to) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return [_replaced(child, to) for child in node]
    return node


def config() -> dict[str, Any]:
    """What all specifications have in common: type, ink, lines."""
    ink, ink_2, line = LIGHT["ink"], LIGHT["ink-2"], LIGHT["line"]
    return {
        "background": LIGHT["surface"],
        "font": FONT,
        "padding": 10,
        "view": {"stroke": None},
        "mark": {"aria": False},  # a mark that says something says it in a description of its own
        "axis": {
            "domain": False,
            "gridColor": line,
            "tickColor": line,
            "labelColor": ink_2,
            "labelFontSize": 12,
            "labelLimit": 220,
            "titleColor": ink_2,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
        },
        "legend": {
            "labelColor": ink,
            "labelFontSize": 12,
            "labelLimit": 260,
            "titleColor": ink_2,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "orient": "top",
            "offset": 22,
            "symbolSize": 70,
        },
        "header": {"labelColor": ink, "labelFontSize": 12, "titleColor": ink_2, "titleFontWeight": "normal"},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": LIGHT["line-strong"]},
        "title": {"color": ink, "fontSize": 13, "anchor": "start"},
    }
