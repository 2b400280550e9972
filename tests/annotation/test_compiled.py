"""Statements that are compiled once: they do what the ORM does, on both databases, prepared or counted."""

import sqlite3
from datetime import timedelta
from traceback import walk_tb

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.compiled import (
    CompiledInsert,
    CompiledRows,
    CompiledSelect,
    CompiledUpdate,
    Parameter,
    run_together,
)
from annotation.models import Assignment, Enrollment, Label, Study, StudyItem
from annotation.services.assignments import assignment_claim, assignment_submit
from tests.annotation.factories import enrollment_make, study_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

BY_TOKEN = CompiledSelect(
    lambda: (
        Enrollment.objects.select_related("study", "annotator")
        .annotate(n_assignments=Count("assignments"))
        .filter(resume_token=Parameter.of(Enrollment, "resume_token", "token"))
    )
)
PLACES = CompiledRows(
    lambda: (
        StudyItem.objects.filter(study=Parameter.of(Study, "id", "study"))
        .order_by("pk")
        .values_list("pk", "probability")
    )
)
MOVED = CompiledUpdate(
    lambda: (
        Enrollment.objects.filter(pk=Parameter.of(Enrollment, "id")),
        {"cursor": Parameter.of(Enrollment, "cursor"), "n_claimed": F("n_claimed") + 1},
    )
)
INSERT = CompiledInsert(Assignment)


@pytest.fixture(params=["prepared", "counted"])
def way(request):
    """On PostgreSQL the two ways in which a statement may go; elsewhere they are one."""
    if request.param == "prepared":
        yield
    else:
        with CaptureQueriesContext(connection):
            yield


def values_of(instance):
    return {field.attname: getattr(instance, field.attname) for field in instance._meta.concrete_fields}


@pytest.mark.usefixtures("way")
class TestLikeTheOrm:
    def test_select(self):
        made = enrollment_make(study=study_make(pairs=1), platform_data={"age": [1, None, "é"]})
        assignment_claim(enrollment=made)
        found = BY_TOKEN.first(token=made.resume_token)
        expected = Enrollment.objects.select_related("study", "annotator").get(pk=made.pk)
        assert found is not None
        assert values_of(found) == values_of(expected)
        assert values_of(found.study) == values_of(expected.study)
        assert values_of(found.annotator) == values_of(expected.annotator)
        assert found.n_assignments == 1
        assert found.created_at.tzinfo is not None
        assert not found._state.adding

    def test_an_instance_is_as_the_orm_makes_it(self):
        lease = assignment_claim(enrollment=enrollment_make(study=study_make(pairs=1)))
        names = ("state", "study_item__n_open", "study_item__item__gold", "enrollment__invitation")
        build = lambda pk: (  # noqa: E731
            Assignment.objects.select_related("study_item__item", "enrollment__invitation")
            .only(*names)
            .filter(pk=pk)
        )
        found = CompiledSelect(lambda: build(Parameter.of(Assignment, "id"))).first(id=lease.pk)
        expected = build(lease.pk).get()
        for mine, its in (
            (found, expected),
            (found.study_item, expected.study_item),
            (found.study_item.item, expected.study_item.item),
            (found.enrollment, expected.enrollment),
        ):
            assert mine == its
            assert mine.get_deferred_fields() == its.get_deferred_fields()
            assert {**mine.__dict__, "_state": 0} == {**its.__dict__, "_state": 0}
            assert mine._state.fields_cache.keys() == its._state.fields_cache.keys()
            assert (mine._state.db, mine._state.adding) == (its._state.db, its._state.adding)
        assert found.shown_order == lease.shown_order  # fetched when it is asked for
        found.state = "released"
        found.save(update_fields=["state"])
        assert Assignment.objects.get().state == "released"

    def test_writes_and_the_row_beside_them(self):
        study = study_make(pairs=1)
        made, now = enrollment_make(study=study), timezone.now()
        place = study.study_items.get()
        row = CompiledSelect(lambda: type(place).objects.filter(pk=Parameter.of(type(place), "id")))
        insert = INSERT.write(
            study_item_id=place.pk, enrollment=made, shown_order=[1, 0], leased_at=now, expires_at=now
        )
        (moved, lease), found = row.get_after(MOVED.write(id=made.pk, cursor=7), insert, id=place.pk)
        assert (moved, found, values_of(found)) == (1, place, values_of(place))
        assert values_of(lease) == values_of(Assignment.objects.get())
        made.refresh_from_db()
        assert made.cursor == 7
        with pytest.raises(ValueError, match="not enough values"):
            row.get_after(MOVED.write(id=made.pk, cursor=8), id=0)

    def test_nothing_found(self):
        assert BY_TOKEN.first(token="nobody's") is None
        assert BY_TOKEN.all(token="") == []

    def test_rows(self):
        study = study_make(pairs=3)
        expected = [list(row) for row in study.study_items.order_by("pk").values_list("pk", "probability")]
        assert PLACES.all(study=study.pk) == expected

    @pytest.mark.parametrize("cursor", [None, 0, 2**15, 2**40])
    def test_update(self, cursor):
        made = enrollment_make(study=study_make(pairs=1))
        assert MOVED.run(id=made.pk, cursor=cursor) == 1
        made.refresh_from_db()
        assert (made.cursor, made.n_claimed) == (cursor, 1)
        assert MOVED.run(id=0, cursor=1) == 0

    def test_insert(self):
        study = study_make(pairs=1)
        made, now = enrollment_make(study=study), timezone.now()
        place = study.study_items.get()
        lease = INSERT.create(
            study_item_id=place.pk,
            enrollment=made,
            shown_order=[1, 0],
            leased_at=now,
            expires_at=now + timedelta(minutes=1),
        )
        assert values_of(lease) == values_of(Assignment.objects.get())

    def test_several_at_once(self):
        study = study_make(pairs=1)
        made, now = enrollment_make(study=study), timezone.now()
        place = study.study_items.get()
        values = {"study_item_id": place.pk, "enrollment": made, "shown_order": [1, 0], "leased_at": now}
        insert = INSERT.write(**values, expires_at=now + timedelta(minutes=1))
        moved, lease = run_together(MOVED.write(id=made.pk, cursor=3), insert)
        assert moved == 1
        assert values_of(lease) == values_of(Assignment.objects.get())
        assert not lease._state.adding
        made.refresh_from_db()
        assert (made.cursor, made.n_claimed) == (3, 1)
        again = INSERT.write(**values, expires_at=now)
        with pytest.raises(IntegrityError), transaction.atomic():
            run_together(MOVED.write(id=made.pk, cursor=4), again)
        made.refresh_from_db()
        assert made.cursor == 3
        assert run_together(MOVED.write(id=0, cursor=1), MOVED.write(id=made.pk, cursor=5)) == [0, 1]
        assert run_together() == []

    def test_what_the_database_refuses_is_an_error_of_django(self):
        study = study_make(pairs=1)
        lease = assignment_claim(enrollment=enrollment_make(study=study))
        values = values_of(lease) | {"id": None}
        with pytest.raises(IntegrityError), transaction.atomic():
            INSERT.create(**values)
        assert Assignment.objects.count() == 1

    def test_a_broken_transaction_is_refused_as_always(self):
        with transaction.atomic():
            transaction.set_rollback(True)
            with pytest.raises(transaction.TransactionManagementError):
                BY_TOKEN.first(token="x")

    def test_a_whole_answer(self):
        lease = assignment_claim(enrollment=enrollment_make(study=study_make(pairs=1)))
        assignment_submit(assignment=lease, shown_value={"choice": 1}, comment="'; --\\ %s é")
        assert Label.objects.get().comment == "'; --\\ %s é"


def test_statements_are_prepared_on_postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has them")
    for _ in range(3):
        BY_TOKEN.first(token="x")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%resume_token%'")
        assert cursor.fetchone()[0] == 1


def test_a_statement_that_fails_leaves_no_cursor_open():
    """Its error keeps the frames, and with them the cursor, until some thread collects garbage: on SQLite that thread
    would wait for this connection, which may be waiting for the very transaction that the thread is in.
    """
    if connection.vendor != "sqlite":
        pytest.skip("cursors of PostgreSQL hold nothing on the server")
    lease = assignment_claim(enrollment=enrollment_make(study=study_make(pairs=1)))
    again = values_of(lease)
    del again["id"]
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        INSERT.create(**again)
    assert error.value.__cause__ is not None
    frames = [frame for frame, _ in walk_tb(error.value.__cause__.__traceback__)]
    cursors = [one for frame in frames if isinstance(one := frame.f_locals.get("self"), sqlite3.Cursor)]
    assert cursors
    for cursor in cursors:
        with pytest.raises(sqlite3.ProgrammingError, match="closed cursor"):
            cursor.fetchone()
