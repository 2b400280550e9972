"""Self-consistency: a judge asked several times, whose votes decide."""

import pytest

from judges.strategies.errors import SpecError
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, ItemView, StrategyWalk, TokenLogprob

MODEL = {
    "backend": "openai",
    "endpoint": "http://127.0.0.1:9/v1",
    "model": "m",
    "decoding": {"temperature": 0.7},
}
PAIR = ItemView(1, "pairwise", "Say hello.", ("Hello.", "Hi."), external_id="p1")


def spec_of(strategy="vanilla", **fields):
    return JudgeSpec.from_dict({"strategy": strategy, **MODEL, **fields})


def walked(spec, answer, item=PAIR):
    """Walk through a judge's strategy, answered by a function of the request; returns the verdict and the requests."""
    walk = StrategyWalk(build_strategy(spec)(item))
    asked, goes_on = [], walk.advance()
    while goes_on:
        asked += walk.asked
        goes_on = walk.advance([answer(request) for request in walk.asked])
    return walk.verdict, asked


def test_each_sample_is_a_request_of_its_own_and_the_votes_decide():
    said = ["A", "B", "A", "A", "B"]
    verdict, asked = walked(spec_of(samples=5), lambda request: Answer(said[request.sample]))
    assert [request.sample for request in asked] == [0, 1, 2, 3, 4]
    assert len({request.messages for request in asked}) == 1
    assert (verdict.choice, verdict.status, verdict.probability) == (1, "parsed", 0.6)
    assert list(verdict.value["votes"].values()) == [1, 2, 1, 1, 2]


def test_votes_are_canonical_and_what_could_not_be_read_has_none():
    said = ["A", "no idea", "A"]
    swapped = ItemView(1, "pairwise", "Say hello.", ("Hi.", "Hello."), order=1, external_id="p1")
    verdict, _ = walked(spec_of(samples=3), lambda request: Answer(said[request.sample]), swapped)
    assert (verdict.choice, verdict.probability) == (1, 1.0)
    assert verdict.value["votes"] == {"0": 2, "1": None, "2": 2}


@pytest.mark.parametrize(("allow_tie", "status", "choice"), [(True, "parsed", 0), (False, "unparsed", None)])
def test_equal_votes_are_a_tie_only_where_one_is_allowed(allow_tie, status, choice):
    verdict, _ = walked(spec_of(samples=2, allow_tie=allow_tie), lambda request: Answer("AB"[request.sample]))
    assert (verdict.status, verdict.choice) == (status, choice)
    # What contradicts itself most must not be missing from its test-retest reliability.
    assert verdict.value["votes"] == {"0": 1, "1": 2}


def test_steps_are_sampled_as_a_whole():
    def answer(request):
        return Answer("A" if request.choices else f"sample {request.sample}")

    _, asked = walked(spec_of("metrics", samples=3), answer)
    assert sorted(request.sample for request in asked) == [0, 0, 1, 1, 2, 2]
    last = [request for request in asked if request.choices]
    for request in last:
        assert f"sample {request.sample}" in request.messages[-1][1]


def test_scores_are_averaged_before_they_are_compared():
    scores = {("Hello.", 0): "3", ("Hello.", 1): "9", ("Hi.", 0): "4", ("Hi.", 1): "5"}

    def answer(request):
        shown = next(text for text in ("Hello.", "Hi.") if f"\n{text}\n" in request.messages[-1][1])
        return Answer(scores[shown, request.sample])

    verdict, _ = walked(spec_of("rating", samples=2), answer)
    assert (verdict.scores, verdict.choice) == ((6.0, 4.5), 1)


def test_a_member_that_samples_keeps_its_own_numbers():
    member = spec_of(samples=2)
    jury = JudgeSpec.from_dict({"strategy": "jury", "members": {"x": member.to_dict()}, "samples": 2})
    _, asked = walked(jury, lambda request: Answer("A"))
    assert sorted(request.sample for request in asked) == [0, 1, 2, 3]


def test_one_sample_is_the_judge_of_before():
    plain, one = spec_of(), spec_of(samples=1)
    assert one.fingerprint() == plain.fingerprint()
    assert "samples" not in one.identity()
    assert spec_of(samples=2).fingerprint() != plain.fingerprint()
    assert JudgeSpec.from_dict(spec_of(samples=2).to_dict()) == spec_of(samples=2)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"samples": 0}, "samples"),
        ({"samples": 101}, "samples"),
        ({"samples": "3"}, "samples"),
        ({"samples": True}, "samples"),
        ({"samples": 3, "decoding": {"temperature": 0}}, "samples"),
    ],
)
def test_samples_that_cannot_differ_are_refused(fields, field):
    with pytest.raises(SpecError) as caught:
        spec_of(**fields)
    assert caught.value.field == field


def test_what_generates_nothing_has_one_sample():
    assert JudgeSpec("longest", samples=5).samples == 1
    assert spec_of("reward", samples=5).samples == 1


def test_top_logprobs_are_as_many_as_the_judge_says():
    from judges.backends.wire import build_wire

    spec = spec_of(params={"probabilities": True})
    _, (request,) = walked(spec, lambda _: Answer("A", logprobs=(TokenLogprob("A", -0.1, (("B", -2.0),)),)))
    for given, asked in (({}, 20), ({"top_logprobs": 5}, 5), ({"top_logprobs": None}, 0)):
        decoding = spec_of(decoding={"temperature": 0.7, **given}).decoding
        wire = build_wire(request, model="m", decoding=decoding)
        assert wire.logprobs == asked
        assert "top_logprobs" not in wire.payload()["decoding"]
    assert "top_logprobs" not in spec.identity()["decoding"]
    assert spec_of(decoding={"top_logprobs": 5}).fingerprint() != spec_of(decoding={}).fingerprint()
    with pytest.raises(SpecError, match="top_logprobs"):
        spec_of(decoding={"top_logprobs": 0})
