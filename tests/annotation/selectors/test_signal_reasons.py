"""Reasons to look, from answers: no database."""

import math
from typing import Any

import numpy as np
import pytest

from annotation.domain.signals import Signals
from annotation.selectors.signal_reasons import SignalAnswer, signals_compute

NAN = math.nan
USUAL = Signals(
    first_ms=3000, hidden=0, hidden_ms=0, pointer=60, touch=0, keys=2, scrolled=100, pastes=0, pasted=0,
    gaps=0, typed=0, keyless=0, untrusted=0,
)  # fmt: skip


def changed(**fields: Any) -> Signals:
    from dataclasses import replace

    return replace(USUAL, **fields)


def answer(annotator: int, item: int, seconds: float = 34.0, **fields: Any) -> SignalAnswer:
    given = {"words": 400, "comment": 0, "pasted": 0, "has_word": False, "signals": USUAL}
    return SignalAnswer(annotator, item, seconds, **(given | fields))


def crowd(people: int = 12, items: int = 20) -> list[SignalAnswer]:
    """People who answer as people do: each at a pace of their own, now and then away."""
    rng = np.random.default_rng(1)
    found = []
    for annotator in range(1, people + 1):
        pace, away = rng.normal(3.5, 0.3), rng.beta(1, 12)
        for item in range(items):
            signals = changed(hidden=int(rng.random() < away), pointer=int(rng.integers(20, 200)))
            found.append(answer(annotator, item, float(np.exp(rng.normal(pace, 0.5))), signals=signals))
    return found


def keys_of(answers, annotator):
    return {reason.kind.key for reason in signals_compute(answers).reasons.get(annotator, ())}


def test_people_who_work_as_the_others_do_have_no_reasons():
    found = signals_compute(crowd())
    assert found.reasons == {}
    assert found.tests > 12 * 5
    assert found.with_signals == found.answers == 240


def test_nothing_collected_is_no_reason_and_no_test_of_it():
    answers = [*crowd(), *[answer(99, item, 33.0 + item, signals=None) for item in range(20)]]
    found = signals_compute(answers)
    assert 99 not in found.reasons
    assert found.people[99].with_signals == 0


def test_faster_than_reading_has_its_counts_and_the_fastest_answer():
    answers = [*crowd(), *[answer(99, item, 2.1 if item else 2.0, words=1400) for item in range(20)]]
    reasons = {reason.kind.key: reason for reason in signals_compute(answers).reasons[99]}
    assert set(reasons) >= {"reading", "pace", "regular"}
    said = reasons["reading"].evidence
    assert said.startswith(
        "20 of 20 answers (100.0%) came faster than their item can be read at 1,500 words a minute"
    )
    assert "of the other annotators’ answers, " in said
    assert "The fastest: 2.0 s on 1,400 words, where others take" in said
    assert reasons["reading"].adjusted <= 0.05
    assert reasons["reading"].kind.explains
    assert "of the time that others take on the same items" in reasons["pace"].evidence


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        ("hidden", {"signals": changed(hidden=2, hidden_ms=9000)}),
        ("pasted", {"comment": 80, "pasted": 70}),
        ("keyless", {"signals": changed(typed=90, keyless=85)}),
        ("still", {"signals": changed(pointer=0, keys=0)}),
        ("unseen", {"signals": changed(scrolled=20)}),
        ("untrusted", {"signals": changed(untrusted=3)}),
    ],
)
def test_what_happens_at_every_answer_of_one_person_stands_out(key, fields):
    rng = np.random.default_rng(2)
    usual = crowd()
    if key in ("pasted", "keyless"):  # the others write, too
        text = changed(typed=60, keyless=0)
        usual = [answer(each.annotator, each.item, each.seconds, comment=60, signals=text) for each in usual]
    odd = [answer(99, item, float(np.exp(rng.normal(3.5, 0.5))), **fields) for item in range(20)]
    assert keys_of([*usual, *odd], 99) == {key}
    assert signals_compute([*usual, *odd]).reasons.keys() == {99}


def test_an_even_rhythm_of_keys_stands_out():
    rng = np.random.default_rng(3)

    def typed(spread):
        return changed(typed=60, keyless=0, gaps=50, gap_ms=140, gap_spread_ms=int(spread))

    usual = [
        answer(each.annotator, each.item, each.seconds, comment=60, signals=typed(rng.integers(60, 160)))
        for each in crowd()
    ]
    odd = [
        answer(99, item, float(np.exp(rng.normal(3.5, 0.5))), comment=60, signals=typed(2))
        for item in range(20)
    ]
    assert keys_of([*usual, *odd], 99) == {"rhythm"}


def test_what_only_a_program_does_is_said_as_it_is_without_a_test():
    odd = [
        answer(99, 1, 30.0, has_word=True, signals=changed(decoy=True, automated=True)),
        answer(99, 2, 30.0),
    ]
    found = signals_compute([*crowd(), *odd])
    reasons = {reason.kind.key: reason for reason in found.reasons[99]}
    assert set(reasons) == {"reader_word", "decoy", "automated"}
    assert all(reason.adjusted is None for reason in reasons.values())
    assert reasons["decoy"].evidence == "1 of 2 answers have the hidden field filled in."
    assert (found.people[99].reader_word, found.people[99].decoy, found.people[99].automated) == (1, 1, 1)


def test_with_few_people_facts_are_said_and_nothing_is_tested():
    found = signals_compute([answer(1, 1, 0.1), answer(2, 1, 30.0), answer(3, 1, 31.0, has_word=True)])
    assert found.tests == 0
    assert list(found.reasons) == [3]


@pytest.mark.parametrize("answers", [[], [answer(1, 1, NAN, words=0, signals=None)]])
def test_without_anything(answers):
    found = signals_compute(answers)
    assert found.reasons == {}
    assert found.tests == 0


def test_the_order_of_answers_and_the_numbers_of_people_do_not_matter():
    answers = [*crowd(), *[answer(99, item, 2.1) for item in range(20)]]
    first, second = signals_compute(answers), signals_compute(answers[::-1])
    assert {reason.kind.key for reason in first.reasons[99]} == {
        reason.kind.key for reason in second.reasons[99]
    }
    assert first.people[99] == second.people[99]


def test_chance_alone_brings_up_few_people():
    rng = np.random.default_rng(5)
    flagged = people = 0
    for _ in range(12):
        answers = []
        for annotator in range(20):
            pace, away = rng.normal(3.5, 0.35), rng.beta(1, 8)
            for item in range(15):
                signals = changed(hidden=int(rng.random() < away))
                answers.append(answer(annotator, item, float(np.exp(rng.normal(pace, 0.5))), signals=signals))
        flagged += len(signals_compute(answers).reasons)
        people += 20
    assert flagged / people <= 0.05
