"""What came in last in a sweep: the latest answers, and what went wrong, put together by its kind."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, QuerySet
from django.db.models.functions import Left

from judges.models import ParseStatus
from judges.selectors.sweeps import RATE_ROWS, RunProgress
from judges.selectors.tallies import GENERATIONS, JUDGMENTS, ResultTable, result_table

N_ANSWERS = 8
ANSWER_CHARS = 200
N_ERRORS = 10
ERROR_ROWS = 500
"""How many of the latest failures are read to be put together."""
ERROR_CHARS = 400

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_VARIES = re.compile(r"\b(?=[\w-]*\d)[\w-]+\b")
VERDICTS = {0: "Tie", 1: "First is better", 2: "Second is better"}


@dataclass(frozen=True, slots=True)
class RecentAnswer:
    """One of the latest judgments, or of the latest answers of contestants.

    Attributes
    ----------
    pk : int
        Of the judgment, or of the generation if `is_generation`.
    verdict : str
        In words; empty where there is none to tell.
    text : str
        The first characters of what the model said, or of the error.
    """

    pk: int
    is_generation: bool
    judge_id: int
    judge: str
    item: str
    status: str
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failures whose messages differ in numbers and names alone; `example` is the latest message.

    Attributes
    ----------
    count : int
        Among the latest failures that were read.
    judges : tuple of str
        Who failed so.
    pk : int or None
        A judgment with it; None where it is a contestant's.
    """

    example: str
    count: int
    judges: tuple[str, ...]
    pk: int | None


def answers_recent(runs: Iterable[RunProgress], *, is_active: bool) -> list[RecentAnswer]:
    """Return the latest judgments and generations of a sweep's judges, the latest first; at most four queries."""
    runs = list(runs)
    found: list[tuple[Any, RecentAnswer]] = []
    for rows, table in _tables(runs, is_active=is_active):
        is_generation = table is GENERATIONS
        who, what = (f"{table.judge}_id", f"{table.judge}__name"), f"{table.subject}__external_id"
        columns = ["pk", "created_at", *who, what, "status", "head", *([] if is_generation else ["choice"])]
        for pk, at, judge_id, name, item, status, text, *choice in rows.order_by("-pk").values_list(*columns)[
            :N_ANSWERS
        ]:
            verdict = VERDICTS.get(choice[0], "") if choice else ""
            text = " ".join(text.split())[:ANSWER_CHARS]
            found.append((at, RecentAnswer(pk, is_generation, judge_id, name, item, status, verdict, text)))
    found.sort(key=lambda entry: entry[0], reverse=True)
    return [answer for _, answer in found[:N_ANSWERS]]


def errors_grouped(runs: Iterable[RunProgress], *, is_active: bool) -> list[ErrorGroup]:
    """Return what went wrong in a sweep, the latest first; at most four queries.

    Messages that differ in numbers, quoted names or identifiers alone are one. While the sweep is at work only the
    latest rows of the table are looked at, so that asking again and again stays cheap.
    """
    failing = [run for run in runs if run.n_failed]
    groups: dict[str, ErrorGroup] = {}
    for rows, table in _tables(failing, is_active=is_active):
        failed = rows.filter(status=ParseStatus.FAILED).order_by("-pk")
        for pk, name, message in failed.values_list("pk", f"{table.judge}__name", "head")[:ERROR_ROWS]:
            message = " ".join(message.split()) or "It failed without a message."
            shape = error_shape(message)
            known = groups.get(shape)
            if known is None:
                groups[shape] = ErrorGroup(message, 1, (name,), None if table is GENERATIONS else pk)
            else:
                judges = known.judges if name in known.judges else (*known.judges, name)
                groups[shape] = ErrorGroup(known.example, known.count + 1, judges, known.pk)
    return list(groups.values())[:N_ERRORS]


def error_shape(message: str) -> str:
    """Return a message without what varies from one failure to the next.

    >>> error_shape("Item 12 has no reference.") == error_shape("Item 7 has no reference.")
    True
    >>> error_shape("HTTP 500 at 'a-1'") == error_shape("HTTP 500 at 'b-2'")
    True
    """
    return _VARIES.sub("#", _QUOTED.sub("'#'", message))


def _tables(runs: list[RunProgress], *, is_active: bool) -> list[tuple[QuerySet[Any], ResultTable]]:
    tables: list[tuple[QuerySet[Any], ResultTable]] = []
    for table in (JUDGMENTS, GENERATIONS):
        some = [run for run in runs if result_table(run.kind) is table]
        if not some:
            continue
        manager = table.model._default_manager
        rows = manager.filter(
            **{
                f"{table.judge}__in": {run.judge_id for run in some},
                f"{table.subject}__dataset__in": {run.dataset_id for run in some},
            }
        ).annotate(head=Left(table.text, ERROR_CHARS))
        if is_active:
            latest = manager.aggregate(latest=Max("pk"))["latest"] or 0
            rows = rows.filter(pk__gt=latest - RATE_ROWS)
        tables.append((rows, table))
    return tables
