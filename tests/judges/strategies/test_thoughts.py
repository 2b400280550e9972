"""What a model thought is separated before anything is read, whatever the strategy, and kept."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.mock_answers import respond
from judges.backends.mock_models import parse_model
from judges.backends.openai_protocol import build_body
from judges.backends.wire import build_wire
from judges.strategies.published_config import Published, PublishedStep
from judges.strategies.registry import STRATEGIES
from judges.strategies.thoughts import without_thought
from judges.strategies.types import Answer, Chat, ItemView, Request, TokenLogprob
from tests.cases import over
from tests.judges.backends.test_mock_strategies import ASKING, PAIR, spec_of
from tests.judges.strategies.feeding import feed, judge, run, split_thought, text_of
from tests.judges.strategies.kinds_props import ITEMS

HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>"
FORMS = {
    "think": "<think>\n{}\n</think>\n\n{}",
    "Thinking": "<Thinking>{}</Thinking>{}",
    "thought": "\n<thought>{}</thought>\n{}",
    "reasoning": "<reasoning>\n{}\n</reasoning>\n{}",
    "Magistral": "[THINK]{}[/THINK]{}",
    "Seed-OSS": "<seed:think>{}</seed:think>{}",
    "Kimi": "◁think▷{}◁/think▷{}",
    "OpenThinker": "<|begin_of_thought|>\n{}\n<|end_of_thought|>\n\n<|begin_of_solution|>\n{}\n<|end_of_solution|>",
    "Command A": "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "Granite": "Here is my thought process:\n{}\n\nHere is my response:\n{}",
    "Gemma": "<|channel>thought\n{}<channel|>{}",
    "gpt-oss": HARMONY,
    "gpt-oss, opened by the template": HARMONY.partition("<|message|>")[2],
    "gpt-oss, constrained": HARMONY.replace("final<", "final <|constrain|>json<"),
    "gpt-oss, without its tokens": "analysis{}assistantfinal{}",
    "opened by the template": "\n{}\n</think>\n\n{}",
    "Seed-OSS, opened by the template": "{}</seed:think>{}",
    "twice": "<think>{}</think><think>again</think>{}",
    "end of turn": "<think>{}</think>{}<|im_end|></s>",
}
THOUGHT = 'Output (a) is better. Verdict: A\n[[A]] {"choice": "A", "1": 5} Rating: 1\nmodel_1'


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("said", ["B", "Output (b)\nis better.", '{"reason": "It says </think>.", "1": 4}'])
def test_each_form_is_taken_apart(form, said):
    thought, found = split_thought(form.format(THOUGHT, said) if "{}" in form else form)

    assert found.strip() == said
    assert THOUGHT in thought


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("<think>Output (a)", "Output (a)", ""),
        ("<|channel|>analysis<|message|>Output (a)", "Output (a)", ""),
        ("<think>A</think>\n<think>or B", "A\n\nor B", ""),
        ("<reasoning>A</think>B", "A</think>B", ""),
        ("</think>\n\nB", "", "B"),
        ('I say "A"</think>B', 'I say "A"', "B"),
        ("I weigh.\n<thinking>A</thinking>\nVerdict: B", "A", "I weigh.\n\nVerdict: B"),
        ("B</s>", "", "B"),
    ],
)
def test_what_is_left_over(text, thought, said):
    assert split_thought(text) == (thought, said)


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "",
        "Say <think>.",
        "Output (a) leaks a stray `</think>` into its text.\nVerdict: B",
        '{"reason": "It says <think>x</think>.", "1": 4}',
        '```json\n{"reason": "</think>"}\n```',
        "```\n<think>\nhm\n</think>\n```\nThat is what it looks like.",
        "analysis: Output (a) is short.\nVerdict: B",
        "Verdict: B\n<think>",
        "x < y, [1] and <b>bold</b>\n",
    ],
)
def test_what_is_no_thought_stays_as_it_is(text):
    assert split_thought(text) == ("", text)


PIECES = ("<think>", "</think>", "[THINK]", "[/THINK]", "A", "B", " ", "\n", "{", '"', "`", "```", "analysis",
          "</s>", "assistantfinal", "<|channel|>", "final", "<|message|>", "<|end|>", "<reasoning>",
          "</reasoning>")  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text()


@given(texts, st.sampled_from(["", "hm"]))
def test_nothing_is_made_up(text, thought):
    answer = without_thought(Answer(text, thought=thought))
    place = 0
    for character in answer.text:
        place = text.index(character, place) + 1
    assert answer.thought.startswith(thought)
    if not thought and not set(text) & set("<[◁"):
        assert answer.text == text or text.lstrip().startswith(("analysis", "here"))


@pytest.mark.parametrize("piece", [*PIECES, *FORMS.values(), "\n<think>", "x<think>", "<|"])
@pytest.mark.timeout(60)
def test_hostile_lengths_end(piece):
    split_thought(piece * (400_000 // len(piece)))


TAUGHT = Published(
    "llmbar",
    "compare",
    (PublishedStep("<|im_start|>user\n{input}{output_1}{output_2}<|im_end|>"),),
    "llmbar_parser",
    {"parsing": {"1": r"Output \(a\)", "2": r"Output \(b\)"}},
)
REGEX = Published(
    "alpaca_eval",
    "compare",
    (PublishedStep("<|im_start|>user\n{instruction}{output_1}{output_2}<|im_end|>"),),
    "regex_parser",
    {"outputs_to_match": {"1": r"Output \(a\)", "2": r"Output \(b\)"}},
)
RATED = Published(
    "llmbar", "rate", (PublishedStep("<|im_start|>user\n{input}{output}<|im_end|>"),), "llmbar_parser"
)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("made", [TAUGHT, REGEX], ids=["LLMBar", "AlpacaEval"])
def test_a_published_parser_never_reads_a_thought(made, form):
    spec = judge("published", prompt_source=made.to_text())
    verdict = feed(spec, form.format("Output (a) wins. Output (a)!", "Output (b)"))

    assert (verdict.choice, verdict.status) == (2, "parsed")
    assert "Output (a) wins." in verdict.thought
    assert "Output (a)" not in verdict.raw_text


def test_a_published_rating_never_reads_a_thought():
    verdict = feed(judge("published", prompt_source=RATED.to_text()), "<think>1</think>8", "9</think>\n\n3")

    assert verdict.scores == (8.0, 3.0)
    assert verdict.thought == "[answer 1]\n1\n\n[answer 2]\n9"


SPECS = [spec_of(name) for name in ASKING if name != "published" and STRATEGIES[name].requests == {"chat"}]
SPECS += [
    spec_of("vanilla", params={"probabilities": True, "both_orders": True}),
    spec_of("rating", params={"expected": True, "cot": True}),
    spec_of("rating", params={"expected": True}),
    spec_of("checklist_each", params={"in_turn": True}),
    spec_of("swap", allow_tie=True),
    spec_of("jury"),
]


def answered(request: Request) -> Answer:
    """What the mock server answers, with the probabilities of the first token."""
    assert isinstance(request, Chat)
    body = build_body(
        build_wire(request, model="mock-judge"), structured="none", max_tokens_field="max_tokens", extra={}
    )
    text = respond(parse_model("mock-judge"), "mock-judge", body).text
    pieces = [piece for piece in re.split(r"(\s|\w+)", text) if piece]
    top = {"A": -0.1, "B": -3.0, "1": -4.0, "7": -0.2}
    tokens = tuple(TokenLogprob(each, -0.1, tuple(({each: -0.1} | top).items())) for each in pieces)
    return Answer(text, logprobs=tokens)


def in_text(answer: Answer, form: str) -> Answer:
    """The same answer behind a thought, in its text and in its tokens."""
    before, after = form.format(THOUGHT, "\0").split("\0")
    wrong = (("A", -0.01), ("B", -9.0), ("9", -0.01))
    thought = [TokenLogprob(each, -0.01, wrong) for each in re.split(r"(\W)", before) if each]
    end = [TokenLogprob(after, -0.01, wrong)] if after else []
    return Answer(f"{before}{answer.text}{after}", logprobs=(*thought, *(answer.logprobs or ()), *end))


def apart(answer: Answer, _: str) -> Answer:
    """The same answer with its thought in a field, where the tokens are those of both."""
    return replace(in_text(answer, "{}</think>\n\n{}"), text=f"\n\n{answer.text}", thought=THOUGHT)


@over(
    product(SPECS, ["think", "Magistral", "gpt-oss", "opened by the template", "Seed-OSS", "apart"]),
    lambda case: f"{case[0].strategy}, {case[1]}",
)
def test_no_strategy_reads_a_thought_or_shows_it_to_a_later_step(spec, form):
    item = ITEMS.get(
        spec.kind, PAIR if spec.kind == "pairwise" else replace(PAIR, kind=spec.kind, responses=())
    )
    expected, asked = run(spec, item, answered)
    think, shape = (apart, "") if form == "apart" else (in_text, FORMS[form])
    verdict, asked_now = run(spec, item, lambda request: think(answered(request), shape))

    assert asked_now == asked
    assert "Output (a) is better" not in "".join(map(text_of, asked_now))
    assert replace(verdict, thought="") == expected
    assert THOUGHT in verdict.thought


def test_a_contestant_answers_without_its_thought():
    view = ItemView(1, "generation", "Say hi.", ())
    verdict = feed(judge("generate"), "<think>Hi or hello?</think>\n\nHello!", item=view)

    assert (verdict.raw_text, verdict.thought) == ("Hello!", "Hi or hello?")


@pytest.mark.parametrize("strategy", ["vanilla", "cot", "published"])
def test_a_thought_without_an_answer_is_explained(strategy):
    fields = {"prompt_source": TAUGHT.to_text()} if strategy == "published" else {}
    verdict = feed(judge(strategy, **fields), "<think>Output (a). Verdict: A")

    assert (verdict.choice, verdict.thought) == (None, "Output (a). Verdict: A")
    assert verdict.reason == ("0 verdicts where one was expected" if fields else "thought without an answer")


def test_the_probability_of_a_published_prompt_is_that_of_its_answer():
    made = Published(
        "alpaca_eval",
        "compare",
        (PublishedStep("<|im_start|>user\n{output_1}{output_2}<|im_end|>", logprobs=True),),
        "logprob_parser",
        {"numerator_token": "m", "denominator_tokens": ["m", "M"], "is_binarize": False},
    )
    place = TokenLogprob("M", math.log(0.8), (("M", math.log(0.8)), ("m", math.log(0.2))))
    thought = tuple(TokenLogprob(each, -0.1, (("m", -0.1),)) for each in ("<think>", "m", "</think>", "\n\n"))
    verdict = feed(
        judge("published", prompt_source=made.to_text()),
        Answer("<think>m</think>\n\nM", logprobs=(*thought, place)),
    )

    assert (verdict.choice, verdict.probability) == (2, pytest.approx(0.2))


def test_tokens_that_cannot_be_told_apart_are_not_read():
    answer = Answer("B", thought="A?", logprobs=(TokenLogprob("A", -0.1, ()), TokenLogprob("?", -0.1, ())))

    assert without_thought(answer).logprobs is None
