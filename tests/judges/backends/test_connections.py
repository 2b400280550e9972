"""Connections of one transport each."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from judges.backends.connections import ONE, Connections


class Counted(httpx.AsyncHTTPTransport):
    closed = False

    def __init__(self):
        super().__init__(verify=False, limits=ONE)

    async def aclose(self):
        self.closed = True
        await super().aclose()


def test_one_after_the_other_share_one():
    connections = Connections(Counted)
    with connections.one() as first:
        pass
    with connections.one() as second:
        pass
    assert first is second


def test_at_the_same_time_each_has_its_own_and_the_last_is_used_first():
    connections = Connections(Counted)
    with connections.one() as first:
        with connections.one() as second:
            assert first is not second
        with connections.one() as third:
            assert third is second


def test_one_comes_back_from_a_failed_request_and_all_are_closed_in_the_end():
    connections = Connections(Counted)
    with pytest.raises(TimeoutError), connections.one() as first:
        raise TimeoutError
    with connections.one() as second:
        assert second is first
    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own that runs
        thread.submit(lambda: asyncio.run(connections.aclose())).result()
    assert first.closed
