"""Every operation of the schema, asked with odd values: no fault, and each answer as it is described."""

from contextlib import contextmanager

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.access_world import World, addresses

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
EXAMPLES = 6


@contextmanager
def one_connection():
    """Requests leave the connection of the test open, as they do with Django's own client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.django_db
def test_every_operation_answers_as_the_schema_says():
    world = World(split="public")
    headers = {"Authorization": f"Bearer {world.tokens['administrator']}", "Accept-Encoding": "identity"}
    real = {a.route: world.address_of(a) for a in addresses() if a.name.startswith("api:")}
    with one_connection():
        schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())
    tried, wrong = [], []
    for result in schema.get_all_operations():
        operation = result.ok()
        tried.append(operation.label)

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def try_it(case):
            for parts in (case.path_parameters, _real(case, real)):
                case.path_parameters = parts
                with transaction.atomic():
                    case.call_and_validate(headers=headers, checks=CHECKS)
                    transaction.set_rollback(True)

        try:
            with one_connection():
                try_it()
        except FailureGroup as found:
            wrong.append(f"{operation.label}: {found.exceptions}")
    assert not wrong, "\n".join(wrong)
    assert len(tried) == len(set(tried)) > 40


def _real(case, addresses_):
    """What stands in the address of rows that there are."""
    wanted = case.operation.path.strip("/").split("/")
    for route, address in addresses_.items():
        parts = route.strip("/").split("/")
        if len(parts) == len(wanted) and all(
            a.startswith("<") if b.startswith("{") else a == b for a, b in zip(parts, wanted, strict=True)
        ):
            values = address.strip("/").split("/")
            return {b.strip("{}"): v for b, v in zip(wanted, values, strict=True) if b.startswith("{")}
    return case.path_parameters
