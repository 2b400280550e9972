"""What a batch of a model of transformers is made of: the loaded model, and the requests that wait for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from judges.backends.local import Job
from judges.backends.tokenising import Encoded, Prompter


@dataclass(slots=True, eq=False)
class Waiting:
    """A request that is tokenised and waits for a batch.

    Attributes
    ----------
    kind : str
        "choose", "generate", "score", "embed" or "classify": requests of one kind can be computed together.
    """

    job: Job
    encoded: Encoded
    kind: str
    limit: int = 0

    def weight(self) -> tuple[int, int]:
        """Return what similar requests have in common: how much they may generate, and their length."""
        return self.limit, len(self.encoded.ids)


@dataclass(slots=True)
class Loaded:
    """All that computing a batch needs.

    Attributes
    ----------
    models : dict
        By class of transformers; loaded when first needed, or the reason why it cannot be.
    """

    torch: Any
    tokenizer: Any
    prompter: Prompter
    device: Any
    pooling: str
    normalize: bool
    models: dict[str, Any] = field(default_factory=dict)
