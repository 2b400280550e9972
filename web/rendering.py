"""Text of models, imports and researchers as safe HTML.

Three lines of defence, each enough by itself for the common attacks: raw HTML is text to the Markdown
parser; our renderers emit only the tags listed here; nh3 (ammonia) sanitises the result by the same list.
Nothing is loaded from elsewhere: an image is shown where it is stored with a dataset, another as its description and
address. The rendering of a text depends on the text alone, so that two responses are always shown by the same rules.
"""

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b
from html import escape

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from web.caching import BoundedCache
from web.highlighting import CLASSES, SYNTAXES, highlight
from web.mathematics import MATHML_ATTRIBUTES, MATHML_TAGS, mathematics_plugin
from web.rendering_numbers import items_number, numbers_plugin
from web.rendering_work import TooMuchWorkError, work_plugin

MAX_MARKDOWN = 60_000
"""Longest text, in characters, that is parsed as Markdown; a longer one is shown as plain text."""
PLAIN_BLOCK = 400
"""Characters at least, of a block of a long plain text. A phone shows more at once; it is painted as a whole."""
MAX_HIGHLIGHT = 12_000
"""Characters of code that are highlighted in one text; blocks after that are plain."""
MAX_RENDERED = 24_000_000
"""Characters of rendered fragments that a process keeps."""
_HTML = """
    p br hr h3 h4 h5 h6 ul ol li blockquote pre code em strong s a table thead tbody tr th td div span img
"""
_HTML_TAGS = frozenset(_HTML.split())
ALLOWED_TAGS = _HTML_TAGS | MATHML_TAGS
_DIRECTED = _HTML_TAGS - {"br", "hr", "em", "strong", "s", "a", "thead", "tbody", "tr", "span", "img"}
STORED_IMAGE = re.compile(r"image:(?P<digest>[0-9a-f]{64})")
"""The address of an image that is stored with a dataset."""


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Let an image have no address but that of a stored one."""
    return value if (tag, name) != ("img", "src") or _IMAGE_PATH.search(value) else None


_IMAGE_PATH = re.compile(r"\A/(?:[^\s?#]*/)?images/[0-9a-f]{64}/\Z")
_CLEANER = nh3.Cleaner(
    tags=set(ALLOWED_TAGS),
    clean_content_tags={"script", "style"},
    attributes={"a": {"href", "title"}, "ol": {"start"}, "li": {"value"}, "img": {"src", "alt", "loading"}}
    | {tag: set(MATHML_ATTRIBUTES) for tag in MATHML_TAGS},
    tag_attribute_values={tag: {"dir": {"auto", "ltr", "rtl"}} for tag in _DIRECTED},
    attribute_filter=_attribute,
    allowed_classes={
        "a": {"image-link"},
        "span": set(CLASSES.values()) | {"image-alt"},
        "div": {"prose-scroll"},
        "th": {"align-center", "align-right"},
        "td": {"align-center", "align-right"},
    },
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="nofollow noopener noreferrer",
    url_schemes={"http", "https", "mailto"},
    strip_comments=True,
)

_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
# Control characters have no picture; directional overrides can make text read otherwise than it is.
INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
# An answer of one line is no list and no quote: "50.", "+ 5", "- 3", "> 2" stay as they are written.
_ONE_LINE = re.compile(r"(\s*)(?:([-+*>])(?=\s)|(\d{1,9})([.)])(?=\s|$))([^\n]*)", re.ASCII)
# What may mean something in Markdown: a character that isn't among those of sentences, the beginning of a line that may
# be of a list, a quote or a heading, and spaces that indent or break a line.
_MARKUP = re.compile(
    r"""
    [^\w .,;:!?'"()/%#\n…–—’‘“”、。，！？：；（）「」،؛؟-] | _
    | ^(?!\#\w)[^\w"'(“‘「\n] | ^\d
    | ^[ ] | [ ]$ | [ ]{2}
    """,
    re.MULTILINE | re.VERBOSE,
)
_BETWEEN = re.compile(r"\n{2,}")
EMPTY = '<p class="muted">(empty)</p>'
UNDESCRIBED = "Image without a description"


def tidy(text: str) -> str:
    """Text without lone surrogates, control characters and directional overrides; line ends as ``\\n``."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _render_code(_: RendererHTML, tokens: list[Token], index: int, __: OptionsDict, env: EnvType) -> str:
    code = tokens[index].content
    language = tokens[index].info.strip().split(maxsplit=1)[:1]
    name = language[0].lower() if language else ""
    highlighted = env.get("highlighted", 0) + len(code)
    if name in SYNTAXES and highlighted <= MAX_HIGHLIGHT:
        env["highlighted"] = highlighted
        body = highlight(code, name)
    else:
        body = escape(code)
    return f'<pre dir="ltr"><code>{body}</code></pre>\n'


def _render_code_span(_: RendererHTML, tokens: list[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    return f'<code dir="ltr">{escape(tokens[index].content)}</code>'


def _render_image(
    renderer: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Show a stored image, and of any other its description and address.

    An annotator's browser must not tell a stranger that the text is read.
    """
    token = tokens[index]
    alt = renderer.renderInlineAsText(token.children or [], options, env).strip()
    address = str(token.attrs.get("src", ""))
    if (stored := STORED_IMAGE.fullmatch(address)) is None:
        return f'<span class="image-alt">{escape(alt or "image")} ({escape(address)})</span>'
    path = escape(reverse("annotation:image", args=[stored["digest"]]))
    shown = f'<img src="{path}" alt="{escape(alt or UNDESCRIBED)}" loading="lazy">'
    mark = "" if alt else f'<span class="image-alt">{UNDESCRIBED}</span>'
    return f'<a class="image-link" href="{path}">{shown}</a>{mark}'


def _render_cell(
    renderer: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Alignment as a class: the policy of the site forbids style attributes."""
    token = tokens[index]
    style = str(token.attrs.pop("style", ""))
    for side in ("center", "right"):
        if style.endswith(side):
            token.attrs["class"] = f"align-{side}"
    return renderer.renderToken(tokens, index, options, env)


def _render_table_open(_: RendererHTML, tokens: list[Token], index: int, *__: object) -> str:
    direction = tokens[index].attrs["dir"]
    return f'<div class="prose-scroll" dir="{direction}"><table dir="{direction}">\n'


def _render_table_close(*_: object) -> str:
    return "</table></div>\n"


def _demote_headings(tokens: list[Token]) -> None:
    """Shift headings so that the highest is h3: a response fits below the page's own and skips no level."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    shift = 3 - min((int(token.tag[1]) for token in headings), default=3)
    for token in headings:
        token.tag = f"h{min(int(token.tag[1]) + shift, 6)}"


def _name_no_empty_header(tokens: list[Token]) -> None:
    """An empty corner of a table is no header: a screen reader would announce one without words."""
    for place, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[place + 1].content.strip():
            token.tag = tokens[place + 2].tag = "td"


_LEAVES = frozenset(("paragraph_open", "heading_open", "th_open", "td_open"))
_CONTAINERS = frozenset(
    ("bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open", "table_open")
)


def _first_strong(token: Token) -> str:
    """Direction of the first letter of an inline token, code and mathematics apart; empty without one."""
    for child in token.children or ():
        if child.type != "text":
            continue
        for letter in child.content:
            kind = unicodedata.bidirectional(letter)
            if kind in ("L", "R", "AL"):
                return "ltr" if kind == "L" else "rtl"
    return ""


def _direct(tokens: list[Token]) -> None:
    """Give every block its direction, so that bullets, numbers, bars and columns stand where its script begins.

    What holds text itself finds its direction in the browser (``dir="auto"``). That looks at no block with a direction
    of its own, and reads the letters of formulas: what holds blocks, or a formula, is given its direction here.
    """
    waiting: list[list[Token]] = []
    for place, token in enumerate(tokens):
        if token.type in _LEAVES or token.type in _CONTAINERS:
            token.attrs["dir"] = "auto"
        if token.type in _CONTAINERS:
            waiting.append([token])
        elif token.type.replace("_close", "_open") in _CONTAINERS:
            for still in waiting.pop():
                still.attrs["dir"] = "ltr"
        elif token.type == "inline" and (found := _first_strong(token)):
            for some in waiting:
                for still in some:
                    still.attrs["dir"] = found
                some.clear()
            if any(child.type == "math" for child in token.children or ()):
                tokens[place - 1].attrs["dir"] = found
    # An item of a tight list holds its text itself.
    for place, token in enumerate(tokens[:-2]):
        is_tight = token.type == "list_item_open" and tokens[place + 1].hidden
        if is_tight and not any(child.type == "math" for child in tokens[place + 2].children or ()):
            token.attrs["dir"] = "auto"


def parser_make() -> MarkdownIt:
    """A parser of Markdown as pages show it."""
    # Line breaks are kept: the texts are written for chat windows and forms, and a poem or a plain list that
    # collapses into one line would be judged for our rendering.
    md = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    md.disable(["html_block", "html_inline"])
    md.enable(["table", "strikethrough"])
    md.use(mathematics_plugin)
    md.use(numbers_plugin)
    md.use(work_plugin)
    # Only absolute links: a relative one would lead into this site. What is refused stays visible as source.
    md.validateLink = lambda url: bool(_LINK.match(url) or STORED_IMAGE.fullmatch(url))  # type: ignore[method-assign]
    md.add_render_rule("fence", _render_code)
    md.add_render_rule("code_block", _render_code)
    md.add_render_rule("code_inline", _render_code_span)
    md.add_render_rule("image", _render_image)
    md.add_render_rule("th_open", _render_cell)
    md.add_render_rule("td_open", _render_cell)
    md.add_render_rule("table_open", _render_table_open)
    md.add_render_rule("table_close", _render_table_close)
    return md


PARSER = parser_make()


# Items are shown to several people at about the same time. The key is a hash, so that a text is not kept twice.
_rendered: BoundedCache[bytes, SafeString] = BoundedCache(limit=MAX_RENDERED, weight=len)


def rendered_clear() -> None:
    """Forget what was rendered."""
    _rendered.clear()


def _render(text: str) -> SafeString:
    digest = blake2b(text.encode(), digest_size=16).digest()
    return _rendered.get(digest, lambda: paragraphs(text) or from_markdown(text))


def paragraphs(text: str) -> SafeString | None:
    """What `from_markdown` makes of a text without markup, in a fraction of the time; None where there may be some.

    Most prompts and short answers have none. The text is `tidy` and isn't blank.
    """
    if _MARKUP.search(text):
        return None
    lines = (one.replace("\n", "<br>\n") for one in _BETWEEN.split(text.strip("\n")))
    # No character that would have to be escaped is let through.
    return mark_safe("".join(f'<p dir="auto">{line}</p>\n' for line in lines))  # noqa: S308


def from_markdown(text: str) -> SafeString:
    """Safe HTML of a `tidy` text by way of the parser."""
    env: dict[str, object] = {}
    text = one_line_kept(text)
    try:
        tokens = PARSER.parse(text, env)
        _demote_headings(tokens)
        _name_no_empty_header(tokens)
        items_number(tokens)
        _direct(tokens)
        html = PARSER.renderer.render(tokens, PARSER.options, env)
    except (RecursionError, TooMuchWorkError):  # a text built to be slow, or nested without end
        return _preformatted(text)
    return mark_safe(_CLEANER.clean(html))  # noqa: S308 - sanitised on this line


def one_line_kept(text: str) -> str:
    r"""The Markdown that shows a text of one line as it is written, where it would read as a list or a quote.

    >>> one_line_kept("50."), one_line_kept("- 3"), one_line_kept("fifty")
    ('50\\.', '\\- 3', 'fifty')
    """
    one = _ONE_LINE.fullmatch(text.strip())
    if one is None:
        return text
    _, mark, number, dot, rest = one.groups("")
    return f"{number}\\{mark or dot}{rest}"


def _preformatted(text: str) -> SafeString:
    """Text as it is written. A long one is in blocks of whole paragraphs, which a browser lays out and paints one by
    one; together they have the same characters.
    """
    inner = escape(text)
    blocks = list(_blocks(text))
    if len(blocks) > 1:
        inner = "".join(f"<span>{escape(block)}</span>" for block in blocks)
    return mark_safe(f'<pre class="plain" dir="auto">{inner}</pre>')  # noqa: S308 - escaped above


def _blocks(text: str) -> Iterator[str]:
    start = 0
    for match in re.finditer(r"\n\s*\n", text):
        if match.end() - start >= PLAIN_BLOCK:
            yield text[start : match.end()]
            start = match.end()
    if start < len(text):
        yield text[start:]


def render_markdown(text: str | None) -> SafeString:
    r"""Render Markdown (CommonMark, tables, strikethrough, LaTeX) of any origin as safe HTML.

    Parameters
    ----------
    text
        The source. Above `MAX_MARKDOWN` characters, or where reading it as Markdown takes more steps than any text
        that people write (`web.rendering_work`), it is shown as plain text, which bounds the time.

    Returns
    -------
    SafeString
        A fragment for inside ``<div class="prose">``. No tag outside `ALLOWED_TAGS`, no style, no script, no
        address but http, https and mailto, no remote load. Equal texts give equal fragments.

    Examples
    --------
    >>> render_markdown("**6** \\( s^2 \\)")[:37]
    '<p dir="auto"><strong>6</strong> <mat'
    """
    shown = tidy(text or "")
    if not shown.strip():
        return mark_safe(EMPTY)  # noqa: S308 - a constant
    return _render(shown) if len(shown) <= MAX_MARKDOWN else _preformatted(shown)


def render_plain(text: str | None) -> SafeString:
    """Show text as it is written, as `render_markdown` does with what is too long for it."""
    shown = tidy(text or "")
    return _preformatted(shown) if shown.strip() else mark_safe(EMPTY)  # noqa: S308 - a constant
