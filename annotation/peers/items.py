"""What is written into files of other programs: an item with all that belongs to it, without a database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class PeerLabel:
    """A label that counts, in canonical order, under the annotator's pseudonym."""

    annotator: str
    value: Mapping[str, Any]
    is_simulated: bool = False
    created_at: datetime | None = None
    active_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PeerItem:
    """An item; `responses` as ``{"system", "text" or "messages"}``, `aspects` as ``{"key", "text", "parent"}``."""

    id: str
    kind: str
    instruction: str
    instruction_id: str = ""
    context: str = ""
    conversation: Sequence[Mapping[str, str]] = ()
    reference: str | None = None
    category: str = ""
    subset: str = ""
    gold: Mapping[str, Any] | None = None
    explanation: str = ""
    metadata: Mapping[str, Any] | None = None
    responses: tuple[Mapping[str, Any], ...] = ()
    aspects: tuple[Mapping[str, Any], ...] = ()
    labels: tuple[PeerLabel, ...] = ()
