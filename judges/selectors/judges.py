"""What pages and commands read of judges."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from judges.models import BackendKind, Judge, Judgment


def judges_runnable() -> QuerySet[Judge]:
    """Return the judges that a sweep can run: all but those with imported verdicts only."""
    return Judge.objects.exclude(backend=BackendKind.IMPORTED).select_related("endpoint").order_by("name")


def judge_has_judged(judge: Judge) -> bool:
    """Whether a judge has judged anything, which makes it immutable."""
    return Judgment.objects.filter(judge=judge).exists()


def judges_with_use() -> QuerySet[Judge]:
    """Return all judges, each with `has_judged`."""
    used = Exists(Judgment.objects.filter(judge=OuterRef("pk")))
    return Judge.objects.select_related("endpoint").annotate(has_judged=used).order_by("name")
