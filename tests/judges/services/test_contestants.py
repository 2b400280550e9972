"""From what contestants answered to responses and pairs: the service, the pages, the command, and the whole way."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from annotation.importers import ImportFileError
from annotation.models import Dataset, Instruction, Item, Response, Role
from annotation.services import dataset_rows
from judges.backends.mock_server import MockServer
from judges.models import Generation, Judge, Judgment
from judges.services.contestants import HUMAN, Baseline, PairsError, PairsResult, pairs_make
from tests.annotation.factories import user_make
from tests.judges.contestants import answers_make, contestant_make, form_of, source_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make
from web.bulk import rows_insert

pytestmark = pytest.mark.django_db

PAIRS = "admin:judges_generation_pairs"
REFERENCE = Baseline(reference=True)


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(user_make(role=Role.ADMINISTRATOR, username="boss"))
    return client


def make(source: Dataset, *contestants: Judge, baseline: Baseline = REFERENCE, **fields: Any) -> PairsResult:
    rules: dict[str, Any] = {"name": "pairs", "contestants": contestants, "baseline": baseline}
    return pairs_make(source=source, **(rules | fields))


# --- pairs --------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_pairs_beside_the_reference_keep_all_of_the_instruction() -> None:
    source, contestant = source_make(), contestant_make("one")
    answers_make(contestant, source)
    result = make(source, contestant, title="One and people")
    assert (result.created, result.n_pairs, result.n_added) == (True, 4, 4)
    assert result.summary() == "pairs: 4 pairs."
    dataset = result.dataset
    assert (dataset.title, dataset.split, dataset.licence) == ("One and people", "public", "MIT")
    assert "reference itself" in dataset.description
    fields = ("external_id", "text", "context", "conversation", "reference", "category", "subset", "metadata")
    assert list(dataset.instructions.order_by("pk").values_list(*fields)) == list(
        source.instructions.order_by("pk").values_list(*fields)
    )
    for item in dataset.items.select_related("instruction"):
        assert item.kind == "pairwise"
        assert item.gold is None
        texts = {link.response.system: link.response.text for link in item.item_responses.all()}
        name = item.instruction.external_id
        assert texts == {"one": f"one on {name}, 0.", HUMAN: f"Reference {name[1:]}."}
    assert source.items.count() == 0


def test_the_place_is_drawn_by_the_seed() -> None:
    source, contestant = source_make(200), contestant_make("one")
    answers_make(contestant, source)

    def firsts(name: str, seed: int) -> list[str]:
        items = make(source, contestant, name=name, seed=seed).dataset.items.order_by("position")
        return [item.item_responses.get(position=0).response.system for item in items]

    first, again, other = firsts("a", 1), firsts("b", 1), firsts("c", 2)
    assert first == again != other
    assert 70 < first.count("one") < 130


@pytest.mark.both_databases
def test_the_same_again_changes_nothing_and_more_is_added() -> None:
    source, one, two = source_make(), contestant_make("one"), contestant_make("two")
    answers_make(one, source, skip=("i3",))
    answers_make(two, source)
    result = make(source, one, two)
    assert (result.n_pairs, result.n_without_generation) == (7, 1)
    assert "1 instruction without a finished generation" in result.summary()
    Dataset.objects.filter(name="pairs").update(description="In our own words.")
    again = make(source, two, one)
    assert (again.created, again.n_added, again.dataset.version) == (False, 0, 1)
    assert "all there already" in again.summary()
    Generation.objects.create(
        contestant=one, instruction=source.instructions.get(external_id="i3"), status="parsed", text="Late."
    )
    late = make(source, one, two)
    assert (late.n_pairs, late.n_added, late.dataset.version) == (8, 1, 2)
    assert "1 of them new" in late.summary()


def test_beside_a_system_of_the_dataset() -> None:
    source, contestant = source_make(3), contestant_make("one")
    answers_make(contestant, source)
    for instruction in source.instructions.exclude(external_id="i2"):
        Response.objects.create(instruction=instruction, external_id="x", system="gpt", text="Theirs.")
    result = make(source, contestant, baseline=Baseline(system="gpt"))
    assert (result.n_pairs, result.n_without_baseline) == (2, 1)
    assert "1 instruction without the baseline" in result.summary()


def test_beside_another_contestant_sample_by_sample() -> None:
    source, one, two = source_make(2), contestant_make("one"), contestant_make("two")
    answers_make(one, source, samples=3)
    answers_make(two, source, samples=2)
    result = make(source, one, baseline=Baseline(contestant=two), all_samples=True)
    assert result.n_pairs == 4  # the third sample has nothing beside it
    texts = {
        frozenset(item.item_responses.values_list("response__text", flat=True)) for item in Item.objects.all()
    }
    assert frozenset({"one on i0, 1.", "two on i0, 1."}) in texts
    single = make(source, two, baseline=Baseline(contestant=one), name="single")
    assert single.n_pairs == 2
    one.generations.exclude(sample=0).delete()
    against_one = make(source, two, baseline=Baseline(contestant=one), name="only", all_samples=True)
    assert against_one.n_pairs == 4  # its only sample stands beside each of the other's


def test_equal_texts_are_counted() -> None:
    source, contestant = source_make(2), contestant_make("one")
    answers_make(contestant, source)
    Generation.objects.filter(instruction__external_id="i0").update(text="Reference 0.")
    result = make(source, contestant)
    assert result.n_identical == 1
    assert "1 pair of two equal texts" in result.summary()


def test_private_stays_private_and_its_owners() -> None:
    owner, other = user_make(), user_make(role=Role.ADMINISTRATOR)
    source, contestant = source_make(split="private", owner=owner), contestant_make("one")
    answers_make(contestant, source)
    dataset = make(source, contestant, owner=other).dataset
    assert (dataset.split, dataset.owner) == ("private", owner)


def test_long_names_of_instructions() -> None:
    source, contestant = source_make(2), contestant_make("one")
    for k, instruction in enumerate(source.instructions.order_by("pk")):
        Instruction.objects.filter(pk=instruction.pk).update(external_id=f"{'x' * 199}{k}")
    answers_make(contestant, source)
    assert make(source, contestant).n_pairs == 2
    assert not make(source, contestant).n_added


def test_what_cannot_be_made() -> None:
    source, one, two = source_make(2), contestant_make("one"), contestant_make("two")
    with pytest.raises(PairsError, match="at least one"):
        make(source)
    with pytest.raises(PairsError, match="None of the contestants"):
        make(source, one)
    answers_make(one, source)
    with pytest.raises(PairsError, match="with itself"):
        make(source, one, baseline=Baseline(contestant=one))
    with pytest.raises(PairsError, match="response of the baseline"):
        make(source, one, baseline=Baseline(contestant=two))
    with pytest.raises(PairsError, match="valid dataset name"):
        make(source, one, name="no name")
    with pytest.raises(PairsError, match="with other content"):
        make(source, one, name="tea")
    make(source, one)
    with pytest.raises(PairsError, match="with other content"):
        make(source, one, seed=1)
    with pytest.raises(ValueError, match="reference, a system or a contestant"):
        Baseline(reference=True, system="x")
    Generation.objects.update(text="Changed.")
    before = list(Response.objects.values_list("text", flat=True))
    with pytest.raises(ImportFileError):
        make(source, one)
    assert list(Response.objects.values_list("text", flat=True)) == before


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source, contestant = source_make(), contestant_make("one")
    answers_make(contestant, source)

    def break_off(model: type[Model], *rest: Any) -> None:
        if model is Item:
            raise RuntimeError("killed")
        rows_insert(model, *rest)

    monkeypatch.setattr(dataset_rows, "rows_insert", break_off)
    with pytest.raises(RuntimeError):
        make(source, contestant)
    assert list(Dataset.objects.values_list("name", flat=True)) == ["tea"]
    assert not Response.objects.exists()


# --- the command --------------------------------------------------------------------------------------------


def test_the_command() -> None:
    source, one, two = source_make(2), contestant_make("one"), contestant_make("two")
    answers_make(one, source)
    answers_make(two, source)
    owner = user_make(username="ann")
    out = StringIO()
    options = ["--name", "pairs", "--contestant", "one", "--owner", "ann"]
    call_command("make_pairs", "tea", *options, "--beside-contestant", "two", stdout=out)
    assert out.getvalue().strip() == "pairs: 2 pairs."
    assert Dataset.objects.get(name="pairs").owner == owner
    for wrong, words in (
        (["nothing", *options], "no dataset 'nothing'"),
        (["tea", *options[:-1], "eve"], "no user 'eve'"),
        (["tea", *options, "--contestant", "three"], "no contestant 'three'"),
        (["tea", *options, "--beside-system", "gpt"], "Nothing was created"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("make_pairs", *wrong)
    assert source.items.count() == 0


# --- the whole way ------------------------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_from_instructions_to_judged_pairs(server: MockServer, tmp_path: Path, admin: Client) -> None:
    file = tmp_path / "tea.jsonl"
    rows = [
        {
            "id": f"t{k}",
            "kind": "instructions",
            "instruction": f"Name tea {k}.",
            "reference": f"Tea {k}, of course.",
        }
        for k in range(5)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call_command("import_dataset", "generic", str(file), "--name", "tea", stdout=StringIO())
    source = Dataset.objects.get(name="tea")
    endpoint = endpoint_make(server.url)
    one = judge_make(endpoint, "mock-longer", name="one", strategy="generate")
    two = judge_make(endpoint, "mock-longer", name="two", strategy="generate", params={"system": "Be brief."})
    assert sweep_make([one, two], source).state == "queued"
    run()
    assert Generation.objects.filter(status="parsed").count() == 10
    url = f"{reverse(PAIRS)}?dataset={source.pk}"
    admin.post(url, form_of(one, two, name="beside-people"))
    admin.post(url, form_of(one, name="beside-two", against=f"contestant:{two.pk}"))
    people, models = Dataset.objects.get(name="beside-people"), Dataset.objects.get(name="beside-two")
    assert (people.items.count(), models.items.count()) == (10, 5)
    judge = judge_make(endpoint, "mock-longer", name="judge")
    sweep_make([judge], people, models)
    run()
    verdicts = Judgment.objects.filter(judge=judge, status="parsed")
    assert verdicts.count() == 30
    # The judge prefers the longer response, so that who wrote it shows through both orders and places.
    item = people.items.first()
    assert item is not None
    longer = max(item.item_responses.select_related("response"), key=lambda link: len(link.response.text))
    assert {row.choice for row in verdicts.filter(item=item)} == {longer.position + 1}
    generation = Generation.objects.earliest("pk")
    page = admin.get(reverse("admin:judges_generation_change", args=[generation.pk])).content.decode()
    assert page.count(generation.text.split(".")[0]) >= 2


def test_a_sample_that_is_still_missing_is_replaced_by_no_other() -> None:
    """Otherwise the same again would add a second pair to an instruction, or say something else of the first."""
    source, one, two = source_make(2), contestant_make("one"), contestant_make("two")
    for contestant in (one, two):
        answers_make(contestant, source, samples=2)
    late = Generation.objects.filter(sample=0, instruction__external_id="i0")
    late.update(status="failed")
    for name, baseline, contestant in (("a", REFERENCE, one), ("b", Baseline(contestant=two), one)):
        result = make(source, contestant, baseline=baseline, name=name)
        assert (result.n_pairs, result.n_without_generation) == (1, 1)
    late.update(status="parsed", text="Late.")
    for name, baseline in (("a", REFERENCE), ("b", Baseline(contestant=two))):
        result = make(source, one, baseline=baseline, name=name)
        assert (result.n_pairs, result.n_added) == (2, 1)
        assert Item.objects.filter(dataset__name=name).count() == 2


def test_a_baseline_whose_first_sample_is_missing_is_not_replaced_by_its_second() -> None:
    source, one, two = source_make(2), contestant_make("one"), contestant_make("two")
    answers_make(one, source)
    answers_make(two, source, samples=2)
    late = Generation.objects.filter(contestant=two, sample=0, instruction__external_id="i0")
    late.update(status="failed")
    first = make(source, one, baseline=Baseline(contestant=two))
    assert (first.n_pairs, first.n_without_baseline) == (1, 1)
    late.update(status="parsed", text="Late.")
    assert make(source, one, baseline=Baseline(contestant=two)).n_added == 1
