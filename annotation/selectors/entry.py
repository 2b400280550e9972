"""Doors of a study beside invitations, who came in by them, and accounts.

Permission lives in the fetch: a link is found by its token alone, an account by its key in the session.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Q, QuerySet

from annotation.models import (
    Account,
    Enrollment,
    PlatformEvent,
    PlatformLink,
    Stage,
    Study,
    StudyState,
)


def platform_link_get(platform: str, token: str, *, closed: bool = False) -> PlatformLink:
    """The link with this token; `PlatformLink.DoesNotExist` also when it is closed, unless asked for."""
    links = PlatformLink.objects.select_related("study")
    if not closed:
        links = links.filter(closed_at=None)
    # PostgreSQL refuses a query with a NUL in it; no token has one.
    return links.get(platform=platform.replace("\x00", ""), token=token.replace("\x00", ""))


def platform_links_of(study: Study) -> dict[str, PlatformLink]:
    """Name of a platform to the study's link for it."""
    return {link.platform: link for link in PlatformLink.objects.filter(study=study)}


def arrivals_of(study: Study) -> QuerySet[Enrollment]:
    """Who came in from platforms, the latest first."""
    return (
        Enrollment.objects.filter(study=study, platform_link__isnull=False)
        .select_related("annotator", "platform_link")
        .order_by("-created_at", "-pk")
    )


def is_inside(link: PlatformLink, external_id: str) -> bool:
    """Whether the person with this id on the platform takes part already."""
    mine = Enrollment.objects.filter(
        study=link.study_id, annotator__source=link.platform, annotator__external_id=external_id
    )
    return mine.exclude(stage=Stage.DECLINED).exists()


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many have a status on a platform, and how they stand here."""

    platform: str
    status: str
    people: int
    finished: int
    left: int


def arrivals_by_status(study: Study) -> list[StatusCount]:
    rows = (
        Enrollment.objects.filter(study=study, platform_link__isnull=False)
        .values_list("platform_link__platform", "platform_status")
        .annotate(
            people=Count("pk"),
            finished=Count("pk", filter=Q(stage=Stage.DONE)),
            left=Count("pk", filter=Q(stage=Stage.LEFT)),
        )
        .order_by("platform_link__platform", "platform_status")
    )
    return [StatusCount(*row) for row in rows]


def entry_counts(study: Study) -> dict[str, int]:
    """How many came in by each entry point: names of platforms, `invitation` and `account`."""
    rows = Enrollment.objects.filter(study=study).values_list("annotator__source")
    return dict(rows.annotate(people=Count("pk")).order_by("annotator__source"))


def statuses_seen(link: PlatformLink, sessions: Sequence[str] | None) -> set[tuple[str, str]]:
    """Submissions (None: all) with the statuses that we have heard of them."""
    events = PlatformEvent.objects.filter(link=link)
    if sessions is not None:
        events = events.filter(session__in=sessions)
    return set(events.values_list("session", "status"))


def account_get(pk: int) -> Account:
    return Account.objects.select_related("annotator").get(pk=pk)


def accounts_of_email(email: str) -> QuerySet[Account]:
    """The account with this address as it is stored; at most one."""
    return Account.objects.filter(email=email)


def enrollments_of(account: Account) -> QuerySet[Enrollment]:
    """Where this person takes part, the latest first."""
    return (
        Enrollment.objects.filter(annotator=account.annotator)
        .select_related("study", "annotator", "platform_link")
        .order_by("-created_at", "-pk")
    )


def enrollment_in_study(account: Account, study: Study) -> Enrollment | None:
    return enrollments_of(account).filter(study=study).first()


def studies_to_join(account: Account, *, now: datetime) -> QuerySet[Study]:
    """Open studies that people may join by themselves, and in which this person is not."""
    return (
        Study.objects.filter(state=StudyState.OPEN, open_signup=True)
        .filter(Q(closes_at=None) | Q(closes_at__gt=now))
        .exclude(enrollments__in=Enrollment.objects.filter(annotator=account.annotator))
        .order_by(F("created_at").desc(), "pk")
    )


def study_to_join(slug: str) -> Study:
    """A study with open sign-up; whether it takes somebody now is for the service to say."""
    return Study.objects.exclude(state=StudyState.DRAFT).get(slug=slug, open_signup=True)
