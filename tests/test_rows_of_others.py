"""Rows of another app come through its selectors and services: no app touches a manager of another's models.

Who may see what, and which rows count, is then decided in one place.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).resolve().parents[1]
APPS = ("web", "annotation", "judges", "metaeval", "config")
MANAGERS = {"objects", "_default_manager", "_base_manager"}
SHORTCUTS = {"get_object_or_404", "get_list_or_404", "aget_object_or_404"}


def modules(app: str) -> list[Path]:
    return [path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]


def owner(name: str) -> str:
    return {model.__name__: model._meta.app_label for model in apps.get_models()}.get(name, "")


def rows_touched(source: str) -> set[tuple[int, str]]:
    """Line and model of each use of a manager, or of a shortcut of Django's that uses one."""
    found: set[tuple[int, str]] = set()
    if not any(name in source for name in MANAGERS | SHORTCUTS):  # most files; to parse all takes seconds
        return found
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=model) | ast.Attribute(attr=model), attr=attr) if (
                attr in MANAGERS
            ):
                found.add((node.lineno, model))
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=model), *_]) if name in SHORTCUTS:
                found.add((node.lineno, model))
    return found


@pytest.mark.parametrize("app", APPS)
def test_rows_of_another_app_come_through_its_selectors(app):
    found = [
        f"{path.relative_to(ROOT)}:{line} reads {model}"
        for path in modules(app)
        for line, model in sorted(rows_touched(path.read_text(encoding="utf-8")))
        if owner(model) in APPS and owner(model) != app
    ]
    assert found == []


def test_the_rule_sees_a_manager_and_a_shortcut():
    source = (
        "a = Label.objects.all()\nb = get_object_or_404(Sweep, pk=1)\nc: Label\nd = models.Item.objects\n"
    )
    assert rows_touched(source) == {(1, "Label"), (2, "Sweep"), (4, "Item")}
