"""Names of judges on the pages that compare them: lines end between words, never within one, on a phone too."""

import os

import pytest
from playwright.sync_api import Page

from annotation.models import Role
from metaeval.services.reports import report_build, report_save
from tests.annotation.factories import dataset_make, user_make
from tests.browser.conftest import assert_no_sideways_scroll, log_in
from tests.metaeval.rows import judge_make, judgments_make, labels_make, swept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NAMES = (
    "meta-llama/Llama-3.3-70B-Instruct:metrics_and_reference",
    "GPT-4 / Metrics_and_reference_v2",
    "claude-3-5-sonnet@20250101.structured_output",
    "PrometheusEvaluatorWithoutAnySeparatorAtAll",
)
WINDOWS = (390, 1280)
PAGES = (
    "sweeps/{sweep}/comparison/",
    "sweeps/{sweep}/decision/",
    "reports/{report}/",
    "datasets/pairs/judgments/",
)
BROKEN = """
() => {
  const within = /[\\p{L}\\p{N}]{2}/u, found = [];
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const place = node.parentElement;
    if (!node.data.trim() || !place.checkVisibility()) continue;
    if (place.closest(".mono, .hash, code, svg, select, .visually-hidden")) continue;
    if (/[0-9a-f]{40}/.test(node.data)) continue;  // a hash has no words
    const range = document.createRange();
    let line = null;
    for (let k = 0; k < node.data.length; k++) {
      range.setStart(node, k);
      range.setEnd(node, k + 1);
      const box = range.getClientRects()[0];
      if (!box || !box.height) continue;
      if (line !== null && box.top > line + 2 && within.test(node.data.slice(k - 1, k + 1)))
        found.push(node.data.slice(Math.max(0, k - 20), k) + "|" + node.data.slice(k, k + 20));
      line = box.top;
    }
  }
  return found;
}
"""


@pytest.fixture
def addresses() -> list[str]:
    dataset = dataset_make(pairs=12, name="pairs")
    dataset.instructions.update(subset="Adversarial/Neighbor", category="Summarization")
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 12)
    sweep, _, _ = swept(dataset=dataset, good=NAMES[0], poor=NAMES[1])
    for name in NAMES[2:]:
        judge = judge_make(name, model=name.lower())
        judgments_make(judge=judge, dataset=dataset, choices=[(1, 2)] * 12)
        sweep.judges.add(judge)
    report = report_save(report=report_build(dataset=dataset, n_resamples=200), dataset=dataset)
    return [one.format(sweep=sweep.pk, report=report.pk) for one in PAGES]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WINDOWS)
def test_names_of_judges_break_between_words(
    live_server, new_context, addresses, width, color_scheme
) -> None:
    page: Page = new_context(viewport={"width": width, "height": 844}, color_scheme=color_scheme).new_page()
    log_in(page, user_make(role=Role.ADMINISTRATOR), f"{live_server.url}/studies/")
    broken = {}
    for address in addresses:
        page.goto(f"{live_server.url}/{address}")
        page.wait_for_load_state("networkidle")
        assert_no_sideways_scroll(page)
        # A word that is longer than its column has to break.
        found = page.evaluate(BROKEN)
        broken[address] = [
            one for one in found if not any(part in NAMES[3].lower() for part in one.lower().split("|"))
        ]
        if folder := os.environ.get("TOUCHSTONE_SHOTS"):
            name = address.strip("/").replace("/", "-")
            page.screenshot(path=f"{folder}/names-{name}-{width}-{color_scheme}.png", full_page=True)
    assert not any(broken.values()), broken
