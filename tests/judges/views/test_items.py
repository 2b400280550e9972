"""Items of a dataset with all that is known of them: filters, order, one item, notes, and what is sent to people."""

import csv
import io
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.importers import read_generic
from annotation.kinds import kind_of
from annotation.models import AdjudicationRequest, Instruction, Item, ItemNote, Kind, Label, Study, StudyItem
from annotation.selectors.adjudication import queue_of
from annotation.services.item_notes import MAX_NOTE, note_add
from judges.models import Judgment
from judges.selectors.item_addresses import items_url
from judges.selectors.item_filter import CASES
from metaeval.reports.confidence import Asked, confidence_page
from metaeval.selectors.inputs import inputs_read
from metaeval.views.confidence import items_of_page
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.annotation.kinds import VALUES, kind_dataset_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make

pytestmark = pytest.mark.django_db
NONCE = "0123456789abcdef"


def shown(page):
    """Names of the items of a list, in its order."""
    return [row.item.external_id for row in page.context["page"].rows]


@pytest.fixture
def judged(cast):
    """Six pairs: what people say (3 each), and what two judges say in both orders."""
    dataset = dataset_make(pairs=6, owner=cast.alice)
    labels_make(
        dataset=dataset,
        choices=[(1, 1, 1), (1, 1, 2), (2, 2, 2), (1, 2, 0), (2, 2, 2), (None, None, None)],
    )
    Item.objects.filter(dataset=dataset).update(gold={"choice": 1})
    good, poor = judge_make("Good"), judge_make("Poor")
    judgments_make(judge=good, dataset=dataset, choices=[(1, 1), (1, 1), (2, 2), (1, 1), (2, 1), (1, 1)])
    judgments_make(judge=poor, dataset=dataset, choices=[(2, 2), (1, 1), (1, 2), (2, 2), (None, 2), (2, 2)])
    dataset.names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    return dataset, good, poor


def found(cast, dataset, **asked):
    page = client_of(cast.alice).get(items_url(dataset.name, **asked))
    assert page.status_code == 200
    return [dataset.names.index(name) for name in shown(page)]


def test_each_filter_finds_its_items(cast: Cast, judged):
    dataset, good, poor = judged
    assert found(cast, dataset) == [0, 1, 2, 3, 4, 5]
    assert found(cast, dataset, case="disagrees", judge=good.pk) == [4]
    assert found(cast, dataset, case="disagrees", judge=poor.pk) == [0, 2]
    assert found(cast, dataset, case="disagrees", judge=[good.pk, poor.fingerprint]) == [0, 2, 4]
    assert found(cast, dataset, case="disagrees") == [0, 2, 4]
    assert found(cast, dataset, case="orders_differ", judge=good.pk) == [4]
    assert found(cast, dataset, case="orders_differ", judge=poor.pk) == [2]
    assert found(cast, dataset, case="unparsed") == [4]
    assert found(cast, dataset, case="unparsed", judge=good.pk) == []
    assert found(cast, dataset, case="split") == [1, 3]
    assert found(cast, dataset, case="wrong", judge=good.pk) == [2, 4]
    assert found(cast, dataset, people=2, verdict="wrong", judge=poor.pk) == [2, 4]
    assert found(cast, dataset, people=2, verdict="right", judge=poor.pk) == [2, 4]
    assert found(cast, dataset, gold=1, verdict="right", judge=good.pk) == [0, 1, 3, 4, 5]
    assert found(cast, dataset, q=dataset.names[3]) == [3]
    assert found(cast, dataset, judge=987654) == [0, 1, 2, 3, 4, 5]  # a list of items says so: no verdicts
    assert found(cast, dataset, case="wrong", judge="f" * 64) == []


def test_disagreement_orders_the_list_and_is_the_share_of_pairs_of_verdict_and_label_that_differ(
    cast: Cast, judged
):
    dataset, _, poor = judged
    # Verdicts against labels: (2,2) of 1,1,1: 1; (1,1) of 1,1,2: 1/3; (1,2) of 2,2,2: 1/2; (2,2) of 1,2,0: 2/3;
    # an unparsed one and 2 of 2,2,2: 1/2; without labels: none, last.
    assert found(cast, dataset, judge=poor.pk, sort="disagreement") == [0, 3, 2, 4, 1, 5]
    page = client_of(cast.alice).get(items_url(dataset.name, judge=poor.pk, sort="disagreement"))
    assert [row.disagreement for row in page.context["page"].rows] == pytest.approx(
        [1, 2 / 3, 1 / 2, 1 / 2, 1 / 3, None]
    )


def test_categories_subsets_and_studies_bound_the_list(cast: Cast, judged):
    dataset, good, _ = judged
    asked = Item.objects.get(dataset=dataset, external_id=dataset.names[2]).instruction
    asked.category, asked.subset, asked.text = "Coding", "Adversarial/Neighbor", "Grüße"
    asked.save()
    assert found(cast, dataset, category="Coding") == [2]
    assert found(cast, dataset, subset="Adversarial") == [2]
    assert found(cast, dataset, subset="Adversarial", case="disagrees", judge=good.pk) == []
    assert found(cast, dataset, q="Grüße") == [2]
    study = study_make(dataset=dataset, owner=cast.alice, slug="one")
    StudyItem.objects.filter(study=study).exclude(item__external_id=dataset.names[1]).delete()
    assert found(cast, dataset, study="one") == [1]
    # Of a study's labels alone is said what people say: here nobody has labeled.
    assert found(cast, dataset, study="one", case="split") == []
    assert client_of(cast.alice).get(items_url(dataset.name, study="none")).status_code == 404
    Study.objects.update(owner=cast.alice)
    assert client_of(cast.bob).get(items_url(dataset.name, study="one")).status_code == 404


def test_labels_of_others_studies_are_no_part_of_the_list_nor_of_an_item(cast: Cast, judged):
    dataset, *_ = judged
    study = study_make(dataset=dataset, owner=cast.alice, slug="hers")
    study_labels_make(study, [[2, 2]])
    mine, theirs = (
        client_of(who).get(items_url(dataset.name)).context["page"].rows[0] for who in (cast.alice, cast.bob)
    )
    assert (mine.people.n, theirs.people.n) == (5, 3)
    address = reverse("metaeval:dataset-item", args=[dataset.name, mine.item.item_id])
    assert study.title in text_of(client_of(cast.alice).get(address))
    assert study.title not in text_of(client_of(cast.bob).get(address))


def test_pages_follow_each_other_both_ways_and_hold_every_item_once(cast: Cast):
    dataset = dataset_make(pairs=60, owner=cast.alice)
    browser, seen = client_of(cast.alice), []
    page = browser.get(items_url(dataset.name))
    first = shown(page)
    while True:
        seen += shown(page)
        if not page.context["older_url"]:
            break
        page = browser.get(page.context["older_url"])
    assert seen == list(dataset.items.order_by("position").values_list("external_id", flat=True))
    back = browser.get(browser.get(page.context["newer_url"]).context["newer_url"])
    assert shown(back) == first
    assert not back.context["newer_url"]


@pytest.mark.parametrize("asked", [{}, {"case": "disagrees", "sort": "disagreement"}, {"case": "wrong"}])
def test_the_number_of_queries_does_not_grow_with_the_page(cast: Cast, asked):
    counts = []
    for n in (4, 24):
        dataset = dataset_make(pairs=n, owner=cast.alice)
        labels_make(dataset=dataset, choices=[(1, 1)] * n)
        Item.objects.filter(dataset=dataset).update(gold={"choice": 1})
        for k in range(n // 4):
            judgments_make(judge=judge_make(f"J{n}-{k}"), dataset=dataset, choices=[(2, 2)] * n)
        browser = client_of(cast.alice)
        browser.get(items_url(dataset.name))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = browser.get(items_url(dataset.name, **asked))
        assert len(shown(page)) == n
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 26


@pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
def test_other_kinds_are_filtered_and_shown(cast: Cast, kind):
    dataset = kind_dataset_make(kind, items=3, gold=VALUES[kind], owner=cast.alice)
    first, second, third = dataset.items.order_by("position")
    other = {
        Kind.RUBRIC: {"ratings": {"helpful": 1, "clear": 1}},
        Kind.CHECKLIST: {"answers": {"format": False, "length": True, "tone": True}},
        Kind.IMPORTANCE: {"ranks": {"format": 3, "length": 2, "tone": 1}},
        Kind.ANSWER_RANKING: {"ranks": {"0": 3, "1": 2, "2": 1}},
        Kind.CLASSIFICATION: {"categories": {"format": False, "length": True, "tone": False}},
    }[kind]
    for person, value in ((annotator_make(), VALUES[kind]), (annotator_make(), VALUES[kind])):
        for item in (first, second):
            Label.objects.create(item=item, annotator=person, kind=kind, value=value)
    Label.objects.create(item=third, annotator=annotator_make(), kind=kind, value=VALUES[kind])
    Label.objects.create(item=third, annotator=annotator_make(), kind=kind, value=other)
    judge = judge_make("J", strategy="other")
    for item, value in ((first, VALUES[kind] | {"reason": "Because <b>so</b>."}), (second, other)):
        Judgment.objects.create(
            judge=judge, item=item, order=0, status="parsed", value=value, raw_text="raw words"
        )
    Judgment.objects.create(judge=judge, item=third, order=0, status="unparsed", raw_text="?")
    dataset.names = [first.external_id, second.external_id, third.external_id]
    assert found(cast, dataset, case="disagrees") == [1]
    assert found(cast, dataset, case="wrong", judge=judge.pk) == [1]
    assert found(cast, dataset, case="unparsed") == [2]
    assert found(cast, dataset, case="split") == [2]
    assert found(cast, dataset, sort="disagreement") in ([1, 2, 0], [2, 1, 0])
    page = client_of(cast.alice).get(reverse("metaeval:dataset-item", args=[dataset.name, first.pk]))
    text = page.content.decode()
    assert "Because &lt;b&gt;so&lt;/b&gt;." in text
    assert "raw words" in text
    assert kind_of(kind).label in text


def test_an_item_shows_both_orders_reasons_lengths_and_soft_labels(cast: Cast, judged):
    dataset, _, poor = judged
    item = dataset.items.get(external_id=dataset.names[4])
    Judgment.objects.filter(judge=poor, item=item, order=1).update(
        value={"choice": 2, "reason": "It is shorter."}, raw_text="B. " + "x" * 5_000
    )
    page = client_of(cast.alice).get(reverse("metaeval:dataset-item", args=[dataset.name, item.pk]))
    text = text_of(page)
    for words in (
        "Good",
        "Poor",
        "It is shorter.",
        "Original order",
        "Swapped order",
        "100%, 3 of 3",
        "unparsed",
    ):
        assert words in text
    assert "differs between orders" in text
    assert "5,003 characters" in text


def test_an_item_of_another_dataset_and_a_private_one_are_not_found(cast: Cast, judged):
    dataset, *_ = judged
    other = dataset_make(pairs=2, split="private", owner=cast.bob)
    item = other.items.first()
    browser = client_of(cast.alice)
    for address in (
        items_url(other.name),
        reverse("metaeval:dataset-item", args=[other.name, item.pk]),
        reverse("metaeval:dataset-item", args=[dataset.name, item.pk]),
    ):
        assert browser.get(address).status_code == 404
    assert browser.get(reverse("metaeval:dataset-items-counts", args=[other.name])).status_code == 404
    for address in (
        reverse("metaeval:dataset-items-send", args=[other.name]),
        reverse("metaeval:dataset-items-export", args=[other.name, "csv"]),
        reverse("metaeval:dataset-item-note", args=[other.name, item.pk]),
        reverse("metaeval:dataset-item-note", args=[dataset.name, item.pk]),
    ):
        assert browser.post(address, {"text": "x", "nonce": NONCE}).status_code == 404


def test_a_hostile_address_is_a_page(cast: Cast, judged):
    dataset, *_ = judged
    for query in (
        "judge=%00&judge=-1&judge=99999999999999999999&case=nothing&sort=x&people=9&gold=%27",
        "q=%00%27%22%3Cscript%3E&after=-5&before=zz&kind=nothing&verdict=right",
        "category=" + "x" * 500,
        "q=%25_%5C",
        "value=71%25%3Cscript%3E&n=-1&figure=%00", "value=5%25&n=99999999999999&figure=%3Cscript%3E",
        "people=1&mark=nan&verdict=right", "gold=2&mark=1e999&kind=rubric", "value=Your+password+has+expired",
    ):  # fmt: skip
        page = client_of(cast.alice).get(f"{items_url(dataset.name)}?{query}")
        assert page.status_code == 200
        assert "<script>" not in page.content.decode().replace("<script src", "")
        assert "password has" not in text_of(page)


def counted(cast, dataset, **asked):
    address = reverse("metaeval:dataset-items-counts", args=[dataset.name])
    page = client_of(cast.alice).get(address, asked)
    assert page.status_code == 200
    said = re.findall(r'id="case-(\w+)".*?class="num">([^<]*)<', page.content.decode())
    return {case: int(n) for case, n in said}


@pytest.mark.parametrize(
    "asked", [{}, {"judge": "poor"}, {"people": "2", "verdict": "wrong"}, {"q": "number 1"}]
)
def test_each_tab_says_how_many_items_it_shows(cast: Cast, judged, asked):
    dataset, _, poor = judged
    asked = asked | ({"judge": poor.pk} if "judge" in asked else {})
    shown_by_case = {case or "all": len(found(cast, dataset, **asked, case=case)) for case in ("", *CASES)}
    assert counted(cast, dataset, **asked) == shown_by_case


def test_the_figure_of_the_cell_is_repeated_where_its_items_are(cast: Cast, judged):
    dataset, good, _ = judged
    address = items_url(
        dataset.name, judge=good.pk, case="disagrees", figure="agreement", value="71.2%", n="34"
    )
    browser = client_of(cast.alice)
    for page in (
        browser.get(address),
        browser.get(address, headers={"HX-Request": "true", "HX-Target": "drawer-body"}),
    ):
        assert "Agreement with human annotators: 71.2% n = 34" in text_of(page)
        # It stays where only the case changes, and goes with other filters.
        assert all(
            url.endswith("figure=agreement&value=71.2%25&n=34") for *_, url, _ in page.context["cases"]
        )
    # What says nothing of a known figure is no figure of ours.
    assert "Figure in the table: 5%" in text_of(browser.get(items_url(dataset.name, value="5%", figure="x")))


def export(cast, dataset, format="jsonl", asked="", **sent):
    address = reverse("metaeval:dataset-items-export", args=[dataset.name, format])
    return client_of(cast.alice).post(f"{address}?{asked}", sent)


def test_a_selection_is_exported_in_the_order_of_the_source(cast: Cast, judged, tmp_path):
    dataset, _, poor = judged
    Instruction.objects.filter(items__dataset=dataset).update(text="=SUM(A1)")
    response = export(cast, dataset, asked=f"judge={poor.pk}&case=disagrees&sort=disagreement", which="all")
    content = b"".join(response.streaming_content)
    rows = [json.loads(line) for line in content.splitlines()]
    assert [dataset.names.index(row["id"]) for row in rows] == [0, 2]
    assert response["Content-Disposition"] == f'attachment; filename="{dataset.name}-items.jsonl"'
    (tmp_path / "items.jsonl").write_bytes(content)
    assert len(read_generic(tmp_path / "items.jsonl").items) == 2
    ticked = [item.pk for item in dataset.items.order_by("-position")[:2]]
    cells = b"".join(export(cast, dataset, "csv", which="ticked", item=ticked).streaming_content).decode()
    assert [row["id"] for row in csv.DictReader(io.StringIO(cells))] == dataset.names[4:]
    assert {row["instruction"] for row in csv.DictReader(io.StringIO(cells))} == {"'=SUM(A1)"}


def test_nothing_but_items_of_the_selection_is_exported(cast: Cast, judged):
    dataset, *_ = judged
    other = dataset_make(pairs=1, name="other", split="private", owner=cast.bob)
    browser = client_of(cast.alice)
    address = reverse("metaeval:dataset-items-export", args=[dataset.name, "csv"])
    response = browser.post(address, {"which": "ticked", "item": [other.items.get().pk, "x", -1]})
    assert response.status_code == 302
    assert "Nothing was exported. Select at least one item." in text_of(browser.get(response.url))
    assert export(cast, dataset, "parquet", which="all").status_code == 404


@pytest.mark.parametrize("kind", [Kind.CHECKLIST, Kind.RUBRIC])
def test_cells_of_a_confusion_table_of_parts_lead_to_their_items(cast: Cast, kind):
    """By hand: what people say of a part, and whether the judge says so too; with one part a cell counts items."""
    dataset = kind_dataset_make(kind, items=5)
    dataset.owner = cast.alice
    dataset.save()
    dataset.names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    part, field, yes, no = (
        ("format", "answers", True, False) if kind == Kind.CHECKLIST else ("helpful", "ratings", 4, 3)
    )
    judge = judge_make("One")
    # Labels, verdict: right and wrong on either side; people divided; unparsed.
    for item, labels, verdict in zip(
        dataset.items.order_by("position"),
        [(yes, yes, no), (yes, yes), (no, no), (yes, no), (no,)],
        [yes, no, no, yes, None],
        strict=True,
    ):
        for said in labels:
            Label.objects.create(
                item=item, annotator=annotator_make(), kind=kind, value={field: {part: said}}
            )
        status = "unparsed" if verdict is None else "parsed"
        Judgment.objects.create(
            item=item,
            judge=judge,
            order=0,
            status=status,
            value=None if verdict is None else {field: {part: verdict}},
        )
    mark = {"mark": 4} if kind == Kind.RUBRIC else {}
    assert found(cast, dataset, people=1, verdict="right", **mark) == [0]
    assert found(cast, dataset, people=1, verdict="wrong", **mark) == [1]
    assert found(cast, dataset, people=2, verdict="right", **mark) == [2]
    assert found(cast, dataset, people=2, verdict="wrong", **mark) == [4]
    page = confidence_page(
        inputs_read(dataset=dataset, kind=kind), Asked(mark=4.0 if kind == Kind.RUBRIC else None)
    )
    rates = page.judge.rates
    assert [rates[f"true_{side}"] for side in ("positives", "negatives")] == [1, 1]
    assert [rates[f"false_{side}"] for side in ("negatives", "positives")] == [1, 1]
    leads = items_of_page(dataset, page)
    browser = client_of(cast.alice)
    for side, is_right, expected in ((0, True, 0), (0, False, 1), (1, True, 2), (1, False, 4)):
        response = browser.get(leads(side, is_right))
        assert shown(response) == [dataset.names[expected]]


class TestNotes:
    """A note on an item: its author's own, seen by whoever may see the dataset."""

    def address(self, dataset, item, note=None):
        args = [dataset.name, item.pk] + ([] if note is None else [note.pk])
        name = "dataset-item-note" if note is None else "dataset-item-note-change"
        return reverse(f"metaeval:{name}", args=args)

    @pytest.fixture
    def item(self, judged):
        return judged[0].items.order_by("position")[0]

    def test_a_note_is_written_read_by_others_changed_and_deleted(self, cast: Cast, judged, item):
        mine, other = client_of(cast.alice), client_of(cast.bob)
        here = reverse("metaeval:dataset-item", args=[judged[0].name, item.pk])
        mine.post(self.address(judged[0], item), {"text": "Both <b>wrong</b>\r\n!", "nonce": NONCE})
        note = ItemNote.objects.get()
        page = other.get(here).content.decode()
        assert "Both &lt;b&gt;wrong&lt;/b&gt;" in page
        assert "alice" in page
        assert self.address(judged[0], item, note) not in page
        assert "1 note" in text_of(other.get(items_url(judged[0].name)))
        mine.post(self.address(judged[0], item, note), {"text": "One wrong", "action": "save"})
        assert "One wrong" in text_of(other.get(here))
        assert ", edited" in text_of(other.get(here))
        mine.post(self.address(judged[0], item, note), {"action": "delete"})
        assert not ItemNote.objects.exists()

    def test_nobody_without_a_login_and_nobody_else_writes_or_changes_it(
        self, cast: Cast, judged, item, client
    ):
        note = note_add(item=item, author=cast.alice, text="Mine", nonce="n")
        said = {"text": "theirs", "nonce": NONCE}
        for address in (self.address(judged[0], item), self.address(judged[0], item, note)):
            assert client.post(address, said).status_code == 302
        for who in (cast.bob, cast.ann):
            change = self.address(judged[0], item, note)
            assert client_of(who).post(change, said).status_code == 404
            assert client_of(who).post(change, {"action": "delete"}).status_code == 404
        elsewhere = self.address(judged[0], judged[0].items.order_by("position")[1], note)
        assert client_of(cast.alice).post(elsewhere, said).status_code == 404
        assert list(ItemNote.objects.values_list("text", flat=True)) == ["Mine"]

    def test_a_form_sent_twice_writes_one_and_a_bad_one_says_why(self, cast: Cast, judged, item):
        browser, address = client_of(cast.alice), self.address(judged[0], item)
        for _ in range(2):
            browser.post(address, {"text": "Once", "nonce": NONCE})
        assert ItemNote.objects.count() == 1
        for said, words in (
            ({"text": " \x00 ", "nonce": "1" * 16}, "Write a note first"),
            ({"text": "x" * (MAX_NOTE + 1), "nonce": "2" * 16}, "Shorten the note"),
            ({"text": "x"}, "Reload the page"),
        ):
            refused = browser.post(address, said)
            assert refused.status_code == 422
            assert words in text_of(refused)
        assert ItemNote.objects.count() == 1


class TestSending:
    """Items that go back to people: to a draft study with exactly these, or to adjudication."""

    def send(self, who, dataset, *, query=None, **said):
        address = reverse("metaeval:dataset-items-send", args=[dataset.name])
        if query:
            address += items_url(dataset.name, **query).removeprefix(items_url(dataset.name))
        return client_of(who).post(address, {"to": "study", "nonce": NONCE} | said, follow=True)

    def test_selected_items_make_a_draft_with_exactly_these_once(self, cast: Cast, judged):
        dataset, *_ = judged
        items = list(dataset.items.order_by("position"))
        for _ in range(2):
            page = self.send(cast.alice, dataset, item=[items[3].pk, items[1].pk, 987654])
        study = Study.objects.get()
        assert (study.state, study.owner, study.kind) == ("draft", cast.alice, "pairwise")
        assert set(study.study_items.values_list("item_id", flat=True)) == {items[1].pk, items[3].pk}
        assert "exactly these 2 items" in text_of(page)

    def test_all_that_match_are_those_of_the_filter_with_the_rules_of_its_study(self, cast: Cast, judged):
        dataset, _, poor = judged
        like = study_make(dataset=dataset, owner=cast.alice, slug="like", overlap=7)
        self.send(cast.alice, dataset, which="all", query={"case": "orders_differ", "judge": poor.pk})
        made = Study.objects.exclude(pk=like.pk).get()
        assert [place.item.external_id for place in made.study_items.all()] == [dataset.names[2]]
        self.send(
            cast.alice, dataset, which="all", nonce="f" * 16, query={"study": "like", "q": dataset.names[0]}
        )
        again = Study.objects.order_by("pk").last()
        assert (again.overlap, again.study_items.count(), again.state) == (7, 1, "draft")

    def test_nothing_is_made_of_nothing_nor_by_a_stranger(self, cast: Cast, judged, client):
        dataset, *_ = judged
        assert "Select at least one item" in text_of(self.send(cast.alice, dataset))
        assert "Reload the page" in text_of(self.send(cast.alice, dataset, which="all", nonce="x"))
        address = reverse("metaeval:dataset-items-send", args=[dataset.name])
        assert client.post(address, {"which": "all", "nonce": NONCE}).status_code == 302
        type(dataset).objects.filter(pk=dataset.pk).update(split="private")
        assert client_of(cast.bob).post(address, {"which": "all", "nonce": NONCE}).status_code == 404
        assert not Study.objects.exists()

    def test_items_sent_to_adjudication_are_decided_before_disputed_ones(self, cast: Cast, judged):
        dataset, *_ = judged
        study = study_make(dataset=dataset, owner=cast.alice, slug="hers")
        study_labels_make(study, [[1, 2], [1, 1], [2, 2]])
        items = list(dataset.items.order_by("position"))
        assert queue_of(study).items == (items[0].pk,)
        for _ in range(2):
            page = self.send(cast.alice, dataset, to="adjudication", study="hers", item=[items[2].pk])
        assert queue_of(study).items == (items[2].pk, items[0].pk)
        assert AdjudicationRequest.objects.count() == 1
        assert page.redirect_chain[-1][0].endswith(f"/{items[2].pk}/")
        assert "no such study" in text_of(
            self.send(cast.bob, dataset, to="adjudication", study="hers", item=[items[1].pk])
        )
        StudyItem.objects.filter(study=study, item=items[2]).update(withdrawn_at="2026-01-01T00:00Z")
        assert queue_of(study).items == (items[0].pk,)
        assert "has none of these" in text_of(
            self.send(cast.alice, dataset, to="adjudication", study="hers", item=[items[2].pk])
        )
