"""The files of a paper's tables and figures: a name and its content each, and a README of what is missing."""

import json
from collections.abc import Callable, Mapping

from metaeval.papers.latex import paper_latex, table_latex
from metaeval.papers.paper import MadePaper
from metaeval.papers.pdf import paper_pdf
from metaeval.papers.tables import PaperTable, table_csv, table_json, table_markdown
from metaeval.pictures.rendering import MISSING, available, to_csv, to_pdf, to_png, to_svg
from metaeval.reports.markdown import plain_text
from metaeval.reports.report import canonical_json
from metaeval.reports.typesetting import pdf_available
from web.version import software_version

MANIFEST = "paper.json"
TABLE_FORMATS: Mapping[str, Callable[[PaperTable], str]] = {
    ".tex": table_latex,
    ".md": table_markdown,
    ".csv": table_csv,
    ".json": table_json,
}


def files_of(made: MadePaper, html: str) -> dict[str, bytes]:
    """All files by name: tables and pictures in each of their formats, all of them in one HTML file, PDF and LaTeX
    document, the README, and the manifest.
    """
    files = {
        f"{table.name}{suffix}": write(table).encode("utf-8")
        for table in made.tables
        for suffix, write in TABLE_FORMATS.items()
    }
    for picture in made.pictures:
        files[f"{picture.name}.csv"] = to_csv(picture).encode("utf-8")
        if available():
            files[f"{picture.name}.svg"] = to_svg(picture).encode("utf-8")
            files[f"{picture.name}.pdf"] = to_pdf(picture)
            files[f"{picture.name}.png"] = to_png(picture)
    figures = [picture.name for picture in made.pictures if f"{picture.name}.pdf" in files]
    files["paper.tex"] = paper_latex(made, figures).encode("utf-8")
    files["tables.html"] = html.encode("utf-8")
    if pdf_available():
        files["tables.pdf"] = paper_pdf(made)
    files["README.md"] = _readme(made).encode("utf-8")
    files[MANIFEST] = _manifest(made, sorted([*files, MANIFEST])).encode("utf-8")
    return files


def manifest_files(text: str) -> tuple[str, frozenset[str]]:
    """The paper and the names of the files that a manifest lists; nothing where it is none of ours."""
    try:
        content = json.loads(text)
        return str(content["paper"]), frozenset(map(str, content["files"]))
    except (ValueError, TypeError, KeyError):
        return "", frozenset()


def _manifest(made: MadePaper, names: list[str]) -> str:
    return canonical_json(
        {
            "schema": "touchstone.paper/1",
            "paper": made.paper.key,
            "subject": made.subject,
            "software": {"name": "touchstone", "version": software_version()},
            "inputs": made.hashes,
            "files": names,
        }
    )


def _readme(made: MadePaper) -> str:
    inputs = ", ".join(f"{kind} {value[:12]}" for kind, value in made.hashes.items())
    lines = [
        f"# {plain_text(made.paper.title)}",
        "",
        f"Tables and figures in the layout of {plain_text(made.paper.citation)}, made from "
        f"{plain_text(made.subject)} by Touchstone {software_version()} (inputs {inputs}).",
        "",
        f"{'`tables.html` and `tables.pdf` have' if pdf_available() else '`tables.html` has'} all of them. `paper.tex` "
        "compiles as it is and takes in each table, as your own paper can.",
        "",
        "## Tables",
        "",
    ]
    for table in made.tables:
        names = ", ".join(f"`{table.name}{suffix}`" for suffix in TABLE_FORMATS)
        lines.append(f"- **{plain_text(table.title)}** ({names}). {plain_text(table.caption)}")
        lines += [f"    - {plain_text(note)}" for note in table.notes]
    if not made.tables:
        lines.append("None: see below.")
    if made.pictures:
        suffixes = (".svg", ".pdf", ".png", ".csv") if available() else (".csv",)
        lines += ["", "## Figures", ""]
        for picture in made.pictures:
            names = ", ".join(f"`{picture.name}{suffix}`" for suffix in suffixes)
            lines.append(f"- **{plain_text(picture.title)}** ({names}). {plain_text(picture.description)}")
        lines += [] if available() else ["", plain_text(MISSING)]
    if made.missing:
        lines += ["", "## Not in this data", ""]
        lines += [f"- **{plain_text(part.title)}**: {plain_text(part.words)}" for part in made.missing]
    return "\n".join(lines) + "\n"
