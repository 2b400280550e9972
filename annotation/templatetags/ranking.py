"""The parts of an item that are put in order, as the templates of importance and answer rankings need them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django import template

from annotation.kinds import kind_of
from annotation.kinds.shown import ShownItem, ShownResponse
from annotation.models import Study, TiePolicy

register = template.Library()


@dataclass(frozen=True, slots=True)
class RankedPart:
    """One card: an aspect or an answer, its form field, and the rank that it has so far ("": none)."""

    name: str
    label: str
    shown: int
    rank: str
    response: ShownResponse | None = None
    clash: str = ""  # who else has this rank, where ties are off


@dataclass(frozen=True, slots=True)
class Ranking:
    parts: tuple[RankedPart, ...]
    ties: bool

    @property
    def ranked(self) -> list[RankedPart]:
        """Best first; equal ranks in the order shown."""
        return sorted((part for part in self.parts if part.rank), key=lambda part: int(part.rank))

    @property
    def unranked(self) -> list[RankedPart]:
        return [part for part in self.parts if not part.rank]

    @property
    def ranks(self) -> list[str]:
        return [str(rank) for rank in range(1, len(self.parts) + 1)]


@register.simple_tag
def ranking_of(item: ShownItem, fields: Mapping[str, str] | None, study: Study) -> Ranking:
    """The cards of a ranking, with the ranks of `fields` (a draft, or an answer given)."""
    ties = study.tie_policy != TiePolicy.OFF
    known = kind_of(item.kind).shown_parts(item)
    ranks = [_rank((fields or {}).get(f"rank-{part.key}", ""), len(known)) for part in known]
    return Ranking(
        ties=ties,
        parts=tuple(
            RankedPart(
                name=f"rank-{part.key}",
                label=part.text,
                shown=index,
                rank=ranks[index],
                response=part.response,
                clash="" if ties else _clash(index, ranks, [other.text for other in known]),
            )
            for index, part in enumerate(known)
        ),
    )


def _rank(text: object, count: int) -> str:
    """A draft is kept as it was typed, so anything may stand in it."""
    known = str(text)
    return known if known in {str(rank) for rank in range(1, count + 1)} else ""


def _clash(index: int, ranks: Sequence[str], labels: Sequence[str]) -> str:
    others = [labels[other] for other, rank in enumerate(ranks) if other != index and rank == ranks[index]]
    return others[0] if ranks[index] and others else ""
