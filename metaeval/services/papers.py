"""The tables and figures of papers, made from a dataset: for pages, the command and archives."""

import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from django.template.loader import render_to_string

from annotation.models import Dataset, Study, User
from metaeval.inputs import Options
from metaeval.papers import PAPERS
from metaeval.papers.files import MANIFEST, files_of, manifest_files
from metaeval.papers.paper import MadePaper, paper_made
from metaeval.papers.pdf import paper_pdf
from metaeval.pictures.rendering import available, to_svg
from metaeval.reports.bundle import zipped
from metaeval.reports.errors import ReportError
from metaeval.reports.html import COLORS
from metaeval.reports.render import FORMATS, write_atomically
from metaeval.reports.typesetting import pdf_available
from metaeval.selectors.papers import paper_data
from metaeval.services.reports import DEFAULTS
from web.version import software_version


def paper_make(
    *,
    paper: str,
    dataset: Dataset,
    study: Study | None = None,
    options: Options = DEFAULTS,
    judges: Collection[str] | None = None,
    reader: User | None = None,
    baselines: Sequence[str] = (),
    agreement: Dataset | None = None,
) -> MadePaper:
    """Make the tables and figures of a paper from a dataset, or from a study's labels.

    Labels that `reader` may not see do not count.

    Parameters
    ----------
    baselines
        Of a paper that ranks systems: one or two systems to compare the others with, where not those of every pair.
    agreement
        Of such a paper: the dataset whose labels say how far each judge agrees with people.

    Raises
    ------
    ReportError
        The dataset has no items that the paper is about, no such judge or no such system.
    """
    chosen = PAPERS[paper]
    if (baselines or agreement is not None) and not chosen.ranks_systems:
        ranking = " or ".join(one.title for one in PAPERS.values() if one.ranks_systems)
        raise ReportError(
            f"Baselines and an agreement set are for {ranking} alone: omit them for {chosen.title}."
        )
    data = paper_data(
        dataset=dataset,
        kinds=chosen.kinds,
        beside=chosen.beside,
        options=options,
        study=study,
        judges=judges,
        reader=reader,
        baselines=baselines,
        agreement=agreement,
    )
    return paper_made(chosen, data)


def paper_html(made: MadePaper) -> str:
    """All tables and figures as one self-contained HTML file: no scripts, light and dark."""
    drawn = [
        (one, to_svg(one, "page"), to_svg(one, "page", narrow=True) if one.narrow else "")
        for one in (made.pictures if available() else ())
    ]
    return render_to_string(
        "metaeval/paper_export.html",
        {"made": made, "drawn": drawn, "picture_colors": COLORS, "version": software_version()},
    )


def paper_files(made: MadePaper) -> dict[str, bytes]:
    """All files of a paper by name."""
    return files_of(made, paper_html(made))


def paper_zip(made: MadePaper) -> bytes:
    """The same files as one archive: the same tables give the same bytes."""
    return zipped(paper_files(made), made.paper.key)


DOCUMENTS: Mapping[str, tuple[Callable[[MadePaper], str | bytes], str]] = {
    ".html": (paper_html, "text/html; charset=utf-8"),
    ".pdf": (paper_pdf, "application/pdf"),
    ".zip": (paper_zip, "application/zip"),
}
"""Single files that have all of a paper: how they are written, and their type."""
_NAMES = {"html": "HTML", "pdf": "PDF", "zip": "Download all files (zip)"}


def documents_here() -> dict[str, str]:
    """The single files that this installation writes, by their extension, with their names: a PDF needs Typst."""
    return {suffix: name for suffix, name in _NAMES.items() if suffix != "pdf" or pdf_available()}


def paper_write(made: MadePaper, path: Path) -> list[str]:
    """Write one of `DOCUMENTS`, as the extension asks, or else all files as a folder; whole or not at all.

    A folder of the same paper is replaced.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    ReportError
        It cannot be written, or the folder has other files.
    """
    suffix = path.suffix.lower()
    if suffix in DOCUMENTS and not path.is_dir():
        write_atomically(path, DOCUMENTS[suffix][0](made))
        return [path.name]
    return _folder_write(made, path)


def paper_output_check(path: Path) -> None:
    """Refuse a file that a paper isn't written as, before anything is computed. Raises ReportError."""
    suffix = path.suffix.lower()
    if suffix in FORMATS and suffix not in DOCUMENTS:
        raise ReportError(
            f"{path.name}: a paper has many tables. Name a folder, which gets each of them as {suffix} and in other "
            f"formats, or a file that ends in {', '.join(DOCUMENTS)}."
        )


def _folder_write(made: MadePaper, folder: Path) -> list[str]:
    if folder.exists() and not _ours(folder, made.paper.key):
        raise ReportError(f"{folder} has other files in it; name a new or an empty folder.")
    files = paper_files(made)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise ReportError(f"Cannot write to {folder.parent}: {error.strerror}.") from None
    try:
        new = beside / "new"
        new.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
        old = beside / "old"
        if folder.exists():
            folder.replace(old)
        try:
            new.replace(folder)
        except OSError:
            if old.exists():
                old.replace(folder)
            raise
    except OSError as error:
        raise ReportError(f"Cannot write {folder}: {error.strerror}.") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return sorted(files)


def _ours(folder: Path, key: str) -> bool:
    """Whether it may be replaced: it is empty, or holds what an earlier run wrote of this paper, and no more."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    manifest = folder / MANIFEST
    text = manifest.read_text(encoding="utf-8", errors="replace") if manifest.is_file() else ""
    paper, written = manifest_files(text)
    return paper == key and names <= written
