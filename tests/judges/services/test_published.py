"""Published evaluators become judges, from files as LLMBar and AlpacaEval keep them; bad files are named."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judges.models import Judge, Judgment
from judges.services.published import PublishedError, alpaca_eval_read, llmbar_read
from judges.strategies.published_config import published_read
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, run_instant, sweep_make
from tests.judges.strategies.feeding import feed, judge

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
    assert any("JSON" in note for note in read.notes)

    (alpaca / "configs.yaml").write_text(WEIGHTED)
    assert alpaca_eval_read(path=alpaca).evaluator.steps[0].logprobs


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("batch_size: 1", "batch_size: 5", "batch_size: judges are asked one pair at a time"),
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
    with pytest.raises(CommandError, match="Say which"):
        command("llmbar", str(llmbar), "--endpoint", endpoint.name)
    with pytest.raises(CommandError, match="No such file"):
        command("llmbar", str(llmbar), "--evaluator", "Y/Plain", "--endpoint", endpoint.name)
    (alpaca / "configs.yaml").write_text(ANNOTATOR.replace("judge-y", ""))
    with pytest.raises(CommandError, match="asks a model, so one must be named"):
        command("alpaca_eval", str(alpaca), "--endpoint", endpoint.name)
    assert not Judge.objects.exists()
