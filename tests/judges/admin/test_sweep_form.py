"""The form of a sweep in the admin: what it offers, refuses and launches, once."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Dataset, Role
from judges.models import BackendKind, Judge, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import sweep_start
from tests.annotation.factories import dataset_make, user_make
from tests.judges.admin_forms import state_of, sweep_form, url_of
from tests.judges.props import endpoint_make, judge_make, sweep_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db

ADD = "admin:judges_sweep_add"
HTMX = {"HX-Request": "true"}


def test_the_form_offers_what_can_be_judged_and_who_can_judge(admin: Client) -> None:
    dataset_make(pairs=7, name="open-set")
    dataset_make(pairs=2, name="closed-set", split="private")
    Dataset.objects.create(name="empty-set", title="Empty")
    judge_make(endpoint_make(is_local=False, name="vendor"), model="gpt", name="A model judge")
    heuristic_judges_ensure()
    Judge.objects.create(
        name="Old verdicts", backend=BackendKind.IMPORTED, strategy="imported", spec={}, fingerprint="f" * 16
    )
    page = admin.get(reverse(ADD)).content.decode()
    for words in ("open-set", "7 pairs", "Private: local judges only", "gpt at vendor", "Longer response"):
        assert words in page
    assert "empty-set" not in page
    assert "Old verdicts" not in page


def test_a_form_begins_with_a_judge_and_the_items_of_another_sweep(admin: Client) -> None:
    first, second = dataset_make(pairs=4), dataset_make(pairs=4)
    before = sweep_make(
        [judge_make(name="Before")],
        first,
        start=False,
        orders="random",
        seed=7,
        sample_size=3,
        categories=["Rewrite"],
    )
    judge = judge_make(strategy="shortest", name="After")
    form = admin.get(reverse(ADD), {"judge": judge.pk, "like": before.pk}).context["form"]
    assert {name: form[name].value() for name in ("name", "orders", "seed", "sample_size", "categories")} == {
        "name": "After",
        "orders": "random",
        "seed": 7,
        "sample_size": 3,
        "categories": ["Rewrite"],
    }
    assert [choice.pk for choice, chosen in form.dataset_choices() if chosen] == [first.pk]
    assert [choice.pk for _, rows in form.judge_choices() for choice, chosen in rows if chosen] == [judge.pk]
    assert second.pk in [choice.pk for choice, _ in form.dataset_choices()]
    Judge.objects.filter(pk=judge.pk).update(backend=BackendKind.IMPORTED)
    for given in ({"judge": judge.pk}, {"judge": "x", "like": "-1"}, {"judge": "9" * 30, "like": "9" * 30}):
        form = admin.get(reverse(ADD), given).context["form"]
        assert not form["name"].value()
        assert not any(chosen for _, rows in form.judge_choices() for _, chosen in rows)


def test_adding_the_judges_without_a_model_loses_nothing_typed(admin: Client, dataset: Dataset) -> None:
    mine = judge_make(endpoint_make(), name="Mine")
    typed = sweep_form([mine], dataset, name="Half a form", orders="original", budget="not yet")
    sweep = sweep_make([mine], dataset_make(), start=False)
    for url in (reverse(ADD), url_of("change", sweep)):
        response = admin.post(url, typed | {"_heuristics": "1"})
        form = response.context["form"]
        assert response.status_code == 200
        assert (form["name"].value(), form["orders"].value(), form["budget"].value()) == (
            "Half a form",
            "original",
            "not yet",
        )
        assert [choice.name for choice, chosen in form.dataset_choices() if chosen] == [dataset.name]
        rows = [row for _, group in form.judge_choices() for row in group]
        assert len(rows) == 7
        # Those that read a reference are there too, and would be in the way of most datasets.
        assert {choice.name for choice, chosen in rows if not chosen} == {
            choice.name for choice, _ in rows if choice.reads_reference
        }
        assert "not yet" in response.content.decode()
    assert Sweep.objects.get().name == sweep.name


def test_a_form_without_anything_to_choose_from_says_so(admin: Client) -> None:
    page = admin.get(reverse(ADD)).content.decode()
    assert "There is no dataset yet" in page
    assert "no judge to run yet" in page


def test_the_form_takes_as_many_queries_for_much_as_for_little(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    endpoint = endpoint_make()
    for number in range(10):
        dataset_make(pairs=2)
        judge_make(endpoint, model=f"m{number}")
    with django_assert_max_num_queries(10):
        admin.get(reverse(ADD))


def test_nothing_chosen_is_said_at_its_place(admin: Client) -> None:
    response = admin.post(reverse(ADD), sweep_form([], name="", budget="-1"))
    errors = response.context["form"].errors
    assert set(errors) == {"name", "judges", "datasets", "budget"}
    assert errors["judges"] == ["Choose at least one judge."]
    assert not Sweep.objects.exists()


def test_what_was_chosen_is_still_chosen_after_an_error(admin: Client, dataset: Dataset) -> None:
    judge = judge_make()
    page = admin.post(reverse(ADD), sweep_form([judge], dataset, name="")).content.decode()
    assert f'name="datasets" value="{dataset.pk}" checked' in page
    assert f'name="judges" value="{judge.pk}" checked' in page


def test_an_imported_judge_cannot_be_smuggled_in(admin: Client, dataset: Dataset) -> None:
    judge = Judge.objects.create(
        name="Old", backend=BackendKind.IMPORTED, strategy="imported", spec={}, fingerprint="f" * 16
    )
    response = admin.post(reverse(ADD), sweep_form([judge], dataset))
    assert "judges" in response.context["form"].errors


def test_a_draft_shows_what_it_would_do(admin: Client, dataset: Dataset) -> None:
    response = admin.post(reverse(ADD), sweep_form([judge_make()], dataset), follow=True)
    sweep = Sweep.objects.get()
    assert (sweep.state, sweep.created_by) == ("draft", response.context["user"])
    page = response.content.decode()
    assert ">6</strong> judgments" in page
    assert "Launch" in page
    assert "hx-get" not in page


def test_save_and_launch(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset, _launch="1")
    response = admin.post(reverse(ADD), data, follow=True)
    assert state_of(Sweep.objects.get()) == "queued"
    assert "hx-get" in response.content.decode()


def test_sending_the_form_twice_launches_one_sweep(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset, _launch="1")
    first, second = admin.post(reverse(ADD), data), admin.post(reverse(ADD), data)
    assert first.url == second.url
    assert Sweep.objects.count() == 1
    assert SweepRun.objects.count() == 1


def test_the_same_sweep_on_another_day_is_another(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset)
    admin.post(reverse(ADD), data)
    Sweep.objects.update(created_at=timezone.now() - timedelta(hours=1))
    admin.post(reverse(ADD), data)
    admin.post(reverse(ADD), data | {"budget": "5"})
    assert Sweep.objects.count() == 3


def test_a_launch_that_cannot_be_stays_a_draft_and_says_why(admin: Client) -> None:
    private = dataset_make(pairs=2, name="closed-set", split="private")
    judge = judge_make(endpoint_make(is_local=False), name="Remote one")
    response = admin.post(reverse(ADD), sweep_form([judge], private, _launch="1"), follow=True)
    page = response.content.decode()
    assert "private items never leave the site" in page
    assert "launched. See the errors below" in page
    sweep = Sweep.objects.get()
    assert sweep.state == "draft"
    admin.post(url_of("start", sweep))
    assert state_of(sweep) == "draft"


def test_warnings_are_shown_and_do_not_stop_it(admin: Client, dataset: Dataset) -> None:
    dataset.instructions.filter(external_id="i0").update(reference="By hand")
    judge = judge_make(strategy="rouge_l")
    response = admin.post(reverse(ADD), sweep_form([judge], dataset, _launch="1"), follow=True)
    assert "have no human-written reference" in response.content.decode()
    assert state_of(Sweep.objects.get()) == "queued"


def test_examples_that_would_be_judged_are_named(admin: Client, dataset: Dataset) -> None:
    shots = [
        {"instruction": f"Write sentence number {k}.", "output_a": "x", "output_b": "y", "verdict": "A"}
        for k in (0, 1, 99)
    ]
    judge = judge_make(endpoint_make(), name="Taught", strategy="fewshot", shots=shots)
    jury = judge_make(name="Many", strategy="jury", members={"a": judge, "b": judge_make()})
    page = admin.post(reverse(ADD), sweep_form([judge, jury], dataset), follow=True).content.decode()
    for name in ("Taught", "Many"):
        assert f"holds 2 of the instructions that &#x27;{name}&#x27; has as worked examples" in page


def test_a_draft_is_changed_and_what_is_no_draft_is_not(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, start=False)
    url = url_of("change", sweep)
    assert admin.get(url).status_code == 200
    other = judge_make(strategy="shortest")
    admin.post(url, sweep_form([other], dataset, name="Better name", orders="original", budget="2.50"))
    sweep.refresh_from_db()
    assert (sweep.name, sweep.orders, sweep.budget) == ("Better name", "original", Decimal("2.50"))
    assert list(sweep.judges.all()) == [other]
    sweep_start(sweep=sweep)
    response = admin.post(url, sweep_form([judge_make(strategy="always_a")], dataset, name="Too late"))
    assert response.url == url_of("progress", sweep)
    sweep.refresh_from_db()
    assert sweep.name == "Better name"
    assert admin.get(url).url == url_of("progress", sweep)


def test_a_draft_launched_between_two_looks(
    admin: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judges.services import sweeps

    sweep = sweep_make([judge_make()], dataset, start=False)
    real = sweeps.draft_update

    def late(**fields: Any) -> Sweep:
        Sweep.objects.update(state=SweepState.QUEUED)
        return real(**fields)

    monkeypatch.setattr("judges.admin.sweeps.draft_update", late)
    response = admin.post(url_of("change", sweep), sweep_form([judge_make(strategy="random")], dataset))
    assert "launched in the meantime" in response.content.decode()


# --- which items, how, and up to where ----------------------------------------------------------------------------


def test_every_setting_is_kept_and_offered_again(admin: Client, dataset: Dataset) -> None:
    settings = {
        "orders": "random",
        "seed": "7",
        "samples": "3",
        "categories": ["Brainstorm"],
        "subsets": ["Adversarial"],
        "sample_size": "2",
        "budget": "1.50",
        "budget_tokens": "90000",
        "budget_minutes": "30",
        "priority": "-2",
        "stop_percent": "25",
    }
    admin.post(reverse(ADD), sweep_form([judge_make()], dataset, **settings))
    sweep = Sweep.objects.get()
    kept = {name: getattr(sweep, name) for name in settings if name != "stop_percent"}
    assert kept == {
        "orders": "random",
        "seed": 7,
        "samples": 3,
        "categories": ["Brainstorm"],
        "subsets": ["Adversarial"],
        "sample_size": 2,
        "budget": Decimal("1.50"),
        "budget_tokens": 90_000,
        "budget_minutes": 30,
        "priority": -2,
    }
    assert sweep.stop_unparsed == 0.25
    form = admin.get(url_of("change", sweep)).context["form"]
    assert {name: form[name].value() for name in ("seed", "samples", "sample_size", "stop_percent")} == {
        "seed": 7,
        "samples": 3,
        "sample_size": 2,
        "stop_percent": 25,
    }
    assert [(part.name, part.n, chosen) for part, chosen in form.category_choices()] == [
        ("Brainstorm", 2, True),
        ("Rewrite", 1, False),
    ]
    # What was chosen and is not in the datasets stays in sight.
    assert [(part.name, part.n, chosen) for part, chosen in form.subset_choices()] == [
        ("Adversarial", 0, True)
    ]


def test_an_empty_form_has_the_usual_settings(admin: Client, dataset: Dataset) -> None:
    form = admin.get(reverse(ADD)).context["form"]
    assert (form["orders"].value(), form["stop_percent"].value(), form["samples"].value()) == ("both", 50, 1)
    admin.post(reverse(ADD), sweep_form([judge_make()], dataset, stop_percent=""))
    sweep = Sweep.objects.get()
    assert (sweep.stop_unparsed, sweep.seed, sweep.samples, sweep.priority) == (None, 0, 1, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("samples", "0"),
        ("samples", "101"),
        ("sample_size", "0"),
        ("budget_tokens", "-1"),
        ("budget_minutes", "x"),
        ("stop_percent", "101"),
        ("orders", "sideways"),
        ("priority", "99999"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_at_its_field(
    admin: Client, dataset: Dataset, field: str, value: str
) -> None:
    response = admin.post(reverse(ADD), sweep_form([judge_make()], dataset, **{field: value}))
    assert set(response.context["form"].errors) == {field}
    assert not Sweep.objects.exists()


def test_categories_and_subsets_are_those_of_the_datasets_chosen(admin: Client, dataset: Dataset) -> None:
    for number, instruction in enumerate(dataset.instructions.order_by("external_id")):
        instruction.subset = ("Adversarial/Neighbor", "Adversarial/Manual", "")[number]
        instruction.save()
    dataset_make(pairs=2)
    data = sweep_form([], dataset, name="Half", _redraw="slice")
    response = admin.post(reverse(ADD), data)
    form = response.context["form"]
    assert [(part.name, part.n, part.depth) for part, _ in form.subset_choices()] == [
        ("Adversarial", 2, 0),
        ("Adversarial/Manual", 1, 1),
        ("Adversarial/Neighbor", 1, 1),
    ]
    assert {part.name: part.n for part, _ in form.category_choices()} == {"Brainstorm": 2, "Rewrite": 1}
    assert not form.errors
    page = response.content.decode()
    assert f'value="{dataset.pk}" checked' in page
    assert 'value="Half"' in page
    assert not Sweep.objects.exists()
    assert admin.post(reverse(ADD), {"_redraw": "slice", "datasets": ["x", "99"]}).status_code == 200


def test_contestants_stand_apart_and_datasets_say_what_they_hold(admin: Client, dataset: Dataset) -> None:
    judge_make(endpoint_make(), strategy="generate", name="Answers itself")
    dataset.items.filter(external_id="p0").update(kind="rubric")
    bare = Dataset.objects.create(name="bare", title="Bare")
    bare.instructions.create(external_id="i", text="Write.")
    response = admin.get(reverse(ADD))
    page = response.content.decode()
    for words in (
        "Contestants (generate responses)",
        "2 pairs, 1 response to rate",
        "nothing to judge yet",
    ):
        assert words in page
    groups = dict(response.context["form"].judge_choices())
    assert [choice.name for choice, _ in groups["Contestants (generate responses)"]] == ["Answers itself"]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_at_the_same_moment_launches_one_sweep() -> None:
    user, judge, dataset = user_make(role=Role.ADMINISTRATOR), judge_make(), dataset_make(pairs=2)

    def send(each: Client) -> str:
        return each.post(reverse(ADD), sweep_form([judge], dataset, _launch="1")).url

    places = set(all_at_once(send, browsers_of(user, 4)))
    sweep = Sweep.objects.get()
    assert places == {url_of("progress", sweep)}
    assert (sweep.state, SweepRun.objects.count()) == ("queued", 1)
