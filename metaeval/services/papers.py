"""The tables and figures of papers, made from a dataset: for pages, the command and archives."""

import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from annotation.models import Dataset, Study, User
from metaeval.inputs import Options
from metaeval.papers import PAPERS
from metaeval.papers.files import MANIFEST, manifest_files, paper_files
from metaeval.papers.paper import MadePaper, paper_made
from metaeval.reports.errors import ReportError
from metaeval.selectors.papers import paper_data
from metaeval.services.reports import DEFAULTS


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


def paper_write(made: MadePaper, folder: Path) -> list[str]:
    """Write all files of a paper as a folder, whole or not at all; one of the same paper is replaced.

    Raises
    ------
    ReportError
        The folder has other files, or cannot be written.
    """
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
