"""The tutorials of administrators and annotators, followed word by word on the demonstration, in a browser.

A tutorial says "open `ADDRESS`", "choose **NAME**", "enter `TEXT` under **FIELD**", and what there is to see in bold.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Enrollment, Label, QualificationQuestion, User
from judges.backends.mock_server import running_mock_server
from judges.models import AnchorSet, Sweep
from metaeval.demo.build import Demo, demo_build
from metaeval.models import Decision
from tests.browser.conftest import log_in, press
from tests.judges.props import run
from tests.live_site import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.slow,
    # The tutorials name rows by number, as on a new site.
    pytest.mark.django_db(transaction=True, reset_sequences=True),
]

_STEP = re.compile(
    r"[Cc]hoose \*\*(?P<choose>[^*]+)\*\*|[Ee]nter `(?P<text>[^`]+)` under \*\*(?P<field>[^*]+)\*\*"
    r"|[Oo]pen `(?P<open>/[^`]*)`|\*\*(?P<see>[^*]+)\*\*"
)
_SECTION = re.compile(r"^## \d+\. (.+)$", re.MULTILINE)


def sections(name: str) -> Iterator[tuple[str, str]]:
    """The heading and the words of each step."""
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    _, *found = _SECTION.split(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    words = [re.sub(r"\s+", " ", part) for part in found]
    return zip(words[::2], words[1::2], strict=True)


def choosable(page: Page, name: str) -> Locator:
    """What a person can choose under this name: a button, a link, a choice, or what opens a part of the page."""
    starts = re.compile(rf"^\s*{re.escape(name)}")
    found = page.get_by_role("button", name=starts)
    for role in ("link", "radio", "checkbox"):
        found = found.or_(page.get_by_role(role, name=starts))
    return found.or_(page.locator("summary", has_text=starts)).filter(visible=True).first


def follow(page: Page, site: str, words: str, after: Callable[[str], None] = lambda _: None) -> None:
    """Do what a step says; `after` is told what was chosen."""
    for step in _STEP.finditer(words):
        if step["open"]:
            page.goto(site + step["open"])
        elif step["choose"]:
            choosable(page, step["choose"]).click()
            page.wait_for_load_state("networkidle")
            after(step["choose"])
        elif step["text"]:
            page.get_by_label(step["field"]).fill(step["text"])
        else:
            expect(page.get_by_text(step["see"]).filter(visible=True).first).to_be_visible()


@pytest.fixture
def demo() -> Iterator[Demo]:
    with running_mock_server() as server:
        yield demo_build(mock_url=server.url)


def test_an_administrator_follows_theirs(live_server, page: Page, demo: Demo) -> None:
    log_in(page, User.objects.get(username="admin"), f"{live_server.url}/")

    def judge(chosen: str) -> None:
        if chosen in ("Launch", "Freeze anchors"):
            run()

    for heading, words in sections("administrator"):
        follow(page, live_server.url, words, judge)
        if heading == "Launch the sweep":
            assert Sweep.objects.get(pk=2).state == "finished"
    decision = Decision.objects.get()
    assert (decision.judge.name, decision.reason) == (
        "Mock, with the human reference",
        "It agrees best with our annotators.",
    )
    assert AnchorSet.objects.get().judge == decision.judge


def test_an_annotator_follows_theirs(live_server, page: Page, demo: Demo) -> None:
    page.goto(f"{live_server.url}/join/{demo.invitation.token}/")
    for heading, words in sections("annotator"):
        if heading == "Take the test":
            follow(page, live_server.url, words)
            for _ in range(demo.study.qualification_size):
                answer(page, right_key(page))
        elif heading == "Work":
            answer(page, "t")
            answer(page, "a")
            follow(page, live_server.url, words)
        else:
            follow(page, live_server.url, words)
    mine = Enrollment.objects.get(annotator__is_simulated=False, study=demo.study)
    expect(page.get_by_text(mine.completion_code).first).to_be_visible()
    assert Label.objects.filter(annotator=mine.annotator, role="work").count() == 2


def right_key(page: Page) -> str:
    """A or B: where the answer stands that the demonstration knows to be the better one."""
    panels = page.locator("main").inner_text()
    first, second = panels.split("Answer A", 1)[1].split("Answer B", 1)
    for question in QualificationQuestion.objects.filter(item__kind="pairwise").select_related("item"):
        texts = [one.response.text for one in question.item.item_responses.select_related("response")]
        flat = [re.sub(r"\W+", "", text) for text in texts]
        shown = [re.sub(r"\W+", "", part) for part in (first, second)]
        gold = question.item.gold["choice"]
        if {flat[0] in shown[0], flat[1] in shown[1]} == {True}:
            return "ab"[gold - 1]
        if {flat[1] in shown[0], flat[0] in shown[1]} == {True}:
            return "ba"[gold - 1]
    raise AssertionError("no question of the test is on the page")


def answer(page: Page, key: str) -> None:
    press(page, key)
    asked = page.locator("form[data-assignment]").get_attribute("data-assignment")
    # Drafts are sent too, and the page speaks of them: only the answer's own response says that it is kept.
    with page.expect_response(
        lambda found: found.request.method == "POST" and not found.url.endswith("/draft/")
    ):
        page.keyboard.press("Enter")
    # The next key is for what comes next, which takes this one's place a moment after the response.
    page.wait_for_function(
        "asked => document.querySelector('form[data-assignment]')?.dataset.assignment !== asked", arg=asked
    )
    page.wait_for_load_state("networkidle")
