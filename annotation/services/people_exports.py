"""The annotators of a study or a dataset, and what they are paid, as tables. Who they are stays behind, unless asked.

`docs/exports.md` says what each column means. The caller is who checks that it may ask for identifiers.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Enrollment, QualificationAttempt, Study
from annotation.models.work import LabelQuerySet
from annotation.selectors.pay import PayReport, PayRow
from annotation.selectors.signal_reasons import PersonSignals, ReasonToLook
from annotation.selectors.signals import signals_of
from annotation.services.exports import utc_text
from web.tables import ColumnType, ExportTable, TableColumn

ELIGIBILITY = "eligibility."


class _Person(NamedTuple):
    enrollment: Enrollment
    attempts: list[QualificationAttempt]
    """Those that were finished; figures are of the last."""
    signals: PersonSignals | None
    """None without an answer."""
    reasons: tuple[ReasonToLook, ...]


_Of = tuple[TableColumn, Callable[[Any], Any]]


def _of(name: str, type: ColumnType, about: str, read: Callable[[Any], Any]) -> _Of:
    return TableColumn(name, type, about), read


def _last(name: str) -> Callable[[_Person], Any]:
    return lambda person: getattr(person.attempts[-1], name) if person.attempts else None


def _signal(name: str, type: ColumnType, about: str, read: str) -> _Of:
    return _of(name, type, about, lambda p: None if p.signals is None else getattr(p.signals, read))


_PEOPLE: tuple[_Of, ...] = (
    _of("annotator", "text", "Pseudonym, as in the labels.", lambda p: p.enrollment.pseudonym),
    _of(
        "is_simulated",
        "boolean",
        "True: a simulation, not a person.",
        lambda p: p.enrollment.annotator.is_simulated,
    ),
    _of("stage", "text", "Stage of the annotator.", lambda p: p.enrollment.stage),
    _of(
        "screened_out_by",
        "text",
        "eligibility or qualification.",
        lambda p: p.enrollment.screened_out_by or None,
    ),
    _of("created_at", "time", "When they joined, in UTC.", lambda p: _time(p.enrollment.created_at)),
    _of("finished_at", "time", "When they finished, in UTC.", lambda p: _time(p.enrollment.finished_at)),
    _of("labels", "integer", "Number of labels that they submitted.", lambda p: p.enrollment.n_accepted),
    _of(
        "test_attempts", "integer", "Finished attempts at the qualification test.", lambda p: len(p.attempts)
    ),
    _of("test_right", "integer", "Right answers in the last attempt.", _last("n_right")),
    _of("test_accuracy", "number", "Accuracy in the last attempt, 0 to 1.", _last("accuracy")),
    _of("test_passed", "boolean", "Whether the last attempt was passed.", _last("passed")),
)
_SIGNALS: tuple[_Of, ...] = (
    _signal("answers_with_signals", "integer", "Answers with which a summary came.", "with_signals"),
    _signal("hidden_answers", "integer", "Answers during which the page was hidden.", "hidden"),
    _signal("hidden_seconds", "number", "For how long in all.", "hidden_seconds"),
    _signal("pasted_answers", "integer", "Answers with text that was pasted.", "pastes"),
    _signal("pasted_characters", "integer", "Characters that were pasted.", "pasted"),
    _signal("typed_characters", "integer", "Characters of text fields.", "typed"),
    _signal("keyless_characters", "integer", "Of these, neither with a key nor pasted.", "keyless"),
    _signal("key_gap_ms", "number", "Median pause between two keys in milliseconds.", "gap_ms"),
    _signal("still_answers", "integer", "Answers without an event of a mouse, a finger or a key.", "still"),
    _signal("untrusted_answers", "integer", "Answers with events that a script made.", "untrusted"),
    _signal("automated_answers", "integer", "Answers of a browser that says it's driven.", "automated"),
    _signal("fast_reading_answers", "integer", "Answers faster than 1,500 words a minute.", "reading"),
    _signal("reader_word_answers", "integer", "Comments with the word of the hidden text.", "reader_word"),
    _signal("decoy_answers", "integer", "Answers with the hidden field filled in.", "decoy"),
    _of(
        "reasons_to_look",
        "text",
        "Names of the reasons, with semicolons between; no verdict.",
        lambda p: "; ".join(reason.kind.key for reason in p.reasons) or None,
    ),
)
_PEOPLE_IDENTITY: tuple[_Of, ...] = (
    _of("annotator_source", "text", "Platform that they come from.", lambda p: p.enrollment.annotator.source),
    _of(
        "annotator_external_id",
        "text",
        "Their ID on the platform.",
        lambda p: p.enrollment.annotator.external_id,
    ),
)
_PAY: tuple[_Of, ...] = (
    _of("annotator", "text", "Pseudonym, as in the labels.", lambda row: row.enrollment.pseudonym),
    _of("answers", "integer", "Items answered.", lambda row: row.earned.answers),
    _of(
        "active_hours",
        "number",
        "Active hours that are paid.",
        lambda row: round(row.earned.active_ms / 3_600_000, 4),
    ),
    _of("pay_for_work", "money", "Pay for items or time.", lambda row: str(row.earned.work)),
    _of("pay_for_test", "money", "Pay for the qualification test.", lambda row: str(row.earned.test)),
    _of("bonus", "money", "Bonuses.", lambda row: str(row.earned.bonus)),
    _of("total", "money", "Sum of pay and bonuses.", lambda row: str(row.earned.total)),
    _of("currency", "text", "Currency of the amounts.", lambda row: row.enrollment.study.pay_currency),
    _of(
        "hourly",
        "money",
        "Pay for an active hour.",
        lambda row: None if row.earned.hourly is None else str(row.earned.hourly),
    ),
    _of("below_floor", "boolean", "Below the study's minimum hourly rate.", lambda row: row.below_floor),
    _of("completion_code", "text", "Shown to the annotator.", lambda row: row.enrollment.completion_code),
    _of("stage", "text", "Stage of the annotator.", lambda row: row.enrollment.stage),
)
_PAY_IDENTITY: tuple[_Of, ...] = (
    _of(
        "annotator_source",
        "text",
        "Platform that they come from.",
        lambda row: row.enrollment.annotator.source,
    ),
    _of(
        "annotator_external_id",
        "text",
        "Their ID on the platform.",
        lambda row: row.enrollment.annotator.external_id,
    ),
    _of(
        "platform_session",
        "text",
        "ID of the submission on the platform.",
        lambda row: row.enrollment.platform_session,
    ),
    _of(
        "platform_status",
        "text",
        "Status of the submission on the platform.",
        lambda row: row.enrollment.platform_status,
    ),
)


def study_annotators_table(study: Study, *, identify: bool) -> ExportTable:
    """A row a person of a study; `identify` adds who they are where they came from."""
    people = list(Enrollment.objects.filter(study=study).select_related("annotator").order_by("pk"))
    asked = [question["key"] for question in study.eligibility or [] if "key" in question]
    keys = list(dict.fromkeys([*asked, *(key for one in people for key in one.eligibility)]))
    attempts: dict[int, list[QualificationAttempt]] = {}
    taken = QualificationAttempt.objects.filter(enrollment__study=study, finished_at__isnull=False)
    for attempt in taken.order_by("number"):
        attempts.setdefault(attempt.enrollment_id, []).append(attempt)

    def answer(key: str) -> _Of:
        about = "Answers to the eligibility questions."
        return _of(
            f"{ELIGIBILITY}{key}", "text", about, lambda person: person.enrollment.eligibility.get(key)
        )

    columns = (*_PEOPLE, *_SIGNALS, *map(answer, keys), *(_PEOPLE_IDENTITY if identify else ()))
    signals = signals_of(study)
    rows = (
        _Person(
            person,
            attempts.get(person.pk, []),
            signals.people.get(person.annotator_id),
            signals.reasons.get(person.annotator_id, ()),
        )
        for person in people
    )
    return ExportTable(
        tuple(column for column, _ in columns), ([read(row) for _, read in columns] for row in rows)
    )


LABELERS = (
    TableColumn("study", "text", "Slug of the study; empty for imported labels."),
    TableColumn("annotator", "text", "Pseudonym, as in the labels."),
    TableColumn("is_simulated", "boolean", "True: a simulation, not a person."),
    TableColumn("labels", "integer", "Number of their labels that count."),
    TableColumn("first_label_at", "time", "In UTC."),
    TableColumn("last_label_at", "time", "In UTC."),
)


def annotators_table(labels: LabelQuerySet) -> ExportTable:
    """A row an annotator and study, of labels that count: those of a dataset may be imported, or of several studies."""

    def rows() -> Iterator[tuple[Any, ...]]:
        whose = ("study", "study__slug", "item__dataset", "annotator__public_id", "annotator__is_simulated")
        counted = (
            labels.current()
            .order_by()
            .values_list(*whose)
            .annotate(n=Count("pk"), first=Min("created_at"), last=Max("created_at"))
            .order_by("study_id", "item__dataset_id", "annotator_id")
        )
        for study, slug, dataset, public_id, simulated, n, first, last in counted.iterator(chunk_size=2_000):
            name = str(pseudonym(public_id, study=study, dataset=dataset))
            yield slug, name, simulated, n, utc_text(first), utc_text(last)

    return ExportTable(LABELERS, rows())


def pay_table(report: PayReport, *, identify: bool) -> ExportTable:
    """The pay report, a row a person; `identify` adds who they are where they came from."""
    columns = _PAY + _PAY_IDENTITY if identify else _PAY
    rows: tuple[PayRow, ...] = report.rows
    return ExportTable(
        tuple(column for column, _ in columns), ([read(row) for _, read in columns] for row in rows)
    )


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else utc_text(moment)
