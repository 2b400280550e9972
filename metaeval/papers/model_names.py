"""What the name of a model says of it: its family, its size, whether it was tuned to follow instructions."""

import re
from dataclasses import dataclass

_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)([mb])(?![A-Za-z0-9])", re.IGNORECASE)
_TUNED = re.compile(
    r"(?<![a-z])(?:chat|instruct\w*|it|sft|dpo|rlhf|tuned|assistant|alpaca|vicuna|wizard\w*|zephyr)(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, taken apart.

    Attributes
    ----------
    family : str
        The name without owner and size.
    size : float or None
        Parameters in billions; None where the name says none.
    tuned : bool
        The name has a word such as chat, instruct, it, sft or dpo.
    """

    family: str
    size: float | None
    tuned: bool

    @classmethod
    def read(cls, name: str) -> "ModelName":
        """Take a name apart.

        Examples
        --------
        >>> ModelName.read("EleutherAI/pythia-1.4b-deduped")
        ModelName(family='pythia-deduped', size=1.4, tuned=False)
        >>> ModelName.read("meta-llama/Llama-2-70b-chat-hf").tuned, ModelName.read("pythia-70m").size
        (True, 0.07)
        >>> ModelName.read("mistralai/Mixtral-8x7B").size is None
        True
        """
        own = name.rstrip("/").rpartition("/")[2]
        found = _SIZE.search(own)
        family = own if found is None else own[: found.start()] + own[found.end() :]
        size = None
        if found is not None:
            size = float(found[1]) / (1000 if found[2].lower() == "m" else 1)
        plain = re.sub(r"[-_ ]{2,}", "-", family).strip("-_ .:")
        return cls(plain or own, size, _TUNED.search(own) is not None)
