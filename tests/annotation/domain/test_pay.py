"""Pay: by hand, invariants, and what is not known."""

import doctest
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain import pay
from annotation.domain.pay import Earned, work_pay


def earned(**fields):
    known = {
        "answers": 10,
        "active_ms": 600_000,
        "n_timed": 10,
        "work": Decimal("2"),
        "test": Decimal("1"),
        "bonus": Decimal(0),
    }
    return Earned(**(known | fields))


def test_the_examples():
    assert doctest.testmod(pay).failed == 0


def test_the_hourly_rate_by_hand():
    # 10 answers in 600 s are 6 an hour at 0.20 each = 60 answers, 12.00 an hour; the test's pay is not in it.
    assert earned().hourly == Decimal("12.00")
    assert earned(bonus=Decimal("1")).hourly == Decimal("18.00")


def test_answers_without_a_time_take_the_mean_of_the_others():
    assert earned(answers=20, work=Decimal("4")).hourly == Decimal("12.00")


@pytest.mark.parametrize("unknown", [{"active_ms": 0, "n_timed": 0}, {"active_ms": 0}])
def test_no_time_no_rate(unknown):
    assert earned(**unknown).hourly is None


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_time_is_paid_to_the_cent_and_never_too_little(one, two):
    rate = Decimal("13.37")

    def paid(ms):
        return work_pay(answers=1, active_ms=ms, per_hour=rate, by_time=True)

    exact = rate * one / 3_600_000
    assert exact <= paid(one) < exact + Decimal("0.01")
    assert (paid(one) <= paid(two)) == (one <= two) or paid(one) == paid(two)


@given(st.integers(0, 10**5), st.decimals(0, 9999, places=4))
def test_items_are_paid_to_the_cent_and_never_too_little(answers, each):
    paid = work_pay(answers=answers, active_ms=0, per_item=each)
    assert answers * each <= paid < answers * each + Decimal("0.01")
    assert paid == round(paid, 2)
    assert work_pay(answers=4, active_ms=0, per_item=Decimal("0.1250")) == Decimal("0.50")


def test_negative_work_is_refused():
    with pytest.raises(ValueError, match="negative"):
        work_pay(answers=-1, active_ms=0)
