"""What a paper is to us: its tables and figures, made from a dataset, and what cannot be made."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from metaeval.papers.data import PaperData
from metaeval.papers.tables import MissingPart, PaperTable
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.json_values import read_as

PaperPart = PaperTable | Picture | MissingPart


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose tables and figures are made from a dataset.

    Attributes
    ----------
    key : str
        As commands and addresses name it.
    title, citation : str
    kinds : tuple of str
        The kinds of items that it is about; a dataset needs items of one of them.
    beside : tuple of str
        Kinds that it uses too where a dataset has them.
    ranks_systems : bool
        Whether it compares systems with a baseline, which may be named, and takes agreement from another dataset.
    make : callable
        From the data its tables, figures and what is missing, in the order of the paper.
    """

    key: str
    title: str
    citation: str
    kinds: tuple[str, ...]
    make: Callable[[PaperData], Iterable[PaperPart]]
    beside: tuple[str, ...] = ()
    ranks_systems: bool = False


@dataclass(frozen=True, slots=True)
class MadePaper:
    """The tables and figures of a paper, made."""

    paper: Paper
    subject: str
    hashes: dict[str, str]
    tables: tuple[PaperTable, ...]
    pictures: tuple[Picture, ...]
    missing: tuple[MissingPart, ...]


def _named_once(parts: Iterable[PaperPart]) -> Iterator[PaperPart]:
    """The same with a number behind the names of those whose name another has: files are called by them."""
    seen: set[str] = set()
    for part in parts:
        name, number = part.name, 2
        while name in seen:
            name, number = f"{part.name}-{number}", number + 1
        seen.add(name)
        yield part if name == part.name else replace(part, name=name)


def paper_made(paper: Paper, data: PaperData) -> MadePaper:
    """Make all tables and figures of a paper that a dataset carries."""
    return paper_of(paper, data.title, data.hashes, paper.make(data))


def paper_of(paper: Paper, subject: str, hashes: dict[str, str], made: Iterable[PaperPart]) -> MadePaper:
    """Put parts of a paper together that were made of whatever there is."""
    parts = list(_named_once(made))
    return MadePaper(
        paper,
        subject,
        hashes,
        tuple(part for part in parts if isinstance(part, PaperTable)),
        tuple(part for part in parts if isinstance(part, Picture)),
        tuple(part for part in parts if isinstance(part, MissingPart)),
    )


def paper_json(made: MadePaper) -> dict[str, Any]:
    """What was made, as JSON values to the last digit, without the paper. Pictures of papers lead nowhere."""
    return {
        "subject": made.subject,
        "hashes": made.hashes,
        "tables": [asdict(one) for one in made.tables],
        "missing": [asdict(one) for one in made.missing],
        "pictures": [
            {name: getattr(one, name) for name in Picture.__dataclass_fields__ if name != "links"}
            for one in made.pictures
        ],
    }


def paper_read(paper: Paper, content: Mapping[str, Any]) -> MadePaper:
    """Undo `paper_json`."""
    return MadePaper(
        paper,
        content["subject"],
        content["hashes"],
        tuple(read_as(PaperTable, one) for one in content["tables"]),
        tuple(_picture_read(one) for one in content["pictures"]),
        tuple(read_as(MissingPart, one) for one in content["missing"]),
    )


def _picture_read(content: Mapping[str, Any]) -> Picture:
    columns = tuple(PictureColumn(*one) for one in content["columns"])
    return Picture(**{**content, "columns": columns, "rows": tuple(map(tuple, content["rows"]))})
