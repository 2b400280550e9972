"""Where names stand beside points so that they cover neither each other nor a point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LETTER, _HEIGHT = 6.4, 12.0
_POINT = 5.0
# Below this share of a name may lie under something else; it can be read all the same.
_COVERED = 0.1


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: "_Box") -> float:
        """The area that two boxes have in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A name beside its point: how far away, on which side of it; the text is empty where there is no room."""

    text: str
    dx: float
    dy: float
    align: str


_SIDES = ((8.0, -7.0, "left"), (8.0, 15.0, "left"), (-8.0, -7.0, "right"), (-8.0, 15.0, "right"))


def placed_marks(
    points: Sequence[tuple[float, float]],
    names: Sequence[Sequence[str]],
    size: tuple[float, float],
    limit: float,
) -> list[PlacedMark]:
    """A place for one of the names of each point, the first that fits; earlier points choose first.

    Parameters
    ----------
    points : sequence of (x, y)
        In pixels, y downwards.
    names : sequence of sequences of str
        What may stand beside each, the most wanted first.
    size : (width, height)
        Of the plot.
    limit : float
        The widest that a name is written.

    Examples
    --------
    >>> found = placed_marks([(10, 10), (12, 11)], [["First"], ["Second judge", "2"]], (200, 100), 90)
    >>> [(mark.text, mark.dx, mark.dy) for mark in found]
    [('First', 8.0, -7.0), ('Second judge', 8.0, 15.0)]
    """
    dots = [_Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points]
    taken: list[_Box] = []
    found = []
    for place, ((x, y), texts) in enumerate(zip(points, names, strict=True)):
        others = [*taken, *(dot for other, dot in enumerate(dots) if other != place)]
        chosen = PlacedMark("", *_SIDES[0])
        for text in filter(None, texts):
            covered, side, box = min(
                (_badness(box, others, size), side, box)
                for side, box in enumerate(_boxes(x, y, min(limit, _LETTER * len(text))))
            )
            if covered <= _COVERED:
                chosen = PlacedMark(text, *_SIDES[side])
                taken.append(box)
                break
        found.append(chosen)
    return found


def _boxes(x: float, y: float, width: float) -> list[_Box]:
    """What a text of this width covers on each of the sides."""
    boxes = []
    for dx, dy, align in _SIDES:
        left = x + dx if align == "left" else x + dx - width
        boxes.append(_Box(left, y + dy - _HEIGHT / 2, left + width, y + dy + _HEIGHT / 2))
    return boxes


def _badness(box: _Box, others: Sequence[_Box], size: tuple[float, float]) -> float:
    """The share of a box that others cover or that lies outside of the plot; right of it there is some room."""
    area = (box.right - box.left) * (box.bottom - box.top)
    plot = _Box(0.0, -_HEIGHT, size[0] + 20.0, size[1])
    return (sum(box.shared(other) for other in others) + area - box.shared(plot)) / area
