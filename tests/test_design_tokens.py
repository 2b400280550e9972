"""The design tokens: contrast in both themes, and no colour, style or script outside of where they belong."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[1] / "static"


def _tokens() -> dict[str, tuple[str, str]]:
    css = (STATIC / "css" / "tokens.css").read_text("utf-8")
    return {m[1]: (m[2], m[3]) for m in re.finditer(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)}


def _luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


SURFACES = ["ground", "surface", "raised", "sunken", "hover", "accent-soft"]
TEXT_ON = dict.fromkeys(("ink", "ink-2", "accent", "accent-hover", "good", "warn", "bad"), SURFACES)
TEXT_ON |= {
    f"code-{kind}": ["sunken", "surface"]
    for kind in ("comment", "keyword", "string", "number", "name", "error")
}
PAIRS = [(ink, ground, 4.5) for ink, grounds in TEXT_ON.items() for ground in grounds]
PAIRS += [
    ("accent-ink", "accent", 4.5),
    ("accent-ink", "accent-hover", 4.5),
    ("bad-ink", "bad", 4.5),
    ("bad-ink", "bad-hover", 4.5),
]
PAIRS += [(name, f"{name}-soft", 4.5) for name in ("accent", "good", "warn", "bad")]
PAIRS += [("ink", f"{name}-soft", 4.5) for name in ("accent", "good", "warn", "bad")]
PAIRS += [("surface", "good", 4.5), ("surface", "warn", 4.5)]
PAIRS += [
    (line, ground, 3.0)
    for line in ("line-strong", "accent", "gold")
    for ground in ("ground", "surface", "raised")
]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast(theme):
    tokens = _tokens()
    ratios = {
        (ink, ground): _contrast(tokens[ink][theme], tokens[ground][theme]) / least
        for ink, ground, least in PAIRS
    }
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 1} == {}


def test_no_colour_is_named_outside_the_tokens():
    for name in ("base", "components", "prose", "report", "annotate", "code"):
        css = re.sub(
            r"@media print \{.*", "", (STATIC / "css" / f"{name}.css").read_text("utf-8"), flags=re.DOTALL
        )
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?=[;, )])", css), name


def test_templates_have_no_inline_style_or_script():
    for path in (STATIC.parent / "templates").rglob("*.html"):
        # Files that are self-contained: no page of the site is rendered from them.
        if path.name in ("export.html", "paper_export.html"):
            continue
        html = path.read_text("utf-8")
        assert not re.search(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:", html), path
