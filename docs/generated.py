"""Reference pages of the documentation that come from the code: commands, settings, the library. A hook of MkDocs."""

import argparse
import ast
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
APPS = ("annotation", "config", "judges", "metaeval")
DJANGO = {
    "help",
    "version",
    "verbosity",
    "settings",
    "pythonpath",
    "traceback",
    "no_color",
    "force_color",
    "skip_checks",
}
"""Options that every command of Django has."""


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that no file holds."""
    for name, text in (("commands", commands()), ("settings", settings()), ("library", library())):
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A block of code that names its file (```csv pairs.csv) has the name as its title."""
    return re.sub(r"^(```\w+) (\S+\.\w+)$", r'\1 title="\2"', markdown, flags=re.MULTILINE)


def commands() -> str:
    """Each management command with its help and options, as `manage.py NAME --help` has them."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django
    from django.core.management import load_command_class

    django.setup()
    lines = ["# Commands", "", "Run each as `python manage.py NAME`. `--help` says the same.", ""]
    found = {
        path.stem: app for app in APPS for path in (ROOT / app / "management" / "commands").glob("[a-z]*.py")
    }
    for name, app in sorted(found.items()):
        parser = load_command_class(app, name).create_parser("manage.py", name)
        lines += [f"## {name}", "", _plain(parser.description or ""), "", "| option | meaning |", "|---|---|"]
        for action in parser._actions:
            if action.dest not in DJANGO:
                lines.append(f"| {_option(action)} | {_plain(_help(parser, action))} |")
        lines.append("")
    return "\n".join(lines)


def _option(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or action.dest
    if action.choices:
        return f"`{names}` " + ", ".join(f"`{choice}`" for choice in action.choices)
    return f"`{names}`"


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def settings() -> str:
    """Each variable of the environment that the settings read, with its type and default."""
    source = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    rows = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        of_env = isinstance(node.func.value, ast.Name) and node.func.value.id == "env"
        if of_env and node.args and isinstance(node.args[0], ast.Constant):
            default = next(
                (ast.unparse(one.value) for one in node.keywords if one.arg == "default"), "required"
            )
            shown = _plain(default).replace("`", "'")
            rows.append(f"| `{node.args[0].value}` | {node.func.attr} | `{shown}` |")
    table = "\n".join(sorted(set(rows)))
    where = "[Operations](../operations.md)"
    return (
        "# Settings\n\nEvery setting comes from the environment, or from the file `.env` beside `manage.py`. "
        f"What each means is in {where}.\n\n| variable | type | default |\n|---|---|---|\n{table}\n"
    )


def library() -> str:
    """The public functions and classes of the library, module by module."""
    tree = ast.parse((ROOT / "metaeval" / "stats" / "__init__.py").read_text(encoding="utf-8"))
    homes = {
        node.module: [one.name for one in node.names]
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    }
    lines = [
        "# The library",
        "",
        "Everything below is imported from `metaeval.stats`. [In a notebook](../notebook.md) "
        "shows how to use it, and [The statistics](../statistics.md) has the formulas.",
        "",
    ]
    for module, names in sorted(homes.items(), key=lambda pair: str(pair[0])):
        members = ", ".join(sorted(names))
        lines += [
            f"::: {module}",
            "    options:",
            f"      members: [{members}]",
            "      show_root_heading: true",
            "",
        ]
    return "\n".join(lines)
