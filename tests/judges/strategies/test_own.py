"""Judges in a format of one's own: what they ask, how they read it, what is refused when they are defined."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.errors import SpecError
from judges.strategies.registry import OWN, STRATEGIES
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import Answer, AspectView
from tests.judges.strategies.feeding import ITEM, SWAPPED, asks, canonical, feed, judge
from tests.judges.strategies.feeding import text_of as shown
from tests.judges.strategies.kinds_props import (
    CHECKLIST,
    IMPORTANCE,
    ITEMS,
    RANKING,
    RUBRIC,
    asked,
    is_label,
    judged,
    text_of,
)

PROMPT = "# system\nWeigh.\n# user\n{{instruction}}|{{output_a}}|{{output_b}}|{{low}}-{{high}}{{context}}\n"
SINGLE = "# user\n{{instruction}}|{{output}}\n"


def own(source=PROMPT, **params):
    fields = {name: params.pop(name) for name in ("allow_tie", "use_reference") if name in params}
    return judge("own", prompt_source=source, params=params, **fields)


def said(*answers, item=ITEM, **settings):
    return feed(own(**settings), *answers, item=item).choice


def test_as_it_stands_reasons_and_verdict_come_in_one_json_schema():
    (chat,) = asks(judge("own"))
    assert json.loads(chat.json_schema)["properties"] == {
        "reasons": {"type": "string"},
        "verdict": {"type": "string", "enum": ["A", "B"]},
    }
    assert list(json.loads(chat.json_schema)["properties"]) == ["reasons", "verdict"]
    assert feed(judge("own"), '{"reasons": "It is a prime.", "verdict": "A"}').choice == 1
    assert feed(judge("own"), '```json\n{"reasons": "No.", "verdict": "Output B"}\n```').choice == 2
    assert (
        feed(judge("own"), '{"reasons": "Same.", "verdict": "tie"}').reason == "a tie, which was not allowed"
    )
    assert feed(judge("own", allow_tie=True), '{"reasons": "Same.", "verdict": "tie"}').choice == 0
    assert feed(judge("own"), "A").reason == "holds no JSON"


def test_a_prompt_of_ones_own_is_shown_with_what_it_names():
    (chat,) = asks(own(read="words"))
    assert chat.messages == (("system", "Weigh."), ("user", "Name a prime.|Seven.|Nine.|1-10"))
    assert chat.json_schema is None
    (chat,) = asks(own(schema='{"type": "object"}'))
    assert chat.json_schema == '{"type": "object"}'
    assert asks(own(schema="none"))[0].json_schema is None


WORDED = {"read": "words", "words": "A: first, [[1]]; B: second, [[2]]; tie: [[0]]"}


@pytest.mark.parametrize(
    ("settings", "text", "choice"),
    [
        (WORDED, "The point is clear.\nVerdict: second", 2),
        (WORDED, "So [[1]].", 1),
        (WORDED, "[[1]] at first, then\nrather [[2]]!", 2),
        (WORDED, "Is it [[1]] or [[2]]", None),
        (WORDED, "[[0]]", None),
        (WORDED | {"allow_tie": True}, "[[0]]", 0),
        (WORDED | {"reasons": False}, "first", 1),
        (WORDED | {"reasons": False}, "[[1]] and\n[[2]]", None),
        (WORDED, "A", None),
        ({"read": "words"}, "Reasons.\n[[B]]", 2),
        ({"read": "words", "reasons": False}, "A", 1),
        ({"read": "words", "reasons": False}, "Both", None),
        ({"read": "pattern", "pattern": r"winner=(\w+)"}, "winner=A, no: winner=B", 2),
        ({"read": "pattern", "pattern": r"winner=(\w+)", "reasons": False}, "winner=A, no: winner=B", None),
        ({"read": "pattern", "pattern": r"winner=(\w+)", "words": "A: left; B: right"}, "winner=right", 2),
        ({"read": "pattern", "pattern": r"winner=(\w+)"}, "the winner is B", None),
        ({"read": "pattern", "pattern": "[AB]"}, "Ohne: B", 2),
        ({"path": "result.picks[0]"}, '{"result": {"picks": ["B"]}}', 2),
        ({"path": "$.result.picks[-1].who"}, '{"result": {"picks": [1, {"who": "A"}]}}', 1),
        ({"path": "result.picks[0]"}, '{"result": []}', None),
        ({"path": "result"}, '{"result": true}', None),
        ({"words": "A: true; B: false", "path": "a_is_better"}, '{"a_is_better": false}', 2),
        ({}, '{"winner": "A"}', 1),
        ({}, '{"verdict": "A", "verdict": "B"}', None),
    ],
)
def test_verdicts_are_read_as_was_set(settings, text, choice):
    assert said(text, **settings) == choice


def test_a_cut_off_answer_says_nothing():
    for settings in ({}, WORDED, {"read": "pattern", "pattern": "A"}, {"read": "words"}):
        verdict = feed(own(**settings), Answer("[[1]] A", finish_reason="length"))
        assert (verdict.choice, verdict.reason) == (None, "cut off at the token limit")


@pytest.mark.parametrize(
    ("settings", "one", "two", "choice"),
    [
        ({"read": "score"}, "Fine.\nRating: [[7]]", "Poor.\nScore: 3", 1),
        ({"read": "score", "reasons": False, "low": 0, "high": 100}, "70", "95", 2),
        ({}, '{"reasons": "x", "score": 7.5}', '{"reasons": "y", "score": 7}', 1),
        ({"read": "pattern", "pattern": r"(\d+)%", "high": 100}, "90%", "90%", 0),
        ({}, '{"score": 11}', '{"score": 7}', None),
        ({"read": "score"}, "seven", "Score: 3", None),
    ],
)
def test_scores_are_compared_and_do_not_depend_on_the_order(settings, one, two, choice):
    spec = own(SINGLE, ask="each", **settings)
    assert not spec.order_matters
    assert [shown(each) for each in asks(spec)] == ["Name a prime.|Seven.", "Name a prime.|Nine."]
    verdict = feed(spec, one, two)
    assert verdict.choice == choice
    assert canonical(feed(spec, two, one, item=SWAPPED), SWAPPED).choice == choice


def test_scores_are_drawn_and_their_mean_counts():
    spec = own(SINGLE, ask="each", read="score", reasons=False, draws=4)
    chats = asks(spec)
    assert [(each.sample, each.temperature, each.top_p) for each in chats] == [
        (k, 1.0, 1.0) for k in range(4)
    ] * 2
    assert [each.sample for each in asks(spec, item=replace(ITEM, sample=1))][:4] == [4, 5, 6, 7]
    verdict = feed(spec, "7", "8", "what", "9", "8", "8", "8", "7")
    assert (verdict.choice, verdict.scores) == (1, (8.0, 7.75))
    assert feed(spec, "7", "x", "y", "z", "8", "8", "8", "7").choice is None

    texts = ["4", "4", "5", "3", *["2"] * 16, *["5"] * 20]
    verdict = judged("g_eval", RUBRIC, texts)
    assert verdict.value == {
        "ratings": {"helpfulness": 2, "completeness": 5},
        "expected": {"helpfulness": 2.4, "completeness": 5.0},
    }
    assert len({each.sample for each in asked("g_eval", RUBRIC)}) == 20


REFUSED = [
    ({"source": "Which? {{output_a}} {{output_b}}"}, "prompt: There is no section '# user'"),
    ({"source": "# user\n{{output_a}} {{why}}"}, r"prompt: there is no \{\{why\}\} here; there is context"),
    ({"source": "# user\n{{#deep}}{{output_a}}{{/deep}}"}, "prompt: there is no flag 'deep'"),
    ({"source": "# user\n{{instruction}}"}, "prompt: it shows nothing of what is judged"),
    ({"source": SINGLE}, r"prompt: there is no \{\{output\}\} here"),
    ({"read": "guess"}, "params.read: expected one of json, words, pattern, score"),
    ({"read": "pattern"}, "params.pattern: expected with read 'pattern', and only there"),
    ({"pattern": "x"}, "params.pattern: expected with read 'pattern', and only there"),
    ({"read": "pattern", "pattern": "("}, "params.pattern: not a regular expression of RE2: missing"),
    ({"read": "pattern", "pattern": "(?=A)A"}, "params.pattern: not a regular expression of RE2"),
    ({"read": "pattern", "pattern": "A" * 2001}, "params.pattern: expected at most 2,000 characters"),
    ({"words": "A"}, "params.words: expected 'verdict: word, word; verdict: word'"),
    ({"words": "A: x; B: x"}, "params.words: the same word stands for two verdicts"),
    ({"words": "A:; B: x"}, "params.words: expected at least one word"),
    ({"words": "C: x"}, "params.words: 'C' is no verdict here; there is A, B, tie"),
    ({"words": '{"A": 3}'}, "params.words: not JSON of verdicts"),
    ({"path": "a..b"}, "params.path: expected names and places"),
    ({"low": 5, "high": 5}, r"params.high: expected more than low \(5\)"),
    ({"draws": 3}, "params.draws: only scores are drawn several times"),
    ({"ask": "both"}, "params.ask: expected one of together, each"),
]


@pytest.mark.parametrize(("settings", "problem"), REFUSED)
def test_what_cannot_work_is_refused_when_the_judge_is_defined(settings, problem):
    with pytest.raises(SpecError, match=problem):
        own(**settings)


def test_other_kinds_refuse_what_they_cannot_read():
    listed = {"prompt_source": "# user\n{{response}}{{criteria}}"}
    for strategy, params, more, problem in (
        (
            "own_rubric",
            {"ask": "together", "read": "words"},
            listed,
            "several parts in one answer are read from JSON",
        ),
        ("own_rubric", {"ask": "together"}, {}, r"there is no \{\{options\}\} here"),
        ("own_rubric", {"words": "good: x"}, {}, "'good' is no rating"),
        ("own_checklist", {"words": "A: x"}, {}, "'A' is no verdict here"),
        ("own_importance", {"words": "A: x"}, {}, "params.words: 'own_importance' has no such setting"),
        (
            "own_importance",
            {"answer": "scores", "read": "pattern", "pattern": "x"},
            {},
            "several scores in one",
        ),
        ("own_rubric", {"read": "score"}, {}, "params.read: expected one of json, words, pattern"),
        ("own_ranking", {"read": "score"}, {}, "a score is asked of each part by itself"),
        ("own_ranking", {"draws": 2}, {}, "only scores are drawn"),
    ):
        with pytest.raises(SpecError, match=problem):
            JudgeSpec(strategy=strategy, backend="openai", model="m", params=params, **more)


def test_a_regular_expression_takes_no_longer_than_its_text():
    """Python's own would need longer than the sun has left."""
    spec = own(read="pattern", pattern=r"^(a+)+$|(x+x+)+y")
    begun = time.process_time()
    assert feed(spec, "a" * 19_000 + "b" + "x" * 900).choice is None
    assert time.process_time() - begun < 5


def test_rubrics_in_a_format_of_ones_own():
    rows = ['{"reasons": "x", "rating": 4}', '{"reasons": "x", "rating": "Very good: nothing is missing"}']
    verdict = judged("own_rubric", RUBRIC, rows)
    assert verdict.value == {"ratings": {"helpfulness": 4, "completeness": 5}}
    assert is_label(verdict, RUBRIC, "ratings")
    words = {"read": "words", "reasons": False, "words": "1: bad; 5: superb"}
    verdict = judged("own_rubric", RUBRIC, ["superb", "bad"], params=words)
    assert verdict.value == {"ratings": {"helpfulness": 5, "completeness": 1}}
    whole = {"ask": "together", "path": "r"}
    source = "# user\n{{response}}{{criteria}}{{names}}"
    text = '{"reasons": "x", "r": {"helpfulness": 2, "completeness": 3}}'
    fields = {"params": whole, "prompt_source": source}
    assert judged("own_rubric", RUBRIC, text, **fields).value["ratings"] == {
        "helpfulness": 2,
        "completeness": 3,
    }
    assert (
        "completeness: is missing"
        in judged("own_rubric", RUBRIC, '{"r": {"helpfulness": 2}}', **fields).reason
    )
    assert "helpfulness: How is its helpfulness?" in text_of(asked("own_rubric", RUBRIC, **fields))
    rated = judged("prometheus", RUBRIC, ["Feedback: fine.\n[RESULT] 4", "Feedback: so so.\n[RESULT] 3"])
    assert rated.value == {"ratings": {"helpfulness": 4, "completeness": 3}}


def test_checklists_in_a_format_of_ones_own():
    rows = ['{"reasons": "x", "answer": "yes"}', '{"answer": true}', '{"criteria_met": false}']
    verdict = judged("own_checklist", CHECKLIST, rows)
    assert verdict.value["answers"] == {"poem": True, "lines": True, "rhyme": False}
    assert is_label(verdict, CHECKLIST, "answers")
    words = {"read": "words", "words": "yes: MET; no: UNMET", "reasons": False}
    verdict = judged("own_checklist", CHECKLIST, ["MET", "UNMET", "UNMET"], params=words)
    assert verdict.value["answers"] == {"poem": True, "lines": False, "rhyme": False}
    source = "# user\n{{response}}{{requirements}}{{names}}"
    fields = {"params": {"ask": "together", "words": "yes: met; no: missed"}, "prompt_source": source}
    text = '{"reasons": "", "answers": {"1": "met", "2": "missed", "3": "met"}}'
    assert judged("own_checklist", CHECKLIST, text, **fields).value["answers"]["lines"] is False


def test_weighted_rubric_items_give_a_share_of_the_points():
    texts = ("[5] Names the dose.", "(+3 points) Asks back.", "[-8] Names a wrong dose.", "Is polite.")
    item = replace(
        CHECKLIST, aspects=tuple(AspectView(f"c{number}", text) for number, text in enumerate(texts))
    )

    def score(*met):
        rows = [json.dumps({"reasons": "", "answer": "yes" if each else "no"}) for each in met]
        return judged("healthbench", item, rows).value

    found = score(True, False, False, True)
    assert found["points"] == {"c0": 5.0, "c1": 3.0, "c2": -8.0, "c3": 1.0}
    assert found["score"] == pytest.approx(6 / 9)
    assert found["drfr"] == 0.5
    assert score(True, True, True, True)["score"] == pytest.approx(1 / 9)
    assert score(False, False, True, False)["score"] == pytest.approx(-8 / 9)
    assert text_of(asked("healthbench", item)[0]).count("[5] Names the dose.") == 1


def test_orders_in_a_format_of_ones_own():
    verdict = judged("own_importance", IMPORTANCE, '{"reasons": "x", "ranking": [3, 1, 2]}')
    assert verdict.value == {"ranks": {"poem": 2, "lines": 3, "rhyme": 1}}
    assert is_label(verdict, IMPORTANCE, "ranks")
    scores = {"params": {"answer": "scores", "low": 0, "high": 10}}
    verdict = judged("own_importance", IMPORTANCE, '{"scores": {"1": 9, "2": 2.5, "3": 9}}', **scores)
    assert verdict.value["ranks"] == {"poem": 1, "lines": 2, "rhyme": 1}
    assert (
        "lines: not a number"
        in judged("own_importance", IMPORTANCE, '{"scores": {"1": 9, "3": 9}}', **scores).reason
    )
    pattern = {"params": {"read": "pattern", "pattern": r"order: ([\d> ]+)"}}
    verdict = judged("own_importance", IMPORTANCE, "So, order: 2 > 1 > 3", **pattern)
    assert verdict.value["ranks"] == {"poem": 2, "lines": 1, "rhyme": 3}
    assert judged("own_importance", IMPORTANCE, '{"ranking": [1, 2]}').reason == "rhyme is missing"

    seen = text_of(asked("own_ranking", RANKING))
    places = [
        int(seen.split(text)[0].rsplit("<answer_", 1)[1].partition(">")[0]) for text in RANKING.responses
    ]
    verdict = judged("own_ranking", RANKING, '{"reasons": "", "ranking": [1, 2, 3]}')
    assert verdict.value == {"ranks": {str(position): place for position, place in enumerate(places)}}
    alone = {
        "params": {"ask": "each", "read": "score", "reasons": False},
        "prompt_source": "# user\n{{response}}",
    }
    verdict = judged("own_ranking", RANKING, ["3", "9", "3"], **alone)
    assert verdict.value == {"ranks": {"0": 2, "1": 1, "2": 2}, "scores": {"0": 3.0, "1": 9.0, "2": 3.0}}


@pytest.mark.parametrize(
    ("strategy", "fields", "text", "choice", "value"),
    [
        ("mt_bench_pair", {}, "B is brief.\n\n[[B]]", 2, None),
        ("mt_bench_pair", {"allow_tie": True}, "Same.\n[[C]]", 0, None),
        ("arena_hard", {}, "My own answer.\nMy final verdict is [[A>>B]].", 1, {"strength": "much"}),
        ("arena_hard", {}, "My own answer.\n[[B>A]]", 2, {"strength": "slightly"}),
        ("arena_hard", {"allow_tie": True}, "Hm.\n[[A=B]]", 0, None),
        ("prometheus_pair", {"guidelines": "Is it prime?"}, "Feedback: A is.\n[RESULT] A", 1, None),
    ],
)
def test_presets_of_pairs_read_the_marks_of_their_source(strategy, fields, text, choice, value):
    verdict = feed(judge(strategy, **fields), text)
    assert (verdict.choice, verdict.value) == (choice, value)
    with_reference = text_of(asks(judge(strategy, use_reference=True, **fields))[0])
    assert "For example 7." in with_reference
    assert "For example 7." not in text_of(asks(judge(strategy, **fields))[0])


FIVE = ["A much better", "A slightly better", "tie", "B slightly better", "B much better"]


@pytest.mark.parametrize(
    ("fields", "text", "choice", "strength"),
    [
        ({}, '{"reasons": "A is right.", "verdict": "A much better"}', 1, "much"),
        ({}, '{"reasons": "", "verdict": "B better"}', 2, "better"),
        ({}, '{"reasons": "", "verdict": "B is slightly better"}', 2, "slightly"),
        ({"allow_tie": True}, '{"reasons": "", "verdict": "tie"}', 0, None),
        ({}, '{"reasons": "It says a side alone.", "verdict": "A"}', 1, None),
        (
            {"params": {"preference_points": 5}},
            '{"reasons": "", "verdict": "A slightly better"}',
            1,
            "slightly",
        ),
        ({"params": {"read": "words"}}, "Because of the sums.\n\nVerdict: B much better", 2, "much"),
        ({"params": {"read": "words", "reasons": False}}, "**A better**", 1, "better"),
        (
            {"params": {"read": "words", "words": "A much: ((1)); B much: ((2)); A better: ((3))"}},
            "Hm.\n((3))",
            1,
            "better",
        ),
    ],
)
def test_a_preference_on_five_or_seven_points(fields, text, choice, strength):
    verdict = feed(judge("graded", **fields), text)
    assert (verdict.choice, verdict.value) == (choice, {"strength": strength} if strength else None)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, '{"reasons": "", "verdict": "tie"}'),
        ({"params": {"preference_points": 5}}, '{"reasons": "", "verdict": "A better"}'),
        ({"params": {"read": "words", "reasons": False}}, "A much better, or A better"),
    ],
)
def test_what_is_no_point_of_the_scale_is_unparsed(fields, text):
    verdict = feed(judge("graded", **fields), text)
    assert verdict.status == "unparsed"
    assert verdict.reason


def test_the_answer_is_held_to_the_points():
    (asked_for,) = asks(judge("graded", allow_tie=True, params={"preference_points": 5}))
    schema = json.loads(asked_for.json_schema)
    assert schema["properties"]["verdict"]["enum"] == FIVE
    assert list(schema["properties"]) == ["reasons", "verdict"]
    assert '"B slightly better" or "B much better" }' in text_of(asked_for)
    (asked_for,) = asks(judge("graded", params={"preference_points": 5, "read": "words", "reasons": False}))
    assert asked_for.choices == tuple(words for words in FIVE if words != "tie")
    (asked_for,) = asks(judge("graded"))
    assert len(json.loads(asked_for.json_schema)["properties"]["verdict"]["enum"]) == 6


def test_a_format_of_ones_own_may_ask_for_points():
    source = "# user\n{{output_a}} {{output_b}}\n{{verdicts}}"
    fields = {"prompt_source": source, "allow_tie": True, "params": {"preference_points": 5}}
    verdict = feed(judge("own", **fields), '{"reasons": "", "verdict": "B much better"}')
    assert (verdict.choice, verdict.value) == (2, {"strength": "much"})
    assert (
        judge("own", **fields).fingerprint()
        != judge("own", prompt_source=source.replace("{{verdicts}}", "")).fingerprint()
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"prompt_source": "# user\n{{output_a}} {{output_b}} {{verdicts}}"}, "goes with it"),
        (
            {"prompt_source": "# user\n{{output}}", "params": {"ask": "each", "preference_points": 5}},
            "scored alone has none",
        ),
        ({"params": {"preference_points": 6}}, "preference_points"),
    ],
)
def test_points_that_cannot_be_asked_for_are_refused(fields, words):
    with pytest.raises(SpecError, match=words):
        judge("own", **fields)


def test_mt_benchs_single_grades_are_compared():
    assert feed(judge("mt_bench_single"), "Good.\nRating: [[8]]", "Fine.\nRating: [[6]]").scores == (8.0, 6.0)


def test_presets_of_strategies_have_their_settings():
    assert STRATEGIES["infobench"].params["in_turn"].default is True
    assert STRATEGIES["tower"].params["faithful"].default is True
    tree = judged("tower", IMPORTANCE, '{"level": 0, "children": [{"aspect": 1}, {"aspect": 2}, 3]}').value
    assert tree["ranks"] == {"poem": 1, "lines": 1, "rhyme": 1}
    assert judged("helm", RUBRIC, ["4", "5"]).value["ratings"] == {"helpfulness": 4, "completeness": 5}


FIRST = {info.name: (ITEM if info.kind == "pairwise" else ITEMS[info.kind]) for info in OWN}


@pytest.mark.parametrize("strategy", FIRST)
@given(text=st.text(max_size=60))
def test_any_text_is_a_verdict_or_unparsed_with_a_reason(strategy, text):
    item = FIRST[strategy]
    request = asked(strategy, item)
    verdict = judged(strategy, item, [text] * len(request) if isinstance(request, tuple) else text)
    assert verdict.status == "parsed" or verdict.reason
