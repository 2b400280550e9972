"""A large site for a year: millions of judgments, 2,000 annotators, processes that die, a database that is replaced.

`--only` takes some of the families: `judgments` (`bench.scale_judgments`), `people` (`bench.scale_people`), `kills`
(`bench.scale_kills`) and `failover` (`bench.scale_failover`); their figures are described there.
"""

from __future__ import annotations

from collections.abc import Sequence

FAMILIES = ("judgments", "people", "kills", "failover")


def run(*, quick: bool = False, size: int = 0, only: Sequence[str] = ()) -> dict[str, float]:
    """Measure; the figures by name.

    Parameters
    ----------
    size : int
        Judgments of `judgments`, items of `people`; by default two million and one million.
    """
    from bench import scale_failover, scale_judgments, scale_kills, scale_people

    figures: dict[str, float] = {}
    for family in only or FAMILIES:
        print(f"  scale: {family}", flush=True)
        match family:
            case "judgments":
                figures |= scale_judgments.run(quick=quick, size=size)
            case "people":
                figures |= scale_people.run(quick=quick, size=size)
            case "kills":
                figures |= scale_kills.run(quick=quick)
            case "failover":
                figures |= scale_failover.run(quick=quick)
    return figures
