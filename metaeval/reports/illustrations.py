"""The pictures of a report, as its files have them; none where the extra `pictures` is not installed."""

from collections.abc import Iterator

from metaeval.pictures import rendering
from metaeval.pictures.palette import Theme
from metaeval.pictures.picture import Picture
from metaeval.pictures.rendering import to_csv as data_of
from metaeval.reports.pictures import report_pictures
from metaeval.reports.report import ReportContent


def illustration_files(report: ReportContent) -> dict[str, bytes]:
    """Each picture as SVG, PDF and PNG, and the data behind it as CSV, by the name of the file."""
    files: dict[str, bytes] = {}
    if not rendering.available():
        return files
    for picture in report_pictures(report):
        at = f"figures/{picture.name}"
        files[f"{at}.svg"] = rendering.to_svg(picture).encode("utf-8")
        files[f"{at}.pdf"] = rendering.to_pdf(picture)
        files[f"{at}.png"] = rendering.to_png(picture)
        files[f"{at}.csv"] = data_of(picture).encode("utf-8")
    return files


def illustrations(report: ReportContent, theme: Theme = "light") -> Iterator[tuple[Picture, str, str]]:
    """Each picture with its SVG, and one for phones where it has one, else empty; the theme "page" takes the colors
    of the page around it.
    """
    if rendering.available():
        for picture in report_pictures(report):
            narrow = (
                rendering.to_svg(picture, theme, narrow=True) if theme == "page" and picture.narrow else ""
            )
            yield picture, rendering.to_svg(picture, theme), narrow
