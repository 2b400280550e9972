"""HTML to Markdown: what a model and a person read."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.importers.html_text import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One.</p>\n\n<p>Two  words\nhere.</p>\n", "One.\n\nTwo words here."),
        ("a<br>b<br />c", "a\nb\nc"),
        ("<strong>b</strong> <em>i</em> <s>gone</s>", "**b** *i* ~~gone~~"),
        ("5 &lt; 6 &amp;&amp; &quot;x&quot;&nbsp;&#8364;", '5 < 6 && "x" €'),
        ("a < b and c > d", "a < b and c > d"),
        ("<code>ls -l</code> and <code>a`b</code>", "`ls -l` and ``a`b``"),
        ("<code>`x`</code>", "`` `x` ``"),
        ("<pre><code>if x:\n    y &lt; 1\n\nz\n</code></pre>", "```\nif x:\n    y < 1\n\nz\n```"),
        ('<pre class="lang-py"><code>```\nx\n```</code></pre>', "````\n```\nx\n```\n````"),
        ("<pre>a <b>c</b></pre>", "```\na c\n```"),
        ("<ul>\n<li>one</li>\n<li>two</li>\n</ul><p>x</p>", "- one\n- two\n\nx"),
        ("<ol><li>one<li>two<ul><li>in</ul><li>three</ol>", "1. one\n2. two\n   - in\n3. three"),
        ("<ol><li><p>a</p><pre><code>x\ny</code></pre></li></ol>", "1. a\n\n   ```\n   x\n   y\n   ```"),
        ("<blockquote><p>a</p><p>b</p></blockquote><p>c</p>", "> a\n>\n> b\n\nc"),
        ("<h2>Head</h2><p>x</p><hr>y", "## Head\n\nx\n\n---\n\ny"),
        ('See <a href="https://example.org/?a=1&amp;b=2" title="x > y">the page</a>.', "See the page."),
        ('<p><img src="x.png" alt="enter image description here">only</p>', "only"),
        ("<script>alert('<b>')</script>x<style>p{}</style><iframe>y</iframe>z", "xz"),
        ("<script>never closed", ""),
        ("a<!-- hidden <b> -->b<!-- open", "ab"),
        ("$x^2$ and <b>open", "$x^2$ and **open"),
        ("<p></p><p> </p>", ""),
        ("<pre><code>open", "```\nopen\n```"),
        ("</ul></blockquote></code></pre>x", "x"),
        ("", ""),
    ],
)
def test_text(html: str, text: str) -> None:
    assert html_to_text(html) == text


PIECES = [
    "<p>",
    "</p>",
    "<ul>",
    "<li>",
    "</ul>",
    "<ol>",
    "<pre>",
    "</pre>",
    "<code>",
    "</code>",
    "<blockquote>",
]
PIECES += [
    "</blockquote>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<",
    ">",
    "&",
    "&lt;",
    "`",
    "\n",
    " ",
    "x",
    "<h1>",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text())
def test_any_html_has_a_text(html: str) -> None:
    text = html_to_text(html)
    assert text == text.strip("\n")
    assert len(text) <= 60 * (len(html) + 8)


@pytest.mark.parametrize(
    "piece",
    ["<", "<!", "<a ", "<a b='", "<!--", "&", "<?", "<ul><li>x", "<blockquote>x", "`<code>", "</script"],
)
def test_hostile_html_takes_no_longer_than_any_other(piece: str) -> None:
    html = piece * (200_000 // len(piece))
    start = time.process_time()
    html_to_text(html)
    assert time.process_time() - start < 5
