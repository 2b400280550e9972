"""The list of judgments with its filters, and the page of one."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Annotator, Item, Label, Role
from annotation.selectors.judging_labels import people_said
from judges.backends.mock_answers import THOUGHT
from judges.backends.mock_server import MockServer
from judges.models import Judge, Judgment, ModelRequest
from judges.selectors import judgment_list
from judges.selectors.judgment_list import JudgmentFilter, judgment_neighbours, judgments_page
from judges.selectors.requests import requests_asked
from tests.annotation.factories import annotator_make, dataset_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(user_make(role=Role.ADMINISTRATOR))
    return client


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def said(item: Item, *choices: int, **fields: Any) -> list[Label]:
    return [
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            kind="pairwise",
            choice=choice,
            value={"choice": choice},
            **fields,
        )
        for choice in choices
    ]


def verdict(judge: Judge, item: Item, choice: int | None, order: int = 0, **fields: Any) -> Judgment:
    given = (
        {"status": "parsed", "value": {"choice": choice}} if choice is not None else {"status": "unparsed"}
    )
    return Judgment.objects.create(judge=judge, item=item, order=order, choice=choice, **(given | fields))


def shown(filters: JudgmentFilter, size: int = 50) -> list[int]:
    """All judgments of the list, page by page; going back gives the same pages."""
    page = judgments_page(filters, size=size)
    pages = [[row.judgment.pk for row in page.rows]]
    while page.older is not None:
        page = judgments_page(filters, before=page.older, size=size)
        pages.append([row.judgment.pk for row in page.rows])
    forward = [pk for each in pages for pk in each]
    back: list[list[int]] = []
    at = page.newer
    while at is not None:
        page = judgments_page(filters, after=at, size=size)
        back.insert(0, [row.judgment.pk for row in page.rows])
        at = page.newer
    if back and len(pages[-1]):
        assert [pk for each in back for pk in each] + pages[-1] == forward
    return forward


# --- the list -----------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_every_judgment_is_listed_once_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgment_list, "FIRST_ITEMS", 2)
    monkeypatch.setattr(judgment_list, "CHUNK", 5)
    dataset, other = dataset_make(pairs=7), dataset_make(pairs=3)
    judges = [judge_make(), judge_make(strategy="shortest")]
    rows = [
        verdict(judge, item, 1, order)
        for item in [*dataset.items.all(), *other.items.all()]
        for judge in judges
        for order in (0, 1)
    ]
    wanted = [row.pk for row in sorted(rows, key=lambda row: (row.item_id, row.pk), reverse=True)]
    for size in (1, 3, 4, 50):
        assert shown(JudgmentFilter(), size) == wanted
    mine = [pk for pk in wanted if Judgment.objects.get(pk=pk).judge_id == judges[0].pk]
    assert shown(JudgmentFilter(judge_id=judges[0].pk), 3) == mine
    assert shown(JudgmentFilter(dataset_id=other.pk), 5) == wanted[:12]
    assert len(shown(JudgmentFilter(order=1, dataset_id=dataset.pk), 4)) == 14
    assert shown(JudgmentFilter(external_id="p6"), 3) == wanted[12:16]
    assert len(shown(JudgmentFilter(dataset_id=dataset.pk, category="Rewrite"))) == 12
    assert shown(JudgmentFilter(kind="rubric")) == shown(JudgmentFilter(status="failed")) == []


@pytest.mark.both_databases
def test_what_contradicts() -> None:
    dataset = dataset_make(pairs=5)  # gold 1, 2, 1, 2, 1
    items = list(dataset.items.order_by("position"))
    said(items[0], 1, 1, 2)
    said(items[1], 1, 2)  # divided
    said(items[2], 0, 0, 1)
    said(items[3], 2, is_surplus=True)  # does not count
    judge = judge_make()
    mine = [verdict(judge, item, choice) for item, choice in zip(items, (2, 2, 0, 2, None), strict=True)]
    swapped = [
        verdict(judge, item, choice, 1) for item, choice in zip(items, (1, 2, 1, None, 1), strict=True)
    ]
    people = shown(JudgmentFilter(against_people=True))
    assert people == [swapped[2].pk, mine[0].pk]
    gold = shown(JudgmentFilter(against_gold=True))
    assert gold == [mine[2].pk, mine[0].pk]
    itself = shown(JudgmentFilter(against_itself=True))
    assert itself == [swapped[2].pk, mine[2].pk, swapped[0].pk, mine[0].pk]
    assert shown(JudgmentFilter(against_people=True, against_gold=True, order=0)) == [mine[0].pk]
    row = next(row for row in judgments_page(JudgmentFilter()).rows if row.judgment.pk == mine[1].pk)
    assert (row.contradicts_people, row.contradicts_gold) == (None, False)


def test_labels_that_were_changed_count_as_changed() -> None:
    item = dataset_make(pairs=1).items.get()
    (first,) = said(item, 1)
    said(item, 2, 2)
    Label.objects.create(
        item=item, annotator=first.annotator, kind="pairwise", choice=0, value={"choice": 0}, supersedes=first
    )
    assert people_said([item.pk])[item.pk].choices == (1, 0, 2)


def test_a_search_without_end_stops_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgment_list, "FIRST_ITEMS", 2)
    monkeypatch.setattr(judgment_list, "MOST_ITEMS", 2)
    monkeypatch.setattr(judgment_list, "MOST_LOOKED", 4)
    judge = judge_make()
    items = list(dataset_make(pairs=9).items.order_by("pk"))
    rows = [verdict(judge, item, 1) for item in items[1:]]
    rare = verdict(judge, items[0], None)
    filters = JudgmentFilter(status="unparsed")
    page = judgments_page(filters)
    assert (page.rows, page.stopped, page.n_looked) == ((), True, 4)
    assert page.older is not None
    page = judgments_page(filters, before=page.older)
    assert (page.rows, page.stopped) == ((), True)
    page = judgments_page(filters, before=page.older)
    assert [row.judgment.pk for row in page.rows] == [rare.pk]
    assert not page.stopped
    assert len(rows) == 8


def test_neighbours_are_those_of_the_filter() -> None:
    items = list(dataset_make(pairs=3).items.order_by("pk"))
    one, two = judge_make(), judge_make(strategy="shortest")
    mine = [verdict(one, item, 1) for item in items]
    theirs = [verdict(two, item, 2) for item in items]
    filters = JudgmentFilter(judge_id=one.pk)
    assert judgment_neighbours(filters, mine[1]) == (mine[2].pk, mine[0].pk)
    assert judgment_neighbours(filters, mine[2]) == (None, mine[1].pk)
    assert judgment_neighbours(JudgmentFilter(), mine[1]) == (theirs[1].pk, theirs[0].pk)


@pytest.mark.parametrize("n", [3, 400])
def test_the_list_takes_as_many_queries_however_long(
    admin: Client, n: int, django_assert_max_num_queries: Any
) -> None:
    dataset = dataset_make(pairs=n)
    judge = judge_make()
    Judgment.objects.bulk_create(
        Judgment(judge=judge, item=item, order=order, status="parsed", choice=1, value={"choice": 1})
        for item in dataset.items.all()
        for order in (0, 1)
    )
    Label.objects.bulk_create(
        Label(item=item, annotator=person, kind="pairwise", choice=2, value={"choice": 2})
        for person in [Annotator.objects.create(source="t", external_id="x")]
        for item in dataset.items.all()
    )
    # Session, user, judges, datasets, rows, labels; and twice items with their judgments. Nothing is counted.
    with django_assert_max_num_queries(10) as queries:
        page = admin.get(reverse("admin:judges_judgment_changelist")).content.decode()
    assert page.count("<tr") == min(2 * n, 50) + 1
    assert "COUNT(" not in " ".join(query["sql"].upper() for query in queries.captured_queries)
    against = reverse("admin:judges_judgment_changelist") + f"?judge={judge.pk}&against=people&against=gold"
    with django_assert_max_num_queries(14):
        admin.get(against)


def test_the_page_of_the_list(admin: Client) -> None:
    dataset = dataset_make(pairs=2)
    item = dataset.items.get(external_id="p1")
    said(item, 1, 1, 2)
    judge = judge_make(name="The judge")
    row = verdict(judge, item, 1, probability=0.85, cost=0.0021, latency_ms=340)
    verdict(judge, item, None, 1, raw_text="<script>alert(1)</script>")
    page = admin.get(reverse("admin:judges_judgment_changelist")).content.decode()
    words = words_of(page)
    for expected in (
        "first response, 2 of 3",
        "P(first) 85%",
        "$0.0021",
        "340 ms",
        "unparsed",
        "swapped order",
    ):
        assert expected in words
    assert "<script>alert" not in page
    url = reverse("admin:judges_judgment_change", args=[row.pk])
    assert f'href="{url}"' in page
    filtered = admin.get(
        reverse("admin:judges_judgment_changelist"), {"judge": judge.pk, "against": ["people", "gold"]}
    ).content.decode()
    assert "Nothing found" in filtered
    assert len(re.findall(r"name=\"against\" value=\"\w+\" checked", filtered)) == 2


@pytest.mark.parametrize(
    "query",
    [
        "?judge=x&dataset=-1&order=7&kind=poem&status=odd&before=1&after=2.x",
        f"?judge={'9' * 40}&before={'9' * 40}.{'9' * 40}",
        "?judge=99999999&dataset=99999999&category=None&q=%00&before=1.1",
        "?q=%25_'%22&against=everything",
    ],
)
def test_addresses_that_make_no_sense(admin: Client, query: str) -> None:
    verdict(judge_make(), dataset_make(pairs=1).items.get(), 1)
    assert admin.get(reverse("admin:judges_judgment_changelist") + query).status_code == 200


# --- one judgment -------------------------------------------------------------------------------------------


def page_of(admin: Client, judgment: Judgment, query: str = "") -> str:
    response = admin.get(reverse("admin:judges_judgment_change", args=[judgment.pk]) + query)
    assert response.status_code == 200
    return words_of(response.content.decode())


@pytest.mark.django_db(transaction=True)
def test_everything_of_one_judgment(admin: Client, server: MockServer) -> None:
    dataset = dataset_make(pairs=2)
    instruction = dataset.instructions.order_by("pk")[0]
    instruction.reference, instruction.context = "The **reference**.", "Some context."
    instruction.save()
    item = dataset.items.get(external_id="p0")
    said(item, 2, 2, comment="It misses the point.", active_ms=65_000)
    endpoint = endpoint_make(server.url, price_input=1000, price_output=1000)
    metrics = judge_make(endpoint, "mock-first", strategy="metrics", name="Metrics")
    sweep_make([metrics, judge_make(endpoint, "mock-second", name="Vanilla")], dataset)
    run()
    judgment = Judgment.objects.get(judge=metrics, item=item, order=1)
    words = page_of(admin, judgment)
    for expected in (
        "Write sentence number 0.", "Some context.", "The reference .", "Shown as A", "second response",
        "It misses the point.", "1 min 5 s", "second response, 2 of 2", "Step 2 of 2", "mock-first",
        "Shared: sent once for this and", "at attempt 1", "temperature 0.0", "stop",
    ):  # fmt: skip
        assert expected in words, expected
    label = Label.objects.select_related("item").first()
    assert label is not None
    name = pseudonym(label.annotator.public_id, study=label.study_id, dataset=label.item.dataset_id)
    assert str(name)[:8] in words
    assert Label.objects.first().annotator.external_id + " " not in words  # type: ignore[union-attr]
    assert "Vanilla" in words
    # What was sent stands there to the letter.
    page = unescape(admin.get(reverse("admin:judges_judgment_change", args=[judgment.pk])).content.decode())
    asked = requests_asked(ModelRequest.objects.select_related("form"))
    sent = [content for wire in asked.values() for _, content in wire.messages]
    assert sum(content in page for content in set(sent)) >= 3
    assert "style=" not in page


def test_an_imported_judgment_has_no_requests(admin: Client) -> None:
    judge = Judge.objects.create(name="i", backend="imported", strategy="x", spec={}, fingerprint="f")
    row = verdict(judge, dataset_make(pairs=1).items.get(), 2, source="file.csv:3", raw_text="B")
    words = page_of(admin, row)
    assert "This verdict was imported" in words
    assert "file.csv:3" in words


@pytest.mark.django_db(transaction=True)
def test_a_thought_is_shown_beside_what_was_said(admin: Client, server: MockServer) -> None:
    judge = judge_make(endpoint_make(server.url), "mock-thinking-aloud")
    sweep_make([judge], dataset_make(pairs=1))
    run()
    judgment = Judgment.objects.get(order=0)
    words = page_of(admin, judgment)
    assert f"Thought {len(THOUGHT)} characters {THOUGHT}" in words
    assert f"Thought (nothing is read from it) {len(THOUGHT)} characters {THOUGHT}" in words
    # What the judge asked then cannot be rebuilt; what it thought is there all the same.
    Judgment.objects.filter(pk=judgment.pk).update(judge=judge_make(endpoint_make(), strategy="longest"))
    assert THOUGHT in page_of(admin, judgment)


def test_a_failed_and_an_unparsed_one(admin: Client) -> None:
    item = dataset_make(pairs=1).items.get()
    endpoint = endpoint_make()
    failed = verdict(
        judge_make(endpoint), item, None, status="failed", raw_text="HTTP 400: the prompt is too long."
    )
    assert "HTTP 400: the prompt is too long." in page_of(admin, failed)
    odd = verdict(
        judge_make(endpoint, "m"), item, None, value={"reason": "names both letters"}, raw_text="A or B"
    )
    words = page_of(admin, odd)
    assert "names both letters" in words
    assert "not stored" in words


@pytest.mark.parametrize("kind", ["rubric", "checklist"])
def test_other_kinds(admin: Client, kind: str) -> None:
    dataset = kind_dataset_make(kind)
    item = dataset.items.first()
    assert item is not None
    keys = [
        row.key for row in (dataset.criteria.all() if kind == "rubric" else item.instruction.aspects.all())
    ]
    name = "ratings" if kind == "rubric" else "answers"
    high, low = (5, 2) if kind == "rubric" else (True, False)
    Label.objects.create(
        item=item, annotator=annotator_make(), kind=kind, value={name: dict.fromkeys(keys, low)}
    )
    row = verdict(judge_make(), item, None, status="parsed", value={name: dict.fromkeys(keys, high)})
    words = page_of(admin, row)
    assert "Disagrees" in words
    assert "Human annotators, mean" in words
    assert shown(JudgmentFilter(against_people=True)) == [row.pk]
    listed = admin.get(reverse("admin:judges_judgment_changelist")).content.decode()
    rated = f"rated {', '.join('5' for _ in keys)}"
    assert (rated if kind == "rubric" else f"{len(keys)} of {len(keys)} yes") in listed


def test_scores_are_shown_in_words(admin: Client) -> None:
    item = kind_dataset_make("checklist").items.all()[0]
    value = {"answers": {}, "drfr": 0.625, "tower": 0.5}
    words = page_of(admin, verdict(judge_make(), item, None, status="parsed", value=value))
    for said in ("DRFR", "62.5%", "TOWER", "50.0%"):
        assert said in words
    pair = dataset_make(pairs=1).items.get()
    rated = verdict(judge_make(strategy="shortest"), pair, 2, value={"choice": 2, "scores": [3.25, 4.0]})
    assert "3.25 : 4" in page_of(admin, rated)


def test_hostile_text_stays_text(admin: Client) -> None:
    item = dataset_make(pairs=1).items.get()
    response = item.responses.first()
    assert response is not None
    response.text = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    response.save()
    said(item, 1, comment="<b onclick=alert(3)>bold</b>")
    row = verdict(judge_make(endpoint_make()), item, 1, raw_text="</pre><script>alert(4)</script>")
    page = admin.get(reverse("admin:judges_judgment_change", args=[row.pk])).content.decode()
    assert "<script>alert" not in page
    assert "<b onclick" not in page
    assert "<img" not in page


def test_previous_and_next_keep_the_filter(admin: Client) -> None:
    items = list(dataset_make(pairs=3).items.order_by("pk"))
    judge = judge_make()
    rows = [verdict(judge, item, 1) for item in items]
    page = admin.get(
        reverse("admin:judges_judgment_change", args=[rows[1].pk]) + f"?judge={judge.pk}"
    ).content.decode()
    for pk in (rows[0].pk, rows[2].pk):
        assert f'href="{reverse("admin:judges_judgment_change", args=[pk])}?judge={judge.pk}"' in page


def test_who_may_open_it(admin: Client) -> None:
    row = verdict(judge_make(), dataset_make(pairs=1, split="private").items.get(), 1)
    url = reverse("admin:judges_judgment_change", args=[row.pk])
    assert Client().get(url).status_code == 302
    researcher = Client()
    researcher.force_login(user_make())
    assert researcher.get(url, follow=True).status_code == 403
    assert admin.get(url).status_code == 200
    assert admin.post(url, {"choice": 2}).status_code == 403
    for pk in ("0", "x", "9" * 30, str(row.pk + 1)):
        assert admin.get(f"/admin/judges/judgment/{pk}/change/").status_code == 404
