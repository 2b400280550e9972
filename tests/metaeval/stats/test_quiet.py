"""What is undefined warns, except within `quiet`: of the thread that asked for it, and of no other."""

import threading

import pytest

from metaeval.stats import StatisticsWarning, mean_estimate
from metaeval.stats.errors import quiet


def undefined():
    return mean_estimate([float("nan")])


def test_it_is_silent_within_and_warns_again_afterwards():
    with quiet():
        with quiet():
            assert undefined().reason
        assert undefined().reason
    with pytest.warns(StatisticsWarning):
        undefined()


def test_one_thread_ends_it_for_itself_alone():
    """Two requests at once: the first is done while the other still computes, and one that never asked is warned."""
    inside, ended = threading.Event(), threading.Event()
    found = []

    def first():
        with quiet():
            inside.set()
            undefined()
        ended.set()

    def second():
        with quiet():
            inside.wait()
            ended.wait()
            found.append(undefined().reason)

    threads = [threading.Thread(target=each) for each in (second, first)]
    for thread in threads:
        thread.start()
    inside.wait()
    with pytest.warns(StatisticsWarning):
        undefined()
    for thread in threads:
        thread.join()
    assert len(found) == 1
