"""What a platform says of its submissions, by file, by API and message by message, and what follows here."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.entry.base import SubmissionRow
from annotation.entry.prolific import PROLIFIC
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Intervention,
    Label,
    PlatformEvent,
    PlatformLink,
    Stage,
)
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.enrollment import entry_refusal
from annotation.services.reconcile import Rules, Step, reconcile_apply, reconcile_plan
from tests.annotation.entry.props import (
    PID,
    SESSION,
    arrive,
    csv_file,
    csv_row,
    link_make,
    params,
    person_of,
)
from tests.annotation.factories import annotator_make, enrollment_make, study_make
from tests.races import all_at_once, before

pytestmark = pytest.mark.django_db


def person_make(link: PlatformLink, number: int = 1, *, stage: str = Stage.WORK, **fields) -> Enrollment:
    return enrollment_make(
        study=link.study,
        stage=stage,
        annotator=annotator_make(source="prolific", external_id=f"p{number}"),
        platform_link=link,
        platform_session=f"s{number}",
        **fields,
    )


def row(status: str, number: int = 1, **fields) -> SubmissionRow:
    return SubmissionRow(f"s{number}", f"p{number}", status, **fields)


def hear(link: PlatformLink, *rows: SubmissionRow, **options):
    return reconcile_apply(link=link, rows=rows, channel="file", **options)


def worked(link: PlatformLink, number: int = 1) -> Enrollment:
    """A person with one answer and one open item."""
    person = person_make(link, number)
    lease = assignment_claim(enrollment=person)
    assignment_submit(assignment=lease, shown_value={"choice": 1})
    person.refresh_from_db()
    assert assignment_claim(enrollment=person) is not None
    return person


def places(link: PlatformLink) -> tuple[int, int]:
    items = link.study.study_items.values_list("n_open", "n_accepted")
    return sum(n for n, _ in items), sum(n for _, n in items)


# --- Who leaves ---------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_who_returned_leaves_and_everything_is_free_again(link):
    person = worked(link)
    type(link.study).objects.update(max_annotators=1)
    link.study.refresh_from_db()
    assert entry_refusal(study=link.study) == "full"
    plan = hear(link, row("RETURNED"))
    assert (plan.counts, plan.labels) == ({"leave": 1}, 1)
    person.refresh_from_db()
    assert (person.stage, person.platform_status, person.n_accepted) == (Stage.LEFT, "RETURNED", 0)
    assert person.left_at is not None
    assert places(link) == (0, 0)
    assert not Assignment.objects.filter(state=AssignmentState.OPEN).exists()
    assert Label.objects.get().is_set_aside
    assert Intervention.objects.get().reason == "Returned on Prolific"
    assert entry_refusal(study=link.study) is None


@pytest.mark.parametrize(
    ("status", "rules", "aside"),
    [
        ("RETURNED", Rules(), True),
        ("RETURNED", Rules(returned=False), False),
        ("TIMED-OUT", Rules(), False),
        ("TIMED-OUT", Rules(timed_out=True), True),
    ],
)
def test_whose_labels_are_set_aside(link, status, rules, aside):
    worked(link)
    hear(link, row(status), rules=rules)
    assert person_of(link, "p1").stage == Stage.LEFT
    assert Label.objects.get().is_set_aside is aside
    assert places(link) == (0, 0 if aside else 1)


def test_twice_is_once(link):
    worked(link)
    hear(link, row("RETURNED"))
    before = Enrollment.objects.values().get()
    plan = hear(link, row("RETURNED"))
    assert plan.counts == {"same": 1}
    assert Enrollment.objects.values().get() == before
    assert (PlatformEvent.objects.count(), Intervention.objects.count()) == (1, 1)


def test_an_older_file_changes_nothing(link):
    worked(link)
    hear(link, row("RETURNED"))
    assert hear(link, row("ACTIVE")).counts == {"older": 1}
    person = person_of(link, "p1")
    assert (person.stage, person.platform_status) == (Stage.LEFT, "RETURNED")


def test_a_newer_status_wins(link):
    person_make(link, stage=Stage.DONE)
    hear(link, row("AWAITING REVIEW"))
    hear(link, row("REJECTED"))
    assert hear(link, row("APPROVED")).counts == {"note": 1}
    person = person_of(link, "p1")
    assert (person.stage, person.platform_status) == (Stage.DONE, "APPROVED")


@pytest.mark.parametrize(
    ("stage", "status", "after"),
    [
        (Stage.DONE, "RETURNED", Stage.LEFT),
        (Stage.DONE, "TIMED-OUT", Stage.DONE),
        (Stage.SCREENED_OUT, "RETURNED", Stage.SCREENED_OUT),
        (Stage.DECLINED, "RETURNED", Stage.DECLINED),
        (Stage.CONSENT, "TIMED-OUT", Stage.LEFT),
        (Stage.WORK, "SCREENED OUT", Stage.WORK),
    ],
)
def test_what_a_status_does_to_a_stage(link, stage, status, after):
    person_make(link, stage=stage)
    hear(link, row(status))
    assert person_of(link, "p1").stage == after


def test_who_timed_out_and_then_returned_has_their_labels_set_aside(link):
    worked(link)
    hear(link, row("TIMED-OUT"))
    assert places(link) == (0, 1)
    hear(link, row("RETURNED"))
    person = person_of(link, "p1")
    assert (person.stage, person.platform_data["left_from"]) == (Stage.LEFT, "work")
    assert places(link) == (0, 0)


# --- Who comes back ---------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_who_is_active_again_goes_on(link):
    now = timezone.now()
    worked(link)
    hear(link, row("RETURNED"), at=now, exact=True)
    plan = hear(link, row("ACTIVE"), at=now + timedelta(minutes=1), exact=True)
    assert plan.counts == {"return": 1}
    person = person_of(link, "p1")
    assert (person.stage, person.platform_status, person.n_accepted) == (Stage.WORK, "ACTIVE", 1)
    assert not Label.objects.get().is_set_aside
    assert "left_from" not in person.platform_data
    assert assignment_claim(enrollment=person) is not None


def test_who_comes_back_to_a_full_study_stays_out(link):
    now = timezone.now()
    worked(link)
    hear(link, row("RETURNED"), at=now, exact=True)
    person_make(link, 2)
    type(link.study).objects.update(max_annotators=1)
    hear(link, row("ACTIVE"), at=now + timedelta(minutes=1), exact=True)
    person = person_of(link, "p1")
    assert (person.stage, person.platform_status) == (Stage.LEFT, "ACTIVE")
    assert Label.objects.get().is_set_aside


@pytest.mark.both_databases
def test_a_label_taken_back_never_makes_one_too_many(link):
    """The place was filled meanwhile: what is taken back is surplus."""
    worked(link, 1)
    hear(link, row("RETURNED"))
    other = person_make(link, 2)
    while (lease := assignment_claim(enrollment=other)) is not None:
        assignment_submit(assignment=lease, shown_value={"choice": 2})
    assert arrive(Client(), link, pid="p1", session="s9").status_code == 302
    person = person_of(link, "p1")
    assert (person.stage, person.platform_session, person.n_accepted) == (Stage.WORK, "s9", 0)
    assert places(link) == (0, 4)
    assert Label.objects.get(annotator=person.annotator).is_surplus
    assert hear(link, row("RETURNED")).counts == {"other": 1}


# --- What does not fit ------------------------------------------------------------------------------------------------


def test_rows_of_others_and_rows_that_do_not_fit(link):
    person_make(link, 1)
    person_make(link, 2)
    person_make(link, 3, stage=Stage.DONE, completion_code="TS-1")
    rows = [
        SubmissionRow("s1", "p-forged", "RETURNED"),
        SubmissionRow("s8", "p2", "RETURNED"),
        SubmissionRow("s9", "p9", "RETURNED"),
        SubmissionRow("s3", "p3", "AWAITING REVIEW", "NOCODE"),
    ]
    plan = reconcile_plan(link=link, rows=rows)
    assert [change.step for change in plan.changes] == [Step.MISMATCH, Step.OTHER, Step.STRANGER, Step.NOTE]
    assert [change.row.session for change in plan.without_code] == ["s3"]
    assert [person.platform_session for person in plan.missing] == ["s2"]
    hear(link, *rows)
    assert set(Enrollment.objects.values_list("stage", flat=True)) == {Stage.WORK, Stage.DONE}


def test_another_studys_submissions_are_left_alone(link):
    other = link_make(study_make())
    person_make(other, 1)
    hear(link, row("RETURNED"))
    assert person_of(other, "p1").stage == Stage.WORK


def test_a_large_file_takes_few_queries(link, django_assert_max_num_queries):
    for number in range(30):
        person_make(link, number)
    rows = [row("AWAITING REVIEW", number) for number in range(30)]
    with django_assert_max_num_queries(6):
        reconcile_plan(link=link, rows=rows)


@pytest.mark.both_databases
def test_a_file_is_taken_as_a_whole_or_not_at_all(link):
    for number in (1, 2):
        worked(link, number)
    taken, left = places(link), iter([True, False])

    def fail_at_the_last():
        if not next(left):
            raise RuntimeError("the power went out")

    leaving = r'^UPDATE "annotation_enrollment" SET "stage"'
    with before(leaving, fail_at_the_last, times=2) as met, pytest.raises(RuntimeError):
        hear(link, *(row("RETURNED", number) for number in (1, 2)))
    assert len(met) == 2
    assert places(link) == taken
    assert not Enrollment.objects.exclude(stage=Stage.WORK, platform_status="").exists()
    assert not Label.objects.filter(is_set_aside=True).exists()
    assert not PlatformEvent.objects.exists()


@pytest.mark.both_databases
def test_returned_then_approved_then_returned_again(link):
    """Places are free once and labels set aside once, whatever is heard afterwards."""
    worked(link)
    for status in ("RETURNED", "APPROVED", "RETURNED", "APPROVED", "ACTIVE", "RETURNED"):
        hear(link, row(status))
        assert places(link) == (0, 0)
    person = Enrollment.objects.get()
    assert (person.stage, person.platform_status) == (Stage.LEFT, "APPROVED")
    assert Label.objects.filter(is_set_aside=True).count() == Intervention.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_files_at_once_and_people_at_work():
    """Four researchers confirm the same file while the people in it go on answering."""
    link = link_make(study_make(pairs=20, overlap=3, consent="", guidelines=""))
    for number in range(6):
        worked(link, number)
    rows = [row("RETURNED", number) for number in range(4)]

    def either(turn: int) -> None:
        if turn < 4:
            hear(link, *rows)
            return
        person = Enrollment.objects.select_related("study", "annotator").get(platform_session=f"s{turn - 4}")
        lease = Assignment.objects.filter(enrollment=person, state=AssignmentState.OPEN).first()
        if lease is not None:
            assignment_submit(assignment=lease, shown_value={"choice": 1})

    all_at_once(either, list(range(10)))
    hear(link, *rows)
    counted = Label.objects.current().count()
    assert places(link) == (0, counted)
    assert Enrollment.objects.filter(stage=Stage.LEFT).count() == 4
    assert PlatformEvent.objects.count() == 4
    for place in link.study.study_items.all():
        assert place.n_accepted <= place.overlap


# --- The command --------------------------------------------------------------------------------------------------


def test_the_command(link, tmp_path, capsys):
    worked(link)
    file = tmp_path / "export.csv"
    file.write_bytes(csv_file(csv_row("s1", "p1", "RETURNED", ""), csv_row("s2", "p2", "APPROVED")))
    call_command("reconcile_platform", link.study.slug, "--file", str(file), "--dry-run")
    assert "Nothing was changed" in capsys.readouterr().out
    assert person_of(link, "p1").stage == Stage.WORK
    call_command("reconcile_platform", link.study.slug, "--file", str(file), "--keep-returned")
    out = capsys.readouterr().out
    assert "1 left" in out
    assert "1 never joined here" in out
    assert person_of(link, "p1").stage == Stage.LEFT
    assert not Label.objects.get().is_set_aside


def test_the_command_asks_the_api(link, monkeypatch, capsys):
    person_make(link, stage=Stage.DONE)
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "the-token")
    asked = []
    monkeypatch.setattr(PROLIFIC, "fetch", lambda link, token: asked.append(token) or [row("APPROVED")])
    call_command("reconcile_platform", link.study.slug, "--api")
    assert asked == ["the-token"]
    assert person_of(link, "p1").platform_status == "APPROVED"
    assert "the-token" not in capsys.readouterr().out


def test_the_command_says_what_is_missing(link, tmp_path, monkeypatch):
    monkeypatch.delenv("PROLIFIC_API_TOKEN", raising=False)
    broken = tmp_path / "broken.csv"
    broken.write_text("Name\n")
    for arguments, words in [
        (["nothing", "--api"], "no study"),
        ([link.study.slug, "--api"], "PROLIFIC_API_TOKEN is not set"),
        ([link.study.slug, "--platform", "connect", "--api"], "no entry point"),
        ([link.study.slug, "--file", str(broken)], "broken.csv: Submission id"),
        ([link.study.slug, "--file", "/no/such/file.csv"], "cannot be read"),
    ]:
        with pytest.raises(CommandError, match=words):
            call_command("reconcile_platform", *arguments)


def test_a_walk_from_the_door_to_the_file(link, client):
    """Nothing here knows more than a person and a file would."""
    assert arrive(client, link).status_code == 302
    plan = hear(link, *PROLIFIC.rows(csv_file(csv_row(SESSION, PID, "TIMED-OUT", "")), "export.csv"))
    assert plan.counts == {"leave": 1}
    refused = Client().get(reverse("annotation:enter", args=["prolific", link.token]), params())
    assert refused.context["reason"] == "left"
