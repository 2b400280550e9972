"""What kinds of requests a judge asks of its models, its members' included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from judges.strategies.registry import strategy_info
from judges.strategies.spec import JudgeSpec

REQUEST_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "chat": "written answers",
        "score": "likelihoods",
        "embed": "embeddings",
        "classify": "scores of a classifier",
        "match": "token matches",
    }
)


def specs_within(spec: JudgeSpec, prefix: str = "") -> Iterator[tuple[str, JudgeSpec]]:
    """Yield the judge itself, or its members down to those that ask, each with what its roles begin with."""
    if not spec.members:
        yield prefix, spec
    for key, member in spec.members.items():
        yield from specs_within(member, f"{prefix}{key}/")


def imageless_requests(spec: JudgeSpec) -> list[str]:
    """Return the names of what a judge asks for that can't be of images: all but written answers."""
    asked = {request for _, part in specs_within(spec) for request in strategy_info(part.strategy).requests}
    return [REQUEST_NAMES[request] for request in sorted(asked - {"chat"})]
