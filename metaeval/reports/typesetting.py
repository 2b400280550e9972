"""PDFs set by Typst: texts go to it as data, so that no name can mean anything to it."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metaeval.reports.errors import ReportError

MISSING = (
    "A PDF needs Typst, which is not installed. "
    'Install it with the extra `pdf`: pip install "touchstone-judge[pdf]", or choose another format.'
)
_AS_IT_IS = ("svg", "inputs_hash")
_LONG_WORD, _PIECE = re.compile(r"\S{25,}"), re.compile(r".{0,15}[/_.:-]|.{1,16}")
ZERO_WIDTH_SPACE = "\u200b"


class MissingPdfError(ReportError):
    """The extra `pdf` is not installed."""

    def __init__(self) -> None:
        super().__init__(MISSING)


def pdf_available() -> bool:
    """Whether PDFs can be made here: the extra `pdf` is installed."""
    return find_spec("typst") is not None


def typeset(template: str, content: dict[str, Any]) -> bytes:
    """Set plain JSON values by a template of this folder. The same values give the same bytes: a PDF holds no time.

    Raises
    ------
    MissingPdfError
        Typst is not installed.
    """
    try:
        import typst
    except ImportError:
        raise MissingPdfError from None
    given = json.dumps(_breakable(content), ensure_ascii=True)
    path = Path(__file__).parent / template
    return bytes(typst.compile(path, format="pdf", sys_inputs={"content": given}, timestamp=0))


def _breakable(content: Any) -> Any:
    """The same with places where a line may break in long words; not in pictures, nor in the hash, which fits."""
    if isinstance(content, dict):
        return {key: one if key in _AS_IT_IS else _breakable(one) for key, one in content.items()}
    if isinstance(content, list):
        return [_breakable(one) for one in content]
    return _LONG_WORD.sub(_broken, content) if isinstance(content, str) else content


def _broken(word: re.Match[str]) -> str:
    return ZERO_WIDTH_SPACE.join(_PIECE.findall(word.group()))
