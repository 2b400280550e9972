"""Connections to a real PostgreSQL, from a real pool."""

from collections.abc import Iterator

import pytest
from psycopg_pool import ConnectionPool

from config.postgres import PooledConnection, use_last_first
from tests.live_site import PrivatePostgres

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def postgres() -> Iterator[PrivatePostgres]:
    server = PrivatePostgres(is_safe=False)
    yield server
    server.stop()


def process_of(connection: PooledConnection) -> int:
    return connection.info.backend_pid


def test_a_pool_gives_out_what_it_got_back_last(postgres):
    with ConnectionPool(postgres.url, connection_class=PooledConnection, min_size=4) as pool:
        pool.wait()
        use_last_first(pool)
        taken = [pool.getconn() for _ in range(4)]
        for connection in taken:
            pool.putconn(connection)
        for _ in range(6):
            with pool.connection() as connection:
                assert process_of(connection) == process_of(taken[-1])
        with pool.connection(), pool.connection() as connection:
            assert process_of(connection) == process_of(taken[-2])


def test_a_lost_connection_is_replaced_by_another(postgres):
    with ConnectionPool(
        postgres.url, connection_class=PooledConnection, min_size=2, check=ConnectionPool.check_connection
    ) as pool:
        pool.wait()
        use_last_first(pool)
        with pool.connection() as last:
            pass
        with pool.connection() as connection:
            assert connection is last
        last.close()
        with pool.connection() as connection:
            assert connection is not last
            assert connection.execute("SELECT 1").fetchone() == (1,)
