"""Pictures in pages: the drawing, which htmx asks for, the table behind it, and its files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header, urlencode

from metaeval.pictures.picture import Picture
from metaeval.pictures.rendering import MissingPicturesError, available, warm_up
from metaeval.reports.figures import NONE, value_text
from metaeval.services.pictures import PICTURE_FORMATS, picture_file, picture_keep, picture_kept
from web.access import ResearcherRequest

DOWNLOADS = ("svg", "pdf", "png", "csv")
_LONG_ROWS = 12
_DAY = 86_400

Address = Callable[[str, str], str]
"""The address of a picture by its name and format."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """What stands in the table behind a picture, and where it leads."""

    text: str
    is_number: bool
    href: str = ""


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture as a page shows it.

    ``drawing`` is empty where pictures cannot be drawn here. ``still`` is the image for a browser without scripts,
    empty in a part of a page, which a script asked for and which would fetch it.
    """

    picture: Picture
    drawing: str
    still: str
    files: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        """Of its heading; a page may have the forest plots of several kinds of items."""
        return f"picture-{self.picture.name}-{self.picture.version[:6]}"

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """The columns of the table, and whether they hold numbers."""
        return [(column.label, column.unit != "text") for column in self.picture.columns]

    @property
    def rows(self) -> list[list[TableCell]]:
        """The lines of the table; the first cell names the line."""
        columns, links = self.picture.columns, self.picture.links
        return [
            [
                TableCell(
                    _cell_text(value, columns[k].unit), columns[k].unit != "text", links.get((line, k), "")
                )
                for k, value in enumerate(row)
            ]
            for line, row in enumerate(self.picture.rows)
        ]

    @property
    def is_wide(self) -> bool:
        """Whether it needs the whole width of a page: it is a grid, has panels, or figures as text beside it."""
        return (
            self.is_grid or "concat" in self.picture.spec or self.picture.name in ("forest-plot", "win-rates")
        )

    @property
    def is_grid(self) -> bool:
        """Whether it has a column a group, so that it scrolls on a phone: it would be too small to read."""
        return self.picture.narrow is None or self.picture.name in ("categories", "subsets", "evaluators")

    @property
    def is_tall(self) -> bool:
        """Whether to leave room for many lines before the drawing is there."""
        return len(self.picture.rows) > _LONG_ROWS


def pictures_shown(
    request: ResearcherRequest, pictures: Iterable[Picture], address: Address
) -> list[ShownPicture]:
    """What the template `metaeval/picture.html` takes, of each picture."""
    drawn = available()
    if drawn:
        warm_up()
    found = []
    for picture in pictures:
        if drawn:
            picture_keep(picture, request.user.pk)

        def at(suffix: str, picture: Picture = picture) -> str:
            url = address(picture.name, suffix)
            return f"{url}{'&' if '?' in url else '?'}{urlencode({'v': picture.version})}"

        files = tuple((suffix.upper(), at(suffix)) for suffix in DOWNLOADS if drawn or suffix == "csv")
        still = "" if request.htmx else at("svg")
        found.append(ShownPicture(picture, at("html") if drawn else "", still, files))
    return found


def picture_response(
    request: ResearcherRequest, name: str, suffix: str, stem: str, make: Callable[[], Iterable[Picture]]
) -> HttpResponse:
    """A picture as a file, for its reader alone; ``stem`` begins the file's name.

    It is the one that their page has just shown, or one of those that `make` makes again.

    Raises
    ------
    Http404
        There is no such picture, or nothing here that draws it.
    """
    version = request.GET.get("v", "")
    picture = picture_kept(name, version, request.user.pk)
    if picture is None:
        picture = next((one for one in make() if one.name == name), None)
    if picture is None:
        raise Http404("There is no such picture.")
    etag = f'"{picture.version}-{suffix}"'
    # An address with the hash of what is drawn never shows anything else.
    fixed = version == picture.version
    caching = f"private, max-age={_DAY}, immutable" if fixed else "private, no-cache"
    headers = {"ETag": etag, "Cache-Control": caching, "X-Content-Type-Options": "nosniff"}
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers=headers)
    try:
        body = picture_file(picture, suffix)
    except MissingPicturesError as error:
        raise Http404(str(error)) from None
    if suffix != "html":
        disposition = content_disposition_header(True, f"{stem}-{picture.name}.{suffix}")
        headers["Content-Disposition"] = disposition or "attachment"
    return HttpResponse(body, content_type=PICTURE_FORMATS[suffix].content_type, headers=headers)


def _cell_text(value: object, unit: str) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool) or not isinstance(value, int | float) or unit == "text":
        return str(value)
    if unit == "e-value":
        return f"{value:,.3g}"
    if unit == "amount":  # halves, where two orders differ
        return f"{value:,.10g}"
    return f"{value:,}" if unit == "count" else value_text({"value": value}, unit)
