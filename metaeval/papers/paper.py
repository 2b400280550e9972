"""What a paper is to us: its tables and figures, made from a dataset, and what cannot be made."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from metaeval.papers.data import PaperData
from metaeval.papers.tables import MissingPart, PaperTable
from metaeval.pictures.picture import Picture

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
    make : callable
        From the data its tables, figures and what is missing, in the order of the paper.
    """

    key: str
    title: str
    citation: str
    kinds: tuple[str, ...]
    make: Callable[[PaperData], Iterable[PaperPart]]


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
    parts = list(_named_once(paper.make(data)))
    return MadePaper(
        paper,
        data.title,
        data.hashes,
        tuple(part for part in parts if isinstance(part, PaperTable)),
        tuple(part for part in parts if isinstance(part, Picture)),
        tuple(part for part in parts if isinstance(part, MissingPart)),
    )
