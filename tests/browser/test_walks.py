"""From the door to the completion code in a real browser, and what may happen on the way, for every kind of work."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    ItemReport,
    Kind,
    Label,
    QualificationAttempt,
    Stage,
    Study,
    StudyItem,
)
from tests.annotation.factories import invitation_make
from tests.annotation.kinds import VALUES
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.browser.walks import ELIGIBILITY, N_SHOWN, OTHER_VALUES, Walker, walk_study, walker_at_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def whole_way(walker: Walker, url: str, study: Study) -> Enrollment:
    """From the invitation to the code, with everything on the way."""
    walker.come(url, invitation_make(study=study))
    walker.consent()
    walker.eligibility()
    walker.guidelines("Start the training")
    walker.train()
    walker.test()
    walker.work(2)
    code = walker.code()
    person = Enrollment.objects.get(study=study)
    assert (person.stage, person.completion_code, person.n_accepted) == (Stage.DONE, code, 2)
    assert person.eligibility == {"native": "Yes"}
    labels_check(study)
    return person


def labels_check(study: Study, n: int = 2) -> None:
    labels = Label.objects.filter(study=study)
    assert len(labels) == n
    for label in labels:
        assert label.value == VALUES[study.kind]
        assert sorted(label.shown_order) == list(range(N_SHOWN[Kind(study.kind)]))
        assert label.active_ms > 0
        assert label.wall_ms >= label.active_ms
        assert label.guidelines_version == study.guidelines_version
        assert label.assignment.state == AssignmentState.SUBMITTED


def study_with_everything(kind: str) -> Study:
    return walk_study(kind, training=1, test=1, eligibility=ELIGIBILITY)


@pytest.mark.parametrize("kind", Kind.values)
def test_from_the_invitation_to_the_code_by_keys_alone(kind: str, live_server, page: Page):
    whole_way(Walker(page, kind, "keys"), live_server.url, study_with_everything(kind))


@pytest.mark.parametrize("kind", Kind.values)
def test_on_a_phone_by_touch(kind: str, live_server, new_context: Callable[..., BrowserContext]):
    phone = new_context(viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark").new_page()
    study = walk_study(kind)
    walker = walker_at_work(phone, live_server.url, study, hand="touch")
    for done in range(2):
        walker.progress(f"{done} of 2")
        assert_no_sideways_scroll(phone)
        walker.answer()
    walker.code()
    assert_no_sideways_scroll(phone)
    labels_check(study)


@pytest.mark.parametrize("right", [True, False])
def test_a_failed_test_may_be_taken_again_after_a_while(right: bool, live_server, page: Page):
    rules = {"qualification_attempts": 2, "qualification_cooldown_minutes": 45, "pay_for_test": "0.50"}
    study = walk_study(Kind.PAIRWISE, test=1, **rules)
    walker = Walker(page)
    walker.come(live_server.url, invitation_make(study=study))
    walker.consent()
    expect(page.get_by_text("you earn 0.50 USD, whether you pass or not")).to_be_visible()
    walker.guidelines("Start the test")
    walker.test(right=False)
    walker.heading("Not passed yet")
    expect(page.get_by_text("0 of 1 of your answers were right")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    a_while_ago = timezone.now() - timedelta(hours=1)
    QualificationAttempt.objects.update(started_at=a_while_ago, finished_at=a_while_ago)
    Enrollment.objects.update(retry_at=a_while_ago + timedelta(minutes=45))
    walker.button("Check again")
    walker.button("Try again")
    walker.test(right=right)
    if right:
        walker.work(2)
        walker.code()
        return
    walker.heading("Thank you for taking the test")
    expect(page.get_by_text("For the test you earned 0.50 USD")).to_be_visible()
    person = Enrollment.objects.get()
    expect(page.locator("#code")).to_have_text(person.completion_code)
    assert (person.stage, person.screened_out_by) == (Stage.SCREENED_OUT, "qualification")
    assert person.attempts.count() == 2
    page.goto(f"{live_server.url}/s/{study.slug}/work/")
    walker.heading("Thank you for taking the test")


def test_whom_the_study_does_not_look_for_ends_politely_and_stays_there(live_server, page: Page):
    study = walk_study(Kind.RUBRIC, eligibility=ELIGIBILITY)
    invitation = invitation_make(study=study)
    walker = Walker(page, study.kind)
    walker.come(live_server.url, invitation)
    walker.consent()
    walker.eligibility(yes=False)
    walker.heading("Thank you for answering")
    person = Enrollment.objects.get()
    assert (person.stage, person.screened_out_by) == (Stage.SCREENED_OUT, "eligibility")
    page.goto(f"{live_server.url}/join/{invitation.token}/")
    walker.heading("Thank you for answering")
    assert Enrollment.objects.count() == 1


def test_skipped_reported_and_changed(live_server, page: Page):
    study = walk_study(Kind.CHECKLIST, work=4)
    walker = walker_at_work(page, live_server.url, study)
    walker.progress("0 of 4")
    skipped = Assignment.objects.get()
    walker.button("Skip")
    dialog = page.get_by_role("dialog", name="Skip this item")
    dialog.get_by_label("Something else").check()
    dialog.get_by_role("button", name="Skip this item").click()
    walker.progress("0 of 3")
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="Report a problem").click()
    dialog = page.get_by_role("dialog", name="Report a problem")
    dialog.get_by_label("A text is broken").check()
    dialog.get_by_label("In your own words").fill("It ends in the middle.")
    dialog.get_by_role("button", name="Report problem").click()
    expect(page.locator("#messages")).to_contain_text("The researchers will look at that item")
    walker.work(2, right=False)
    walker.code()
    report = ItemReport.objects.get()
    assert (report.reason, report.note) == ("broken", "It ends in the middle.")
    assert {skipped.study_item_id, report.study_item_id} == set(
        StudyItem.objects.filter(n_accepted=0, n_open=0).values_list("pk", flat=True)
    )


def test_an_earlier_answer_is_changed_from_the_list(live_server, page: Page):
    study = walk_study(Kind.IMPORTANCE, work=3)
    walker = walker_at_work(page, live_server.url, study)
    for done in range(2):
        walker.progress(f"{done} of 3")
        walker.answer(right=False)
    walker.progress("2 of 3")
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="Your answers").click()
    walker.heading("Your answers")
    page.locator(".own-answers a").last.click()
    expect(page.get_by_text("You answered this item.")).to_be_visible()
    for name, rank in VALUES[Kind.IMPORTANCE]["ranks"].items():
        page.select_option(f"[name=rank-{name}]", str(rank))
    walker.touch(page.locator(".answer-bar button[type=submit]"))
    expect(page.get_by_text("Your answer was changed.")).to_be_visible()
    walker.progress("2 of 3")
    values = [label.value for label in Label.objects.current().order_by("assignment")]
    assert values == [VALUES[Kind.IMPORTANCE], OTHER_VALUES[Kind.IMPORTANCE]]
    assert Label.objects.count() == 3


def test_begun_on_one_device_and_finished_on_another(live_server, page: Page, new_context):
    study = walk_study(Kind.RUBRIC)
    walker = walker_at_work(page, live_server.url, study)
    walker.progress("0 of 2")
    walker.touch(page.locator("label[for=part-1-4]"))
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="Continue on another device").click()
    link = page.locator("#resume-link").inner_text()
    page.get_by_role("button", name="Close").click()
    phone = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    phone.goto(link)
    other = Walker(phone, study.kind, "touch")
    expect(phone.locator("#part-1-4")).to_be_checked()
    other.touch(phone.locator("label[for=part-2-5]"))
    other.touch(phone.locator(".answer-bar button[type=submit]"))
    other.progress("1 of 2")
    # The first device still shows what the other one has answered, and says something else.
    walker.answer(right=False)
    expect(page.locator("#messages")).to_contain_text("Your first answer was kept")
    assert Label.objects.get().value == VALUES[Kind.RUBRIC]
    page.reload()
    walker.work(2, begin=1)
    code = walker.code()
    phone.reload()
    expect(phone.get_by_text("You answered this item.")).to_be_visible()
    phone.get_by_role("link", name="Continue").tap()
    assert other.code() == code
    labels_check(study)


def test_reload_and_back_lose_nothing(live_server, page: Page):
    study = walk_study(Kind.ANSWER_RANKING)
    walker = walker_at_work(page, live_server.url, study)
    walker.progress("0 of 2")
    walker.fill()
    page.reload()
    expect(page.locator("[data-rank-count]")).to_have_text("All 3 ranked")
    walker.touch(page.locator(".answer-bar button[type=submit]"))
    walker.progress("1 of 2")
    page.go_back()  # to before the work, since an item takes the place of the one before
    page.go_forward()
    walker.progress("1 of 2")
    page.reload()
    walker.work(2, begin=1)
    walker.code()
    labels_check(study)
    assert Assignment.objects.count() == 2
