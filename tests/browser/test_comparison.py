"""The comparison in a real browser: sorted, narrowed to a subset, promoted; on a desk and on a phone."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Instruction, Label
from metaeval.models import Decision, ReportJob
from metaeval.services.report_jobs import report_jobs_work
from tests.annotation.factories import annotator_make, dataset_make, user_make
from tests.browser import conftest
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.metaeval.kinds import figures_set
from tests.metaeval.rows import labels_make, swept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sweep():
    dataset = dataset_make(pairs=40, name="pairs")
    hard = dataset.instructions.filter(external_id__in=[f"i{k}" for k in range(20)])
    hard.update(subset="Adversarial/Neighbor")
    Instruction.objects.filter(dataset=dataset, subset="").update(subset="Natural")
    dataset.instructions.filter(external_id="i0").update(
        category="Reasoning Over Numerical Data and More of It"
    )
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 20)
    return swept(dataset=dataset, good="A judge with quite a long name / Metrics_and_reference_v2")[0]


def log_in(page: Page, url: str, role: str) -> None:
    conftest.log_in(page, user_make(role=role), f"{url}/studies/")


def first_judge(page: Page):
    return page.locator("#comparison-table tbody th").first


def test_sort_narrow_promote(live_server, page, sweep):
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Two judges")
    expect(page.locator("#verdict")).to_contain_text("is significantly better than the other judges")
    assert_no_sideways_scroll(page)

    # Sorting swaps the table alone, keeps the focus, and the address can be kept or gone back from.
    page.locator("th").get_by_role("link", name="Judge", exact=True).click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Judge")
    expect(first_judge(page)).to_contain_text("A judge with quite a long name")
    assert page.evaluate("document.activeElement.id") == "sort-name"
    page.locator("th").get_by_role("link", name="Judge", exact=True).click()
    expect(first_judge(page)).to_contain_text("shortest")
    assert "sort=-name" in page.url
    page.reload()
    expect(first_judge(page)).to_contain_text("shortest")
    page.go_back()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Judge")
    expect(page.get_by_role("heading", level=1)).to_have_text("Two judges")

    page.get_by_label("Items").select_option(label="Subset: Adversarial/Neighbor")
    expect(page.locator("#all-judges")).to_have_text("All judges: Adversarial/Neighbor")
    assert "group=subset" in page.url

    # The other figure changes the decision as well.
    page.locator("#measure-agreement").click()
    expect(page.locator("#measure-agreement")).to_have_attribute("aria-current", "true")
    page.locator("#measure-accuracy").click()
    expect(page.locator("#measure-accuracy")).to_have_attribute("aria-current", "true")

    page.get_by_text("Promote a judge").click()
    page.get_by_label("Reason").fill("It is right most often, also where it is hard.")
    page.get_by_role("button", name="Promote").dblclick()
    expect(page.locator(".flash-success")).to_contain_text("is now the judge for pairs")
    expect(page.locator("#decisions")).to_be_visible()
    assert Decision.objects.count() == 1


def test_while_it_computes(live_server, page, sweep, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    log_in(page, live_server.url, "researcher")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/")
    expect(page.get_by_role("status").filter(has_text="Waiting for a worker")).to_be_visible()
    assert_no_sideways_scroll(page)
    assert report_jobs_work() == 1
    expect(page.locator("#verdict")).to_contain_text("is significantly better than the other judges")
    expect(page.get_by_text("Promote a judge")).to_have_count(0)
    # Sorting goes by what is there; nothing is asked for anew.
    page.locator("th").get_by_role("link", name="Judge", exact=True).click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Judge")
    assert ReportJob.objects.count() == 1


def test_on_a_phone(live_server, new_context, sweep):
    page = new_context(viewport=PHONE, color_scheme="dark").new_page()
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/reports/")
    assert_no_sideways_scroll(page)
    page.get_by_label("Report on").select_option("dataset/pairs/pairwise")
    page.get_by_role("button", name="Create report").click()
    expect(page.get_by_role("heading", level=2, name="Inter-annotator agreement")).to_be_visible()
    assert_no_sideways_scroll(page)
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/")
    page.get_by_text("Promote a judge").click()
    assert_no_sideways_scroll(page)
    # The name stays in sight while the figures scroll under it.
    page.locator("#comparison-table .table-wrap").evaluate("box => { box.scrollLeft = 300 }")
    assert first_judge(page).bounding_box()["x"] >= 0


def test_figures_to_compare_by_wrap_on_a_phone(live_server, new_context):
    """With response sets there are five of them, in words as long as "Agreement with human annotators"."""
    dataset = dataset_make(pairs=12, name="pairs")
    for _ in range(3):
        annotator = annotator_make()
        for item in dataset.items.all():
            value = {"choice": 1, "reasonable": ["1", "0"]}
            Label.objects.create(item=item, annotator=annotator, kind="pairwise", value=value, choice=1)
    sweep = swept(dataset=dataset)[0]
    page = new_context().new_page()
    log_in(page, live_server.url, "researcher")
    for width in (390, 410):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/?now=1")
        assert page.locator("#comparison nav.segmented a").count() > 2
        assert_no_sideways_scroll(page)


def test_without_scripts(live_server, new_context, sweep):
    page = new_context(java_script_enabled=False).new_page()
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/")
    page.locator("th").get_by_role("link", name="Judge", exact=True).click()
    expect(first_judge(page)).to_contain_text("A judge with quite a long name")
    page.get_by_label("Items").select_option(label="Subset: Natural")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#all-judges")).to_have_text("All judges: Natural")
