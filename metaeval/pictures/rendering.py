"""Pictures as files: SVG, PDF, PNG by vl-convert, which reaches no network, and the data behind them as CSV."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from threading import Thread
from typing import Any
from xml.etree import ElementTree as ET

from metaeval.pictures.palette import Theme, colored
from metaeval.pictures.picture import SCHEMA_URL, Picture, Spec
from web.csv_text import csv_text

MISSING = (
    "Pictures need vl-convert-python, which is not installed. "
    'Install it with the extra `pictures`: pip install "touchstone-judge[pictures]".'
)
_SVG = "http://www.w3.org/2000/svg"
_LINK = "https://picture.invalid/"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# What XML 1.0 has no way to write; a name may hold it.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_ATTRIBUTE = re.compile(
    "clip-path|[cdr][xy]?|[xy][12]?|fill|fill-opacity|font-(size|style|weight)|height|id|opacity|text-anchor|transform|"
    "stroke|stroke-(dasharray|dashoffset|linecap|linejoin|miterlimit|opacity|width)|version|viewBox|width"
)
# Inter, the font of pages, is this much wider than what a drawing was measured with.
_PAGE_FONT = 0.94
_PNG_SCALE = 2.0
# The entries of a PDF's resources, as svg2pdf writes them: a name and a reference a line.
_RESOURCES = re.compile(rb"(?:^ +/[a-z]+\d+ \d+ 0 R\n){2,}", re.MULTILINE)


class MissingPicturesError(RuntimeError):
    """The extra `pictures` is not installed."""

    def __init__(self) -> None:
        super().__init__(MISSING)


def available() -> bool:
    """Whether pictures can be drawn here: the extra `pictures` is installed."""
    return find_spec("vl_convert") is not None


@cache
def warm_up() -> None:
    """Begin to load the library in a thread, once a process: the first drawing takes a second less then.

    It holds no lock of the interpreter meanwhile, so the page that asks for drawings is not slower.
    """
    spec = {"$schema": SCHEMA_URL, "data": {"values": []}, "mark": "point"}
    Thread(
        target=lambda: _vl_convert().vegalite_to_svg(spec, allowed_base_urls=[]), name="warm-up", daemon=True
    ).start()


def to_svg(picture: Picture, theme: Theme = "light", *, narrow: bool = False) -> str:
    """A picture as SVG.

    The theme "page" is for a page with a strict Content-Security-Policy: it has no style attribute, its colors are CSS
    variables, and its links stay. The links of a site lead nowhere from a file, so a file has none.
    """
    links = _Links() if theme == "page" else None
    spec = _drawable(picture.narrow if narrow and picture.narrow else picture.spec, links)
    if theme == "page":
        spec["background"] = None
    drawn = _vl_convert().vegalite_to_svg(colored(spec, theme), allowed_base_urls=[])
    return _Cleaned(picture, links, narrow).text(drawn)


def to_pdf(picture: Picture, theme: Theme = "light") -> bytes:
    """A picture as PDF, for a paper: the same picture gives the same bytes."""
    spec = colored(_drawable(picture.spec, None), theme)
    written: bytes = _vl_convert().vegalite_to_pdf(spec, allowed_base_urls=[])
    # The library lists them in the order of a hash that differs from call to call. Sorted, they are as long as before,
    # so that every offset of the file still holds.
    return _RESOURCES.sub(lambda found: b"".join(sorted(found[0].splitlines(keepends=True))), written)


def to_png(picture: Picture, theme: Theme = "light") -> bytes:
    """A picture as PNG, at twice its size."""
    spec = colored(_drawable(picture.spec, None), theme)
    written: bytes = _vl_convert().vegalite_to_png(spec, scale=_PNG_SCALE, allowed_base_urls=[])
    return written


def to_csv(picture: Picture) -> str:
    """The data behind a picture."""
    return csv_text([column.label for column in picture.columns], picture.rows)


class _Links:
    """The addresses of this site in a drawing. Vega would put its own base before them, so it gets numbers."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    def number(self, address: object) -> str | None:
        """What stands for an address; None for what leads anywhere else."""
        if not isinstance(address, str) or not address.startswith("/") or address.startswith(("//", "/\\")):
            return None
        self.addresses.append(address)
        return f"{_LINK}{len(self.addresses) - 1}"

    def address(self, number: str | None) -> str | None:
        """The address again."""
        if number is None or not number.startswith(_LINK):
            return None
        return self.addresses[int(number.removeprefix(_LINK))]


def _drawable(spec: Spec, links: _Links | None) -> dict[str, Any]:
    """A specification in plain dicts and lists, without characters that XML cannot hold, with its links numbered."""
    drawable: dict[str, Any] = _writable(spec, links)
    return drawable


def _writable(node: Any, links: _Links | None = None) -> Any:
    if isinstance(node, str):
        return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", node)
    if isinstance(node, list | tuple):
        return [_writable(child, links) for child in node]
    if not isinstance(node, Mapping):
        return node
    found = {name: _writable(child, links) for name, child in node.items() if name != "href"}
    href = node.get("href")
    if links is not None and isinstance(href, Mapping):  # which field has the addresses
        found["href"] = _writable(href)
    elif links is not None and (number := links.number(href)) is not None:
        found["href"] = number
    return found


def _vl_convert() -> Any:
    """The library, loaded when it is needed: the first drawing of a process takes half a second more."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingPicturesError from error
    return vl_convert


class _Cleaned:
    """A drawing with a title, a description and ids of its own, and only the attributes that it needs."""

    def __init__(self, picture: Picture, links: _Links | None, narrow: bool) -> None:
        self.picture = picture
        self.links = links
        self.page = links is not None
        self.prefix = f"{picture.name}-{picture.digest[:8]}{'-narrow' if narrow else ''}"
        self.linked = False

    def text(self, drawn: str) -> str:
        """As text, ready to stand in a page or a file."""
        ET.register_namespace("", _SVG)
        root = ET.fromstring(drawn)  # noqa: S314  our own drawing: no DTD, no entities
        self._clean(root)
        titles = {"title": self.picture.title, "desc": self.picture.description}
        for position, (tag, words) in enumerate(titles.items()):
            element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{self.prefix}-{tag}"})
            element.text = _writable(words)
            root.insert(position, element)
        # An image hides what is in it from screen readers; links have to be reached.
        root.set("role", "group" if self.linked else "img")
        root.set("aria-labelledby", f"{self.prefix}-title")
        root.set("aria-describedby", f"{self.prefix}-desc")
        if self.page:
            root.set("class", "picture-drawing")
        return ET.tostring(root, encoding="unicode")

    def _clean(self, element: ET.Element) -> None:
        label = element.get("aria-label") if element.get("role") == "graphics-symbol" else None
        href = element.get("href") or element.get(_XLINK_HREF)
        axis = element.get("aria-roledescription") in ("axis", "legend", "title")
        for name in [name for name in element.attrib if not _ATTRIBUTE.fullmatch(name)]:
            if not (name == "font-family" and not self.page):
                del element.attrib[name]
        for name, value in element.items():
            if name == "id":
                element.set(name, f"{self.prefix}-{value}")
            elif "url(#" in value:
                element.set(name, _REFERENCE.sub(rf"url(#{self.prefix}-\1)", value))
            elif self.page and name == "font-size":
                element.set(name, f"{float(value.removesuffix('px')) * _PAGE_FONT:g}px")
        for child in list(element):
            if _invisible(child):
                element.remove(child)
            else:
                self._clean(child)
        if element.tag == f"{{{_SVG}}}a":
            self._link(element, href)
        if label and not axis and element.tag != f"{{{_SVG}}}text":
            title = ET.Element(f"{{{_SVG}}}title")
            title.text = label
            element.insert(0, title)

    def _link(self, element: ET.Element, href: str | None) -> None:
        """Give a link its address; make a plain group of one that leads nowhere."""
        address = None if self.links is None else self.links.address(href)
        if address is None:
            element.tag = f"{{{_SVG}}}g"
            return
        element.set("href", address)
        # One stop of the Tab key a drawing, from which a script goes on by arrow keys: a grid would be hundreds of
        # stops. The table beside the picture has the same links.
        element.set("tabindex", "-1" if self.linked else "0")
        self.linked = True


def _invisible(element: ET.Element) -> bool:
    return element.get("display") == "none" or (
        element.tag == f"{{{_SVG}}}path" and element.get("d") in ("", "M0,0h0v0h0Z")
    )
