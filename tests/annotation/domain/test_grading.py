"""Grading of tests, and the rules of questions about a person: by hand, by property, and at the edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.eligibility import eligibility_read, is_eligible
from annotation.domain.errors import LabelValueError, StudyRuleError
from annotation.domain.grading import grade_tolerant
from annotation.kinds import kind_of

NATIVE = {
    "key": "native",
    "question": "Is English your first language?",
    "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
}
DEGREE = {
    "key": "degree",
    "question": "What is your highest degree?",
    "options": [
        {"text": "None", "eligible": False},
        {"text": "Bachelor", "eligible": True},
        {"text": "Doctorate", "eligible": True},
    ],
}


class TestGrading:
    """By hand, by property, and at the edges."""

    @pytest.mark.parametrize(
        ("kind", "value", "gold", "expected"),
        [
            ("pairwise", {"choice": 1}, {"choice": 1}, [0]),
            ("pairwise", {"choice": 0, "both_bad": True}, {"choice": 2}, [1]),
            ("rubric", {"ratings": {"a": 1, "b": 5}}, {"ratings": {"a": 4, "b": 4}}, [3, 1]),
            ("rubric", {"ratings": {"a": 1}}, {"ratings": {"a": 1, "not_asked": 4}}, [0]),
            ("checklist", {"answers": {"a": None, "b": False}}, {"answers": {"a": True, "b": False}}, [1, 0]),
            ("checklist", {"answers": {"a": None}}, {"answers": {"a": None}}, []),
            (
                "importance",
                {"ranks": {"a": 1, "b": 3, "c": 2}},
                {"ranks": {"a": 1, "b": 2, "c": 3}},
                [0, 1, 1],
            ),
            ("answer_ranking", {"ranks": {"0": 1, "1": 1}}, {"ranks": {"0": 1, "1": 2}}, [0, 1]),
        ],
    )
    def test_distances_by_hand(self, kind, value, gold, expected):
        assert kind_of(kind).distances(value, gold) == expected

    def test_helm_by_hand(self):
        """17 answers of 5 criteria: 85 judgments, of which 73 within one point are 0.8588 and 72 are 0.847."""
        answers = [(5, 5)] * 14
        assert grade_tolerant([*answers, (5, 3), (5, 0), (5, 0)], threshold=0.85).passed
        assert not grade_tolerant([*answers, (5, 2), (5, 0), (5, 0)], threshold=0.85).passed

    def test_the_threshold_has_to_be_exceeded(self):
        assert not grade_tolerant([(20, 17)], threshold=0.85).passed

    def test_nothing_to_judge_is_no_pass(self):
        result = grade_tolerant([], threshold=0.0)
        assert result.accuracy is None
        assert not result.passed

    def test_what_is_right_or_wrong_has_no_tolerance(self):
        assert kind_of("pairwise").grade({"choice": 1}, {"choice": 2}, tolerance=1).within == 0
        wrong = kind_of("checklist").grade({"answers": {"a": True}}, {"answers": {"a": False}}, tolerance=5)
        assert wrong.within == 0

    def test_unknown(self):
        with pytest.raises(ValueError, match="kind"):
            kind_of("poem").distances({}, {})
        with pytest.raises(ValueError, match="tolerance"):
            kind_of("pairwise").grade({"choice": 1}, {"choice": 1}, tolerance=-1)

    @given(
        ratings=st.dictionaries(
            st.sampled_from("abcde"), st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1
        ),
        tolerance=st.integers(0, 4),
    )
    def test_ratings(self, ratings, tolerance):
        value = {"ratings": {key: given for key, (given, _) in ratings.items()}}
        gold = {"ratings": {key: right for key, (_, right) in ratings.items()}}
        result = kind_of("rubric").grade(value, gold, tolerance=tolerance)
        assert result.within == sum(abs(given - right) <= tolerance for given, right in ratings.values())
        assert result.judgments == len(ratings)
        assert result.is_right == (value == gold)
        assert kind_of("rubric").grade(gold, value, tolerance=tolerance) == result
        assert kind_of("rubric").grade(value, gold, tolerance=4).within == len(ratings)

    @given(ranks=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 6), min_size=1))
    def test_a_ranking_with_gaps_is_the_same_ranking(self, ranks):
        wider = {"ranks": {key: rank * 10 for key, rank in ranks.items()}}
        assert kind_of("importance").grade(wider, {"ranks": ranks}, tolerance=0).is_right


class TestEligibilityRules:
    def test_reading(self):
        native, degree = eligibility_read([NATIVE, DEGREE])
        assert (native.key, [option.text for option in degree.options]) == (
            "native",
            ["None", "Bachelor", "Doctorate"],
        )
        assert eligibility_read([]) == ()

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("x", "expected a list"),
            ([NATIVE] * 21, "at most 20"),
            ([[]], r"\[0\]: expected an object"),
            ([NATIVE, NATIVE], r"\[1\].key: 'native' is the key"),
            ([NATIVE | {"key": "Has Space"}], r"\[0\].key"),
            ([NATIVE | {"question": " "}], r"\[0\].question"),
            ([{"key": "a", "question": "b"}], r"\[0\].options: is missing"),
            ([NATIVE | {"right": 1}], r"\[0\].right: is not expected"),
            ([NATIVE | {"options": NATIVE["options"][:1]}], r"\[0\].options: expected 2"),
            ([NATIVE | {"options": NATIVE["options"][1:] * 2}], r"\[0\].options: two"),
            (
                [NATIVE | {"options": [{"text": "a", "eligible": False}, {"text": "b", "eligible": False}]}],
                "nobody",
            ),
            (
                [NATIVE | {"options": [{"text": "a", "eligible": "yes"}, {"text": "b", "eligible": True}]}],
                r"\[0\].options\[0\].eligible",
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, value, message):
        with pytest.raises(StudyRuleError, match=message) as caught:
            eligibility_read(value)
        assert caught.value.field == "eligibility"

    @given(native=st.sampled_from(["Yes", "No"]), degree=st.sampled_from(["None", "Bachelor", "Doctorate"]))
    def test_every_answer_has_to_let_them_in(self, native, degree):
        questions = eligibility_read([NATIVE, DEGREE])
        answers = {"native": native, "degree": degree}
        assert is_eligible(questions, answers) == (native == "Yes" and degree != "None")

    @pytest.mark.parametrize("answers", [{}, {"native": "Perhaps"}, {"native": 1}])
    def test_an_answer_that_is_none(self, answers):
        with pytest.raises(LabelValueError) as caught:
            is_eligible(eligibility_read([NATIVE]), answers)
        assert caught.value.field == "native"
