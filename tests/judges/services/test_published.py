"""Published evaluators become judges, from files as LLMBar and AlpacaEval keep them; bad files are named."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judges.backends.openai_protocol import build_body
from judges.backends.wire import build_wire
from judges.models import Judge, Judgment
from judges.services.published_files import (
    PublishedError,
    alpaca_eval_read,
    arena_hard_read,
    fastchat_read,
    llmbar_read,
)
from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.pairwise import in_both_orders
from judges.strategies.published_config import published_read
from judges.strategies.spec import build_strategy
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, run_instant, sweep_make
from tests.judges.strategies.feeding import ITEM, feed, judge

PAIR = "<|im_start|>user\nWhich suits {input}?\n(a) {output_1}\n(b) {output_2}\n<|im_end|>"
TALK = PAIR.replace("(b)", "{explanation_1}{explanation_2}(b)")
PARSING = {"1": "Output \\(a\\)", "2": "Output \\(b\\)"}
CALL = {"engine": "judge-x", "max_tokens": 50, "temperature": 0.0}


@pytest.fixture
def llmbar(tmp_path):
    """A folder of LLMBar's form, with prompts of our own."""
    prompts = {
        "comparison/Plain.txt": PAIR,
        "comparison/Helped.txt": PAIR + "",
        "auxiliary/Help.txt": "<|im_start|>user\nWhat matters in {input}?\n<|im_end|>",
        "swap_and_synthesize/Swap.txt": TALK,
        "rating/Rating.txt": "<|im_start|>user\nScore {output} for {input}.\n<|im_end|>",
    }
    prompts["comparison/Helped.txt"] = PAIR.replace("(a)", "{auxiliary_input_0} (a)", 1)
    step = {"model_name": "judge-x", "openai_kwargs": CALL, "parsing": PARSING}
    configs = {
        "X/Plain": [step | {"prompt": "comparison/Plain.txt"}],
        "X/Helped": [
            step | {"prompt": "auxiliary/Help.txt", "parsing": None},
            step | {"prompt": "comparison/Helped.txt"},
        ],
        "X/Swap": [
            step | {"prompt": "comparison/Plain.txt"},
            step | {"prompt": "swap_and_synthesize/Swap.txt"},
        ],
        "X/Swap_Apart": [
            step | {"prompt": "comparison/Plain.txt", "parsing": {"1": "So \\(a\\)", "2": "So \\(b\\)"}},
            step | {"prompt": "swap_and_synthesize/Swap.txt"},
        ],
        "X/Rating": [step | {"prompt": "rating/Rating.txt", "parsing": None}],
    }
    for name, text in prompts.items():
        path = tmp_path / "prompts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, config in configs.items():
        path = tmp_path / "config" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config))
    return tmp_path


ANNOTATOR = """
basic:
  prompt_template: "basic/prompt.txt"
  fn_completions: "openai_completions"
  completions_kwargs:
    model_name: "judge-y"
    max_tokens: 50
    temperature: 0
  completion_parser_kwargs:
    outputs_to_match:
      1: '(?:^|\\n) ?Output \\(a\\)'
      2: '(?:^|\\n) ?Output \\(b\\)'
  batch_size: 1
"""
FUNCTION = """
calls:
  prompt_template: "basic/prompt.txt"
  fn_completions: "openai_completions"
  completions_kwargs:
    model_name: "judge-y"
    temperature: 1
    function_call: {name: "rank"}
    functions:
      - name: "rank"
        parameters: {type: "object", properties: {order: {type: "array"}}}
    best_of: 2
  fn_completion_parser: "pipeline_meta_parser"
  completion_parser_kwargs:
    parsers_to_kwargs: {json_parser: {annotation_key: "order"}, ranking_parser: {}}
"""
WEIGHTED = """
weighted:
  prompt_template: "basic/prompt.txt"
  completions_kwargs: {model_name: "judge-y", max_tokens: 1, temperature: 1, logprobs: true, top_logprobs: 5}
  fn_completion_parser: "logprob_parser"
  completion_parser_kwargs: {numerator_token: "m", denominator_tokens: ["m", "M"], is_binarize: false}
  completion_key: "completions_all"
"""


@pytest.fixture
def alpaca(tmp_path):
    """A folder of AlpacaEval's form, with a prompt of our own."""
    folder = tmp_path / "evaluators" / "basic"
    folder.mkdir(parents=True)
    (folder / "prompt.txt").write_text(PAIR.replace("{input}", "{instruction}"))
    (folder / "configs.yaml").write_text(ANNOTATOR)
    return folder


def test_llmbar_evaluators_of_every_form_are_read(llmbar):
    plain = llmbar_read(folder=llmbar, evaluator="X/Plain")
    assert (plain.model, plain.evaluator.mode, plain.notes) == ("judge-x", "compare", ())
    assert plain.evaluator.steps[0].template == PAIR
    assert (plain.evaluator.steps[0].max_tokens, plain.evaluator.steps[0].temperature) == (50, 0.0)
    assert llmbar_read(folder=llmbar, evaluator="X/Helped").evaluator.mode == "compare"
    assert len(llmbar_read(folder=llmbar, evaluator="X/Helped").evaluator.steps) == 2
    assert llmbar_read(folder=llmbar, evaluator="X/Swap").evaluator.mode == "swap"
    assert llmbar_read(folder=llmbar, evaluator="X/Rating").evaluator.mode == "rate"


@pytest.mark.parametrize(
    ("answers", "choice"),
    [
        (("Not Output (a). So (b)", "Not Output (b). So (a)"), 2),
        (("Output (a)? So (b)", "Output (a)? So (b)", "Output (a)"), 1),
        (("Output (a)", "Output (b)"), None),
    ],
)
def test_each_step_of_a_swap_has_its_own_parser(llmbar, answers, choice):
    read = llmbar_read(folder=llmbar, evaluator="X/Swap_Apart")
    assert published_read(read.evaluator.to_text()) == read.evaluator
    assert feed(judge("published", prompt_source=read.evaluator.to_text()), *answers).choice == choice


def test_alpaca_eval_annotators_are_read(alpaca):
    read = alpaca_eval_read(path=alpaca)
    assert (read.name, read.model, read.evaluator.parser) == ("AlpacaEval basic", "judge-y", "regex_parser")
    assert published_read(read.evaluator.to_text()).parser_options["outputs_to_match"]["1"].endswith("(a\\)")

    (alpaca / "configs.yaml").write_text(FUNCTION)
    read = alpaca_eval_read(path=alpaca / "configs.yaml", name="calls")
    assert json.loads(read.evaluator.steps[0].json_schema)["properties"] == {"order": {"type": "array"}}
    assert any("best_of" in note for note in read.notes)
    assert json.loads(read.evaluator.steps[0].function)["name"] == "rank"
    chat = next(build_strategy(judge("published", prompt_source=read.evaluator.to_text()))(ITEM))
    body = build_body(
        build_wire(chat, model="m"), structured="json_schema", max_tokens_field="max_tokens", extra={}
    )
    assert body["tool_choice"] == {"type": "function", "function": {"name": "rank"}}
    assert [tool["function"]["parameters"]["properties"] for tool in body["tools"]] == [
        {"order": {"type": "array"}}
    ]
    assert "response_format" not in body

    (alpaca / "configs.yaml").write_text(WEIGHTED)
    assert alpaca_eval_read(path=alpaca).evaluator.steps[0].logprobs


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "batch_size: 1",
            "batch_size: 5",
            r"\{instruction\} stands there 1 times, which is not the batch_size \(5\)",
        ),
        ("batch_size: 1", "batch_size: 0", "batch_size: expected 1 to 20, found 0"),
        ("batch_size: 1", "batch_size: many", "batch_size: expected 1 to 20, found 'many'"),
        ("batch_size: 1", "processors_to_kwargs: {Own: {}}", "'Own' cannot be run here"),
        ("temperature: 0", "tokens_to_avoid: Both", "tokens_to_avoid: expected texts, found 'Both'"),
        ("basic/prompt.txt", "basic/none.txt", r"prompt_template: there is no file 'basic/none.txt'"),
        ("basic/prompt.txt", "../../../../etc/passwd", "prompt_template: there is no file"),
        ("max_tokens: 50", "max_tokens: many", "max_tokens: expected a number, found 'many'"),
        ("outputs_to_match", "to_match", "parser_options: not right for regex_parser"),
        (
            "completion_parser_kwargs",
            "fn_completion_parser: odd\n  completion_parser_kwargs",
            "no parser 'odd'",
        ),
        ("basic:", "- basic:", "configs.yaml: not YAML|expected annotators by name"),
    ],
)
def test_an_annotator_that_cannot_be_read_is_named(alpaca, old, new, problem):
    (alpaca / "configs.yaml").write_text(ANNOTATOR.replace(old, new))
    with pytest.raises(PublishedError, match=problem):
        alpaca_eval_read(path=alpaca)


def test_one_of_several_annotators_has_to_be_chosen(alpaca):
    (alpaca / "configs.yaml").write_text(ANNOTATOR + WEIGHTED)
    with pytest.raises(PublishedError, match="has basic, weighted; say which"):
        alpaca_eval_read(path=alpaca)
    with pytest.raises(PublishedError, match="no annotator 'other'"):
        alpaca_eval_read(path=alpaca, name="other")
    assert alpaca_eval_read(path=alpaca, name="weighted").name == "AlpacaEval weighted"


BATCHED = (
    ANNOTATOR.replace("batch_size: 1", "batch_size: 4")
    + """
  is_randomize_output_order: false
"""
)


def test_a_prompt_for_several_pairs_shows_this_one_among_the_published_padding(alpaca):
    place = "\nIs {instruction}: {output_1} or {output_2}?"
    (alpaca / "prompt.txt").write_text(
        f"<|im_start|>user{place * 2}\n<|im_end|><|im_start|>user{place * 2}\n<|im_end|>"
    )
    (alpaca / "configs.yaml").write_text(BATCHED)
    read = alpaca_eval_read(path=alpaca)
    assert (read.evaluator.batch_place, read.evaluator.is_randomized) == (3, False)
    assert any("4 pairs" in note for note in read.notes)
    spec = judge("published", prompt_source=read.evaluator.to_text())
    padding = "Is 1+1=: 2 or 3?"
    chat = next(build_strategy(spec)(ITEM))
    assert chat.messages == (
        ("user", f"{padding}\n{padding}"),
        ("user", f"{padding}\nIs Name a prime.: Seven. or Nine.?"),
    )
    lines = ["Output (a)", "Output (a)", "Output (a)", "Output (b)"]
    assert feed(spec, "\n".join(lines)).choice == 2
    assert feed(spec, "\n".join(lines[1:])).reason == "3 verdicts where 4 were expected"


def test_decoding_and_biases_reach_the_request_with_the_published_defaults(alpaca):
    biased = ANNOTATOR.replace(
        "max_tokens: 50",
        "tokens_to_avoid: [Both]\n    tokens_to_favor: [Output (a)]\n    client_kwargs: {x: 1}",
    ).replace("temperature: 0", "")
    (alpaca / "configs.yaml").write_text(biased)
    read = alpaca_eval_read(path=alpaca)
    chat = next(build_strategy(judge("published", prompt_source=read.evaluator.to_text()))(ITEM))
    assert (chat.max_tokens, chat.temperature, chat.top_p) == (2048, 0.7, 1.0)
    assert chat.biases == (("Both", -100.0), ("Output (a)", 7.0))
    assert read.notes == ("The setting 'client_kwargs' belongs to the endpoint: set it there.",)


def test_href_shows_the_human_reference_under_its_own_name(alpaca):
    shown = PAIR.replace("{input}", "{instruction}, as {output_human} does")
    (alpaca / "prompt.txt").write_text(shown)
    spec = judge("published", prompt_source=alpaca_eval_read(path=alpaca).evaluator.to_text())
    assert "as For example 7. does" in next(build_strategy(spec)(ITEM)).messages[0][1]
    with pytest.raises(MissingReferenceError):
        next(build_strategy(spec)(replace(ITEM, reference=None)))


def test_the_order_of_a_published_run_is_drawn_as_there(alpaca):
    source = alpaca_eval_read(path=alpaca).evaluator.to_text()
    drawn = judge("published", prompt_source=source, params={"drawn_order": True, "seed": 42})
    assert not drawn.order_matters
    assert judge("published", prompt_source=source, params={"seed": 0}).order_matters
    shown = {}
    for text in ("Say hi.", "Say no.", "Add 1."):
        for view in in_both_orders(replace(ITEM, instruction=text)):
            chat = next(build_strategy(drawn)(view))
            shown.setdefault(text, set()).add("(a) Nine." in chat.messages[0][1])
            # The first that is shown wins: canonical in order 0, turned in order 1.
            choice = feed(drawn, "Output (a)", item=view).choice
            assert (3 - choice if view.order else choice) == (2 if "(a) Nine." in chat.messages[0][1] else 1)
    # By AlpacaEval's own RandomSwitchTwoColumnsProcessor with the seed 42.
    assert shown == {"Say hi.": {True}, "Say no.": {False}, "Add 1.": {False}}


def test_equal_outputs_are_a_tie_without_a_question(alpaca):
    spec = judge("published", prompt_source=alpaca_eval_read(path=alpaca).evaluator.to_text())
    with pytest.raises(StopIteration) as stop:
        next(build_strategy(spec)(replace(ITEM, responses=("Seven.", "Seven."))))
    assert (stop.value.value.choice, stop.value.value.probability) == (0, 0.5)


MT_BENCH = [
    {"name": "pair", "type": "pairwise", "output_format": "[[A]]", "system_prompt": "Weigh {both}.\n\n",
     "prompt_template": "Q: {question}\nA: {answer_a}\nB: {answer_b}\n"},
    {"name": "two", "type": "pairwise", "output_format": "[[rating_a,rating_b]]", "system_prompt": "Score.",
     "prompt_template": "{question_1}{answer_a_1}|{question_2}{answer_a_2}|{answer_b_1}{answer_b_2}|{ref_answer_2}"},
    {"name": "one", "type": "single", "output_format": "[[rating]]", "system_prompt": "Score.",
     "prompt_template": "{question}: {answer} ({ref_answer_1})"},
    {"name": "odd", "type": "listwise", "output_format": "[[A]]", "system_prompt": "", "prompt_template": ""},
]  # fmt: skip


def test_mt_bench_prompts_are_sent_and_read_as_fastchat_does(tmp_path):
    (tmp_path / "judge_prompts.jsonl").write_text("\n".join(json.dumps(row) for row in MT_BENCH))

    def spec(name):
        return judge("published", prompt_source=fastchat_read(path=tmp_path, name=name).evaluator.to_text())

    chat = next(build_strategy(spec("pair"))(ITEM))
    assert chat.messages == (
        ("system", "Weigh {both}.\n\n"),
        ("user", "Q: Name a prime.\nA: Seven.\nB: Nine.\n"),
    )
    assert [feed(spec("pair"), f"So [[{mark}]].").choice for mark in "ABCD"] == [1, 2, 0, None]

    talk = replace(ITEM, conversation=(("user", "Hi."), ("assistant", "Yes?")))
    assert next(build_strategy(spec("two"))(talk)).messages[1][1] == (
        "Hi.Yes?|Name a prime.Seven.|Yes?Nine.|For example 7."
    )
    assert [feed(spec("two"), text, item=talk).choice for text in ("[[8,7]]", "[[7.5, 7.55]]", "8, 7")] == [
        1,
        0,
        None,
    ]
    with pytest.raises(StrategyError, match="second of two turns, and 0 came before"):
        next(build_strategy(spec("two"))(ITEM))

    asked = next(build_strategy(spec("one"))(ITEM))
    assert [each.messages[1][1] for each in asked] == [
        f"Name a prime.: {x} (For example 7.)" for x in ITEM.responses
    ]
    verdict = feed(spec("one"), "Rating: [[7]]", "So [8.5].")
    assert (verdict.choice, verdict.scores) == (2, (7.0, 8.5))
    assert feed(spec("one"), "7", "[[8]]").choice is None
    for name, problem in (("odd", "'listwise'"), ("none", "there is pair, two, one, odd")):
        with pytest.raises(PublishedError, match=problem):
            fastchat_read(path=tmp_path, name=name)


ARENA_HARD = r"""
bench_name: arena-x
judge_model: judge-z
pairwise: true
temperature: 0
max_tokens: 4096
number_of_judgment_attempts: 2
regex_pattern: \[\[([AB<>=]+)\]\]
system_prompt: "Weigh both."
prompt_template: ["Q: {question_1}\nA: {answer_1}\nB: {answer_2}"]
"""


def test_arena_hards_five_labels_are_read(tmp_path):
    path = tmp_path / "judge_config.yaml"
    path.write_text(ARENA_HARD)
    read = arena_hard_read(path=path)
    assert (read.name, read.model) == ("Arena-Hard arena-x", "judge-z")
    assert read.notes == ("An answer without a verdict is not asked for again.",)
    spec = judge("published", prompt_source=read.evaluator.to_text())
    chat = next(build_strategy(spec)(ITEM))
    assert chat.messages == (("system", "Weigh both."), ("user", "Q: Name a prime.\nA: Seven.\nB: Nine."))
    said = {
        "[[A>>B]]": (1, {"strength": "much"}),
        "First [[B>A]], yes [[B>A]].": (2, {"strength": "slightly"}),
        "[[A=B]]": (0, None),
        "[[A>B]] or [[B>A]]": (None, None),
        "[[A<B]]": (None, None),
        "A>B": (None, None),
    }
    for text, expected in said.items():
        verdict = feed(spec, text)
        assert (verdict.choice, verdict.value) == expected, text
    for old, new, problem in (
        ("system_prompt", "x", "Version 2 keeps it in its code"),
        ("pairwise: true", "pairwise: false", "only judges of pairs"),
        ("prompt_template", "x", "expected one text"),
        ("regex_pattern", "x", "expected a regular expression"),
        ("answer_2", "other", "asks for {other}"),
    ):
        path.write_text(ARENA_HARD.replace(old, new))
        with pytest.raises(PublishedError, match=problem):
            arena_hard_read(path=path)


def change(path, **values):
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([row | values for row in rows]))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"prompt": "comparison/None.txt"}, "None.txt: No such file"),
        ({"prompt": "../config/X/Plain.json"}, "leads out of"),
        ({"prompt": None}, "step 1: 'prompt' is missing"),
        ({"parsing": None}, "'parsing' is missing"),
        ({"parsing": {"1": "("}}, "parser_options"),
        ({"openai_kwargs": [1]}, "expected settings by name"),
        ({"surprise": 1}, "'surprise' is not known"),
    ],
)
def test_an_evaluator_that_cannot_be_read_is_named(llmbar, values, problem):
    change(llmbar / "config" / "X" / "Plain.json", **values)
    with pytest.raises(PublishedError, match=problem):
        llmbar_read(folder=llmbar, evaluator="X/Plain")


def test_other_bad_files_are_named(llmbar):
    with pytest.raises(PublishedError, match="leads out of"):
        llmbar_read(folder=llmbar, evaluator="../prompts/comparison/Plain")
    (llmbar / "config" / "X" / "Plain.json").write_text("{")
    with pytest.raises(PublishedError, match="not JSON"):
        llmbar_read(folder=llmbar, evaluator="X/Plain")
    (llmbar / "config" / "X" / "Plain.json").write_bytes(b"\xff")
    with pytest.raises(PublishedError, match="not UTF-8"):
        llmbar_read(folder=llmbar, evaluator="X/Plain")


def command(*arguments: str) -> str:
    out, err = StringIO(), StringIO()
    call_command("import_judge", *arguments, stdout=out, stderr=err)
    return out.getvalue() + err.getvalue()


@pytest.mark.django_db
def test_a_judge_is_defined_once_and_judges(llmbar):
    endpoint = endpoint_make()
    arguments = ("llmbar", str(llmbar), "--evaluator", "X/Swap", "--endpoint", endpoint.name)
    assert "Defined 'LLMBar X/Swap': judge-x" in command(*arguments)
    assert "is this judge already" in command(*arguments)

    judge = Judge.objects.get()
    assert (judge.strategy, judge.model, judge.endpoint) == ("published", "judge-x", endpoint)
    sweep_make([judge], dataset_make(pairs=2))
    run_instant("Output (a)")
    said = list(Judgment.objects.order_by("item", "order").values_list("order", "choice", "requests"))
    # Both orders prefer what is shown first; the synthesis does too.
    assert said == [(0, 1, 3), (1, 2, 3)] * 2


@pytest.mark.django_db
def test_a_model_and_a_name_may_be_chosen(alpaca):
    endpoint = endpoint_make()
    (alpaca / "configs.yaml").write_text(FUNCTION)
    said = command(
        "alpaca_eval", str(alpaca), "--endpoint", endpoint.name, "--model", "mine", "--name", "Ours"
    )
    assert "Defined 'Ours': mine" in said
    assert "Note: The setting 'best_of' is not carried over." in said
    assert "best_of" in Judge.objects.get().notes


@pytest.mark.django_db
def test_the_command_says_what_is_missing(llmbar, alpaca):
    with pytest.raises(CommandError, match="no endpoint 'none'; there is none yet"):
        command("alpaca_eval", str(alpaca), "--endpoint", "none")
    endpoint = endpoint_make()
    with pytest.raises(CommandError, match="say which of its evaluators"):
        command("llmbar", str(llmbar), "--endpoint", endpoint.name)
    with pytest.raises(CommandError, match="No such file"):
        command("llmbar", str(llmbar), "--evaluator", "Y/Plain", "--endpoint", endpoint.name)
    (alpaca / "configs.yaml").write_text(ANNOTATOR.replace("judge-y", ""))
    with pytest.raises(CommandError, match="asks a model, so one must be named"):
        command("alpaca_eval", str(alpaca), "--endpoint", endpoint.name)
    assert not Judge.objects.exists()
