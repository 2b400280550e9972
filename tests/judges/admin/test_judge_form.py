"""The form of a judge by its strategy: drawn anew, guidelines and examples of a study, other models, members."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import QualificationQuestion, Role, Study
from annotation.models.qualification import QuestionPart
from judges.models import BackendKind, Judge, Judgment
from judges.services.judges import judge_create
from judges.services.prompts import prompt_save
from judges.strategies.prompts import load_prompt
from judges.strategies.registry import STRATEGIES
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.judges.admin_forms import errors, judge_form
from tests.judges.props import (
    endpoint_make,
    judge_make,
    kinds_dataset_make,
    run,
    run_instant,
    sweep_make,
)
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db

ADD = "admin:judges_judge_add"


# --- drawn anew ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_the_form_of_every_strategy_can_be_drawn(admin: Client, strategy: str) -> None:
    response = admin.post(
        reverse(ADD), judge_form(strategy=strategy, settings_of="vanilla", _redraw="strategy")
    )
    assert response.status_code == 200
    form, info = response.context["form"], STRATEGIES[strategy]
    assert not form.errors
    assert ("model" in form.fields) == (info.needs_model and info.main_model)
    assert {f"{strategy}__{name}" for name in info.params} <= set(form.fields)
    page = response.content.decode()
    assert f'name="settings_of" value="{strategy}"' in page
    assert page.count('id="judge-settings"') == 1
    assert not Judge.objects.exists()


def test_a_strategy_that_was_changed_without_its_settings_is_shown_and_not_saved(admin: Client) -> None:
    data = judge_form(strategy="random", settings_of="vanilla", name="Typed")
    response = admin.post(reverse(ADD), data)
    assert response.status_code == 200
    assert response.context["form"]["name"].value() == "Typed"
    assert response.context["form"]["random__seed"].value() == "0"
    assert not Judge.objects.exists()
    admin.post(reverse(ADD), data | {"settings_of": "random", "random__seed": "4"})
    assert Judge.objects.get().spec["params"]["seed"] == 4


def test_drawing_anew_keeps_what_was_typed_and_fills_in_defaults(admin: Client) -> None:
    data = judge_form(strategy="vanilla", settings_of="longest", model="typed before", notes="n")
    del data["temperature"], data["max_tokens"]
    form = admin.post(reverse(ADD), data).context["form"]
    assert form["model"].value() == "typed before"
    assert (form["max_tokens"].value(), form["temperature"].value(), form["notes"].value()) == (
        "1024",
        "0.0",
        "n",
    )


def test_an_unknown_strategy_draws_the_list(admin: Client) -> None:
    response = admin.post(reverse(ADD), judge_form(strategy="tarot", _redraw="strategy"))
    assert response.status_code == 200
    assert response.content.decode().count('name="strategy"') == len(STRATEGIES)


def test_the_form_takes_few_queries(admin: Client, django_assert_max_num_queries: Any) -> None:
    endpoint = endpoint_make()
    for number in range(8):
        judge_make(endpoint, model=f"m{number}")
        study_make(pairs=1)
    with django_assert_max_num_queries(12):
        admin.get(reverse(ADD))
    with django_assert_max_num_queries(12):
        admin.post(reverse(ADD), judge_form(strategy="jury", settings_of="vanilla", members_rows="12"))


# --- settings -----------------------------------------------------------------------------------------------------


def test_settings_outside_their_bounds_are_refused_at_their_field(admin: Client) -> None:
    data = judge_form(strategy="jury", jury__quorum="0", jury__combine="loudest")
    assert set(errors(admin.post(reverse(ADD), data))) >= {"jury__quorum", "jury__combine"}


# --- words --------------------------------------------------------------------------------------------------------


def test_a_prompt_that_was_written_here_is_kept_in_the_judge(admin: Client) -> None:
    text = load_prompt("vanilla.v1").source.replace("better", "preferable", 1)
    row = prompt_save(kind="pairwise", name="mine", source=text, based_on="vanilla.v1")
    data = judge_form(endpoint=endpoint_make().pk, model="m", prompt="mine.v1")
    admin.post(reverse(ADD), data)
    judge = Judge.objects.get()
    assert (judge.spec["prompt"], judge.spec["prompt_sha"]) == ("mine.v1", row.sha)
    assert judge.spec["prompt_source"] == text
    # And a copy of it can be changed in another place.
    url = f"{reverse(ADD)}?copy={judge.pk}"
    assert admin.get(url).context["form"]["prompt"].value() == "mine.v1"
    admin.post(url, data | {"name": "Second", "temperature": "1"})
    assert Judge.objects.get(name="Second").spec["prompt_source"] == text


def test_guidelines_of_a_study_are_taken_as_they_stand(admin: Client) -> None:
    study = study_make(pairs=1, title="Pilot", guidelines="First the instruction.")
    strategy = "vanilla"
    data = judge_form(
        strategy=strategy, endpoint=endpoint_make().pk, model="m", guidelines_from=f"study:{study.pk}"
    )
    drawn = admin.post(reverse(ADD), data | {"_redraw": "guidelines"}).content.decode()
    assert "Pilot, version 1" in drawn
    assert "First the instruction." in drawn
    admin.post(reverse(ADD), data)
    judge = Judge.objects.get()
    Study.objects.update(guidelines="Something else.")
    assert judge.spec["guidelines"] == "First the instruction."
    url = reverse("admin:judges_judge_change", args=[judge.pk])
    assert admin.get(url).context["form"]["guidelines_from"].value() == "keep"
    admin.post(url, data | {"guidelines_from": "keep", "name": "Renamed"})
    judge.refresh_from_db()
    assert (judge.name, judge.spec["guidelines"]) == ("Renamed", "First the instruction.")


def test_examples_are_drawn_from_known_answers_with_a_seed(admin: Client) -> None:
    dataset = dataset_make(pairs=9)
    strategy = "fewshot"
    data = judge_form(
        strategy=strategy,
        endpoint=endpoint_make().pk,
        model="m",
        shots_from=f"dataset:{dataset.pk}",
        shots_n="4",
        shots_seed="1",
    )
    drawn = admin.post(reverse(ADD), data | {"_redraw": "shots"})
    assert "4 examples" in drawn.content.decode()
    admin.post(reverse(ADD), data)
    shots = Judge.objects.get().spec["shots"]
    assert shots == drawn.context["form"].shots_shown
    # Neither place is right more often, so that the examples teach nothing about places.
    assert [shot["verdict"] for shot in shots] == ["A", "B", "A", "B"]
    for shot in shots:
        number = shot["instruction"].rpartition(" ")[2].rstrip(".")
        right = shot["output_a"] if shot["verdict"] == "A" else shot["output_b"]
        assert right == f"Response {int(number) % 2} to pair {number}."
    admin.post(reverse(ADD), data | {"name": "Other", "shots_seed": "2"})
    assert Judge.objects.get(name="Other").spec["shots"] != shots


def test_training_of_a_study_serves_as_examples_with_its_explanations(admin: Client) -> None:
    study = study_make(pairs=4, title="Pilot")
    for place, item in enumerate(study.dataset.items.order_by("position")[:2]):
        item.explanation = f"Because of {place}."
        item.save()
        QualificationQuestion.objects.create(
            study=study, item=item, part=QuestionPart.TRAINING, position=place
        )
    data = judge_form(
        strategy="fewshot", endpoint=endpoint_make().pk, model="m", shots_from=f"study:{study.pk}"
    )
    assert admin.post(reverse(ADD), data).status_code == 302
    shots = Judge.objects.get().spec["shots"]
    assert [shot["reason"] for shot in shots] == ["Because of 0.", "Because of 1."]
    assert shots[0]["output_a"] == "Response 0 to pair 0."


def test_private_datasets_give_no_examples(admin: Client) -> None:
    private = dataset_make(pairs=3, split="private", name="closed")
    study = study_make(dataset=private)
    item = private.items.first()
    assert item is not None
    QualificationQuestion.objects.create(study=study, item=item, part=QuestionPart.TRAINING, position=0)
    for source in (f"dataset:{private.pk}", f"study:{study.pk}"):
        data = judge_form(strategy="fewshot", endpoint=endpoint_make().pk, model="m", shots_from=source)
        response = admin.post(reverse(ADD), data)
        assert "shots_from" in errors(response)
        assert "Response 0 to pair" not in response.content.decode()


# --- other models and members -------------------------------------------------------------------------------------


def test_models_of_systems_are_rows_and_more_rows_lose_nothing(admin: Client) -> None:
    first, second = endpoint_make(name="one"), endpoint_make(name="two")
    data = judge_form(
        strategy="perplexity_reference",
        roles_rows="2",
        role0_name="system-a",
        role0_endpoint=first.pk,
        role0_model="a",
        role1_name="system-b",
        role1_endpoint=second.pk,
        role1_model="",
    )
    assert errors(admin.post(reverse(ADD), data)) == {"role1_model": ["Name a model."]}
    form = admin.post(reverse(ADD), data | {"_redraw": "roles"}).context["form"]
    assert len(form.roles) == 5
    assert form["role1_name"].value() == "system-b"
    admin.post(reverse(ADD), data | {"role1_model": "b"})
    judge = Judge.objects.get()
    assert {row.role: (row.endpoint.name, row.model) for row in judge.models.all()} == {
        "system-a": ("one", "a"),
        "system-b": ("two", "b"),
    }
    form = admin.get(reverse("admin:judges_judge_change", args=[judge.pk])).context["form"]
    assert [fields[0].value() for _, fields in form.roles] == ["system-a", "system-b", "", ""]


def test_a_role_without_any_model_is_refused(admin: Client) -> None:
    response = admin.post(reverse(ADD), judge_form(strategy="perplexity_reference"))
    assert "name them" in errors(response)["__all__"][0]


def test_a_jury_and_a_composite_are_made_of_judges(admin: Client) -> None:
    one, two = judge_make(endpoint_make(), name="One"), judge_make(name="Two")
    members = {"members_rows": "3", "member0_judge": one.pk, "member1_judge": two.pk}
    admin.post(reverse(ADD), judge_form(name="Jury", strategy="jury", jury__quorum="2", **members))
    jury = Judge.objects.get(name="Jury")
    assert jury.backend == BackendKind.COMPOSED
    assert {row.key: row.member for row in jury.memberships.all()} == {"One": one, "Two": two}
    keys = {"member0_key": "Brainstorm", "member1_key": "*"}
    admin.post(reverse(ADD), judge_form(name="By category", strategy="composite", **members, **keys))
    composite = Judge.objects.get(name="By category")
    assert {row.key: row.member for row in composite.memberships.all()} == {"Brainstorm": one, "*": two}
    dataset_make(pairs=2)
    response = admin.get(reverse("admin:judges_judge_change", args=[composite.pk]))
    assert '<option value="Rewrite"></option>' in response.content.decode()
    page = response.context["form"]
    assert [fields[0].value() for fields in page.members] == ["*", "Brainstorm", ""]


def test_members_that_cannot_be_are_refused_in_their_row(admin: Client) -> None:
    judge = judge_make(name="One")
    data = judge_form(
        strategy="jury", members_rows="3", member0_judge=judge.pk, member1_judge=judge.pk, member2_key="alone"
    )
    assert errors(admin.post(reverse(ADD), data)) == {
        "member1_key": ["'One' stands in a row above."],
        "member2_judge": ["Choose a judge."],
    }
    assert "member0_judge" in errors(
        admin.post(reverse(ADD), judge_form(strategy="jury", member0_judge="99"))
    )
    assert "name them" in errors(admin.post(reverse(ADD), judge_form(strategy="jury")))["__all__"][0]
    broken = judge_form(strategy="composite", member0_key="Code//Python", member0_judge=judge.pk)
    assert "a path has a name on each side" in errors(admin.post(reverse(ADD), broken))["__all__"][0]
    bare = judge_form(strategy="composite", member0_key=" ", member0_judge=judge.pk)
    assert errors(admin.post(reverse(ADD), bare)) == {
        "member0_key": ["Name a category, or * for all that have no judge of their own."]
    }


def test_a_composite_by_subset_is_made_copied_and_shown(admin: Client) -> None:
    one, two = judge_make(endpoint_make(), name="One"), judge_make(name="Two")
    kinds_dataset_make(2)
    rows = {"members_rows": "3", "member0_judge": one.pk, "member1_judge": two.pk}
    keys = {"member0_key": "Adversarial/Neighbor", "member1_key": "*"}
    data = judge_form(name="By subset", strategy="composite", composite__by="subset", **rows, **keys)
    redrawn = admin.post(reverse(ADD), data | {"_redraw": "by"})
    for proposed in ("Adversarial", "Adversarial/Neighbor", "Natural"):
        assert f'<option value="{proposed}"></option>' in redrawn.content.decode()
    assert not Judge.objects.filter(strategy="composite").exists()
    admin.post(reverse(ADD), data)
    composite = Judge.objects.get(name="By subset")
    assert composite.spec["params"] == {"by": "subset"}
    assert set(composite.spec["members"]) == {"Adversarial/Neighbor", "*"}
    assert [row.role for row in composite.models.all()] == ["Adversarial/Neighbor/judge"]
    form = admin.get(f"{reverse(ADD)}?copy={composite.pk}").context["form"]
    assert form["composite__by"].value() == "subset"
    assert [fields[0].value() for fields in form.members] == ["*", "Adversarial/Neighbor", ""]
    by_name = judge_form(name="Other", strategy="composite", composite__by="name", **rows, **keys)
    assert "composite__by" in errors(admin.post(reverse(ADD), by_name))


# --- the page of a judge that has judged --------------------------------------------------------------------------


def test_the_page_of_a_judge_shows_what_it_is_and_where_it_judged(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    dataset = dataset_make(pairs=2, name="small")
    one, two = judge_make(name="One"), judge_make(name="Two", strategy="shortest")
    jury = judge_create(name="Jury", strategy="jury", members={"long": one, "short": two})
    sweep_make([jury, one], dataset)
    run()
    with django_assert_max_num_queries(25):
        page = admin.get(reverse("admin:judges_judge_change", args=[jury.pk])).content.decode()
    assert jury.fingerprint in page
    assert ">long</th>" in page
    assert f"?judge={jury.pk}&amp;dataset={dataset.pk}" in page
    page = admin.get(reverse("admin:judges_judge_change", args=[one.pk])).content.decode()
    assert "A member of" in page


# --- twice --------------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_at_the_same_moment_makes_one_judge() -> None:
    user, endpoint = user_make(role=Role.ADMINISTRATOR), endpoint_make()

    def send(each: Client) -> int:
        return each.post(reverse(ADD), judge_form(endpoint=endpoint.pk, model="m")).status_code

    statuses = sorted(all_at_once(send, browsers_of(user, 4)))
    assert statuses == [200, 200, 200, 302]
    assert Judge.objects.count() == 1


# --- a format of one's own ----------------------------------------------------------------------------------------

OWN_PROMPT = "# user\n{{instruction}}\n{{output_a}}\n{{output_b}}\nEnd with winner=left or winner=right.\n"


def test_a_prompt_and_how_it_is_read_make_a_judge_without_code(admin: Client) -> None:
    prompt_save(kind="pairwise", name="sides", source=OWN_PROMPT)
    data = judge_form(
        strategy="own",
        settings_of="own",
        name="Sides",
        endpoint=endpoint_make().pk,
        model="m",
        prompt="sides.v1",
        own__read="pattern",
        own__pattern=r"winner=(\w+)",
        own__words="A: left; B: right",
        own__reasons="on",
    )
    wrong = errors(admin.post(reverse(ADD), data | {"own__pattern": "("}))
    assert "not a regular expression of RE2" in wrong["__all__"][0]
    wrong = errors(admin.post(reverse(ADD), data | {"prompt": "rating.v1"}))
    assert "there is no" in wrong["prompt"][0]
    assert not Judge.objects.exists()

    admin.post(reverse(ADD), data)
    judge = Judge.objects.get()
    assert judge.spec["prompt_source"] == OWN_PROMPT
    page = admin.get(reverse("admin:judges_judge_change", args=[judge.pk])).content.decode()
    assert "winner=(" in page
    sweep_make([judge], dataset_make(pairs=2))
    run_instant("Left is longer, so winner=right")
    said = Judgment.objects.values_list("order", "status", "choice")
    assert sorted(said) == [(0, "parsed", 2)] * 2 + [(1, "parsed", 1)] * 2


def test_a_published_format_is_chosen_like_any_strategy(admin: Client) -> None:
    data = judge_form(
        strategy="mt_bench_pair", settings_of="mt_bench_pair", endpoint=endpoint_make().pk, model="m"
    )
    drawn = data | {"settings_of": "vanilla", "_redraw": "strategy"}
    fields = admin.post(reverse(ADD), drawn).context["form"]
    assert fields["mt_bench_pair__read"].value() == "words"
    admin.post(reverse(ADD), data | {"mt_bench_pair__read": "words", "mt_bench_pair__reasons": "on"})
    assert Judge.objects.get().spec["prompt"] == "mt_bench_pair.v1"


# --- models that think --------------------------------------------------------------------------------------------


def test_a_thinking_judge_is_made_shown_and_copied(admin: Client) -> None:
    endpoint = endpoint_make(options={"thinking_form": "anthropic"})
    asked = {"temperature": "", "max_tokens": "", "max_completion_tokens": "9000", "thinking_budget": "4096"}
    admin.post(reverse(ADD), judge_form(endpoint=endpoint.pk, model="m", **asked))
    judge = Judge.objects.get()
    assert judge.spec["decoding"] == {
        "temperature": None, "max_tokens": None, "top_p": None, "seed": None, "stop": [],
        "thinking_budget": 4096, "max_completion_tokens": 9000,
    }  # fmt: skip
    assert (
        "at most 4096 of them for thoughts"
        in admin.get(reverse("judges:judge-detail", args=[judge.pk])).content.decode()
    )
    form = admin.get(f"{reverse(ADD)}?copy={judge.pk}").context["form"]
    assert form["thinking_budget"].value() == 4096
    assert form["reasoning_effort"].value() == ""


def test_what_a_provider_does_not_take_of_a_thinking_judge_stands_at_its_field(admin: Client) -> None:
    def refused(form: str, **asked: str) -> dict[str, list[str]]:
        endpoint = endpoint_make(options={"thinking_form": form})
        return errors(admin.post(reverse(ADD), judge_form(endpoint=endpoint.pk, model="m", **asked)))

    assert set(refused("openai", reasoning_effort="low")) == {"temperature"}
    assert set(refused("anthropic", temperature="", thinking_budget="4096")) == {"thinking_budget"}
    assert set(refused("vllm", reasoning_effort="max")) == {"reasoning_effort"}
    assert set(refused("openai", max_completion_tokens="50")) == {"max_completion_tokens"}
    assert not Judge.objects.exists()
