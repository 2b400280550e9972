"""Every template can be read."""

from pathlib import Path

from django.conf import settings
from django.template.loader import get_template


def test_every_template_compiles() -> None:
    folder = Path(settings.BASE_DIR) / "templates"
    found = [path.relative_to(folder) for path in sorted(folder.rglob("*.html"))]
    assert found
    for name in found:
        get_template(str(name))
