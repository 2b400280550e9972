"""The decision in a real browser: asked for, read, sorted, promoted with and without a constraint in the way."""

import pytest
from playwright.sync_api import expect

from judges.models import Judge
from metaeval.models import Decision
from metaeval.services.report_jobs import report_jobs_work
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.browser.test_comparison import log_in
from tests.metaeval.choices import two_datasets
from tests.metaeval.composites import specialists
from tests.metaeval.kinds import figures_set

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sweep():
    return two_datasets()[0]


def test_from_the_sweep_to_a_promotion(live_server, page, sweep):
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/admin/judges/sweep/{sweep.pk}/progress/")
    expect(page.locator("#decision-summary-title")).to_contain_text(
        "Good judge is significantly better than the other judges"
    )
    page.get_by_role("link", name="Show full decision").click()
    expect(page.locator("#verdict")).to_contain_text(
        "Good judge is significantly better than the other judges"
    )
    assert_no_sideways_scroll(page)

    # Asked with the keyboard alone.
    page.locator(".asked summary").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Cost of 1,000 judgments, at most ($)").fill("cheap")
    page.keyboard.press("Enter")
    expect(page.locator(".field-error")).to_have_text("Enter a number.")
    expect(page.get_by_label("Cost of 1,000 judgments, at most ($)")).to_have_value("cheap")
    page.get_by_label("Cost of 1,000 judgments, at most ($)").fill("5")
    page.get_by_label("Weight of Gold").fill("1")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text(
        "No judge that satisfies the constraints beats the baseline"
    )

    page.get_by_role("button", name="$ / 1,000").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#decision-judges tbody th").first).to_contain_text("Good judge")

    page.get_by_text("Promote a judge").click()
    although = page.get_by_label("Although 1,000 judgments cost $8.00, more than $5.00")
    expect(although).to_be_hidden()
    page.locator("label", has_text="Good judge").get_by_role("radio").check()
    page.get_by_label("Reason").fill("The money is there.")
    page.get_by_role("button", name="Promote this judge").click()
    expect(page.locator(".flash-error")).to_contain_text("does not satisfy the constraints")
    # What was said is still there, and the address stays one that can be gone to.
    expect(page.get_by_label("Reason")).to_have_value("The money is there.")
    expect(page.locator("label", has_text="Good judge").get_by_role("radio")).to_be_checked()
    although.check()
    page.get_by_role("button", name="Promote this judge").dblclick()
    expect(page.locator(".flash-success")).to_contain_text("Good judge is now the judge for gold and people.")
    assert Decision.objects.count() == 2


def test_a_composite_is_promoted(live_server, page):
    sweep = specialists(wrong=12)[0]
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/")
    page.get_by_text("Promote a judge").click()
    composite = page.get_by_role("radio", name="Composite, 2 parts")
    although = page.get_by_label("Although its held-out gain over the best single judge")
    expect(although).to_be_hidden()
    composite.focus()
    page.keyboard.press("Space")
    expect(although).to_be_visible()
    page.get_by_label("Reason").fill("Each knows its own.")
    page.get_by_role("button", name="Promote this judge").click()
    expect(page.locator(".flash-error")).to_contain_text("The composite isn't recommended")
    assert not Judge.objects.filter(strategy="composite").exists()
    # To go to the address of what was refused is to look at the choice.
    page.goto(page.url)
    expect(page.locator("#verdict")).to_have_text("No clear winner")
    assert "/promote/" not in page.url
    page.get_by_text("Promote a judge").click()
    composite.check()
    although.check()
    page.get_by_label("Reason").fill("Each knows its own.")
    page.get_by_role("button", name="Promote this judge").dblclick()
    said = page.locator(".flash-success")
    expect(said).to_contain_text("Composite of Specialists: 2 parts is now the judge for arena.")
    assert (Judge.objects.filter(strategy="composite").count(), Decision.objects.count()) == (1, 1)
    said.get_by_role("link", name="run it").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Composite of Specialists: 2 parts")
    expect(page.get_by_role("checkbox", name="Composite of Specialists: 2 parts")).to_be_checked()


def test_while_it_computes(live_server, page, sweep, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/")
    expect(page.get_by_role("status").filter(has_text="Waiting for a worker")).to_be_visible()
    assert report_jobs_work() == 1
    expect(page.locator("#verdict")).to_contain_text(
        "Good judge is significantly better than the other judges"
    )
    page.goto(f"{live_server.url}/admin/judges/sweep/{sweep.pk}/progress/")
    expect(page.locator("#decision-summary-title")).to_contain_text(
        "Good judge is significantly better than the other judges"
    )


@pytest.mark.parametrize("composed", [False, True])
def test_on_a_phone(live_server, new_context, sweep, composed):
    page = new_context(viewport=PHONE, color_scheme="dark").new_page()
    sweep = specialists()[0] if composed else sweep
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/")
    page.locator(".asked summary").click()
    page.get_by_text("Promote a judge").click()
    assert_no_sideways_scroll(page)


def test_the_picture_of_cost_is_whole_on_a_phone(live_server, new_context, sweep):
    """No judge of it is out of sight, and its words can be read."""
    page = new_context(viewport=PHONE).new_page()
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/")
    cost = page.locator(".picture-card", has=page.get_by_role("heading", name="against cost"))
    frame, texts = cost.locator(".picture-frame"), cost.locator(".picture-drawing:visible text")
    expect(texts.first).to_be_visible()
    for width in (360, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert frame.evaluate("box => box.scrollWidth <= box.clientWidth"), width
        heights = texts.evaluate_all("found => found.map(text => text.getBoundingClientRect().height)")
        assert len(heights) > 1
        assert min(heights) >= 9, width


def test_without_scripts(live_server, new_context, sweep):
    page = new_context(java_script_enabled=False).new_page()
    log_in(page, live_server.url, "researcher")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/")
    page.locator(".asked summary").click()
    page.get_by_label("Role of Gold").select_option("Leave out")
    page.get_by_role("button", name="Choose a judge").click()
    expect(page.locator(".asked summary")).to_contain_text(
        "People: agreement with human annotators, weight 1."
    )
    expect(page.locator("#verdict")).to_contain_text(
        "Good judge is significantly better than the other judges"
    )
