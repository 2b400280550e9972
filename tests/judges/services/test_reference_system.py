"""Another system's response as the reference: what is shown, what is missing, and that it is another judge."""

import pytest

from annotation.models import Response
from judges.models import Judgment
from judges.selectors.trace import judgment_trace
from judges.services.judges import judge_content, spec_build
from judges.services.sweeps import SweepError
from judges.strategies.spec import JudgeSpec
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make

pytestmark = pytest.mark.django_db


def judge_by(system: str, endpoint, **content):
    return judge_make(endpoint, strategy="reference", reference_system=system, **content)


def answers_make(dataset, system: str, *, but: int = 0) -> None:
    """An answer of a system to every instruction but the first few."""
    for number, instruction in enumerate(dataset.instructions.order_by("pk")):
        if number >= but:
            Response.objects.create(
                instruction=instruction,
                external_id=f"by-{system}",
                system=system,
                text=f"{system} says {number}",
            )


def test_the_response_of_the_system_is_shown():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=2)
    answers_make(dataset, "strong")
    asked = []

    def respond(wire):
        asked.append(wire.messages[-1][1])
        return "A"

    judge = judge_by("strong", endpoint)
    sweep_make([judge], dataset)
    run_instant(respond)
    assert Judgment.objects.filter(status="parsed").count() == 4
    assert sorted("strong says 1" in text for text in asked) == [False, False, True, True]
    trace = judgment_trace(Judgment.objects.first())
    assert "strong says 0" in trace.requests[0].wire.messages[-1][1]
    assert judge_content(judge)["reference_system"] == "strong"


def test_members_of_a_jury_may_have_references_of_their_own():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=1)
    for system in ("strong", "weak"):
        answers_make(dataset, system)
    members = {system: judge_by(system, endpoint, name=system) for system in ("strong", "weak")}
    jury = judge_make(name="both", strategy="jury", members=members)
    assert JudgeSpec.from_dict(jury.spec).reference_systems() == {"strong", "weak"}
    asked = set()

    def respond(wire):
        asked.add(next(system for system in members if f"{system} says" in wire.messages[-1][1]))
        return "A"

    sweep_make([jury], dataset)
    run_instant(respond)
    assert asked == {"strong", "weak"}


def test_where_it_is_missing_the_check_says_so_and_the_item_fails_with_the_reason():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=3)
    with pytest.raises(SweepError, match="reads the response of 'strong', and no item"):
        sweep_make([judge_by("strong", endpoint)], dataset)
    answers_make(dataset, "strong", but=1)
    judge = judge_by("strong", endpoint, allow_tie=True)
    sweep_make([judge], dataset)
    run_instant("A")
    failed = Judgment.objects.filter(status="failed")
    assert failed.count() == 2
    assert "no reference" in failed.first().raw_text


def test_a_response_is_not_judged_by_itself():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=1)
    Response.objects.filter(items__dataset=dataset).update(system="strong")
    sweep_make([judge_by("strong", endpoint)], dataset)
    run_instant("A")
    assert "response of 'strong', which is judged here" in Judgment.objects.first().raw_text


def test_it_is_another_judge_and_is_forgotten_where_no_reference_is_read():
    endpoint = endpoint_make()
    plain = spec_build(strategy="reference", endpoint=endpoint, model="m")
    other = spec_build(strategy="reference", endpoint=endpoint, model="m", reference_system="strong")
    assert plain.fingerprint() != other.fingerprint()
    assert "reference_system" not in plain.identity()
    unread = spec_build(strategy="vanilla", endpoint=endpoint, model="m", reference_system="strong")
    assert unread == spec_build(strategy="vanilla", endpoint=endpoint, model="m")
    assert spec_build(strategy="rouge_l", reference_system="strong").reference_system == "strong"
