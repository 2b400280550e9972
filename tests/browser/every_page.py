"""Every page of the product, with somebody who may see it: what the tests of accessibility visit.

An address that is in no list here, and not among those that are no pages, fails `test_every_page_is_visited`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from io import BytesIO
from itertools import cycle
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone

from annotation.kinds import from_canonical
from annotation.models import (
    Assignment,
    Dataset,
    Enrollment,
    ItemResponse,
    Kind,
    Response,
    Stage,
    Study,
    User,
)
from annotation.selectors.steps import question_next, training_next
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.enrollment import consent_give
from annotation.services.erasure_requests import erasure_ask
from annotation.services.item_notes import note_add
from annotation.services.pay import bonus_grant
from annotation.services.qualification import qualification_answer, training_answer
from annotation.services.quality import enrollment_suspend, item_report, message_send
from annotation.services.sharing import access_grant
from annotation.services.studies import study_update
from annotation.services.teams import member_add, team_create
from annotation.services.webhooks import webhook_create
from judges.models import ExportJob, Orders, Sweep
from judges.services.dataset_imports import dataset_import_request
from judges.services.export_jobs import export_request
from judges.services.exports import ExportOptions, ExportSubject
from judges.services.judge_uploads import judge_upload_create
from metaeval.models import OutsideRatings, ReportJob
from metaeval.papers import PAPERS
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import label_make, labels_make
from tests.annotation.entry.props import link_make, params
from tests.annotation.factories import (
    annotator_make,
    dataset_make,
    enrollment_make,
    invitation_make,
    study_make,
    user_make,
)
from tests.annotation.kinds import VALUES, kind_dataset_make, kind_label_make, kind_study_make
from tests.browser.walks import ELIGIBILITY, OTHER_VALUES, walk_study
from tests.judges.anchor_rows import anchors_make
from tests.judges.unfinished import upload_make
from tests.metaeval.choices import two_datasets, two_kinds
from tests.metaeval.kinds import kind_swept
from tests.metaeval.preregistrations import preregistered
from tests.metaeval.rows import judge_make, judgments_make, sweep_make, swept
from tests.metaeval.rows import labels_make as choices_make

# Addresses that show nothing of their own, and why.
NO_PAGES = {
    "annotation:screen": "an annotator's page with made-up content: in `test_languages`",
    "annotation:account": "needs an account: `test_the_studies_of_an_account`",
    "annotation:consent": "shown by `place`",
    "annotation:eligibility": "shown by `place`",
    "annotation:training": "shown by `place`",
    "annotation:qualification": "shown by `place`",
    "annotation:retry": "shown by `place`",
    "annotation:draft": "takes a draft, answers nothing",
    "annotation:ahead": "answers JSON, with parts of the work page",
    "annotation:offline-worker": "a script",
    "annotation:message": "takes that a text was read, leads back",
    "annotation:assignment-step": "a part of `assignment`: the rest of a long step, in `test_traces`",
    "annotation:image": "a picture: in `test_images`",
    "annotation:hook": "for platforms, answers a word",
    "annotation:account-sign-out": "takes, leads to signing in",
    "annotation:account-join": "takes, leads to the study",
    "annotation:account-data": "a file",
    "annotation:account-delete": "takes, leads to a page that says so",
    "annotation:own-data-file": "a file",
    "annotation:own-data-delete": "takes; shown by `own-data`",
    "annotation:study-privacy-file": "a file",
    "annotation:study-privacy-act": "takes; shown by `study-privacy` when something is wrong",
    "privacy-record": "for administrators: in `admin_pages`",
    "privacy-record-file": "a file",
    "annotation:entry-link": "takes; shown by `study-entry` when something is wrong",
    "annotation:entry-state": "takes, leads back",
    "annotation:entry-reconcile": "answers a file: in `test_entry`",
    "annotation:study-person-act": "takes; shown by `study-person` when something is wrong",
    "annotation:study-adjudicate-said": "a part of `study-adjudicate-item`: in `test_quality`",
    "annotation:study-report-decide": "takes, leads back",
    "annotation:markdown-preview": "a part of `study-create`",
    "annotation:study-estimate": "a part of `study-create`",
    "annotation:study-live": "a part of `study-detail`",
    "annotation:study-items": "takes a file, leads back",
    "annotation:study-copy": "takes, leads to the copy",
    "annotation:study-state": "takes, leads back",
    **dict.fromkeys(
        (
            *("annotation:study-access-act", "annotation:dataset-access-act", "annotation:team-act"),
            *("annotation:team-member-act",),
        ),
        "takes, leads back",
    ),
    "annotation:study-transfer": "takes; shown by `study-share` when something is wrong",
    "annotation:dataset-transfer": "takes; shown by `dataset-share` when something is wrong",
    "annotation:team-member-add": "takes; shown by `team-detail` when something is wrong",
    "annotation:invitation-create": "takes, leads back",
    "annotation:invitation-revoke": "takes, leads back",
    "annotation:study-pay-export": "a file",
    "annotation:study-export": "a file",
    "annotation:audit": "for administrators: in `admin_pages`",
    "annotation:audit-export": "a file",
    "annotation:dataset-export": "a file",
    "annotation:dataset-criteria": "takes, leads back",
    "annotation:dataset-settings": "takes, leads back; shown by `dataset-detail`",
    "annotation:dataset-documentation": "takes, leads back; shown by `dataset-detail`",
    "annotation:people-export": "a file",
    "judges:judgment-export": "a file",
    "judges:export-file": "a file",
    "judges:verdict-import-act": "takes, leads back",
    "judges:unfinished-datasets-act": "takes, leads back",
    "judges:unfinished-verdicts-act": "takes, leads back",
    "judges:unfinished-staged-act": "takes, leads back",
    "judges:unfinished-uploads-act": "takes, leads back",
    "judges:dataset-upload-begin": "answers JSON, or what is wrong in the form: in `test_upload_chunks`",
    "judges:verdict-upload-begin": "answers JSON, or what is wrong in the form: in `test_upload_chunks`",
    "judges:upload-chunk": "takes a part of a file, answers JSON",
    "judges:judge-upload-act": "takes, leads back",
    "judges:judge-export-file": "a file",
    "judges:export-delete": "takes, leads back",
    "judges:in-time-freeze": "takes; shown by `judge-in-time` when something is wrong",
    "judges:in-time-act": "takes, leads back",
    "metaeval:example": "takes, leads to the sweep",
    "metaeval:loop": "a part of every page of a dataset",
    "metaeval:in-time-pictures": "a part of `judges:judge-in-time`",
    "metaeval:in-time-picture": "a file, and a part of `judges:judge-in-time`",
    "metaeval:plan-picture": "a file, and a part of `plan`",
    "metaeval:study-pictures": "a part of `annotation:study-detail`",
    "metaeval:study-picture": "a file, and a part of `annotation:study-detail`",
    "metaeval:study-judges": "a part of `annotation:study-detail`",
    "metaeval:dataset-items-counts": "a part of the page of items",
    "metaeval:dataset-items-export": "a file",
    "metaeval:dataset-items-send": "takes, leads to the study",
    "metaeval:dataset-item-note": "takes; shown by `dataset-item` when something is wrong",
    "metaeval:dataset-item-note-change": "takes; shown by `dataset-item` when something is wrong",
    "metaeval:plan-register": "takes, leads to the preregistration",
    "metaeval:preregistration-download": "a file",
    "metaeval:report-new": "takes, leads to the report",
    "metaeval:report-download": "a file",
    "metaeval:report-picture": "a file, and a part of `report-detail`",
    "metaeval:report-job-act": "takes, leads back",
    "metaeval:report-verify": "takes, leads back",
    "metaeval:comparison-download": "a file",
    "metaeval:kind-comparison-download": "a file",
    "metaeval:promote": "takes; the page of `comparison` when something is wrong",
    "metaeval:decision-summary": "a part of the sweep's page: in `test_decision`",
    "metaeval:decision-promote": "takes; the page of `decision` when something is wrong",
    "metaeval:decision-download": "a file",
    "metaeval:decision-judge": "a file",
    "metaeval:decision-tool": "a file",
    "metaeval:dataset-comparison-download": "a file",
    "metaeval:dataset-kind-comparison-download": "a file",
    "metaeval:dataset-promote": "takes; the page of `comparison` when something is wrong",
    "metaeval:dataset-decision-summary": "a part of another page",
    "metaeval:dataset-decision-promote": "takes; the page of `decision` when something is wrong",
    "metaeval:dataset-decision-download": "a file",
    "metaeval:dataset-label-next-download": "a file",
    "metaeval:dataset-label-next-send": "takes, leads to the study",
    "metaeval:dataset-confidence-send": "takes, leads to the study",
    "metaeval:confidence-download": "a file",
    "metaeval:dataset-confidence-download": "a file",
    "metaeval:confidence-send": "takes, leads to the study",
    "metaeval:dataset-tower-download": "a file",
    "metaeval:paper-download": "a file",
    "metaeval:comparison-picture": "a file, and a part of `comparison`",
    "metaeval:dataset-comparison-picture": "a file, and a part of `dataset-comparison`",
    "metaeval:decision-picture": "a file, and a part of `decision`",
    "metaeval:dataset-decision-picture": "a file, and a part of `dataset-decision`",
    "metaeval:confidence-picture": "a file, and a part of `confidence`",
    "metaeval:dataset-confidence-picture": "a file, and a part of `dataset-confidence`",
    "metaeval:systems-picture": "a file, and a part of `systems`",
    "metaeval:paper-picture": "a file, and a part of `paper-detail`",
    "metaeval:systems-download": "a file",
    "metaeval:ratings-upload": "takes a file, leads back",
    "judges:dataset-import-errors": "a file",
    "judges:dataset-import-image": "a picture: in `test_images`",
    "judges:dataset-import-mapping": "a file",
    "annotation:study-move-on": "takes, leads back",
    "metaeval:label-next-download": "a file",
    "metaeval:tower-download": "a file",
    "metaeval:label-next-send": "takes, leads to the study",
    "logout": "takes, leads to the login",
    "health": "answers JSON",
    "healthz": "answers a word",
    "readyz": "answers JSON",
    "metrics": "answers text for a program",
    "status": "for administrators: visited in `admin_pages`",
    "token-revoke": "takes, leads back",
    "webhook-act": "takes, leads back",
    "delivery-replay": "takes, leads back",
    "account_login": "the address of `login`",
    "mfa_authenticate": "needs a first step: in `test_sign_in`",
    "mfa_activate_totp": "needs a recent sign-in: in `test_sign_in`",
    "mfa_deactivate_totp": "looks like `factor-passkey-remove`",
    "mfa_view_recovery_codes": "needs a recent sign-in: in `test_sign_in`",
    "factor-passkey": "needs a recent sign-in: in `test_sign_in`",
    "factor-passkey-remove": "needs a passkey: in `test_sign_in`",
    "factor-codes-make": "needs a recent sign-in: in `test_sign_in`",
    "passkey-sign-in": "answers JSON, leads on",
    "single-sign-on": "leads to the provider: in `test_sign_in`",
    "openid_connect_callback": "leads on; what it refuses is in `test_sign_in`",
    "single-sign-on-disconnect": "takes, leads back",
    "session-end": "takes, leads back",
    "sessions-end-others": "takes, leads back",
    "password-change": "takes; shown by `me` when something is wrong",
}
# Visited with the demonstration, whose pages are full: sweeps and reports.
IN_DEMO = {
    "login",
    "metaeval:report-list",
    "metaeval:report-detail",
    "metaeval:report-changes",
    "metaeval:comparison",
    "metaeval:decision",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """A page, and who opens it: `person` by their personal link, else whoever the browser is; `then` comes between."""

    what: str
    address: str
    person: Enrollment | None = None
    status: int = 200
    then: Callable[[], object] = lambda: None
    words: str = ""  # what it says there, where an address leads to many pages

    @property
    def name(self) -> str:
        match = resolve(self.address.partition("?")[0])
        return match.view_name if match.url_name else "annotation:study-preview"


def names_in(patterns: Any, space: str = "") -> Iterator[str]:
    """Names of all addresses; those of Django's admin are its own, and the ones we made have tests of their own."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name not in ("admin", "api"):  # what the API answers is no page
                yield from names_in(
                    pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space
                )
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield f"{space}{pattern.name}"


def every_name() -> set[str]:
    return set(names_in(get_resolver().url_patterns))


def at(name: str, *args: object) -> str:
    return reverse(f"annotation:{name}", args=args)


def answered(person: Enrollment, value: dict[str, Any]) -> Assignment:
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    shown = from_canonical(person.study.kind, value, lease.shown_order)
    assignment_submit(assignment=lease, shown_value=shown, active_ms=9_000)
    return lease


def failed(person: Enrollment, *, before: timedelta = timedelta(0)) -> Enrollment:
    question = question_next(person)
    assert question is not None
    wrong = from_canonical(person.study.kind, OTHER_VALUES[person.study.kind], question.order)
    now = timezone.now() - before
    qualification_answer(enrollment=person, question=question.question, shown_value=wrong, now=now)
    return person


# People


def steps_stops() -> Iterator[Stop]:
    """Before the work, and the ends."""
    rules = {"qualification_attempts": 2, "qualification_cooldown_minutes": 45, "pay_for_test": "0.50"}
    study = walk_study("pairwise", training=1, test=1, eligibility=ELIGIBILITY, pay_per_item="0.10", **rules)
    here = at("place", study.slug)
    for stage in (Stage.CONSENT, Stage.ELIGIBILITY, Stage.GUIDELINES, Stage.TRAINING, Stage.QUALIFICATION):
        yield Stop(stage, here, enrollment_make(study=study, stage=stage))
    trained = enrollment_make(study=study, stage=Stage.TRAINING)
    practice = training_next(trained)
    assert practice is not None
    training_answer(enrollment=trained, question=practice.question, shown_value={"choice": 1})
    yield Stop("feedback", at("training-feedback", study.slug, practice.question.pk), trained)
    waiting = failed(enrollment_make(study=study, stage=Stage.QUALIFICATION))
    yield Stop("retry-later", here, waiting, words="You may try again in")
    ready = failed(enrollment_make(study=study, stage=Stage.QUALIFICATION), before=timedelta(hours=1))
    yield Stop("retry-now", here, ready, words="Try again")
    strict = walk_study("pairwise", test=1, pay_for_test="0.50")
    out = failed(enrollment_make(study=strict, stage=Stage.QUALIFICATION))
    yield Stop("failed", at("place", strict.slug), out, words="Thank you for taking the test")
    not_wanted = {"stage": Stage.SCREENED_OUT, "screened_out_by": "eligibility"}
    link = link_make(study)
    by_platform = {
        "platform_link": link,
        "annotator": annotator_make(source="prolific"),
        "platform_session": "s",
    }
    screened = enrollment_make(study=study, **not_wanted, **by_platform)
    yield Stop("not-eligible", here, screened, words="Thank you for answering")
    declined = enrollment_make(study=study, stage=Stage.DECLINED)
    yield Stop("declined", here, declined, words="Thank you for considering it")
    left = enrollment_make(study=study, stage=Stage.LEFT)
    yield Stop("left", here, left, words="You left this study")
    for state in ("paused", "closed"):
        shut = study_make(pairs=1)
        person = enrollment_make(study=shut, stage=Stage.GUIDELINES)
        # Once they are in: the personal link ends with the study.
        yield Stop(
            state,
            at("place", shut.slug),
            person,
            then=partial(Study.objects.filter(pk=shut.pk).update, state=state),
        )


def work_stops() -> Iterator[Stop]:
    """The work of every kind, and what is around it."""
    kinds = {kind: walk_study(kind, work=3, tie_policy="tie", ask_comment=True) for kind in Kind.values}
    for kind, study in kinds.items():
        person = enrollment_make(study=study)
        done = answered(person, VALUES[kind])
        lease = assignment_claim(enrollment=person)
        assert lease is not None
        yield Stop(f"work-{kind}", at("assignment", study.slug, lease.pk), person)
        yield Stop(f"answered-{kind}", at("assignment", study.slug, done.pk), person)
        if kind == Kind.PAIRWISE:
            yield from _around(study, person, lease)
    study = kinds[Kind.RUBRIC]
    busy = walk_study("rubric", work=1)
    assignment_claim(enrollment=enrollment_make(study=busy))
    yield Stop("nothing-now", at("work", busy.slug), enrollment_make(study=busy))
    person = enrollment_make(study=study)
    enrollment_suspend(enrollment=person, by=None, reason="r", text="Your work has been stopped.")
    yield Stop("suspended", at("work", study.slug), person)
    finished = enrollment_make(study=study, stage=Stage.DONE, completion_code="TS-23456-789AB")
    message_send(enrollment=finished, by=None, text="Thank you for the care.")
    yield Stop("done", at("done", study.slug), finished)
    link = link_make(kinds[Kind.IMPORTANCE])
    back = enrollment_make(
        study=link.study, stage=Stage.DONE, platform_link=link, platform_session="s",
        annotator=annotator_make(source="prolific"),
    )  # fmt: skip
    yield Stop("done-platform", at("done", link.study.slug), back)


def _around(study: Study, person: Enrollment, lease: Assignment) -> Iterator[Stop]:
    message_send(enrollment=person, by=None, text="Please take your time.")
    Enrollment.objects.filter(pk=person.pk).update(guidelines_read_version=1)
    study_update(study=study, guidelines=f"{study.guidelines}\n\nShorter is not better.")
    for name in ("skip", "report"):
        yield Stop(name, at(name, study.slug, lease.pk), person)
    resting = enrollment_make(study=study)
    yield Stop("resting", at("rest", study.slug), resting)
    ahead = study_make(pairs=2, fetch_ahead=1)
    yield Stop("offline", at("offline", ahead.slug), enrollment_make(study=ahead))
    for name in ("answers", "own-work", "rest", "changes", "guidelines", "reading", "link", "finish"):
        yield Stop(name, at(name, study.slug), person)
    newcomer = enrollment_make(study=study_make(pairs=1, retention_days=30), stage=Stage.CONSENT)
    yield Stop("consent-promises", at("place", newcomer.study.slug), newcomer)
    consent_give(enrollment=newcomer)
    yield Stop("own-data", at("own-data", newcomer.study.slug), newcomer)
    erasure_ask(enrollment=newcomer)
    yield Stop("own-data-asked", at("own-data", newcomer.study.slug), newcomer)
    yield Stop("data-deleted", at("data-deleted"))


def door_stops() -> Iterator[Stop]:
    """Ways in, and what is said to who cannot come in."""
    yield Stop("language", at("language"))
    study = study_make(pairs=2, open_signup=True, pay_per_item="0.10")
    link = link_make(study)
    enter = at("enter", "prolific", link.token)
    query = "&".join(f"{name}={value}" for name, value in params().items())
    yield Stop("join", at("join", invitation_make(study=study).token))
    yield Stop("join-unknown", at("join", "x"), status=404)
    over = enrollment_make(study=study_make(pairs=1, state="closed"))
    yield Stop("link-ended", at("resume", over.resume_token), status=410)
    full = study_make(pairs=1, max_annotators=1)
    enrollment_make(study=full, stage=Stage.CONSENT)
    yield Stop("join-full", at("join", invitation_make(study=full).token), status=410)
    yield Stop("enter", f"{enter}?{query}")
    yield Stop("enter-refused", f"{enter}?PROLIFIC_PID=x", status=400)
    yield Stop("unknown", at("place", "nowhere"), status=404)
    yield Stop("sign-up", at("account-sign-up"))
    yield Stop("sign-in", at("account-sign-in"))
    for space, what in (("password-", "password"), ("annotation:account-", "account")):
        for name in ("forgot", "sent", "done"):
            yield Stop(f"{what}-{name}", reverse(f"{space}{name}"))
        yield Stop(f"{what}-link-used", reverse(f"{space}set", args=["MQ", "a-b"]))


# Researchers


def busy_study(owner: User) -> Study:
    """With people of every sort, disputed items, reports, a bonus, two versions of guidelines, a platform, judges."""
    study = study_make(
        pairs=8, slug="busy", owner=owner, overlap=6, pay_per_item="0.01", pay_floor_per_hour="9"
    )
    people = labels_make(study, [[1, 1, 2, 1], [1, 2, 0, 1], *([[k % 2 + 1] * 4 for k in range(4)])])
    items = [place.item for place in study.study_items.select_related("item").order_by("position")]
    link = link_make(study)
    odd = annotator_make(source="prolific", external_id="5f3c0a9e1b2d4c6f8a7b9c0d")
    enrollment_make(
        study=study, annotator=odd, platform_link=link, platform_session="s", platform_status="APPROVED"
    )
    for k, item in enumerate(items[:6]):
        label_make(study=study, item=item, choice=k % 2 + 1, annotator=odd, active_ms=900, pasted_chars=50)
    for lease in Assignment.objects.order_by("pk")[:2]:
        item_report(assignment=lease, reason="broken", note="Answer B ends in the middle.")
    first, last = (
        Enrollment.objects.get(study=study, annotator=person) for person in (people[0], people[-1])
    )
    bonus_grant(enrollment=first, amount=Decimal("1.50"), reason="Careful", by=owner, nonce="n" * 8)
    enrollment_suspend(
        enrollment=last, by=owner, reason="careless", text="Please write to us.", set_aside=True
    )
    study_update(study=study, guidelines=f"{study.guidelines}\n\nShorter is not better.")
    for name, shift in (("Long name of a judge with a reference", 0), ("Plain", 1)):
        said = [((k + shift) % 2 + 1, k % 2 + 1) for k in range(8)]
        judgments_make(judge=judge_make(name), dataset=study.dataset, choices=said)
    return study


def comparison_stops() -> Iterator[Stop]:
    """Comparisons of every kind, of a part of the pairs in one order an item, and one without judges."""
    for kind in Kind.values[1:]:
        _, sweep = kind_swept(kind, gold=kind == Kind.CHECKLIST)
        yield Stop(f"comparison-{kind}", reverse("metaeval:comparison", args=[sweep.pk]))
    sweep, *_ = swept(dataset=dataset_make(pairs=12))
    Sweep.objects.filter(pk=sweep.pk).update(orders=Orders.RANDOM, sample_size=6, name="A sample")
    yield Stop("comparison-part", reverse("metaeval:comparison", args=[sweep.pk]))
    idle = sweep_make(judges=[judge_make("Idle")], datasets=[kind_dataset_make(Kind.RUBRIC)], name="Idle")
    yield Stop("comparison-nothing", reverse("metaeval:comparison", args=[idle.pk]))


def decision_stops() -> Iterator[Stop]:
    """Choice of a judge: clear, constraints that rule out some or all, asked wrongly, nothing judged, of rubrics."""
    sweep, *_ = two_datasets()
    here = reverse("metaeval:decision", args=[sweep.pk])
    yield Stop("decision", here)
    yield Stop("decision-constrained", f"{here}?max_cost=5&weight-gold=1")
    yield Stop("decision-none", f"{here}?open_weights=on&min_accuracy=99")
    yield Stop("decision-asked-wrongly", f"{here}?max_cost=cheap&weight-people=0")
    idle = sweep_make(judges=[judge_make("Idle too")], datasets=[dataset_make(pairs=3)], name="Idle too")
    yield Stop("decision-nothing", reverse("metaeval:decision", args=[idle.pk]))
    mixed = two_kinds(mark=" mixed")[1]
    yield Stop("decision-rubrics", reverse("metaeval:decision", args=[mixed.pk], query={"kind": "rubric"}))


def in_time_stops() -> Iterator[Stop]:
    """A judge that moved, one that stands still, and one without anchors."""
    dataset = dataset_make(pairs=40)
    _, moved, still = swept(dataset=dataset, good="Moved", poor="Still")
    anchors_make(judge=moved, dataset=dataset, changed=[0, 1, 0, 1, 12, 15])
    anchors_make(judge=still, dataset=dataset, changed=[1, 0])
    _, new, _ = swept(dataset=dataset_make(pairs=12), good="New", poor="Other")
    for what, judge in (("moved", moved), ("still", still), ("new", new)):
        yield Stop(f"judge-in-time-{what}", reverse("judges:judge-in-time", args=[judge.pk]))
    yield Stop("judge-that-moved", reverse("judges:judge-detail", args=[moved.pk]))


def upload_stops(owner: User) -> Iterator[Stop]:
    """Judges from files: one that can be added, one that is refused, and several to choose from."""
    yield Stop("judge-uploads", reverse("judges:judge-uploads"))
    texts = {
        "ready": {"mine.yaml": "strategy: longest\n"},
        "refused": {"mine.yaml": "strategy: rules\nmodel: small\ntemper: 1\n"},
        "several": {"a.yaml": "strategy: longest\n", "b.yaml": "strategy: shortest\n"},
    }
    for what, files in texts.items():
        upload = judge_upload_create(user=owner, texts=files)
        yield Stop(f"judge-upload-{what}", reverse("judges:judge-upload", args=[upload.pk]))


def paper_stops() -> Iterator[Stop]:
    """The tables of the papers: their list, each paper's page, one of a kind that the dataset does not have."""
    dataset = dataset_make(pairs=6)
    for instruction, subset in zip(
        dataset.instructions.all(), ["Natural", "Adversarial/Manual"] * 3, strict=True
    ):
        instruction.subset = subset
        instruction.save()
    choices_make(dataset=dataset, choices=[[1, 1, 2], [2, 2], [1, 0]] * 2)
    swept(dataset=dataset, good="Right of papers", poor="Wrong of papers")
    yield Stop("papers", reverse("metaeval:paper-list", args=[dataset.name]))
    for paper in PAPERS:
        yield Stop(f"paper-{paper}", reverse("metaeval:paper-detail", args=[dataset.name, paper]))


def systems_stops() -> Iterator[Stop]:
    """Systems by people and by a judge, beside a table from elsewhere; with nothing said, and without systems."""
    answered = dataset_make(pairs=12)
    names = cycle([("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")])
    for item, pair in zip(answered.items.order_by("position"), names, strict=False):
        for link in ItemResponse.objects.filter(item=item):
            Response.objects.filter(pk=link.response_id).update(system=pair[link.position])
    choices_make(dataset=answered, choices=[[1, 1], [1, 2], [1, 0], [2, 1]] * 2)
    judge = judge_make("Ranks systems")
    judgments_make(judge=judge, dataset=answered, choices=[(1, 1), (2, 1), (1, None)] * 4)
    scores = {"Alpha": 1200.0, "beta": 1100.0, "gamma": 900.0, "a system that nobody asked here": 950.0}
    OutsideRatings.objects.create(
        name="arena", title="Arena", source="https://example.org/arena", column="elo", scores=scores,
        inputs_hash="a" * 64,
    )  # fmt: skip
    here = reverse("metaeval:systems", args=[answered.name])
    yield Stop("systems", here)
    yield Stop("systems-by-a-judge", f"{here}?by={judge.fingerprint}")
    silent = dataset_make(pairs=2)
    yield Stop("systems-nothing", reverse("metaeval:systems", args=[silent.name]))


def label_next_stops(owner: User) -> Iterator[Stop]:
    """What to label next: not asked, asked, with a study to send it to, asked wrongly, with nothing to draw from."""
    few = dataset_make(pairs=40, gold=False)
    choices_make(dataset=few, choices=[[1 + k % 2, 1 + k % 2] for k in range(12)])
    steady, unsure = judge_make("Steady"), judge_make("Unsure", strategy="cot")
    judgments_make(judge=steady, dataset=few, choices=[(1, 1)] * 40)
    judgments_make(judge=unsure, dataset=few, choices=[(1, 1)] * 20 + [(1, 2)] * 20)
    sweep = sweep_make(judges=[steady, unsure], datasets=[few], name="Steady and unsure")
    here = reverse("metaeval:label-next", args=[sweep.pk])
    yield Stop("label-next", here)
    yield Stop("label-next-drawn", f"{here}?budget=12&judge=&seed=1")
    study_make(dataset=few, owner=owner, state="draft", title="More labels")
    yield Stop("label-next-to-a-study", f"{here}?budget=12&judge=&seed=1")
    yield Stop("label-next-asked-wrongly", f"{here}?budget=4000&judge=&seed=x")
    idle = sweep_make(judges=[judge_make("Idle three")], datasets=[dataset_make(pairs=3)], name="Idle three")
    yield Stop("confidence", f"{reverse('metaeval:confidence', args=[sweep.pk])}?risk=40")
    yield Stop("confidence-of-a-dataset", reverse("metaeval:dataset-confidence", args=[few.name]))
    yield Stop("label-next-nothing", reverse("metaeval:label-next", args=[idle.pk]))


def plan_stops(owner: User) -> Iterator[Stop]:
    """Planning: presets, from a pilot, asked wrongly; what was registered, and the report that names it."""
    few = dataset_make(pairs=12, gold=False)
    choices_make(
        dataset=few, choices=[[1 + k % 2, 1 + k % 2, 1 + (k % 5 > 0), 1, 2 - k % 3 % 2] for k in range(12)]
    )
    judge = judge_make("Planned")
    judgments_make(judge=judge, dataset=few, choices=[(1 + k % 2, 1) for k in range(12)])
    here = reverse("metaeval:plan", args=[few.name])
    yield Stop("plan", here)
    yield Stop("plan-from-a-pilot", f"{here}?pilot=dataset&figure=judge&question=precise&people=5,20")
    yield Stop("plan-asked-wrongly", f"{here}?items=x&ahead=30&discordance=20")
    frozen = preregistered(dataset=few, user=owner)
    yield Stop("preregistration", reverse("metaeval:preregistration", args=[frozen.pk]))
    report = report_request(user=owner, dataset=few.name, preregistration=frozen)
    yield Stop("report-planned", reverse("metaeval:report-detail", args=[report.pk]))


def item_stops(owner: User, dataset: Dataset) -> Iterator[Stop]:
    """Items: all, filtered and sent to adjudication, none; one with a note, and one of a kind with parts."""
    here = reverse("metaeval:dataset-items", args=[dataset.name])
    choices_make(dataset=dataset, choices=[(1, 2, 1)] * 4)
    study_make(dataset=dataset, owner=owner, title="Adjudicated")
    item = dataset.items.order_by("position")[0]
    note_add(item=item, author=owner, text="Check again.", nonce="n")
    yield Stop("items", here)
    yield Stop("items-filtered", f"{here}?case=disagrees&sort=disagreement&people=1&verdict=wrong")
    yield Stop("items-none", f"{here}?q=nothing-has-this-name")
    yield Stop("item", reverse("metaeval:dataset-item", args=[dataset.name, item.pk]))
    rubrics, _ = kind_swept(Kind.RUBRIC, mark=" two")
    rated = rubrics.items.order_by("position")[0]
    yield Stop("items-rubric", reverse("metaeval:dataset-items", args=[rubrics.name]))
    yield Stop("item-rubric", reverse("metaeval:dataset-item", args=[rubrics.name, rated.pk]))


def judging_stops(owner: User) -> Iterator[Stop]:
    """Sweeps, judges and judgments as researchers read them: finished, at work, stopped, not launched."""
    dataset = dataset_make(pairs=6)
    sweep, judge, _ = swept(dataset=dataset, good="Right", poor="Wrong")
    job = ReportJob.objects.create(
        dataset=dataset, kind="pairwise", requested_by=owner, state="running", step="Judges", n_done=3, n_total=20,
        epsilon=0.1,
        lease_until=timezone.now() + timedelta(hours=1),
    )  # fmt: skip
    yield Stop("report-job", reverse("metaeval:report-job", args=[job.pk]))
    yield Stop("reports-in-preparation", reverse("metaeval:report-list"))
    yield Stop("sweeps", reverse("judges:sweep-list"))
    yield Stop("sweep", reverse("judges:sweep-detail", args=[sweep.pk]))
    running = sweep_make(judges=[judge], datasets=[dataset], name="At work", state="running")
    running.runs.update(finished_at=None, n_done=5, n_unparsed=1, last_error="The server answers 401.")
    yield Stop("sweep-at-work", reverse("judges:sweep-detail", args=[running.pk]))
    yield Stop("judges", reverse("judges:judge-list"))
    yield Stop("judges-searched", f"{reverse('judges:judge-list')}?q=nobody")
    yield Stop("judge", reverse("judges:judge-detail", args=[judge.pk]))
    yield Stop("judge-export", reverse("judges:judge-export", args=[judge.pk]))
    yield from upload_stops(owner)
    yield Stop("judgments", reverse("judges:judgment-list", args=[dataset.name]))
    yield Stop("verdict-import", reverse("judges:verdict-import", args=[dataset.name]))
    table = BytesIO(
        b"prompt,response_a,response_b,winner\nWhy?,It is **so**.,It is not.,a\nHow?,Well.,Badly.,none of them\n"
    )
    sent = dataset_import_request(user=owner, name="votes.csv", content=table, dataset_name="votes")
    yield Stop("dataset-import", reverse("judges:dataset-import", args=[sent.pk]))
    upload = upload_make(owner)
    yield Stop("upload-continued", f"{reverse('judges:dataset-upload')}?upload={upload.pk}")
    yield Stop("unfinished-imports", reverse("judges:unfinished-imports"))
    yield from item_stops(owner, dataset)
    yield from export_stops(owner, dataset)
    for name in ("comparison", "decision", "label-next"):
        yield Stop(f"all-judgments-{name}", reverse(f"metaeval:dataset-{name}", args=[dataset.name]))
    judgment = judge.judgments.earliest("pk")
    yield Stop("judgment", reverse("judges:judgment", args=[judgment.pk]))


def export_stops(owner: User, dataset: Dataset) -> Iterator[Stop]:
    """The page Export with a file that is there, one that is made, and one that failed; and that of a study."""
    subject = ExportSubject(dataset)
    for what in ("labels", "items"):
        job = export_request(user=owner, subject=subject, what=what, format="csv", options=ExportOptions())
        later = timezone.now() + timedelta(days=1)
        ExportJob.objects.filter(pk=job.pk).update(
            state="done", file="f", finished_at=timezone.now(), expires_at=later
        )
    ExportJob.objects.filter(what="items").update(
        state="failed", error="There is no disk space left for exports."
    )
    export_request(user=owner, subject=subject, what="judgments", format="parquet", options=ExportOptions())
    ExportJob.objects.filter(what="judgments").update(state="running", step="Writing", n_done=1, n_total=3)
    yield Stop("export", reverse("judges:dataset-export-page", args=[dataset.name]))
    study = Study.objects.filter(owner=owner).order_by("pk").first()
    if study is not None:
        yield Stop("study-export", reverse("judges:study-export-page", args=[study.slug]))


def sharing_stops(study: Study, owner: User) -> Iterator[Stop]:
    """A study and its dataset, shared with a person and a team; something of another owner; teams."""
    team = team_create(name="Annotation lab", by=owner)
    other = user_make(username="noor")
    member_add(team=team, user=other)
    theirs = study_make(pairs=2, owner=other, slug="shared", title="Shared with the lab")
    dataset = dataset_make(owner=owner, name="lab-only", split="private")
    for subject in (study, dataset):
        access_grant(subject=subject, holder=other, role="editor", by=owner)
        access_grant(subject=subject, holder=team, role="viewer", by=owner)
    access_grant(subject=theirs, holder=team, role="viewer", by=other)
    yield Stop("study-share", at("study-share", study.slug))
    yield Stop("dataset-share", at("dataset-share", dataset.name))
    yield Stop("study-viewed", at("study-detail", theirs.slug), words="Shared with you")
    yield Stop("teams", at("team-list"))
    yield Stop("team", at("team-detail", team.pk))


def staff_stops(owner: User) -> Iterator[Stop]:
    study = busy_study(owner)
    slug = study.slug
    yield Stop("home", reverse("home"))
    draft = walk_study("checklist", state="draft", owner=owner, slug="draft", training=1, test=1, checks=1)
    ended = study_make(pairs=2, state="closed", owner=owner, slug="ended")
    yield Stop("me", reverse("me"))
    yield Stop("second-factor", reverse("mfa_index"))
    yield Stop("confirm", reverse("confirm"))
    yield Stop("API tokens", reverse("tokens"))
    yield Stop("API", reverse("api:docs"))
    yield Stop("webhooks", reverse("webhooks"))
    hook = webhook_create(user=owner, name="Lab", url="https://example.org/hook", events=["study.finished"])
    yield Stop("webhook", reverse("webhook", args=[hook.pk]))
    yield from sharing_stops(study, owner)
    yield Stop("studies", at("study-list"))
    yield Stop("screens", at("screens"))
    yield Stop("study-new", f"{at('study-create')}?dataset={study.dataset.name}")
    for one in (study, draft, ended):
        yield Stop(f"study-{one.slug}", at("study-detail", one.slug))
    for one in (study, draft):
        yield Stop(f"edit-{one.slug}", at("study-edit", one.slug))
    for name in ("guidelines", "people", "reasons-to-look", "item-reports", "pay", "entry"):
        yield Stop(f"study-{name}", at(f"study-{name}", slug))
    asking = Enrollment.objects.filter(study=study).select_related("study", "annotator").order_by("pk")[:2]
    for person in asking:
        erasure_ask(enrollment=person)
    yield Stop("study-privacy", f"{at('study-privacy', slug)}?person={asking[0].pseudonym}")
    yield Stop("study-privacy-empty", at("study-privacy", ended.slug))
    for person in Enrollment.objects.filter(study=study).select_related("annotator").order_by("-pk")[:2]:
        yield Stop(f"person-{person.stage}", at("study-person", slug, person.pseudonym))
        yield Stop("bonus", at("study-bonus", slug, person.pseudonym))
    disputed = study.study_items.order_by("position").first()
    assert disputed is not None
    yield Stop("adjudicate-item", at("study-adjudicate-item", slug, disputed.item_id))
    yield Stop("adjudicate-nothing", at("study-adjudicate", ended.slug))
    for step in ("consent", "guidelines", "training/1", "test/1", "work/1", "end"):
        yield Stop(f"preview-{step.partition('/')[0]}", f"{at('study-preview', draft.slug)}{step}/")
    for kind in Kind.values[1:]:
        other = kind_study_make(kind, owner=owner, overlap=2)
        people = [enrollment_make(study=other).annotator for _ in range(2)]
        for item in other.dataset.items.all():
            for person, value in zip(people, (VALUES[kind], OTHER_VALUES[kind]), strict=True):
                kind_label_make(other, item, value, annotator=person)
        yield Stop(f"agreement-{kind}", at("study-detail", other.slug))
        yield Stop(f"people-{kind}", at("study-people", other.slug))
        first = other.dataset.items.first()
        assert first is not None
        yield Stop(f"adjudicate-{kind}", at("study-adjudicate-item", other.slug, first.pk))
    yield Stop("datasets", at("dataset-list"))
    yield Stop("dataset", at("dataset-detail", other.dataset.name))
    yield Stop("dataset-versions", at("dataset-versions", other.dataset.name))
    yield Stop("upload", reverse("judges:dataset-upload"))
