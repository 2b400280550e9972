"""Templates: what they load and include, and the parts of pages that htmx asks for."""

import re
from pathlib import Path

import pytest
from django.template import TemplateDoesNotExist
from django.template.loader import get_template

from tests.cases import over

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
APPS = ("web", "annotation", "judges", "metaeval")
LIBRARIES = {
    path.stem: app
    for app in APPS
    for path in (ROOT / app / "templatetags").glob("*.py")
    if path.stem != "__init__"
}


def owner(path: Path) -> str:
    """The app that a template belongs to; web for what every page shares, admin for the frame of the admin's pages."""
    parts = path.relative_to(TEMPLATES).parts
    own = [part for part in parts[:-1] if part in APPS]
    return own[0] if own else "admin" if parts[0] == "admin" else "web"


@over(sorted(TEMPLATES.rglob("*.html")))
def test_a_template_knows_web_and_its_own_app(path):
    allowed = {"web", owner(path)} | (set(APPS) if owner(path) == "admin" else {"admin"})
    text = path.read_text(encoding="utf-8")
    loaded = {name for tags in re.findall(r"\{% load ([^%]*)%\}", text) for name in tags.split()}
    assert {LIBRARIES[name] for name in loaded & set(LIBRARIES)} <= allowed
    taken = re.findall(r"\{% (?:include|extends) \"([^\"]+)\"", text)
    assert {owner(TEMPLATES / name) for name in taken} <= allowed


@pytest.mark.parametrize(
    "name",
    sorted(
        set(
            re.findall(
                r"\"([a-z_/]+\.html#[a-z-]+)\"",
                "".join(
                    path.read_text(encoding="utf-8") for app in APPS for path in (ROOT / app).rglob("*.py")
                ),
            )
        )
    ),
)
def test_a_part_that_a_view_renders_is_there(name):
    assert get_template(name)
    with pytest.raises(TemplateDoesNotExist):
        get_template(f"{name}-not")
