"""Steps that strategies share are the same requests; every strategy renders in every combination of its flags."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.wire import build_wire
from judges.strategies.registry import PAIRS
from judges.strategies.types import Answer, Chat, ItemView, Request, TokenLogprob
from tests.judges.props import request_hash
from tests.judges.strategies.feeding import ITEM, SWAPPED, canonical, judge, run, text_of

EIGHT = ("vanilla", "rules", "cot", "swap", "swap_cot", "metrics", "reference_self", "metrics_reference")
OWN = list(PAIRS)


def biased(request: Request) -> Answer:
    """Prefer the longer output, but in a third of the cases what is shown first: as a hash of the request says."""
    text = text_of(request)
    if "<output_a>" not in text:
        if "<output>" in text:
            score = len(text) % 10
            return Answer(f"Rating: {min(max(score, 1), 5)}")
        return Answer(f"1. About {sha256(text.encode()).hexdigest()[:6]}?")
    a, b = (text.split(f"<output_{each}>\n")[-1].split("\n</output_")[0] for each in "ab")
    drawn = int(sha256(text.encode()).hexdigest(), 16) % 3
    verdict = "A" if drawn == 0 or len(a) >= len(b) else "B"
    assert isinstance(request, Chat)
    return Answer(verdict if request.choices else f"Reasons.\nVerdict: {verdict}")


def items(count: int) -> list[ItemView]:
    return [
        replace(
            ITEM,
            item_id=number,
            instruction=f"Name the prime of place {number}.",
            responses=("x" * (number * 7 % 11 + 1), "y" * (number * 5 % 13 + 1)),
        )
        for number in range(count)
    ]


def hashes(strategy: str, pairs: list[ItemView]) -> set[str]:
    """Return the identities of all requests that a judge sends for these pairs in both orders."""
    found = set()
    for item in pairs:
        for order in (0, 1):
            view = item if order == 0 else replace(item, order=1, responses=item.responses[::-1])
            _, asked = run(judge(strategy), view, biased)
            found |= {request_hash(build_wire(each, model="m"), "server") for each in asked}
    return found


def test_eight_strategies_together_send_a_quarter_fewer_requests_than_each_alone():
    pairs = items(60)
    alone = {strategy: hashes(strategy, pairs) for strategy in EIGHT}
    together = set().union(*alone.values())
    contradictions = len(alone["swap"]) - 2 * len(pairs)

    assert contradictions > 0, "the judge of this test is biased by the order"
    saving = 1 - len(together) / sum(map(len, alone.values()))
    assert saving >= 0.25
    # What they have in common: both orders of vanilla and of chain of thought, the metrics, the reference.
    assert sum(map(len, alone.values())) - len(together) == 6 * len(pairs)


def test_the_saving_holds_where_every_pair_contradicts_itself():
    def first(request: Request) -> Answer:
        text = text_of(request)
        return Answer("A" if "<output_a>" not in text or request.choices else "So.\nVerdict: A")

    sent = {
        strategy: run(judge(strategy), ITEM, first)[1] + run(judge(strategy), SWAPPED, first)[1]
        for strategy in EIGHT
    }
    alone = {strategy: set(asked) for strategy, asked in sent.items()}

    assert [len(alone[each]) for each in EIGHT] == [2, 2, 2, 3, 3, 3, 3, 4]
    assert len(set().union(*alone.values())) == 16
    assert 1 - 16 / sum(map(len, alone.values())) >= 0.25


@pytest.mark.parametrize("info", [each for each in OWN if not each.order_matters], ids=lambda info: info.name)
def test_a_verdict_that_does_not_depend_on_the_order_does_not(info):
    for item in items(12):
        swapped = replace(item, order=1, responses=item.responses[::-1])
        here, asked = run(judge(info.name), item, biased)
        there, asked_again = run(judge(info.name), swapped, biased)

        assert canonical(there, swapped) == here
        assert set(asked) == set(asked_again)


def combinations(info):
    """Return every combination of what a strategy takes and of its settings that have a few values."""
    axes = {}
    for name, param in info.params.items():
        values = param.choices or ((False, True) if param.kind is bool else ())
        axes |= {f"params.{name}": values} if values else {}
    axes |= dict.fromkeys(("use_reference", "allow_tie"), (False, True))
    axes |= {"guidelines": ("", "Be fair."), "context": ("", "Below 10.")}
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        params = {name[7:]: chosen.pop(name) for name in list(chosen) if name.startswith("params.")}
        yield (
            chosen.pop("context"),
            {"params": params} | {name: value for name, value in chosen.items() if value},
        )


@pytest.mark.parametrize("info", OWN, ids=lambda info: info.name)
def test_every_strategy_renders_in_every_combination_of_its_settings(info):
    for context, fields in combinations(info):
        for item in (ITEM, SWAPPED):
            view = replace(item, context=context)
            verdict, asked = run(judge(info.name, **fields), view, biased)

            assert verdict.status == "parsed" or "contradict" in verdict.reason, (fields, verdict)
            for request in asked:
                assert "{{" not in text_of(request)
                assert all(content.strip() for _, content in request.messages)


@pytest.mark.parametrize("info", OWN, ids=lambda info: info.name)
def test_every_strategy_says_where_it_is_from_and_what_its_settings_do(info):
    assert info.source
    assert len(info.summary) < 120
    assert info.summary.endswith(".")
    assert all(param.help for param in info.params.values())


PIECES = (
    "A",
    "B",
    "tie",
    "Verdict: A",
    "Verdict: B",
    "Rating: 3",
    "7",
    "\n",
    "<think>",
    "</think>",
    '{"choice":"A"}',
    " ",
)
texts = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=20)
tokens = st.builds(
    TokenLogprob,
    st.sampled_from(("A", " B", "tie", "7", "10", "1", "\n")) | st.text(max_size=3),
    st.floats(-9999, 0),
    st.lists(
        st.tuples(st.sampled_from(("A", "B", "tie", "3", "7", "x")), st.floats(-9999, 0)), max_size=3
    ).map(tuple),
)
answers = st.builds(
    Answer,
    texts,
    finish_reason=st.sampled_from(("stop", "length")),
    logprobs=st.none() | st.lists(tokens, max_size=3).map(tuple),
    constrained=st.booleans(),
)
SETTINGS = (
    {},
    {"both_orders": True, "probabilities": True},
    {"both_orders": True},
    {"expected": True},
    {"cot": True},
)
SETTINGS += ({"expected": True, "cot": True}, {"decision": "majority", "turns": "together"})


@given(
    st.lists(answers, min_size=1, max_size=7), st.sampled_from(OWN), st.sampled_from(SETTINGS), st.booleans()
)
def test_whatever_a_model_answers_there_is_a_verdict_or_a_reason(given_answers, info, params, allow_tie):
    spec = judge(
        info.name, allow_tie=allow_tie, params={key: params[key] for key in params if key in info.params}
    )
    for item in (ITEM, SWAPPED):
        count = iter(range(99))
        verdict, _ = run(spec, item, lambda _, n=count: given_answers[next(n) % len(given_answers)])

        assert verdict.choice in {0, 1, 2, None}
        assert (verdict.status == "parsed") == (verdict.choice is not None) == (not verdict.reason)
        assert verdict.choice != 0 or allow_tie or info.name == "rating"
        assert verdict.probability is None or 0 <= verdict.probability <= 1
