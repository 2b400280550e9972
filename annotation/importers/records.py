"""What a reader hands over: plain records, checked, without a database.

All values are canonical (pairwise: `{"choice": 1 | 2 | 0}`, and so on), records refer to one another by key,
and each remembers the file and the row that it came from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from annotation.domain.scales import Scale
from annotation.kinds.classification import CategoryScheme

Value: TypeAlias = dict[str, Any]
Turns: TypeAlias = tuple[Mapping[str, Any], ...]
"""Turns as they are stored (`annotation.domain.conversation.Turn`)."""
Status: TypeAlias = Literal["parsed", "unparsed", "failed"]

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record came from: a path, and a row as `ImportFileError` counts it."""

    file: str
    row: int

    @property
    def source(self) -> str:
        """Such as ``"pairs.jsonl:12"``: without the folder, so that it is the same on every machine."""
        return f"{_name(self.file)}:{self.row}"


@lru_cache(maxsize=16)
def _name(file: str) -> str:
    return PurePath(file).name[-200:]


@dataclass(frozen=True, slots=True)
class InstructionRecord:
    key: str
    text: str
    origin: Origin
    context: str = ""
    reference: str | None = None
    category: str = ""
    subset: str = ""
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    conversation: Turns = ()


@dataclass(frozen=True, slots=True)
class AspectRecord:
    """One aspect of the instruction `instruction`; `parent` is the key of another one listed before it."""

    instruction: str
    key: str
    text: str
    position: int
    parent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class CriterionRecord:
    """A rubric question; `options` are words by point, `scale` is as it is stored (`Scale.as_json`)."""

    key: str
    question: str
    options: Mapping[str, str]
    position: int
    origin: Origin
    scale: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def rated_on(self) -> Scale:
        """The scale, with its words."""
        return Scale.of_json(self.scale, self.options)


@dataclass(frozen=True, slots=True)
class CategoriesRecord:
    """How the items to classify of a dataset use their categories."""

    scheme: CategoryScheme
    origin: Origin


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """`text` has all the `messages` of a response of several turns."""

    instruction: str
    key: str
    system: str
    text: str
    messages: Turns = ()


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """A stored image: the SHA-256 of the file that came, its size in pixels, and its bytes as it is served."""

    digest: str
    width: int
    height: int
    size: int


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """`responses` are keys of responses to `instruction`, in canonical order."""

    external_id: str
    kind: str
    instruction: str
    origin: Origin
    responses: tuple[str, ...] = ()
    gold: Value | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    item: str
    annotator: str
    value: Value
    origin: Origin
    is_simulated: bool = False
    evidence: Sequence[Value] | None = None
    """Passages that are its reasons (`annotation.kinds.evidence`); None where nothing is said of any."""


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """A judge's verdict in one presentation order, already undone to the canonical one.

    `value` is None, or holds no choice, where `status` isn't "parsed"; `raw` is the text where known. `fingerprint` is
    that of the judge's configuration, empty where it is only known by name, and `details` are further columns of a
    judgment.
    """

    item: str
    judge: str
    order: int
    value: Value | None
    status: Status
    origin: Origin
    raw: str = ""
    model: str = ""
    strategy: str = "imported"
    sample: int = 0
    fingerprint: str = ""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class DatasetBundle:
    """Everything that one import brings. `source` says by which reader and from what, with the remark."""

    source: str
    instructions: tuple[InstructionRecord, ...]
    responses: tuple[ResponseRecord, ...]
    items: tuple[ItemRecord, ...]
    labels: tuple[LabelRecord, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    criteria: tuple[CriterionRecord, ...] = ()
    aspects: tuple[AspectRecord, ...] = ()
    categories: CategoriesRecord | None = None
    images: tuple[ImageRecord, ...] = ()
    remark: str = ""
    """What the reader has left out or hidden; follows the source where that is said."""
    until: "ReadUntil | None" = None
    """Of a part of a file, where the next one begins."""


@dataclass(frozen=True, slots=True)
class ReadUntil:
    """How far a file has been read in parts, and what its later rows have to know of earlier ones.

    Attributes
    ----------
    row, line, offset : int
        As in `files.FilePlace`.
    n_left_out : int
        Rows before that were left out.
    declared : mapping
        Criteria and categories, as `BundleBuilder.declared` gives them.
    """

    row: int
    line: int
    offset: int
    n_left_out: int = 0
    declared: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
