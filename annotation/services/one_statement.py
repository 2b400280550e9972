"""An answer and the next item in one statement of PostgreSQL: what the site does most often.

What `services.assignments` and `services.claims` do in a transaction of several statements is one here, where it's
plain what comes: work is answered by who holds it, in a study without hidden items, and the next item has as many parts
in order as its kind says. The statement asks again all that was read before it, and locks rows in the order of
`services.assignments`. Where something isn't so any more it fails as a whole, by a division by zero.
"""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from json import loads
from typing import Any, cast

from django.db import DataError, connection, transaction
from django.db.models import CharField, Exists, F, IntegerField
from django.db.models.functions import Coalesce

from annotation.compiled import CompiledWith, Parameter, Returned, Write, made, update_statement
from annotation.models import Assignment, Enrollment, Label, Stage, Study, StudyState, WorkRole
from annotation.selectors.shown import parts_always
from annotation.selectors.work import WorkStanding, places_shown, standing_numbers
from annotation.services.claims import Overtaken, expiry, take_statement
from web.measuring import action_measured

ANSWERED, LABELLED, FILLED = "w0", "w1", "w2"
"""The writes of the answer, in the order in which they are given to `answer_and_take`."""
FIELDS: list[Any] = [field for field in Assignment._meta.concrete_fields if not field.primary_key]
# As `domain.presentation.shown_order` draws it; here only the statement itself knows the item.
SHOWN_ORDER = """
    (SELECT jsonb_agg(place ORDER BY sha256(convert_to(%s::text || ':' || taken.item_id || ':' || place, 'UTF8')))
    FROM generate_series(0, %s::int - 1) AS place)"""


def is_plain(assignment: Assignment) -> bool:
    """Whether one statement can answer this lease of work and give out the next."""
    study = assignment.enrollment.study
    return (
        connection.vendor == "postgresql"
        and assignment.role == WorkRole.WORK
        and not (study.check_rate or study.repeat_rate)
        and parts_always(study) is not None
    )


def _person() -> Parameter:
    return Parameter.of(Enrollment, "id", "enrollment")


def _counted() -> tuple[str, tuple[Any, ...]]:
    """The answer is counted for the person and, where there is a next item, their turn."""
    closed = Study.objects.filter(pk=Parameter.of(Study, "id", "study"), state=StudyState.CLOSED)
    mine = Enrollment.objects.filter(~Exists(closed), pk=_person(), stage=Stage.WORK, suspended_at=None)
    changes = {
        "n_accepted": F("n_accepted") + 1,
        "n_claimed": F("n_claimed") + Returned("count(*)", "taken"),
        "cursor": Coalesce(Returned("position", "taken"), F("cursor")),
    }
    return update_statement(mine, changes, connection)


def _leased() -> tuple[str, list[Any]]:
    """What was taken is leased."""
    order = [Parameter("annotator", CharField()), Parameter("n_parts", IntegerField())]
    given: dict[str, tuple[str, list[Any]]] = {
        "study_item": ("taken.id", []),
        "enrollment": ("%s", [_person()]),
        "shown_order": (SHOWN_ORDER, order),
        **{name: ("%s", [Parameter.of(Assignment, name)]) for name in ("leased_at", "expires_at")},
    }
    values = [given.get(field.name, ("%s", [field.get_default()])) for field in FIELDS]
    columns = ", ".join(f'"{field.column}"' for field in FIELDS)
    sql = (
        f"INSERT INTO annotation_assignment ({columns}) SELECT {', '.join(value for value, _ in values)} "  # noqa: S608
        "FROM taken WHERE EXISTS (SELECT FROM counted) RETURNING id, shown_order"
    )
    return sql, [parameter for _, parameters in values for parameter in parameters]


def _parts(*, with_cursor: bool) -> tuple[str, list[Any]]:
    with transaction.atomic():  # outside of one the ORM compiles nothing that locks
        take = take_statement(
            nothing_pending=True, wait=False, with_cursor=with_cursor, after=(ANSWERED, LABELLED, FILLED)
        )
    statements = {"taken": take, "counted": _counted(), "leased": _leased()}
    parts: list[str] = []
    found: list[Any] = []
    for name, (sql, parameters) in statements.items():
        returning = " RETURNING 1" if name == "counted" else ""
        parts.append(f"{name} AS ({sql}{returning})")
        found += parameters
    return ", ".join(parts), found


def _said() -> tuple[str, list[Any]]:
    """Nothing where the lease was answered meanwhile or the person may not work any more: this divides by zero."""
    numbers = [number.query.sql_with_params() for number in standing_numbers(_person()).values()]
    checks = f"1 / (SELECT count(*) FROM {ANSWERED}), 1 / (SELECT count(*) FROM counted)"  # noqa: S608
    lease = "(SELECT id FROM leased), (SELECT shown_order FROM leased), (SELECT position FROM taken)"
    before = ", ".join(f"coalesce(({sql}), 0)" for sql, _ in numbers)
    return f"{checks}, {lease}, {before}", [value for _, values in numbers for value in values]


def _shown() -> Any:
    return places_shown().filter(pk=Returned("id", "taken")).order_by()


STATEMENT = {
    with_cursor: CompiledWith(parts=parts, said=_said, shown=_shown)
    for with_cursor, parts in (
        (False, lambda: _parts(with_cursor=False)),
        (True, lambda: _parts(with_cursor=True)),
    )
}


def _claim(found: tuple[Label, Assignment | None, WorkStanding]) -> str:
    return "put off" if found[1] is None else "given"


@action_measured("claim", _claim)
def answer_and_take(
    lease: Assignment, writes: list[Write], now: datetime
) -> tuple[Label, Assignment | None, WorkStanding]:
    """Run the writes of an answer and lease the next item: the label, what is leased, and how the person stands.

    `writes` answer the lease, insert the label, fill the place, and whatever comes beside. Raises `Overtaken` where the
    lease, the person or the study is not as it was read, and what the database says of a conflict; nothing is written
    then. What is leased has its study item, item and dataset.
    """
    person, study = lease.enrollment, lease.enrollment.study
    expires_at = expiry(study, now)
    # By itself a statement is a transaction; where the caller has one, it must be left whole.
    whole: AbstractContextManager[Any] = transaction.atomic() if connection.in_atomic_block else nullcontext()
    try:
        with whole:
            ran, said, place = STATEMENT[person.cursor is not None].run(
                *writes,
                answered=lease.pk,
                enrollment=person.pk,
                study=study.pk,
                cursor=person.cursor,
                taken=1,
                annotator=person.annotator.public_id.hex,
                n_parts=parts_always(study),
                leased_at=now,
                expires_at=expires_at,
            )
    except DataError as error:
        raise Overtaken from error
    _, _, pk, order, position, n_answers, n_unread = said
    person.n_accepted += 1
    label, standing = cast("Label", ran[1]), WorkStanding(n_answers + 1, n_unread)
    if place is None:
        return label, None, standing
    person.n_claimed += 1
    person.cursor = position
    place.n_open += 1
    given = {"study_item": place, "enrollment": person, "shown_order": loads(order)}
    following = made(Assignment, FIELDS, given | {"leased_at": now, "expires_at": expires_at})
    following.pk = pk
    following._state.adding, following._state.db = False, lease._state.db
    return label, following, standing
