"""Reports, and figures of pages, that take long: asked for by a page, made by a worker, seen to grow.

Rows are the truth, messages are wake-ups: a lost message, a killed worker, two workers at once make one report.
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, close_old_connections, transaction
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_visible_to, items_of
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from annotation.selectors.rights import studies_granted
from judges.selectors.stored import judgments_on
from judges.services.waking import wakeups_send
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.models import JobState, Preregistration, Report, ReportJob
from metaeval.progress import listening
from metaeval.reports.errors import ReportError
from metaeval.reports.json_values import json_of, read_as
from metaeval.selection.replacement import EPSILON
from metaeval.selection.verdict import Annotators
from metaeval.selectors.inputs import dimension_facts
from metaeval.services.drawings import report_draw
from metaeval.services.page_contents import PageAsked, asked_to_verify, page_content
from metaeval.services.reports import (
    CACHE_SECONDS,
    preset_check,
    report_build,
    report_save,
    report_subject,
    subject_report,
)

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=120)
MOST_ATTEMPTS = 3
MOST_OPEN = 20
"""Reports of one person that may wait at once: each takes a worker minutes."""
TELL_SECONDS = 1.0
OPEN = (JobState.QUEUED, JobState.RUNNING)


class _Interrupted(Exception):  # noqa: N818  (no error: somebody asked for it)
    """The computation is to end: it was cancelled, the worker stops, or another has it."""


def report_request(
    *,
    user: User,
    dataset: str = "",
    kind: str | None = None,
    study: str = "",
    epsilon: float = EPSILON,
    margin: float = 0.0,
    annotators: Annotators = "alike",
    preregistration: Preregistration | None = None,
    pass_mark: float | None = None,
    preset: str = "",
    dimension: str = "",
) -> Report | ReportJob:
    """Make a small report at once, or ask for one that takes long; who asks for the same twice gets the same job.

    Raises
    ------
    UnknownNameError
        There is none that they may see, or no such dimension.
    ReportError
        There is nothing to report on, the preset has no figures of this kind, or too many of their reports are waiting.
    """
    subject = report_subject(user=user, dataset=dataset, kind=kind, study=study)
    preset_check(subject.kind, preset)
    if dimension:
        dimension_facts(subject.dataset, subject.kind, subject.study, user, dimension)
    if is_small([subject.dataset], subject.kind):
        options = Options(
            epsilon=epsilon, margin=margin, annotators=annotators, pass_mark=pass_mark, preset=preset
        )
        return subject_report(
            user=user,
            subject=subject,
            options=options,
            preregistration=preregistration,
            dimension=dimension,
        )
    given: dict[str, Any] = {
        "epsilon": epsilon,
        "margin": margin,
        "annotators": annotators,
        "pass_mark": pass_mark,
        "preset": preset,
        **({"dimension": dimension} if dimension else {}),
    }
    plan = preregistration.pk if preregistration is not None else None
    key = sha256(json.dumps([given, plan], sort_keys=True).encode("ascii")).hexdigest()
    wanted = {"requested_by": user, **subject._asdict(), "page": "", "key": key}
    waiting = ReportJob.objects.filter(requested_by=user, page="", state__in=OPEN)
    if not waiting.filter(key=key).exists() and waiting.count() >= MOST_OPEN:
        raise ReportError(
            f"{MOST_OPEN} of your reports are waiting for a worker. Cancel one, or try again later."
        )
    return _ask(wanted, preregistration=preregistration, **given)


def page_request(*, user: User, dataset: Dataset, asked: PageAsked, address: str) -> ReportJob:
    """Ask for the figures of a page; who asks twice gets the same job. What nobody will look at any more goes."""
    old = timezone.now() - timedelta(seconds=CACHE_SECONDS)
    ReportJob.objects.exclude(page="").filter(requested_by=user, finished_at__lt=old).delete()
    key = _key_for(user, asked)
    wanted = {"requested_by": user, "dataset": dataset, "study": None, "kind": asked.kind, "key": key}
    return _ask(wanted, page=asked.page, asked=json_of(asked), address=address, epsilon=EPSILON)


def page_job_get(*, user: User, asked: PageAsked) -> ReportJob | None:
    """The newest job of this person for the figures of a page, unless it was cancelled."""
    jobs = ReportJob.objects.filter(requested_by=user, page=asked.page, key=_key_for(user, asked))
    return jobs.exclude(state=JobState.CANCELLED).order_by("-created_at", "-pk").first()


def _key_for(user: User, asked: PageAsked) -> str:
    """Names the figures of a page for a person: of labels that were shared with them, only while they are."""
    shared = [] if user.is_administrator else sorted(studies_granted(user))
    return sha256(json.dumps([asked.key, shared]).encode("ascii")).hexdigest() if shared else asked.key


def verification_request(*, user: User, report: Report, address: str) -> ReportJob:
    """Verify a stored report: a small one at once, else by a worker. Who asks twice gets the same job."""
    asked = asked_to_verify(report)
    job = page_request(user=user, dataset=report.dataset, asked=asked, address=address)
    if is_small([report.dataset], asked.kind) and (mine := _claim(job.pk)) is not None:
        report_job_make(mine, lambda: False)
        mine.refresh_from_db()
        return mine
    return job


def _ask(wanted: dict[str, Any], **also: Any) -> ReportJob:
    """The open job that is wanted, or a new one."""
    open_jobs = ReportJob.objects.filter(state__in=OPEN, **wanted)
    job = open_jobs.first()
    if job is None:
        try:
            with transaction.atomic():
                job = ReportJob.objects.create(**wanted, **also)
        except IntegrityError:  # sent twice at once: the other one asked
            job = open_jobs.get()
    transaction.on_commit(wakeups_send)
    return job


def is_small(datasets: Sequence[Dataset], kind: str) -> bool:
    """Whether a page may wait for figures of these datasets. Counts no further than it needs to."""
    most = FIGURES[kind].quick_rows
    items = items_of(datasets, kind)
    judged = judgments_on(datasets, kind)
    labels = labels_visible_to(None).filter(item__dataset__in=datasets, kind=kind).order_by()
    return all(rows[: most + 1].count() <= most for rows in (items, labels, judged))


def report_jobs_of(user: User) -> QuerySet[ReportJob]:
    """Reports that this person asked for and that aren't there yet, newest first."""
    waiting = _of(user).filter(state__in=(*OPEN, JobState.FAILED))
    return waiting.select_related("dataset", "study").order_by("-created_at", "-pk")


def report_job_get_for(user: User, pk: int) -> ReportJob:
    """A report that this person asked for, of what they see still; else Http404."""
    return get_object_or_404(_of(user).select_related("dataset", "study", "report"), pk=pk)


def _of(user: User) -> QuerySet[ReportJob]:
    """What this person asked for, of datasets and studies that they see still."""
    mine = ReportJob.objects.filter(requested_by=user, dataset__in=datasets_visible_to(user))
    return mine.filter(Q(study=None) | Q(study__in=studies_visible_to(user)))


def report_job_cancel(*, job: ReportJob) -> bool:
    """Stop making a report; False if it isn't being made any more. The worker notices with its next step."""
    now = timezone.now()
    rows = ReportJob.objects.filter(pk=job.pk, state__in=OPEN)
    return bool(rows.update(state=JobState.CANCELLED, owner="", lease_until=None, finished_at=now))


def report_job_resume(*, job: ReportJob) -> bool:
    """Make a report after all that was cancelled or failed; False if that is no longer so."""
    stopped = ReportJob.objects.filter(pk=job.pk, state__in=(JobState.CANCELLED, JobState.FAILED))
    try:
        with transaction.atomic():
            changed = stopped.update(
                state=JobState.QUEUED, attempts=0, error="", step="", n_done=0, n_total=0, finished_at=None
            )
    except IntegrityError:  # the same was asked for again meanwhile, and is being made
        return False
    if changed:
        transaction.on_commit(wakeups_send)
    return bool(changed)


# --- the worker ---------------------------------------------------------------------------------------------------


def report_jobs_work(stop: Callable[[], bool] = lambda: False) -> int:
    """Make the reports that wait, one after the other; how many were stored. Any number of workers may do this.

    When none waits, the pictures of those that were stored are drawn.
    """
    n = 0
    undrawn: list[int] = []
    while not stop():
        if (job := report_job_claim()) is not None:
            n += report_job_make(job, stop)
            undrawn.append(job.pk)
        elif undrawn:
            _draw(undrawn.pop())
        else:
            break
    return n


def _draw(job_id: int) -> None:
    report = Report.objects.filter(jobs=job_id).select_related("dataset", "study").first()
    if report is None:
        return
    try:
        report_draw(report)
    except Exception:
        # The report is stored; its page draws what is missing.
        logger.exception("The pictures of a report could not be drawn")


def _pending() -> QuerySet[ReportJob]:
    ended = Q(state=JobState.RUNNING, lease_until__lt=timezone.now())
    return ReportJob.objects.filter(Q(state=JobState.QUEUED) | ended)


def report_job_claim() -> ReportJob | None:
    """Take the oldest job that waits, or whose worker was lost."""
    return _claim()


def _claim(pk: int | None = None) -> ReportJob | None:
    """Take this job, or the oldest; None where it is being made, or none waits."""

    def rows() -> QuerySet[ReportJob]:
        return _pending() if pk is None else _pending().filter(pk=pk)

    if not rows().exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        row = rows().select_for_update(skip_locked=True).order_by("created_at", "pk").first()
        if row is None:
            return None
        if row.attempts >= MOST_ATTEMPTS:
            row.state, row.finished_at = JobState.FAILED, timezone.now()
            row.error = f"The worker was lost {row.attempts} times while it made this report."
            row.save(update_fields=["state", "finished_at", "error"])
            return row
        row.state, row.owner = JobState.RUNNING, uuid.uuid4().hex
        row.started_at = timezone.now()
        row.lease_until = row.started_at + LEASE
        row.attempts += 1
        row.save(update_fields=["state", "owner", "started_at", "lease_until", "attempts"])
    return ReportJob.objects.select_related("dataset", "study", "requested_by").get(pk=row.pk)


def report_job_make(job: ReportJob, stop: Callable[[], bool]) -> int:
    if job.state != JobState.RUNNING:
        return 0
    mine = ReportJob.objects.filter(pk=job.pk, owner=job.owner, state=JobState.RUNNING)
    tell = _teller(mine, stop)
    try:
        tell("Reading labels and judgments", 0, 0)
        with listening(tell):
            if not _of(job.requested_by).filter(pk=job.pk).exists():
                raise ReportError("You no longer have access to this dataset or study.")
            if job.page:
                content = page_content(read_as(PageAsked, job.asked), job.requested_by)
            else:
                report = report_build(
                    dataset=job.dataset,
                    kind=job.kind,
                    study=job.study,
                    reader=job.requested_by,
                    dimension=job.dimension,
                    options=Options(
                        epsilon=job.epsilon,
                        margin=job.margin,
                        annotators="these" if job.annotators == "these" else "alike",
                        pass_mark=job.pass_mark,
                        preset=job.preset,
                    ),
                )
        with transaction.atomic():
            # Only who still holds the row stores a report: one that was given up on makes no second one.
            if not mine.select_for_update().exists():
                return 0
            made: dict[str, Any] = {"content": content} if job.page else {}
            if not job.page:
                user = job.requested_by
                made["report"] = report_save(
                    report=report,
                    dataset=job.dataset,
                    study=job.study,
                    user=user,
                    preregistration=job.preregistration,
                )
            mine.update(state=JobState.DONE, owner="", lease_until=None, finished_at=timezone.now(), **made)
    except _Interrupted:
        # A stopping worker gives its job back; that one did not fail.
        mine.update(state=JobState.QUEUED, owner="", lease_until=None, attempts=F("attempts") - 1)
        return 0
    except (ReportError, Http404) as error:
        _fail(mine, str(error))
        return 0
    except Exception:
        logger.exception("A report could not be made", extra={"job": job.pk})
        _fail(mine, "An error occurred while this report was made. Operators can find it in the log.")
        return 0
    return 1


def _fail(mine: QuerySet[ReportJob], error: str) -> None:
    mine.update(state=JobState.FAILED, error=error, owner="", lease_until=None, finished_at=timezone.now())


def _teller(mine: QuerySet[ReportJob], stop: Callable[[], bool]) -> Callable[[str, int, int], None]:
    """Writes progress, at most once a second or with a new step, and keeps the lease alive meanwhile."""
    last_step, due = "", 0.0

    def tell(step: str, done: int, total: int) -> None:
        nonlocal last_step, due
        if stop():
            raise _Interrupted
        now = time.monotonic()
        if step == last_step and now < due and done != total:
            return
        last_step, due = step, now + TELL_SECONDS
        kept = mine.update(step=step, n_done=done, n_total=total, lease_until=timezone.now() + LEASE)
        if not kept:
            raise _Interrupted

    return tell


_thread: threading.Thread | None = None
_starting = threading.Lock()


def report_jobs_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process makes the reports that wait: beside whatever else it does, one thread at most.

    A sweep holds a worker for hours; a report need not wait for its end.
    """
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return _thread
        if stop() or not _pending().exists():
            return None
        _thread = threading.Thread(target=partial(_work_alone, stop), name="reports", daemon=True)
        _thread.start()
        return _thread


def _work_alone(stop: Callable[[], bool]) -> None:
    from django.db import connections

    close_old_connections()
    try:
        report_jobs_work(stop)
    except Exception:
        logger.exception("Reports could not be made; the next wake-up tries again")
    finally:
        connections.close_all()
