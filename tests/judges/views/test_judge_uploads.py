"""A judge from somebody's files: sent, shown, added once, and seen by whoever sent it."""

import io
import json
import zipfile
from itertools import pairwise

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from judges.models import Endpoint, Judge, JudgeUpload
from judges.services.judge_imports import judge_document
from judges.services.judge_uploads import MOST_BYTES, MOST_KEPT
from tests.annotation.cast import client_of, text_of
from tests.judges.props import endpoint_make, judge_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db
PAGE = "/judges/upload/"
CONFIG = """
basic:
  prompt_template: "basic/prompt.txt"
  completions_kwargs: {model_name: "judge-y", max_tokens: 50, temperature: 0, seeds: 3}
  completion_parser_kwargs:
    outputs_to_match: {1: 'Output \\(a\\)', 2: 'Output \\(b\\)'}
"""
PROMPT = "<|im_start|>user\nWhich suits {instruction}?\n(a) {output_1}\n(b) {output_2}\n<|im_end|>"
STEP = {
    "model_name": "judge-x",
    "openai_kwargs": {"max_tokens": 50, "temperature": 0.0},
    "parsing": {"1": "a", "2": "b"},
    "prompt": "comparison/Plain.txt",
}
LLMBAR = {
    "prompts/comparison/Plain.txt": PROMPT.replace("{instruction}", "{input}"),
    "config/X/Plain.json": json.dumps([STEP]),
    "config/Y/Plain.json": json.dumps([STEP | {"model_name": "judge-z"}]),
    "config/Z/Broken.json": json.dumps([STEP | {"surprise": 1}]),
    "Dataset/result.json": "[1, 2]",
}
MT_BENCH = json.dumps(
    {
        "name": "pair-v9",
        "type": "pairwise",
        "system_prompt": "Judge.",
        "prompt_template": "{question} {answer_a} {answer_b}",
        "output_format": "[[A]]",
    }
)
ARENA = json.dumps(
    {
        "bench_name": "arena",
        "judge_model": "judge-a",
        "system_prompt": "Judge.",
        "prompt_template": ["{QUESTION} {ANSWER_A} {ANSWER_B}"],
        "regex_pattern": r"\[\[([AB<>=]+)\]\]",
    }
)
OWN = "name: Rules at home\nstrategy: rules\nmodel: small\nendpoint: local\n"
ALIASES = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{here}: &{here} [{', '.join([f'*{above}'] * 8)}]\n" for above, here in pairwise("abcdefgh")
)
"""Eight lines that stand for two million values."""
FOLDER = {"basic/configs.yaml": CONFIG, "basic/prompt.txt": PROMPT}
ALPACA = (("configs.yaml", CONFIG), ("prompt.txt", PROMPT))


@pytest.fixture
def endpoint():
    return endpoint_make(name="local")


def zipped(files):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return held.getvalue()


def sent(user, *files, follow=True):
    """Send files of the form (name, text or bytes)."""
    uploads = [
        SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text) for name, text in files
    ]
    return client_of(user).post(PAGE, {"judge_files": uploads}, follow=follow)


def upload_of(user, *files):
    sent(user, *files)
    return JudgeUpload.objects.filter(user=user).first()


def shown(user, upload, **chosen):
    return client_of(user).get(reverse("judges:judge-upload", args=[upload.pk]), chosen)


def act(user, upload, action="add", **fields):
    url = reverse("judges:judge-upload-act", args=[upload.pk])
    return client_of(user).post(url, {"action": action, **fields}, follow=True)


def refusals(response):
    return " ".join(response.context["form"].errors["judge_files"])


def test_a_researcher_sends_sees_adds_and_has_a_judge(cast, endpoint):
    page = sent(cast.alice, *ALPACA)
    said = text_of(page)
    assert "AlpacaEval basic" in said
    assert "regex_parser" in said
    assert "temperature 0, at most 50 tokens" in said
    assert "Which suits What is the capital of France?" in said
    assert "'seeds' is not carried over" in said.replace("&#x27;", "'")
    assert "there is local" in said  # it names no address: an endpoint is to be chosen
    assert not Judge.objects.exists()
    upload = JudgeUpload.objects.get()
    page = shown(cast.alice, upload, endpoint="local")
    fingerprint = page.context["read"].spec.fingerprint()
    page = act(cast.alice, upload, endpoint="local", fingerprint=fingerprint)
    judge = Judge.objects.get()
    assert page.redirect_chain[-1][0] == reverse("judges:judge-detail", args=[judge.pk])
    assert page.status_code == 200
    assert (judge.fingerprint, judge.created_by, judge.endpoint) == (fingerprint, cast.alice, endpoint)
    assert "seeds" in judge.notes
    assert judge.name in text_of(client_of(cast.alice).get("/judges/"))
    assert client_of(cast.bob).get(reverse("judges:judge-detail", args=[judge.pk])).status_code == 404
    assert client_of(cast.ann).get(reverse("judges:judge-detail", args=[judge.pk])).status_code == 200


def test_it_is_the_judge_that_the_command_defines(cast, endpoint, tmp_path):
    for name, text in ALPACA:
        (tmp_path / name).write_text(text)
    call_command("import_judge", "alpaca_eval", str(tmp_path), endpoint="local")
    judge = Judge.objects.get()
    upload = upload_of(cast.alice, *ALPACA)
    assert "is exactly this judge" in text_of(shown(cast.alice, upload, endpoint="local"))
    page = act(cast.alice, upload, endpoint="local")
    assert "is this judge already" in text_of(page)
    assert Judge.objects.get() == judge
    # Whoever sent its whole content may see it.
    assert page.context["judge"] == judge


@pytest.mark.parametrize(
    ("files", "name", "model"),
    [
        ((("judge_prompts.jsonl", MT_BENCH + "\n"),), "MT-bench pair-v9", "gpt-4"),
        ((("arena.yaml", ARENA),), "Arena-Hard arena", "judge-a"),
        ((("mine.yaml", OWN),), "Rules at home", "small"),
        ((("alpaca.zip", zipped(FOLDER)),), "AlpacaEval basic", "judge-y"),
    ],
)  # fmt: skip
def test_every_form_is_recognized_by_what_is_in_it(cast, endpoint, files, name, model):
    upload = upload_of(cast.alice, *files)
    page = act(cast.alice, upload, endpoint="local")
    assert page.status_code == 200, text_of(page)
    judge = Judge.objects.get()
    assert (judge.name, judge.model, judge.endpoint) == (name, model, endpoint)


def test_a_file_of_ones_own_may_name_an_endpoint_of_the_site(cast, endpoint):
    act(cast.alice, upload_of(cast.alice, ("mine.yaml", OWN)))
    assert Judge.objects.get().endpoint == endpoint


def test_of_several_judges_one_is_chosen_and_a_bad_one_says_why(cast, endpoint):
    upload = upload_of(cast.alice, ("llmbar.zip", zipped(LLMBAR)))
    assert "These files hold 3 judges" in text_of(shown(cast.alice, upload))
    refused = text_of(shown(cast.alice, upload, evaluator="Z/Broken", endpoint="local"))
    assert "This judge can't be added." in refused
    assert "config/Z/Broken.json, step 1" in refused
    assert "/tmp" not in refused
    assert not act(cast.alice, upload, evaluator="Z/Broken", endpoint="local").context.get("judge")
    for evaluator in ("X/Plain", "Y/Plain"):
        act(cast.alice, upload, evaluator=evaluator, endpoint="local")
    assert set(Judge.objects.values_list("name", "model")) == {
        ("LLMBar X/Plain", "judge-x"),
        ("LLMBar Y/Plain", "judge-z"),
    }
    assert "LLMBar Y/Plain" in text_of(shown(cast.alice, upload))


def test_model_name_and_drawn_order_can_be_chosen(cast, endpoint):
    upload = upload_of(cast.alice, *ALPACA)
    chosen = {"endpoint": "local", "model": "other", "name": "Mine", "drawn_order": "on", "seed": "42"}
    assert "42" in text_of(shown(cast.alice, upload, **chosen))
    act(cast.alice, upload, **chosen)
    judge = Judge.objects.get()
    assert (judge.name, judge.model) == ("Mine", "other")
    assert judge.spec["params"] == {"drawn_order": True, "seed": 42}


def test_an_export_comes_back_with_its_fingerprint(cast, endpoint):
    judge = judge_make(endpoint, strategy="cot", params={"rules": True})
    document = json.dumps(judge_document(judge))
    fingerprint = judge.fingerprint
    judge.delete()
    upload = upload_of(cast.alice, ("judge.json", document))
    page = act(cast.alice, upload, fingerprint=fingerprint)
    assert Judge.objects.get().fingerprint == fingerprint
    assert "it is another judge" not in text_of(page)


def test_another_endpoint_makes_another_judge_and_says_so(cast, endpoint):
    document = json.dumps(judge_document(judge_make(endpoint, strategy="cot", name="Here")))
    endpoint_make("http://127.0.0.1:10/v1", name="there")
    page = act(cast.alice, upload_of(cast.alice, ("judge.json", document)), endpoint="there")
    assert "it is another judge" in text_of(page)
    assert Judge.objects.get(name="Here (2)").endpoint.name == "there"


def test_without_a_fitting_endpoint_it_says_which_is_needed(cast, endpoint):
    judge = judge_make(endpoint, strategy="cot")
    document = json.dumps(judge_document(judge))
    judge.delete()
    Endpoint.objects.all().delete()
    page = shown(cast.alice, upload_of(cast.alice, ("judge.json", document)))
    assert "has no endpoint of the kind" in text_of(page)
    assert page.context["judge_preview"].requests  # the prompt can be read all the same


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ((), "required"),
        ((("judge.json", b"\xff"),), "judge.json: not UTF-8"),
        ((("judge.json", b'{"spec": '),), "judge.json: not JSON"),
        ((("judge.yaml", b"- a"),), "None of these files is one"),
        ((("judge.json", b'{"strategy": "a\\u0000b", "x": "\x00"}'),), "judge.json: expected text"),
        ((("judge.py", b"print()"),), "judge.py: expected a file named"),
        ((("bomb.yaml", ALIASES),), "more than 100,000 values"),
        ((("deep.json", b'{"spec":' + b"[" * 100_000),), "deep.json: not JSON"),
        ((("judge.yaml", b"strategy: longest"), ("judge.yaml", b"strategy: shortest")), "was sent twice"),
        ((("judge.zip", b"PK nonsense"),), "judge.zip: expected a zip archive"),
        ((("judge.zip", zipped({"../judge.yaml": "strategy: longest"})),), "leads out of it"),
        ((("judge.zip", zipped({"judge.py": "1"})),), "expected a file named"),
        ((("judge.zip", zipped({"a.txt": "x" * 4_000_001})),), "holds more than 4,000,000 bytes"),
        ((("a.yaml", b"- a\n" * 80_000),), "at most 300,000 bytes of YAML"),
        ((("a.txt", b"x" * 4_000_001),), "at most 4,000,000 bytes"),
        ((("a.txt", b"x" * (MOST_BYTES + 1)),), "Expected at most 8 MiB"),
    ],
)  # fmt: skip
def test_hostile_and_foreign_files_are_refused_and_leave_nothing(cast, files, said):
    page = sent(cast.alice, *files)
    assert page.status_code == 200
    assert said in refusals(page)
    assert "/tmp" not in refusals(page)
    assert not JudgeUpload.objects.exists()
    assert not Judge.objects.exists()


@pytest.mark.parametrize("path", ["/etc/hostname", "../../etc/hostname", "x/../../../secret.txt"])
def test_a_file_leads_to_no_other_file_of_the_server(cast, endpoint, path, tmp_path):
    own = f"published: {{format: alpaca_eval, path: {path}}}\nmodel: small\nendpoint: local\n"
    upload = upload_of(cast.alice, ("mine.yaml", own))
    assert "expected a path inside the files" in text_of(shown(cast.alice, upload))
    config = CONFIG.replace("basic/prompt.txt", path)
    upload = upload_of(cast.alice, ("configs.yaml", config))
    page = text_of(shown(cast.alice, upload, endpoint="local"))
    assert "there is no file" in page
    act(cast.alice, upload, endpoint="local")
    assert not Judge.objects.exists()


def test_a_regular_expression_without_end_holds_up_no_page(cast, endpoint):
    config = CONFIG.replace("'Output \\(a\\)'", "'(.|.|.|.|.|.|.|.)*Ω'")
    page = shown(cast.alice, upload_of(cast.alice, ("configs.yaml", config), ALPACA[1]), endpoint="local")
    assert page.context["judge_preview"].requests


def test_a_judge_that_changed_since_it_was_shown_is_not_added(cast, endpoint):
    upload = upload_of(cast.alice, *ALPACA)
    fingerprint = shown(cast.alice, upload, endpoint="local").context["read"].spec.fingerprint()
    Endpoint.objects.update(base_url="http://127.0.0.1:11/v1")
    page = act(cast.alice, upload, endpoint="local", fingerprint=fingerprint)
    assert "changed since you saw this judge" in text_of(page)
    assert not Judge.objects.exists()


def test_uploads_are_nobody_elses(cast, client, endpoint):
    upload = upload_of(cast.alice, *ALPACA)
    detail, action = (
        reverse(f"judges:{name}", args=[upload.pk]) for name in ("judge-upload", "judge-upload-act")
    )
    for user in (cast.bob, cast.ann):
        assert client_of(user).get(detail).status_code == 404
        assert client_of(user).post(action, {"action": "add", "endpoint": "local"}).status_code == 404
        assert client_of(user).post(action, {"action": "remove"}).status_code == 404
    assert client_of(cast.carl).get(PAGE).status_code == 403
    assert client_of(cast.carl).post(PAGE, {}).status_code == 403
    for url in (PAGE, detail):
        assert client.get(url).status_code == 302
        assert "login" in client.get(url).url
    assert "login" in client.post(PAGE, {}).url
    assert "login" in client.post(action, {"action": "add"}).url
    assert JudgeUpload.objects.count() == 1
    assert not Judge.objects.exists()


def test_sent_twice_it_is_one_upload_and_one_judge(cast, endpoint):
    first, second = (sent(cast.alice, *ALPACA, follow=False).url for _ in range(2))
    assert first == second
    upload = JudgeUpload.objects.get()
    for _ in range(2):
        act(cast.alice, upload, endpoint="local")
    assert Judge.objects.count() == 1
    assert list(upload.judges.all()) == [Judge.objects.get()]


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_sent_and_added_at_the_same_moment_it_is_one(cast, endpoint):
    uploads = all_at_once(
        lambda browser: browser.post(
            PAGE, {"judge_files": [SimpleUploadedFile(n, t.encode()) for n, t in ALPACA]}
        ),
        browsers_of(cast.alice, 4),
    )
    assert {response.status_code for response in uploads} == {302}
    upload = JudgeUpload.objects.get()
    url = reverse("judges:judge-upload-act", args=[upload.pk])
    added = all_at_once(
        lambda browser: browser.post(url, {"action": "add", "endpoint": "local"}), browsers_of(cast.alice, 4)
    )
    judge = Judge.objects.get()
    assert {response.url for response in added} == {reverse("judges:judge-detail", args=[judge.pk])}


def test_files_are_removed_and_the_judge_stays_theirs(cast, endpoint):
    upload = upload_of(cast.alice, *ALPACA)
    act(cast.alice, upload, endpoint="local")
    assert "The files were removed" in text_of(act(cast.alice, upload, "remove"))
    upload.refresh_from_db()
    assert (upload.files, upload.key) == ({}, "")
    assert shown(cast.alice, upload).status_code == 404
    assert (
        client_of(cast.alice).get(reverse("judges:judge-detail", args=[Judge.objects.get().pk])).status_code
        == 200
    )
    unused = upload_of(cast.alice, ("mine.yaml", OWN))
    act(cast.alice, unused, "remove")
    assert not JudgeUpload.objects.filter(pk=unused.pk).exists()


def test_only_the_newest_are_kept(cast, endpoint):
    for k in range(MOST_KEPT + 2):
        sent(cast.alice, ("mine.yaml", OWN.replace("small", f"m{k}")))
    models = [upload.files["mine.yaml"] for upload in JudgeUpload.objects.all()]
    assert len(models) == MOST_KEPT
    assert not any("m0" in text or "m1\n" in text for text in models)


def test_what_another_version_cannot_read_says_so(cast, endpoint):
    upload = upload_of(cast.alice, ("mine.yaml", OWN))
    JudgeUpload.objects.update(files={"mine.yaml": "strategy: no-such-strategy\n"})
    page = text_of(shown(cast.alice, upload))
    assert "no-such-strategy" in page
    assert "Nothing was added" in text_of(act(cast.alice, upload))
    assert not Judge.objects.exists()


def test_the_authors_own_files_become_judges(cast, endpoint, published):
    """From the folders as they are published, each as one archive."""
    files = {
        name: {
            path.relative_to(published / name).as_posix(): path.read_text()
            for path in sorted((published / name).rglob("*"))
            if path.is_file()
        }
        for name in ("llmbar", "alpaca_eval", "fastchat")
    }
    chosen = (
        ("llmbar", "GPT-4/Swap_CoT", 65),
        ("alpaca_eval", "alpaca_eval_gpt4", 56),
        ("fastchat", "pair-v2", 8),
    )
    for name, evaluator, n in chosen:
        upload = upload_of(cast.alice, (f"{name}.zip", zipped(files[name])))
        page = shown(cast.alice, upload, evaluator=evaluator, endpoint="local")
        assert len(page.context["read"].evaluators) >= n - 1, name
        assert page.context["judge_preview"].requests, text_of(page)
        act(cast.alice, upload, evaluator=evaluator, endpoint="local")
    assert Judge.objects.count() == 3
    for upload in JudgeUpload.objects.all():  # each one is shown, or says why it is refused
        read = shown(cast.alice, upload).context["read"]
        for each in read.evaluators:
            page = shown(cast.alice, upload, evaluator=each.name, endpoint="local")
            assert page.status_code == 200
            found = page.context["read"]
            assert found.spec is not None or found.problem, each
