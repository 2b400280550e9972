"""Judgments, generations and the making of pairs in a real browser: under axe, wide and narrow, and by the keyboard."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Dataset, Instruction, Label, Role
from judges.backends.mock_server import running_mock_server
from judges.models import Generation, Judge, Judgment, ModelRequest
from judges.selectors.requests import requests_asked
from judges.strategies.registry import STRATEGIES
from tests.annotation.factories import annotator_make, dataset_make, user_make
from tests.annotation.kinds import VALUES, kind_dataset_make
from tests.browser import conftest
from tests.browser.axe import violations
from tests.browser.conftest import press
from tests.browser.test_accessibility import picture
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "A rather long answer with an_identifier_that_does_not_break_anywhere_at_all_and_goes_on. " * 12


@pytest.fixture
def judged() -> Dataset:
    """Pairs and items of other kinds, judged by several judges and labelled by people."""
    dataset = dataset_make(pairs=3)
    Instruction.objects.filter(dataset=dataset).update(
        context="A context.", reference=LONG, conversation=[{"role": "user", "text": "Hello."}]
    )
    for item in dataset.items.all():
        for choice in (1, 2, 2):
            Label.objects.create(
                item=item,
                annotator=annotator_make(),
                kind="pairwise",
                choice=choice,
                value={"choice": choice},
                comment="The first misses the point." if choice == 2 else "",
                active_ms=12_000,
            )
    kinds = [kind_dataset_make(kind, gold=VALUES[kind]) for kind in ("rubric", "checklist")]
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, price_input=1)
        judges = [
            judge_make(endpoint, "mock-judge-0.9", name="A judge " * 6, params={"probabilities": True}),
            judge_make(endpoint, "mock-first", name="Metrics", strategy="metrics"),
            judge_make(endpoint, "mock-unparsable", name="Talker"),
            judge_make(endpoint, "mock-thinking-aloud", name="Thinker"),
            judge_make(name="Longest"),
        ]
        sweep_make(judges, dataset, stop_unparsed=None)
        for each in kinds:
            kind = each.items.all()[0].kind
            names = [n for n, info in STRATEGIES.items() if info.kind == kind and info.requests == {"chat"}]
            sweep_make([judge_make(endpoint, strategy=name) for name in names[:1]], each)
        contestants = [
            judge_make(endpoint, f"mock-{name}", name=f"Contestant {name}", strategy="generate")
            for name in ("longer", "shorter", "thinking")
        ]
        sweep_make(contestants, dataset)
        run()
    imported = Judge.objects.create(name="i", backend="imported", strategy="x", spec={}, fingerprint="f")
    item = dataset.items.all()[0]
    Judgment.objects.create(judge=imported, item=item, order=0, status="parsed", choice=1, source="v.csv:2")
    Judgment.objects.create(judge=imported, item=item, order=1, status="failed", raw_text=f"HTTP 400: {LONG}")
    gone = Judgment.objects.filter(judge__name="Metrics").latest("pk")
    rows = ModelRequest.objects.select_related("form").filter(form__model="mock-first")
    words = f"pair {gone.item.position}"
    of_it = [
        key for key, wire in requests_asked(rows).items() if any(words in text for _, text in wire.messages)
    ]
    ModelRequest.objects.filter(hash__in=of_it).delete()
    return dataset


def log_in(page: Page, live_server, address: str) -> None:
    conftest.log_in(page, user_make(username="boss", role=Role.ADMINISTRATOR), f"{live_server.url}{address}")


@pytest.mark.long
def test_the_pages_under_axe(page: Page, live_server, judged: Dataset) -> None:
    judgments = {
        "probabilities": Judgment.objects.filter(probability__isnull=False).earliest("pk"),
        "steps": Judgment.objects.filter(judge__name="Metrics").earliest("pk"),
        "gone": Judgment.objects.filter(judge__name="Metrics").latest("pk"),
        "unparsed": Judgment.objects.filter(status="unparsed").earliest("pk"),
        "failed": Judgment.objects.filter(status="failed").earliest("pk"),
        "imported": Judgment.objects.filter(judge__name="i").earliest("pk"),
        "thought": Judgment.objects.filter(judge__name="Thinker").earliest("pk"),
        "no-model": Judgment.objects.filter(judge__name="Longest").earliest("pk"),
        "rubric": Judgment.objects.filter(item__kind="rubric").earliest("pk"),
        "checklist": Judgment.objects.filter(item__kind="checklist").earliest("pk"),
    }
    pages = {f"judgment-{name}": f"judgment/{row.pk}/change/" for name, row in judgments.items()} | {
        "judgments": "judgment/",
        "judgments-filtered": f"judgment/?dataset={judged.pk}&against=people&against=gold",
        "judgments-none": "judgment/?q=nothing",
        "generations": "generation/",
        "generation": f"generation/{Generation.objects.earliest('pk').pk}/change/",
        "generation-thought": f"generation/{Generation.objects.exclude(thought='').earliest('pk').pk}/change/",
        "pairs": "generation/make-pairs/",
        "pairs-form": f"generation/make-pairs/?dataset={judged.pk}",
    }
    log_in(page, live_server, reverse("admin:index"))
    found = []
    for name, address in pages.items():
        response = page.goto(f"{live_server.url}/admin/judges/{address}")
        assert response is not None
        assert response.status == 200, name
        found += violations(page)
        picture(page, name)
    assert not found, "\n".join(found)


def test_from_one_to_the_next_by_the_keyboard(page: Page, live_server, judged: Dataset) -> None:
    log_in(page, live_server, reverse("admin:judges_judgment_changelist"))
    page.get_by_label("Judge", exact=True).select_option("Metrics")
    page.get_by_label("Contradicts human annotators").check()
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("against=people"))
    page.wait_for_load_state("load")
    expect(page.get_by_label("Contradicts human annotators")).to_be_checked()
    rows = page.locator("tbody tr")
    n = rows.count()
    assert n >= 2
    rows.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/change/"))
    first = page.url
    press(page, "j")
    expect(page).not_to_have_url(first)
    expect(page.get_by_text("Disagrees").first).to_be_visible()
    press(page, "k")
    expect(page).to_have_url(first)
    expect(page.get_by_role("link", name="Previous")).to_have_count(0)
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Judgments").click()
    expect(page.locator("tbody tr")).to_have_count(n)


def test_pairs_are_made_in_the_browser(page: Page, live_server, judged: Dataset) -> None:
    log_in(page, live_server, reverse("admin:judges_generation_changelist"))
    page.get_by_role("link", name="Make pairs").click()
    page.get_by_label("Instructions of").select_option(judged.name)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Contestant longer").check()
    page.get_by_label("Beside").select_option("Contestant shorter")
    page.get_by_label("Name of the new dataset").fill("made")
    page.get_by_role("button", name="Make pairs").click()
    expect(page.get_by_text("made: 3 pairs")).to_be_visible()
    assert Dataset.objects.get(name="made").items.count() == 3
