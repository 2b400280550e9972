"""What is kept of requests: each text once, read back whole, and deleted without touching what came of it."""

from datetime import timedelta
from hashlib import sha256
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from judges.engine import store
from judges.models import Judgment, ModelRequest, RequestForm, RequestText, TextBlock, Worker
from judges.selectors.history import model_history
from judges.selectors.requests import requests_asked, texts_read
from judges.selectors.trace import MISSING, judgment_trace
from judges.services.retention import requests_purge
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make, worker_make
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.mark.both_databases
def test_a_text_that_two_models_are_asked_is_stored_once_and_read_back():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=40)
    sent = []
    sweep_make([judge_make(endpoint, model) for model in ("one", "two")], dataset)
    run_instant(lambda wire: sent.append(wire) or "A")
    assert (len(sent), ModelRequest.objects.count()) == (160, 160)
    assert (RequestForm.objects.count(), RequestText.objects.count()) == (2, 80)
    assert TextBlock.objects.count() <= 20  # eight in flight at a time
    asked = requests_asked(ModelRequest.objects.select_related("form"))
    assert set(asked.values()) == set(sent)
    assert ModelRequest.objects.filter(payload__isnull=True, model=None).count() == 160


@pytest.mark.both_databases
def test_workers_that_store_the_same_texts_at_once_keep_all_of_them():
    texts = {sha256(text).digest()[:16]: text for text in (b"text number %d " % k * 20 for k in range(200))}
    keys = list(texts)

    def save(number):
        store.texts_save({key: texts[key] for key in keys[number * 20 : number * 20 + 120]})

    all_at_once(save, range(5))
    assert texts_read(keys) == texts


@pytest.mark.both_databases
def test_a_sign_of_life_is_one_row_however_many_requests_there_are(django_assert_num_queries):
    worker_make("one")
    store.requests_claim([(f"{k:064x}", None, None) for k in range(50)], owner="one")
    with django_assert_num_queries(4):  # within a transaction of its own
        store.worker_keep(owner="one", lease=60)
    assert Worker.objects.get().lease_until > timezone.now() + timedelta(seconds=50)


def test_what_answers_took_is_known_without_reading_them(django_assert_num_queries):
    sweep_make([judge_make(endpoint_make(), "m")], dataset_make(pairs=3))
    run_instant(lambda wire: Answer("A", prompt_tokens=100, completion_tokens=7, latency_ms=500.0))
    with django_assert_num_queries(1):
        history = model_history("m")
    assert (history.choice_tokens, history.text_tokens, history.latency_ms) == (7, None, 500.0)
    assert RequestForm.objects.get().n_answers == 6


@pytest.mark.both_databases
def test_purged_requests_leave_judgments_and_what_other_requests_ask():
    endpoint, dataset = endpoint_make(), dataset_make(pairs=5)
    judges = [judge_make(endpoint, model) for model in ("one", "two")]
    sweep_make(judges, dataset)
    run_instant("A")
    long_ago = timezone.now() - timedelta(days=100)
    ModelRequest.objects.filter(form__model="one").update(finished_at=long_ago)
    assert requests_purge(before=timezone.now() - timedelta(days=90)).requests == 10
    assert ModelRequest.objects.count() == 10
    assert len(requests_asked(ModelRequest.objects.select_related("form"))) == 10  # "two" has the same texts

    store.requests_claim([("c" * 64, None, None), ("d" * 64, None, None)], owner="at work")
    worker_make("at work")
    ModelRequest.objects.filter(hash="d" * 64).update(owner="dead")
    out = StringIO()
    call_command("purge_requests", older_than=0, stdout=out)
    assert out.getvalue().startswith("Deleted 11 requests, 10 texts and")
    assert list(ModelRequest.objects.values_list("hash", flat=True)) == ["c" * 64]
    assert not RequestText.objects.exists()
    assert not TextBlock.objects.exists()
    judgment = Judgment.objects.select_related("judge", "item").first()
    assert judgment is not None
    assert Judgment.objects.count() == 20
    assert judgment_trace(judgment).requests[0].state == MISSING
    # Nothing is asked again for what is judged.
    sweep_make(judges, dataset)
    run_instant(lambda wire: pytest.fail("sent"))


def test_what_is_claimed_and_then_purged_as_lost_is_answered_all_the_same():
    """A worker that stood still for long finds its claims gone: it loses no answer and no verdict."""
    sweep_make([judge_make(endpoint_make(max_concurrency=1))], dataset_make(pairs=1), orders="original")

    def respond(wire):
        Worker.objects.all().delete()
        ModelRequest.objects.update(created_at=timezone.now() - timedelta(days=10))
        assert requests_purge(before=timezone.now() - timedelta(days=1)).requests == 1
        return "A"

    run_instant(respond)
    assert Judgment.objects.get().raw_text == "A"


@pytest.mark.both_databases
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no arrays")
def test_values_of_every_kind_come_to_the_database_as_they_are():
    columns = {
        "text": [
            "",
            "NULL",
            'a "quoted" one',
            "back\\slash\\",
            "{a,b}",
            " spaced ",
            "a\nb\ttab",
            "\U0001f600é",
            None,
        ],
        "bytea": [b"", bytes(range(256)), None],
        "bigint": [0, -(2**63), 2**63 - 1, None],
        "smallint": [1, 2],
        "float8": [0.1, 1e-300, 5e-324, 1e22, -0.0, None],
        "jsonb": ['{"a":"\\u00e9 \\"x\\""}', None],
    }
    for kind, values in columns.items():
        stored = "text" if kind == "jsonb" else kind
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT %s::{stored}[]", [store.array_text(values, kind)])
            (found,) = cursor.fetchone()
        assert [bytes(each) if isinstance(each, memoryview) else each for each in found] == values
