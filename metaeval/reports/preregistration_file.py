"""A preregistration as a Markdown file."""

from metaeval.reports.markdown import plain_text
from metaeval.reports.preregistration import Document, preregistration_facts, preregistration_hash


def preregistration_markdown(document: Document, date: str) -> str:
    """Write it as Markdown, with the hash of its JSON file."""
    dataset = document["dataset"]
    lines = [f"# Preregistration: {plain_text(document['title'])}", ""]
    lines += [f"- **{name}**: {plain_text(text)}" for name, text in preregistration_facts(document)]
    lines += [
        "",
        f"Dataset `{dataset['name']}` version {dataset['version']}. Registered {date}.",
        "",
        f"SHA-256 of the JSON file: `{preregistration_hash(document)}`",
    ]
    return "\n".join(lines) + "\n"
