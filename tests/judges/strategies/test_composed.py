"""Composites and juries, their members fed with strings."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.strategies.combining import combine
from judges.strategies.composed import together
from judges.strategies.errors import SpecError, StrategyError
from judges.strategies.orders import average_ranks, ranked
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, AspectView, Chat, ItemView, Verdict
from tests.judges.strategies.replay import advance

ITEM = ItemView(17, "pairwise", "Name a prime.", ("Seven is one.", "Nine."), category="Coding/Python")
VANILLA = {"strategy": "vanilla", "backend": "openai", "model": "m"}
COT = {"strategy": "cot", "backend": "openai", "model": "n"}
REWARD = {"strategy": "reward", "backend": "transformers", "model": "r"}
LONGEST = {"strategy": "longest"}


def start(strategy, members, item=ITEM, **fields):
    return build_strategy(JudgeSpec.from_dict({"strategy": strategy, "members": members, **fields}))(item)


class TestComposite:
    @pytest.mark.parametrize(
        ("category", "member"),
        [("Coding", "Coding"), ("Coding/Python", "Coding"), ("Poetry", "*"), ("", "*"), ("Codings", "*")],
    )
    def test_the_member_of_the_category_judges(self, category, member):
        steps = start("composite", {"Coding": VANILLA, "*": COT}, replace(ITEM, category=category))
        asked = advance(steps, [])
        assert asked.role == f"{member}/judge"
        assert asked.choices == (("A", "B") if member == "Coding" else ())

    def test_its_verdict_is_the_verdict_and_names_it(self):
        verdict = advance(start("composite", {"Coding": VANILLA}), [Answer(text="B")])
        assert verdict == Verdict(choice=2, status="parsed", raw_text="B", value={"member": "Coding"})

    def test_a_member_may_ask_nothing(self):
        verdict = advance(start("composite", {"*": LONGEST}), [])
        assert (verdict.choice, verdict.value) == (1, {"member": "*"})

    def test_an_unparsed_verdict_keeps_its_reason(self):
        verdict = advance(start("composite", {"*": VANILLA}), [Answer(text="Hm.")])
        assert (verdict.status, verdict.reason) == ("unparsed", "not a verdict")

    def test_a_category_without_a_member_is_an_error_that_names_it(self):
        with pytest.raises(StrategyError, match=r"'Coding/Python'.*it has members for: Maths, Poetry\."):
            advance(start("composite", {"Poetry": VANILLA, "Maths": COT}), [])

    def test_the_longest_path_judges(self):
        members = {"Coding": VANILLA, "Coding/Python": COT, "*": LONGEST}
        for category, member in (("Coding/Python/Sets", "Coding/Python"), ("Coding/C", "Coding")):
            asked = advance(start("composite", members, replace(ITEM, category=category)), [])
            assert asked.role == f"{member}/judge"

    @pytest.mark.parametrize(
        ("subset", "member"),
        [
            ("Natural", "*"),
            ("Adversarial/Neighbor", "Adversarial/Neighbor"),
            ("Adversarial/Manual", "Adversarial"),
        ],
    )
    def test_the_member_of_the_subset_judges(self, subset, member):
        members = {"Adversarial": VANILLA, "Adversarial/Neighbor": COT, "*": VANILLA | {"model": "x"}}
        item = replace(ITEM, category="Adversarial", subset=subset)
        steps = start("composite", members, item, params={"by": "subset"})
        assert advance(steps, []).role == f"{member}/judge"

    def test_a_subset_without_a_member_is_an_error_that_names_it(self):
        members, params = {"Natural": VANILLA}, {"by": "subset"}
        with pytest.raises(StrategyError, match=r"'Adversarial/Manual', and .*: Natural\."):
            advance(
                start("composite", members, replace(ITEM, subset="Adversarial/Manual"), params=params), []
            )
        with pytest.raises(StrategyError, match="Item 17 has no subset"):
            advance(start("composite", members, params=params), [])

    def test_by_category_is_the_composite_of_before(self):
        plain = JudgeSpec.from_dict({"strategy": "composite", "members": {"Coding": VANILLA}})
        assert "by" not in plain.identity()["params"]
        assert plain.fingerprint() == "725546b860a3ab5c"
        by_subset = JudgeSpec.from_dict(plain.to_dict() | {"params": {"by": "subset"}})
        assert by_subset.fingerprint() != plain.fingerprint()
        assert JudgeSpec.from_dict(by_subset.to_dict()) == by_subset

    @pytest.mark.parametrize("key", ["/Coding", "Coding/", "Coding//Python", "Coding/ /Python", " "])
    def test_a_path_has_names(self, key):
        with pytest.raises(SpecError, match=r"a path has a name|each with a name"):
            start("composite", {key: VANILLA})

    def test_there_is_nothing_else_to_go_by(self):
        with pytest.raises(SpecError, match=r"params\.by"):
            start("composite", {"*": VANILLA}, params={"by": "language"})

    def test_members_of_a_jury_are_no_paths(self):
        with pytest.raises(SpecError, match="a name has no '/'"):
            start("jury", {"one/two": VANILLA})

    def test_no_two_models_have_one_role(self):
        inner = {"strategy": "composite", "members": {"Python": VANILLA}}
        with pytest.raises(SpecError, match="'Coding/Python/judge' would be that of two members"):
            start("composite", {"Coding": inner, "Coding/Python": VANILLA})

    def test_a_composite_of_composites(self):
        inner = {"strategy": "composite", "members": {"Coding": VANILLA}}
        asked = advance(start("composite", {"*": inner}), [])
        assert asked.role == "*/Coding/judge"

    def test_members_judge_one_kind_of_items(self):
        ranking = {"strategy": "loglikelihood_ranking", "backend": "openai", "model": "m"}
        with pytest.raises(SpecError, match="different kinds"):
            start("composite", {"a": VANILLA, "b": ranking})


def jury(*answers, members=None, item=ITEM, **params):
    members = members or {"one": VANILLA, "three": VANILLA | {"model": "x"}, "two": COT}
    return advance(start("jury", members, item, params=params), [tuple(map(text, step)) for step in answers])


def text(said):
    return said if isinstance(said, Answer) else Answer(text=said)


class TestJury:
    def test_all_members_ask_at_once(self):
        asked = jury()
        assert [request.role for request in asked] == ["one/judge", "three/judge", "two/judge"]

    def test_the_majority_decides(self):
        verdict = jury(("A", "B", "Reasons.\nVerdict: B"))
        assert (verdict.choice, verdict.status) == (2, "parsed")
        assert verdict.value == {"votes": {"one": 1, "three": 2, "two": 2}}
        assert verdict.probability == pytest.approx(1 / 3)
        assert verdict.raw_text == "one: A\nthree: B\ntwo: B"

    def test_votes_are_canonical_and_the_choice_is_as_presented(self):
        item = replace(ITEM, responses=ITEM.responses[::-1], order=1)
        verdict = jury(("A", "B", "Verdict: B"), item=item)
        assert verdict.choice == 2
        assert verdict.value == {"votes": {"one": 2, "three": 1, "two": 1}}

    def test_who_could_not_be_read_has_no_vote(self):
        verdict = jury(("A", "Hm.", "Verdict: A"))
        assert verdict.choice == 1
        assert verdict.value["votes"] == {"one": 1, "three": None, "two": 1}
        assert "three: unparsed (not a verdict)" in verdict.raw_text

    def test_a_draw_is_a_tie_or_unparsed(self):
        assert jury(("A", "Hm.", "Verdict: B")).choice == 0
        verdict = jury(("A", "Hm.", "Verdict: B"), on_draw="unparsed")
        assert (verdict.choice, verdict.status, verdict.reason) == (
            None,
            "unparsed",
            "the members' votes are drawn",
        )

    def test_below_the_quorum_there_is_no_verdict(self):
        verdict = jury(("A", "Hm.", "Verdict: A"), quorum=3)
        assert (verdict.choice, verdict.status) == (None, "unparsed")
        assert verdict.reason == "2 of 3 members gave a verdict, and the quorum is 3"
        assert jury(("?", "?", "?")).reason == "0 of 3 members gave a verdict, and the quorum is 1"

    def test_ties_are_votes_too(self):
        members = {name: VANILLA | {"allow_tie": True, "model": name} for name in "abc"}
        assert jury(("tie", "tie", "A"), members=members).choice == 0
        assert jury(("tie", "A", "A"), members=members).choice == 1

    def test_mean_probability(self):
        members = {"reward": REWARD, "vanilla": VANILLA}
        sure = Answer(text="", scores=(0.0,)), Answer(text="", scores=(3.0,))
        verdict = jury((*sure, "A"), members=members, combine="mean_probability")
        assert verdict.probability == pytest.approx((1 / (1 + 2.718281828459045**3) + 1) / 2)
        assert verdict.choice == 1
        assert jury((*sure, "B"), members=members, combine="mean_probability").choice == 2
        even = Answer(text="", scores=(1.0,)), Answer(text="", scores=(1.0,))
        assert jury((*even, "?"), members=members, combine="mean_probability").choice == 0

    def test_members_that_ask_nothing_have_their_verdict_at_once(self):
        verdict = jury(("B",), members={"longest": LONGEST, "model": VANILLA})
        assert verdict.value == {"votes": {"longest": 1, "model": 2}}
        verdict = advance(start("jury", {"longest": LONGEST, "shortest": {"strategy": "shortest"}}), [])
        assert (verdict.choice, verdict.probability) == (0, 0.5)

    def test_weighted_votes(self):
        weights = {"one": 0.3, "three": -0.2, "two": 0.4}

        def said(*answers, **params):
            return jury(*answers, combine="weights", weights=json.dumps(weights), **params)

        verdict = said(("A", "A", "Verdict: B"))
        assert verdict.choice == 2
        assert verdict.probability == pytest.approx(1 / (1 + math.exp(0.3)))
        assert verdict.value == {"votes": {"one": 1, "three": 1, "two": 2}}
        assert said(("A", "A", "Verdict: B"), tie_margin=0.3).choice == 0
        assert said(("A", "Hm.", "Nothing.")).choice == 1

    def test_equal_weighted_votes_are_drawn_whatever_the_noise_of_floats(self):
        weights = json.dumps({"one": 0.3, "three": 0.2, "two": 0.1})
        votes = ("A", "B", "Verdict: B")
        assert jury(votes, combine="weights", weights=weights).choice == 0
        verdict = jury(votes, combine="weights", weights=weights, on_draw="unparsed")
        assert (verdict.status, verdict.reason) == ("unparsed", "the members' votes are drawn")
        members = {name: VANILLA | {"allow_tie": True, "model": name} for name in ("one", "three", "two")}
        verdict = jury(("tie",) * 3, members=members, combine="weights", weights=weights, on_draw="unparsed")
        assert verdict.choice == 0

    @pytest.mark.parametrize(
        ("weights", "words"),
        [
            ("", "a weight for each member"),
            ("[1, 2]", "a weight for each member"),
            ("no JSON", "a weight for each member"),
            ('{"a": 1}', "a weight for each member"),
            ('{"a": 1, "b": "2"}', "the weight of 'b', found '2'"),
            ('{"a": 1, "b": NaN}', "the weight of 'b', found nan"),
            ('{"a": 0, "b": 0}', "other than 0"),
        ],
    )
    def test_weights_are_checked(self, weights, words):
        with pytest.raises(SpecError, match=words) as error:
            start("jury", {"a": VANILLA, "b": COT}, params={"combine": "weights", "weights": weights})
        assert error.value.field == "params.weights"

    def test_weights_that_nothing_uses_are_refused(self):
        with pytest.raises(SpecError, match="only votes combined by"):
            start("jury", {"a": VANILLA, "b": COT}, params={"weights": '{"a": 1, "b": 1}'})

    def test_only_pairs_have_weighted_votes(self):
        ranking = {"strategy": "loglikelihood_ranking", "backend": "openai", "model": "m"}
        members = {"a": ranking, "b": ranking | {"model": "n"}}
        with pytest.raises(SpecError, match="only judges of pairs"):
            start("jury", members, params={"combine": "weights", "weights": '{"a": 1, "b": 1}'})

    def test_a_jury_in_a_jury(self):
        inner = {"strategy": "jury", "members": {"a": VANILLA, "b": COT}}
        asked = advance(start("jury", {"inner": inner, "outer": VANILLA}), [])
        assert [request.role for request in asked] == ["inner/a/judge", "inner/b/judge", "outer/judge"]


def member(*widths):
    """A member whose steps yield so many requests; 0 stands for one request that is no tuple."""
    seen = []
    for step, width in enumerate(widths):
        requests = tuple(Chat((("user", f"{step}.{place}"),)) for place in range(max(width, 1)))
        sent = yield requests if width else requests[0]
        seen.append([answer.text for answer in (sent if width else (sent,))])
        assert isinstance(sent, tuple) == bool(width)
    return Verdict(choice=1, status="parsed", raw_text=repr(seen))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=4))
def test_members_of_any_number_of_steps_get_their_own_answers(shapes):
    steps = together({str(number): member(*widths) for number, widths in enumerate(shapes)})
    rounds = 0
    try:
        asked = next(steps)
        while True:
            rounds += 1
            asked = steps.send(tuple(Answer(text=request.messages[0][1]) for request in asked))
    except StopIteration as stop:
        verdicts = stop.value
    assert rounds == max((len(widths) for widths in shapes), default=0)
    for number, widths in enumerate(shapes):
        expected = [
            [f"{step}.{place}" for place in range(max(width, 1))] for step, width in enumerate(widths)
        ]
        assert verdicts[str(number)].raw_text == repr(expected)


def combined(kind, values, aspects=(), **params):
    item = ItemView(17, kind, "?", (), aspects=aspects)
    verdicts = {
        key: Verdict(None, "unparsed", reason="why")
        if value is None
        else Verdict(None, "parsed", value=value)
        for key, value in values.items()
    }
    return combine(item, verdicts, params)


class TestOtherKinds:
    def test_ratings_are_means_rounded_half_to_even(self):
        values = {
            "a": {"ratings": {"clear": 4, "short": 2}, "expected": {"clear": 4.4}},
            "b": {"ratings": {"clear": 5, "short": 3}},
            "c": None,
        }
        verdict = combined("rubric", values)
        assert verdict.value["ratings"] == {"clear": 4, "short": 2}
        assert verdict.value["expected"] == {"clear": pytest.approx(4.7), "short": 2.5}
        assert verdict.value["votes"] == {
            "a": {"clear": 4, "short": 2},
            "b": {"clear": 5, "short": 3},
            "c": None,
        }
        assert verdict.raw_text.split("\n")[2] == "c: unparsed (why)"

    def test_the_most_frequent_answer_of_a_checklist(self):
        values = {
            "a": {"answers": {"q1": True, "q2": None, "q3": True}},
            "b": {"answers": {"q1": True, "q2": None, "q3": False}},
            "c": {"answers": {"q1": False, "q2": True}},
        }
        assert combined("checklist", values).value["answers"] == {"q1": True, "q2": None, "q3": None}
        assert combined("checklist", values, on_draw="unparsed").status == "unparsed"

    def test_a_checklist_has_the_scores_of_the_combined_answers(self):
        values = {
            "a": {"answers": {"q1": True, "q2": False}, "drfr": 0.5},
            "b": {"answers": {"q1": True, "q2": True}, "drfr": 1.0},
            "c": {"answers": {"q1": False, "q2": False}, "drfr": 0.0},
        }
        aspects = (AspectView("q1", "One?"), AspectView("q2", "Two?", parent="q1"))
        verdict = combined("checklist", values, aspects=aspects)
        assert verdict.value["answers"] == {"q1": True, "q2": False}
        assert verdict.value["drfr"] == 0.5
        assert verdict.value["tower"] == pytest.approx(2 / 3)
        with pytest.raises(StrategyError, match="no tree"):
            combined("checklist", values, aspects=(AspectView("q1", "One?", parent="q3"),))

    @pytest.mark.parametrize("kind", ["importance", "answer_ranking"])
    def test_ranks_are_those_of_the_mean_ranks(self, kind):
        values = {
            "a": {"ranks": {"0": 1, "1": 2, "2": 2}},  # places 1, 2.5, 2.5
            "b": {"ranks": {"0": 3, "1": 1, "2": 2}},
        }
        # Means 2, 1.75, 2.25.
        assert combined(kind, values).value["ranks"] == {"0": 2, "1": 1, "2": 3}

    def test_below_the_quorum_there_is_no_value(self):
        assert combined("rubric", {"a": None, "b": {"ratings": {"x": 1}}}, quorum=2).status == "unparsed"

    def test_generations_are_not_combined(self):
        with pytest.raises(StrategyError, match="'generation'"):
            combined("generation", {"a": {}})


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(1, 5), min_size=1))
def test_ranks_without_gaps_and_average_ranks(values):
    levels = ranked(values)
    places = average_ranks(levels)
    assert set(levels.values()) == set(range(1, max(levels.values()) + 1))
    assert sum(places.values()) * 2 == len(values) * (len(values) + 1)
    for one in values:
        for other in values:
            assert (
                (levels[one] < levels[other])
                == (values[one] < values[other])
                == (places[one] < places[other])
            )
