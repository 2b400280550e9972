"""Prompts in the admin: read, tried on an item, saved as new versions."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotation.models import Item, Role
from judges.models import Judge, ModelRequest, PromptText
from judges.selectors.items import item_views
from judges.services.judges import judge_create
from judges.services.prompts import prompt_save
from judges.strategies.prompts import load_prompt, prompt_names
from judges.strategies.spec import JudgeSpec, build_strategy
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.judges.props import endpoint_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db

ADD = "admin:judges_prompttext_add"
PREVIEW = "admin:judges_prompttext_preview"
HTMX = {"HX-Request": "true"}
BASE = load_prompt("vanilla.v1").source
CHANGED = BASE.replace("better", "preferable", 1)


def prompt_form(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "pairwise",
        "based_on": "vanilla.v1",
        "name": "vanilla",
        "source": CHANGED.replace("\n", "\r\n"),
        "notes": "Another word.",
    } | fields


def page_of(name: str, kind: str = "pairwise") -> str:
    return reverse("admin:judges_prompttext_prompt", args=[kind, name])


def next_version(stem: str) -> int:
    return 1 + max(int(name.rpartition(".v")[2]) for name in prompt_names() if name.startswith(f"{stem}."))


# --- the list and the page ----------------------------------------------------------------------------------------


def test_the_list_has_files_and_rows_by_kind(admin: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(6):
        prompt_save(kind="pairwise", name="vanilla", source=f"{CHANGED}{number}\n", based_on="vanilla.v1")
    prompt_save(kind="rubric", name="mine", source="# user\n{{instruction}}\n")
    with django_assert_max_num_queries(6):
        page = admin.get(reverse("admin:judges_prompttext_changelist")).content.decode()
    for words in ("Pairwise comparison", "Rubric rating", "Written here", "The project&#x27;s", ">mine</a>"):
        assert words in page.replace("Built-in", "The project&#x27;s")
    for name in prompt_names("pairwise"):
        assert page_of(name) in page


def test_the_page_of_a_prompt_shows_its_text_its_judges_and_what_changed(admin: Client) -> None:
    row = prompt_save(
        kind="pairwise", name="vanilla", source=CHANGED, based_on="vanilla.v1", notes="Why not?"
    )
    judge_create(name="Uses it", strategy="vanilla", endpoint=endpoint_make(), model="m", prompt=str(row))
    page = admin.get(page_of(str(row))).content.decode()
    for words in ("Why not?", "Uses it", "What changed since vanilla.v1", "preferable", row.sha[:12]):
        assert words in page
    assert "no judge yet" in admin.get(page_of("vanilla.v1")).content.decode()


def test_a_judge_that_uses_it_in_a_step_or_a_member_is_named(admin: Client) -> None:
    row = prompt_save(kind="pairwise", name="mine", source=CHANGED, based_on="vanilla.v1")
    one = judge_create(name="One", strategy="vanilla", endpoint=endpoint_make(), model="m", prompt="mine.v1")
    judge_create(name="Jury", strategy="jury", members={"a": one})
    page = admin.get(page_of(str(row))).content.decode()
    assert ">One</a>" in page
    assert ">Jury</a>" in page


@pytest.mark.parametrize(
    "name", ["nothing.v1", "vanilla.v99", "vanilla", "..v1", "vanilla.v²", "vanilla.v99999999999"]
)
def test_a_prompt_that_is_not_there(admin: Client, name: str) -> None:
    assert admin.get(page_of(name)).status_code == 404
    assert admin.get(page_of("vanilla.v1", kind="tarot")).status_code == 404


def test_the_number_of_a_row_leads_to_its_name(admin: Client) -> None:
    row = prompt_save(kind="pairwise", name="mine", source=CHANGED, based_on="vanilla.v1")
    url = reverse("admin:judges_prompttext_change", args=[row.pk])
    assert admin.get(url).url == page_of("mine.v1")
    assert admin.get(reverse("admin:judges_prompttext_change", args=[99])).status_code == 404
    assert admin.post(reverse("admin:judges_prompttext_delete", args=[row.pk])).status_code == 403


# --- a new version ------------------------------------------------------------------------------------------------


def test_a_new_version_begins_with_the_text_of_the_old_one(admin: Client) -> None:
    response = admin.get(reverse(ADD), {"kind": "pairwise", "base": "vanilla.v1"})
    assert response.context["form"]["source"].value() == BASE
    assert response.context["form"]["name"].value() == "vanilla"
    page = response.content.decode()
    assert "{{name}}" in page
    assert "<code>output_a</code>" in page
    # Nothing to begin with is a beginning too.
    assert admin.get(reverse(ADD), {"kind": "nonsense", "base": "x"}).status_code == 200


def test_a_new_version_is_saved_with_who_and_why(admin: Client) -> None:
    number = next_version("vanilla")
    response = admin.post(reverse(ADD), prompt_form())
    row = PromptText.objects.get()
    assert response.url == page_of(f"vanilla.v{number}")
    assert (row.version, row.source, row.based_on, row.notes) == (
        number,
        CHANGED,
        "vanilla.v1",
        "Another word.",
    )
    assert row.created_by is not None
    admin.post(reverse(ADD), prompt_form(source=f"{CHANGED}More.\n", based_on=str(row)))
    assert PromptText.objects.filter(version=number + 1, based_on=str(row)).exists()
    admin.post(reverse(ADD), prompt_form(name="other"))
    assert PromptText.objects.get(name="other").version == 1


def test_the_same_text_twice_makes_one_version(admin: Client) -> None:
    for _ in range(2):
        assert admin.post(reverse(ADD), prompt_form()).status_code == 302
    assert PromptText.objects.count() == 1
    response = admin.post(reverse(ADD), prompt_form(source=BASE))
    assert "is 'vanilla.v1' unchanged" in "".join(response.context["form"].errors["source"]).replace(
        "&#x27;", "'"
    )


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        (
            {"source": BASE.replace("{{instruction}}", "{{instructions}}")},
            "source",
            "no variable {{instructions}}",
        ),
        ({"source": BASE.replace("{{/tie}}", "", 1)}, "source", "has no end"),
        ({"source": "Which is better?"}, "source", "no section"),
        ({"source": ""}, "source", "required"),
        ({"name": "Two words"}, "name", "Lowercase letters"),
        ({"name": ""}, "name", "required"),
    ],
)
def test_what_cannot_be_a_prompt_is_said_at_its_field(
    admin: Client, fields: dict[str, str], field: str, words: str
) -> None:
    response = admin.post(reverse(ADD), prompt_form(**fields))
    assert response.status_code == 200
    assert words in " ".join(response.context["form"].errors[field])
    assert not PromptText.objects.exists()


def test_an_unknown_kind_is_refused_by_the_service() -> None:
    with pytest.raises(ValidationError, match="no prompts for 'tarot'"):
        prompt_save(kind="tarot", name="x", source=CHANGED)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_versions_saved_at_the_same_moment_get_numbers_of_their_own() -> None:
    texts = [CHANGED, f"{CHANGED}One.\n", f"{CHANGED}Two.\n", CHANGED]
    user = user_make(role=Role.ADMINISTRATOR)

    def send(sent: tuple[Client, str]) -> int:
        each, text = sent
        return each.post(reverse(ADD), prompt_form(name="mine", source=text)).status_code

    assert all_at_once(send, [*zip(browsers_of(user, 4), texts, strict=True)]) == [302] * 4
    rows = PromptText.objects.order_by("version")
    assert [row.version for row in rows] == [1, 2, 3]
    assert {row.source for row in rows} == set(texts)


# --- the preview --------------------------------------------------------------------------------------------------


def messages_of(response: Any) -> list[tuple[str, str]]:
    return [message for request in response.context["shown"].requests for message in request.messages]


@pytest.mark.parametrize("flags", [{}, {"allow_tie": "on"}, {"use_reference": "on", "swapped": "on"}])
def test_the_preview_shows_the_messages_to_the_letter(admin: Client, flags: dict[str, str]) -> None:
    dataset = dataset_make(pairs=3)
    dataset.instructions.update(reference="By a person.")
    data = prompt_form(dataset=dataset.pk, item="p1", strategy="vanilla", **flags)
    response = admin.post(reverse(PREVIEW), data, headers=HTMX)
    page = response.content.decode()
    assert "<html" not in page
    spec = JudgeSpec(
        strategy="vanilla",
        backend="openai",
        endpoint="http://x/v1",
        model="m",
        prompt="mine.v1",
        prompt_source=CHANGED,
        allow_tie="allow_tie" in flags,
        use_reference="use_reference" in flags,
    )
    item = next(view for view in item_views(dataset_id=dataset.pk) if view.external_id == "p1")
    if "swapped" in flags:
        from judges.strategies.presentation import view_presented

        item = view_presented(item, 1)
    asked: Any = next(build_strategy(spec)(item))
    assert messages_of(response) == list(asked.messages)
    assert "What changes since vanilla.v1" in page
    assert not PromptText.objects.exists()
    assert not ModelRequest.objects.exists()


def test_the_preview_of_a_strategy_with_several_steps_shows_them_all(admin: Client) -> None:
    dataset = dataset_make(pairs=2)
    data = {"kind": "pairwise", "based_on": "metrics.v1", "strategy": "metrics", "dataset": dataset.pk}
    response = admin.post(reverse(PREVIEW), data, headers=HTMX)
    requests = response.context["shown"].requests
    assert len(requests) == 2
    assert "⟦answer to request 1⟧" in requests[1].messages[-1][1]


def test_a_preview_without_a_script_is_a_page(admin: Client) -> None:
    dataset_make(pairs=2)
    page = admin.post(reverse(PREVIEW), prompt_form()).content.decode()
    assert "<html" in page
    assert "Nothing was sent" in page
    response = admin.post(reverse(ADD), prompt_form(_preview="1", notes="Half a thought"))
    assert response.status_code == 200
    assert response.context["form"]["notes"].value() == "Half a thought"
    assert "Request 1" in response.content.decode()
    assert not PromptText.objects.exists()


def test_a_random_item_is_one_of_the_dataset(admin: Client) -> None:
    dataset = dataset_make(pairs=3)
    response = admin.post(reverse(PREVIEW), prompt_form(dataset=dataset.pk, _random="1"), headers=HTMX)
    assert response.context["item"].external_id in {"p0", "p1", "p2"}


def test_a_preview_that_cannot_be_says_why(admin: Client) -> None:
    empty = admin.post(reverse(PREVIEW), prompt_form(), headers=HTMX).content.decode()
    assert "There is no such item" in empty
    dataset = dataset_make(pairs=1)
    wrong = BASE.replace("{{instruction}}", "{{instructions}}")
    page = admin.post(reverse(PREVIEW), prompt_form(source=wrong, dataset=dataset.pk), headers=HTMX)
    assert "no variable {{instructions}}" in page.content.decode()
    foreign = BASE.replace("{{instruction}}", "{{instruction}} {{metrics}}", 1)
    data = prompt_form(source=foreign, dataset=dataset.pk, strategy="vanilla")
    page = admin.post(reverse(PREVIEW), data, headers=HTMX)
    assert "{{metrics}} has no value with the strategy" in page.content.decode()
    data = prompt_form(dataset=dataset.pk, use_reference="on")
    assert "has no reference" in admin.post(reverse(PREVIEW), data, headers=HTMX).content.decode()


def test_guidelines_stand_in_the_preview_and_hostile_text_stays_text(admin: Client) -> None:
    dataset = dataset_make(pairs=1)
    Item.objects.get(dataset=dataset).instruction.__class__.objects.update(text="<script>alert(1)</script>")
    study = study_make(pairs=1, guidelines="Mind <b>the</b> step.")
    data = {"kind": "pairwise", "based_on": "vanilla.v2", "dataset": dataset.pk, "guidelines": study.pk}
    page = admin.post(reverse(PREVIEW), data, headers=HTMX).content.decode()
    assert "Mind &lt;b&gt;the&lt;/b&gt; step." in page
    assert "<script>alert" not in page


def test_guidelines_of_a_private_study_are_neither_offered_nor_shown(admin: Client) -> None:
    shown = dataset_make(pairs=1)
    study = study_make(
        dataset=dataset_make(pairs=1, split="private"), title="Behind closed doors", guidelines="Our secret."
    )
    page = admin.get(reverse("admin:judges_prompttext_prompt", args=["pairwise", "vanilla.v2"])).content
    assert b"Behind closed doors" not in page
    data = {"kind": "pairwise", "based_on": "vanilla.v2", "dataset": shown.pk, "guidelines": study.pk}
    assert "Our secret." not in admin.post(reverse(PREVIEW), data, headers=HTMX).content.decode()


# --- who ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [None, Role.RESEARCHER])
def test_prompts_are_for_administrators(client: Client, role: str | None) -> None:
    if role is not None:
        client.force_login(user_make(role=role))
    pages = [reverse("admin:judges_prompttext_changelist"), reverse(ADD), page_of("vanilla.v1")]
    answers = [
        *(client.get(url) for url in pages),
        *(client.post(url, prompt_form()) for url in (reverse(ADD), reverse(PREVIEW))),
    ]
    for answer in answers:
        assert answer.status_code == 302
        assert "login" in answer.url
    if role is not None:
        assert client.get(pages[0], follow=True).status_code == 403
    assert not PromptText.objects.exists()
    assert not Judge.objects.exists()


def test_the_preview_is_a_post(admin: Client) -> None:
    assert admin.get(reverse(PREVIEW)).status_code == 405
    assert admin.post(page_of("vanilla.v1")).status_code == 405
