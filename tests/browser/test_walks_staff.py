"""What researchers do while people work, in two browsers at once, and the whole life of a study."""

import re
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.entry import prolific
from annotation.models import (
    Adjudication,
    Bonus,
    Enrollment,
    GuidelinesRevision,
    Kind,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
    User,
)
from tests.annotation.cast import label_make
from tests.annotation.entry.props import SESSION, STUDY_ID, csv_file, csv_row, link_make
from tests.annotation.factories import enrollment_make, invitation_make, user_make
from tests.annotation.kinds import VALUES, kind_dataset_make
from tests.browser.conftest import confirm, press, settled
from tests.browser.walks import Walker, log_in, walk_study, walker_at_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice() -> User:
    return user_make(username="alice")


@pytest.fixture
def office(new_context: Callable[..., BrowserContext], alice: User) -> Page:
    """Alice's browser; an annotator has the one of `page`."""
    return new_context().new_page()


def person_open(office: Page, url: str, study: Study) -> None:
    """The page of the only person of the study, by way of the list of people."""
    log_in(office, url, then=reverse("annotation:study-people", args=[study.slug]))
    office.locator("#people tbody th a").click()
    expect(office.get_by_role("heading", level=1)).to_contain_text("Annotator")


def panel(office: Page, name: str):
    summary = office.locator(".people-actions summary", has_text=re.compile(f"^{name}$"))
    summary.click()
    return summary.locator("xpath=..")


class TestHiddenChecks:
    @pytest.mark.long
    def test_warned_suspended_restored_and_on_to_the_code(self, live_server, page: Page, office: Page, alice):
        rules = {"check_rate": 0.333, "check_minimum": 2, "check_window": 4, "set_aside_on_suspend": True}
        limits = {"check_warn_below": 0.8, "check_suspend_below": 0.4}
        study = walk_study(Kind.PAIRWISE, work=16, checks=8, owner=alice, **rules, **limits)
        walker = walker_at_work(page, live_server.url, study)
        self.work_with_one_slip(walker, until="Several of your recent answers differ")
        person = Enrollment.objects.get()
        assert person.warned_at is not None
        expect(page.get_by_role("heading", level=1)).to_have_text(study.question)
        press(page, "o")
        expect(page.get_by_text("Several of your recent answers differ")).to_have_count(0)
        self.work_carelessly(walker, until="Your work here has stopped")
        walker.heading("Your work here has stopped")
        expect(page.get_by_text("too many of your recent answers differ")).to_be_visible()
        expect(page.get_by_text("Nothing you submitted is deleted.")).to_be_visible()
        person.refresh_from_db()
        aside = Label.objects.filter(is_set_aside=True)
        assert person.suspended_at is not None
        assert aside.filter(role="work").exists()
        assert person.n_accepted == Label.objects.current().count()
        for address in ("", "work/", "answers/"):
            page.goto(f"{live_server.url}/s/{study.slug}/{address}")
            expect(page.locator(".answer-bar")).to_have_count(0)

        person_open(office, live_server.url, study)
        form = panel(office, "Restore")
        form.get_by_label("Reason").fill("They wrote to us.")
        form.get_by_label("Message").fill("Welcome back. Please take your time.")
        form.get_by_label("Include the excluded labels again").check()
        form.get_by_role("button", name="Restore access").click()
        confirm(office)
        expect(office.get_by_text("The annotator can continue.")).to_be_visible()
        assert not aside.exists()

        page.goto(f"{live_server.url}/s/{study.slug}/")
        expect(page.locator(".notice-text")).to_have_text("Welcome back. Please take your time.")
        expect(page.get_by_text("too many of your recent answers differ")).to_have_count(0)
        while page.locator(".answer-bar").count():
            self.answer(walker, right=True)
        walker.code()
        person.refresh_from_db()
        assert (person.stage, person.n_accepted, person.suspended_at) == (Stage.DONE, 16, None)

    def work_with_one_slip(self, walker: Walker, until: str) -> None:
        """The second check wrong, and everything else right, until something is said: some answers later."""
        for _ in range(12):
            expect(walker.page.locator(".answer-bar")).to_be_visible()
            self.answer(walker, right=Label.objects.filter(role="check").count() != 1)
            if walker.page.get_by_text(until).count():
                return
        raise AssertionError(f"nobody said: {until}")

    def work_carelessly(self, walker: Walker, until: str) -> None:
        """Every answer wrong, until something is said."""
        for _ in range(16):
            expect(walker.page.locator(".answer-bar")).to_be_visible()
            self.answer(walker, right=False)
            if walker.page.get_by_text(until).count():
                return
        raise AssertionError(f"nobody said: {until}")

    def answer(self, walker: Walker, *, right: bool) -> None:
        item = walker.page.locator("form[data-annotate]").get_attribute("data-assignment")
        walker.answer(right=right)
        another = "item => document.querySelector('form[data-annotate]')?.dataset.assignment !== item"
        walker.page.wait_for_function(another, arg=item)
        walker.page.wait_for_load_state("load")  # where it leads to a page and not to an item


class TestProlific:
    """Completed, screened out and without consent: `test_entry`. Here what only Prolific knows."""

    def test_returned_and_handed_in_without_the_code(self, live_server, new_context, office, alice, tmp_path):
        study = walk_study(Kind.RUBRIC, overlap=2, owner=alice)
        link = link_make(study, external_study_id=STUDY_ID)
        gone, quick = new_context().new_page(), new_context().new_page()
        for page, pid, session in ((gone, "p1", SESSION), (quick, "p2", "s2")):
            door = reverse("annotation:enter", args=["prolific", link.token])
            query = f"PROLIFIC_PID={pid}&STUDY_ID={STUDY_ID}&SESSION_ID={session}"
            page.goto(f"{live_server.url}{door}?{query}")
            walker = Walker(page, study.kind)
            walker.button("Start")
            walker.consent()
            walker.guidelines()
            walker.progress("0 of 2")
            walker.answer()
            walker.progress("1 of 2")
        walker.answer()
        walker.heading("Thank you!")
        back = quick.get_by_role("link", name="Return to Prolific").get_attribute("href")
        assert back == f"{prolific.COMPLETE}?cc=CDONE"
        assert StudyItem.objects.filter(n_open=1).count() == 1

        file = tmp_path / "export.csv"
        rows = (csv_row(SESSION, "p1", "RETURNED", ""), csv_row("s2", "p2", "AWAITING REVIEW", "NOCODE"))
        file.write_bytes(csv_file(*rows))
        log_in(office, live_server.url, then=reverse("annotation:study-entry", args=[study.slug]))
        office.get_by_text("Reconcile").first.click()
        office.locator("#file-prolific").set_input_files(str(file))
        office.get_by_role("button", name="Check file").click()
        without = office.get_by_role("region", name="Submitted without the completion code")
        expect(without.get_by_role("row").filter(has_text="s2")).to_contain_text("Finished")
        office.get_by_role("button", name="Do this").click()
        expect(office.get_by_text("Done: 1 left")).to_be_visible()

        left = Enrollment.objects.get(annotator__external_id="p1")
        assert left.stage == Stage.LEFT
        assert not StudyItem.objects.filter(n_open__gt=0).exists()
        assert Label.objects.filter(annotator=left.annotator, is_set_aside=True).count() == 1
        walker = Walker(gone, study.kind)
        walker.answer()  # on the page that they still had open
        walker.heading("You left this study")
        assert Label.objects.filter(annotator=left.annotator, is_surplus=True).count() == 1
        assert gone.get_by_role("link", name="Return to Prolific").count() == 0
        quick.reload()
        expect(quick.get_by_role("link", name="Return to Prolific")).to_be_visible()


class TestWhileTheyWork:
    def test_the_guidelines_change(self, live_server, page: Page, office: Page, alice):
        study = walk_study(Kind.PAIRWISE, work=3, owner=alice)
        walker = walker_at_work(page, live_server.url, study)
        walker.progress("0 of 3")
        walker.answer()
        walker.progress("1 of 3")
        log_in(office, live_server.url, then=reverse("annotation:study-edit", args=[study.slug]))
        office.get_by_role("textbox", name="Guidelines").fill(
            f"{study.guidelines}\n\nShorter is **not** better."
        )
        office.get_by_role("button", name="Save", exact=True).last.click()
        expect(office.get_by_role("heading", level=1)).to_have_text(study.title)
        assert GuidelinesRevision.objects.filter(study=study).count() >= 1
        walker.answer()
        notice = page.get_by_role("region", name="The guidelines have changed")
        expect(notice).to_be_visible()
        page.get_by_role("link", name="Read what changed").click()
        walker.heading("What changed in the guidelines")
        expect(page.get_by_text("Shorter is not better.")).to_be_visible()
        walker.button("I have read this")
        walker.progress("2 of 3")
        expect(notice).to_have_count(0)
        walker.answer()
        walker.code()
        assert list(Label.objects.order_by("pk").values_list("guidelines_version", flat=True)) == [1, 2, 2]
        office.goto(f"{live_server.url}{reverse('annotation:study-guidelines', args=[study.slug])}")
        expect(office.get_by_text("Version 2 is current")).to_be_visible()

    def test_the_study_pauses_and_closes(self, live_server, page: Page, office: Page, alice):
        study = walk_study(Kind.CHECKLIST, work=3, owner=alice)
        walker = walker_at_work(page, live_server.url, study)
        walker.progress("0 of 3")
        log_in(office, live_server.url, then=reverse("annotation:study-detail", args=[study.slug]))
        office.get_by_role("button", name="Pause").click()
        expect(office.get_by_role("button", name="Open again")).to_be_visible()
        walker.answer()
        walker.heading("The study is paused")
        assert Label.objects.current().count() == 1
        office.get_by_role("button", name="Open again").click()
        expect(office.get_by_role("button", name="Pause")).to_be_visible()
        walker.button("Try again")
        walker.progress("1 of 3")
        office.get_by_role("button", name="Close").click()
        confirm(office)
        expect(office.get_by_role("button", name="Pause")).to_have_count(0)
        walker.answer()
        walker.heading("Thank you!")
        expect(page.get_by_text("The study closed before your answer arrived.")).to_be_visible()
        expect(page.get_by_text("The study has ended.")).to_be_visible()
        assert Study.objects.get().state == StudyState.CLOSED
        assert list(Label.objects.order_by("pk").values_list("is_surplus", flat=True)) == [False, True]


def field(office: Page, label: str, value: str) -> None:
    office.get_by_label(re.compile(rf"^{re.escape(label)}( \(optional\))?$")).fill(value)


@pytest.mark.parametrize("kind", Kind.values)
def test_a_study_of_each_kind_from_the_form_to_the_first_label(kind, live_server, page: Page, office: Page):
    """Every section of the form, the preview, the opening, a link, and somebody who comes by it."""
    dataset = kind_dataset_make(kind, items=6, name="made")
    dataset.items.update(gold=VALUES[kind], explanation="It **follows** the instruction.")
    log_in(office, live_server.url, then=reverse("annotation:study-create") + "?dataset=made")
    field(office, "Title", "Made in the browser")
    office.locator(f"input[name=kind][value={kind}]").check()
    settled(office)
    if kind in (Kind.PAIRWISE, Kind.IMPORTANCE, Kind.ANSWER_RANKING):
        office.get_by_label("No ties").check()
    field(office, "Labels per item", "2")
    office.get_by_role("button", name="Insert starter text").click()
    expect(office.get_by_role("textbox", name="Guidelines")).not_to_have_value("")
    office.get_by_role("textbox", name="Consent").fill("You agree to take part.")
    office.get_by_role("button", name="Add a question").click()
    question = office.locator("[data-question]").last
    question.get_by_label("Question").fill("Is English your first language?")
    for place, (words, allowed) in enumerate((("Yes", True), ("No", False))):
        option = question.locator("[data-option]").nth(place)
        option.get_by_label("Option", exact=True).fill(words)
        option.get_by_label("may take part").set_checked(allowed)
    field(office, "Training items", "1")
    field(office, "Questions in the test", "1")
    field(office, "Right answers to pass", "1")
    field(office, "Hidden checks (% of items)", "10")
    field(office, "Gold items reserved for checks", "1")
    field(office, "Suspend below (% right)", "40")
    field(office, "Pay per item", "0.10")
    field(office, "Pay for the test", "0.50")
    office.get_by_role("button", name="Create draft").click()
    expect(office.get_by_role("heading", level=1)).to_have_text("Made in the browser")
    study = Study.objects.get()
    assert (study.kind, study.overlap, study.check_rate, study.check_size) == (kind, 2, 0.1, 1)
    assert [row["question"] for row in study.eligibility] == ["Is English your first language?"]

    office.get_by_role("link", name="Preview", exact=True).click()
    preview = Walker(office, kind)
    preview.consent()
    if kind == Kind.PAIRWISE:
        preview.eligibility()
        preview.guidelines("Start the training")
        preview.train()
        preview.test()
    else:
        office.get_by_role("navigation", name="Steps of the preview").get_by_role("link").last.click()
    expect(office.locator(".preview-banner")).to_be_visible()
    preview.fill()
    office.get_by_role("link", name="Leave the preview").click()
    assert not Enrollment.objects.exists()

    office.get_by_role("button", name="Open study").click()
    confirm(office)
    expect(office.get_by_text("The study is open")).to_be_visible()
    office.get_by_role("button", name="Make a link").click()
    page.goto(office.locator(".researcher-link").inner_text())
    walker = Walker(page, kind)
    walker.heading("Made in the browser")
    expect(page.get_by_text("You earn 0.10 USD for each answer.")).to_be_visible()
    walker.button("Start")
    walker.consent()
    if kind == Kind.PAIRWISE:
        walker.eligibility()
        walker.guidelines("Start the training")
        walker.train()
        walker.test()
    else:  # the steps of each kind are walked in `test_walks`; here they have their questions
        parts = study.qualification_questions.order_by("part").values_list("part", flat=True)
        assert list(parts) == ["test", "training"]
        walker.heading("About you")
        Enrollment.objects.update(stage=Stage.WORK)
        page.goto(f"{live_server.url}/s/{study.slug}/work/")
    walker.progress("0 done")  # of how many would tell how many checks there are
    walker.answer()
    walker.progress("1 done")
    assert Label.objects.get().value == VALUES[kind]


def test_the_life_of_a_study(live_server, page: Page, office: Page, alice, tmp_path):
    """People come, one gets a message, a disputed item is decided, a bonus is granted, the labels are taken away."""
    study = walk_study(Kind.PAIRWISE, work=2, overlap=2, owner=alice, pay_per_item="0.10")
    other = enrollment_make(study=study).annotator
    for item in study.dataset.items.all():
        label_make(study=study, item=item, choice=2, annotator=other)
    overview = reverse("annotation:study-detail", args=[study.slug])
    log_in(office, live_server.url, then=overview)
    expect(office.locator(".progress-label")).to_have_text("2 of 4 labels")
    walker = walker_at_work(page, live_server.url, study)
    walker.progress("0 of 2")
    walker.answer()
    walker.progress("1 of 2")
    office.reload()
    expect(office.locator(".progress-label")).to_have_text("3 of 4 labels")

    office.get_by_role("link", name="People", exact=True).click()
    expect(office.locator("#people tbody tr")).to_have_count(2)
    person = Enrollment.objects.get(annotator__source="invitation")
    office.locator(f"#people tbody a[href*='/people/{person.pseudonym}']").click()
    form = panel(office, "Send a message")
    form.get_by_label("Message").fill("Thank you for the care.")
    form.get_by_role("button", name="Send").click()
    expect(office.get_by_text("The message will be shown on their next page.")).to_be_visible()
    walker.answer()
    walker.code()
    expect(page.get_by_text("Thank you for the care.")).to_be_visible()

    office.get_by_role("link", name="Adjudicate").click()
    expect(office.get_by_text("Annotators' answers", exact=True)).to_have_count(0)
    for left in (1, 0):
        decided = Adjudication.objects.count()
        office.locator(".answer-bar label[for=choice-a]").click()
        office.locator(".answer-bar button[type=submit]").click()
        expect(office.get_by_text("Decided.")).to_be_visible()
        assert Adjudication.objects.count() == decided + 1
        expect(office.locator(".answer-bar")).to_have_count(left)

    office.get_by_role("link", name="Pay", exact=True).click()
    office.get_by_role("row").filter(has_text="Done").get_by_role("link", name="Bonus").click()
    field(office, "Amount", "1.50")
    field(office, "Reason", "Careful work")
    office.get_by_role("button", name="Grant the bonus").dblclick()
    expect(office.get_by_role("region", name="Bonuses granted")).to_contain_text("1.50 USD")
    assert str(Bonus.objects.get().amount) == "1.50"
    page.reload()
    expect(page.get_by_text("You earned 1.70 USD.")).to_be_visible()

    office.goto(live_server.url + overview)
    with office.expect_download() as download:
        office.get_by_role("link", name="CSV", exact=True).first.click()
    path = tmp_path / "labels.csv"
    download.value.save_as(path)
    assert len(path.read_text().splitlines()) == 5
    assert invitation_make(study=study).token not in path.read_text()
