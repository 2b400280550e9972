"""A person's way through a study in a real browser: by keys alone, by mouse or by touch, through the pages only.

What is right stands in the texts themselves ("Answer 0" is the best), so that a walk reads the page as a person does.
"""

import re
from typing import Any, Literal

from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotation.models import Invitation, ItemRole, Kind, QualificationQuestion, Study, StudyItem, User
from tests.annotation.factories import invitation_make, study_make
from tests.annotation.kinds import ASPECTS, CRITERIA, RESPONSES, VALUES, kind_dataset_make
from tests.browser import conftest
from tests.browser.conftest import press

Hand = Literal["keys", "mouse", "touch"]
ELIGIBILITY = [
    {
        "key": "native",
        "question": "Is English your first language?",
        "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
    }
]
OTHER_VALUES: dict[str, dict[str, Any]] = {
    Kind.PAIRWISE: {"choice": 2},
    Kind.RUBRIC: {"ratings": {"helpful": 1, "clear": 2}},
    Kind.CHECKLIST: {"answers": {"format": False, "length": True, "tone": False}},
    Kind.IMPORTANCE: {"ranks": {"format": 3, "length": 2, "tone": 1}},
    Kind.ANSWER_RANKING: {"ranks": {"0": 3, "1": 2, "2": 1}},
    Kind.CLASSIFICATION: {"categories": {"format": False, "length": True, "tone": False}},
}
N_SHOWN = {Kind.PAIRWISE: 2, Kind.IMPORTANCE: len(ASPECTS)} | {
    kind: n for kind, n in RESPONSES.items() if kind != Kind.IMPORTANCE
}
VERDICTS = {True: "yes", False: "no", None: "unknown"}
# Where the focus is, and whether it can be seen: an outline or a shadow on it, or on the label or card around it.
FOCUS = """() => {
  const focused = document.activeElement;
  const drawn = (element) => {
    const style = getComputedStyle(element);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  };
  const around = [focused, focused.closest("label, fieldset, .choice, .check, .card"), focused.nextElementSibling];
  return {
    lost: focused === document.body || !focused.checkVisibility(),
    seen: focused.matches("main") || around.some((element) => element && drawn(element)),
    html: focused.outerHTML.slice(0, 160),
  };
}"""


def walk_study(
    kind: str, *, training: int = 0, test: int = 0, work: int = 2, checks: int = 0, **rules: Any
) -> Study:
    """An open study in which `VALUES[kind]` is the right answer to everything; checks are its first items."""
    dataset = kind_dataset_make(kind, items=training + test + work + checks)
    dataset.items.update(gold=VALUES[kind], explanation="It **follows** the instruction.")
    sizes = {"training_size": training, "qualification_size": test, "qualification_pass": test}
    study = study_make(dataset=dataset, kind=kind, **(sizes | {"check_size": checks, "overlap": 1} | rules))
    items = list(dataset.items.order_by("position"))
    parts = [(items[:training], "training"), (items[training : training + test], "test")]
    for chosen, part in parts:
        for place, item in enumerate(chosen):
            QualificationQuestion.objects.create(study=study, item=item, position=place, part=part)
    used = [item.pk for item in items[: training + test]]
    study.study_items.filter(item__in=used).delete()
    hidden = [item.pk for item in items[training + test : training + test + checks]]
    study.study_items.filter(item__in=hidden).update(role=ItemRole.CHECK, overlap=0)
    assert StudyItem.objects.filter(study=study, role=ItemRole.WORK).count() == work
    return study


class Walker:
    """A person before a page, with their hand on the keys, the mouse or the glass."""

    def __init__(self, page: Page, kind: str = Kind.PAIRWISE, hand: Hand = "mouse") -> None:
        self.page, self.kind, self.hand = page, kind, hand

    # Doing something

    def touch(self, place: Locator) -> None:
        assert self.hand != "keys", "who has no mouse presses a key"
        place.tap() if self.hand == "touch" else place.click()

    def button(self, name: str, key: str = "Enter") -> None:
        """Press a button of the page, or the key that is printed on it."""
        if self.hand == "keys":
            press(self.page, key)
        else:
            # With `visible`: a dialog that is closed may have a button of the same name.
            self.touch(self.page.locator(".btn:visible", has_text=re.compile(rf"^\s*{re.escape(name)}\b")))

    def tab_to(self, selector: str) -> None:
        """Go on with Tab to an element; wherever the focus stops on the way, it can be seen."""
        self.page.wait_for_load_state("load")
        for _ in range(40):
            self.page.keyboard.press("Tab")
            self.focus_check()
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab does not come to {selector}")

    def focus_check(self) -> None:
        focus = self.page.evaluate(FOCUS)
        assert not focus["lost"], f"the focus is lost at {self.page.url}"
        assert focus["seen"], f"the focus cannot be seen at {self.page.url}: {focus['html']}"

    # Reading

    def heading(self, words: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(words)

    def progress(self, words: str) -> None:
        """An item is there, and so many are done. (The page that asks for an item has a count as well.)"""
        expect(self.page.locator(".answer-bar")).to_be_visible()
        expect(self.page.locator(".progress-label")).to_have_text(words)

    def _cards(self, kind: str) -> list[str]:
        """What is to be ranked, from top to bottom: keys of aspects, or positions of answers."""
        cards = self.page.locator("[data-unranked] [data-rank-card]").all_inner_texts()
        pattern = r"Answer (\d) to text" if kind == Kind.ANSWER_RANKING else r"The (\w+) is right"
        return [re.search(pattern, text)[1] for text in cards]  # type: ignore[index]

    # The steps

    def come(self, url: str, invitation: Invitation) -> None:
        self.page.goto(url + reverse("annotation:join", args=[invitation.token]))
        self.heading(invitation.study.title)
        self.button("Start")

    def consent(self) -> None:
        self.heading("Before you start")
        press(self.page, "a") if self.hand == "keys" else self.touch(self.page.locator("label[for=agree]"))
        expect(self.page.locator("#agree")).to_be_checked()
        self.button("Continue")

    def eligibility(self, *, yes: bool = True) -> None:
        self.heading("About you")
        option = self.page.get_by_role("radio", name="Yes" if yes else "No", exact=True)
        if self.hand == "keys":
            press(self.page, "1" if yes else "2")
            expect(option).to_be_checked()
            self.tab_to("main button[type=submit]")
        else:
            self.touch(option)
        self.button("Continue")

    def guidelines(self, then: str = "Start") -> None:
        self.heading("Guidelines")
        self.button(then)

    def train(self, *, last: str = "Start the test", right: bool = True) -> None:
        expect(self.page.get_by_text("This is practice")).to_be_visible()
        self.answer(right=right)
        expect(self.page.locator("#verdict")).to_have_text("Right" if right else "Not quite")
        expect(self.page.get_by_text("It follows the instruction.")).to_be_visible()
        self.button(last)

    def test(self, *, right: bool = True, number: int = 1, total: int = 1) -> None:
        self.progress(f"Question {number} of {total}")
        self.answer(right=right)

    def work(self, total: int, *, begin: int = 0, right: bool = True) -> None:
        for done in range(begin, total):
            self.progress(f"{done} of {total}")
            if self.hand == "keys" and done > begin:
                self.focus_check()
            self.answer(right=right)

    def code(self) -> str:
        self.heading("Thank you!")
        return self.page.locator("#code").inner_text()

    # An answer: `VALUES[kind]` is the right one, `OTHER_VALUES[kind]` the other

    def answer(self, *, right: bool = True) -> None:
        """Answer what is on the page, and submit it."""
        self.fill(right=right)
        submit = self.page.locator(".answer-bar button[type=submit]")
        expect(submit).to_be_enabled()
        if self.hand == "keys":
            self.focus_check()
            press(self.page, "Enter")
        else:
            self.touch(submit)

    def fill(self, *, right: bool = True) -> None:
        value = (VALUES if right else OTHER_VALUES)[self.kind]
        if self.kind == Kind.PAIRWISE:
            self._choose(value["choice"])
        elif self.kind == Kind.RUBRIC:
            self._parts([str(value["ratings"][key]) for key in CRITERIA])
        elif self.kind == Kind.CHECKLIST:
            self._parts([VERDICTS[value["answers"][key]] for key in ASPECTS])
        elif self.kind == Kind.CLASSIFICATION:
            self._categories([key for key in ASPECTS if value["categories"][key]])
        else:
            self._rank(value["ranks"])

    def _choose(self, choice: int) -> None:
        first = f"Response {choice - 1} to" in self.page.locator(".response-a").inner_text()
        letter = "a" if first else "b"
        if self.hand == "keys":
            press(self.page, letter)
        else:
            self.touch(self.page.locator(f".answer-bar label[for=choice-{letter}]"))

    def _parts(self, options: list[str]) -> None:
        for number, option in enumerate(options, start=1):
            if self.hand == "keys":
                press(self.page, {"yes": "y", "no": "n", "unknown": "c"}.get(option, option))
            else:
                self.touch(self.page.locator(f"label[for=part-{number}-{option}]"))
            expect(self.page.locator(f"#part-{number}-{option}")).to_be_checked()

    def _categories(self, chosen: list[str]) -> None:
        for key in chosen:
            number = ASPECTS.index(key) + 1
            if self.hand == "keys":
                press(self.page, str(number))
            else:
                self.touch(self.page.locator(f"label[for=category-{number}]"))
            expect(self.page.locator(f"#category-{number}")).to_be_checked()

    def _rank(self, ranks: dict[str, int]) -> None:
        self.page.wait_for_load_state("load")
        cards = self._cards(self.kind)
        for place, name in enumerate(cards):
            if self.hand == "keys":
                press(self.page, str(ranks[name]))
            else:
                field = f"rank-{name if self.kind == Kind.IMPORTANCE else place}"
                self.page.select_option(f"[name={field}]", str(ranks[name]))
            expect(self.page.locator("[data-ranked] [data-rank-card]")).to_have_count(place + 1)


def walker_at_work(page: Page, url: str, study: Study, *, hand: Hand = "mouse") -> Walker:
    """Somebody who came by an invitation and has only the consent and the guidelines before the work."""
    walker = Walker(page, study.kind, hand)
    walker.come(url, invitation_make(study=study))
    walker.consent()
    walker.guidelines()
    return walker


def log_in(page: Page, url: str, name: str = "alice", then: str = "/studies/") -> None:
    conftest.log_in(page, User.objects.get(username=name), f"{url}{then}")
