"""What the matrix of access asks: every address there is, rows behind each, and six people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils.http import urlencode

from annotation.models import (
    Dataset,
    DatasetImage,
    Enrollment,
    Invitation,
    Kind,
    Label,
    QualificationQuestion,
    Response,
    Role,
    StaffSession,
    User,
)
from annotation.services.assignments import assignment_claim
from annotation.services.images import image_folder
from annotation.services.item_notes import note_add
from annotation.services.pay import bonus_grant
from annotation.services.quality import item_report, message_send
from annotation.services.sharing import access_grant
from annotation.services.teams import member_add, team_create
from annotation.services.tokens import token_create
from annotation.services.webhooks import webhook_create, webhook_test
from judges.models import AnchorSet, DatasetImport, Endpoint, Judge, Judgment, VerdictImport
from judges.services.export_jobs import export_jobs_work, export_request, export_token
from judges.services.exports import ExportOptions, ExportSubject
from judges.services.judge_uploads import judge_upload_create
from metaeval.models import Decision, ReportJob
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.promotions import judge_promote
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import labels_make
from tests.annotation.entry.props import link_make
from tests.annotation.factories import dataset_make, enrollment_make, invitation_make, study_make, user_make
from tests.annotation.pictures import picture
from tests.judges.unfinished import staged_make, upload_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.preregistrations import preregistered
from tests.metaeval.rows import swept

PEOPLE = ("anonymous", "annotator", "stranger", "other researcher", "owner", "administrator")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
IN, LOGIN, UNKNOWN, REFUSED, HIDDEN, NO_METHOD = "in", "login", "401", "403", "404", "405"


@dataclass(frozen=True, slots=True)
class Address:
    """One line of the URL configuration: its name, or its route where it has none."""

    name: str
    route: str


def addresses() -> Iterator[Address]:
    """Every address of the site, of Django's admin and of the API too."""
    yield from _addresses(get_resolver().url_patterns, "", "")


def _addresses(patterns: Any, space: str, route: str) -> Iterator[Address]:
    for pattern in patterns:
        here = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _addresses(
                pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space, here
            )
        else:
            yield Address(f"{space}{pattern.name}" if pattern.name else here, here)


class World:
    """Alice's study on her dataset, judged and decided on; an annotator of it; a stranger, who has another study."""

    def __init__(self, *, split: str) -> None:
        self.alice, self.bob = user_make(username="alice"), user_make(username="bob")
        self.ann = user_make(username="ann", role=Role.ADMINISTRATOR)
        dataset = dataset_make(pairs=8, split=split, owner=self.alice)
        trace = [{"role": "assistant", "text": "Yes.", "step": 1}]
        Response.objects.filter(instruction__dataset=dataset).update(messages=trace)
        self.study = study_make(
            dataset=dataset, qualification=2, owner=self.alice, overlap=4, slug="hers", open_signup=True
        )
        labels_make(self.study, [[1, 1], [2, 2], [1, 2], [2, 2]])
        self.person = enrollment_make(study=self.study)
        lease = assignment_claim(enrollment=self.person)
        assert lease is not None
        report = item_report(assignment=lease, reason="broken")
        message_send(enrollment=self.person, by=None, text="Thank you.")
        bonus_grant(enrollment=self.person, amount=Decimal(1), reason="r", by=self.alice, nonce="n" * 8)
        self.stranger = enrollment_make(study=study_make(pairs=2, owner=self.bob))
        sweep, judge, _ = swept(dataset=dataset)
        decision = self._decide(sweep.pk, dataset, judge)
        checklists, of_checklists = kind_swept(Kind.CHECKLIST)
        self.checklists = checklists.name
        Dataset.objects.filter(pk=checklists.pk).update(owner=self.alice, split=split)
        link = link_make(self.study)
        item = self.study.study_items.order_by("position")[2].item  # disputed
        whole = ExportSubject(dataset)
        exported = export_request(
            user=self.alice, subject=whole, what="labels", format="csv", options=ExportOptions()
        )
        assert export_jobs_work() == 1
        exported.refresh_from_db()
        agreement = report_request(user=self.alice, study=self.study.slug)
        self.accounts = {
            "annotator": user_make(username="carl", role=Role.ANNOTATOR),
            "stranger": user_make(username="dora", role=Role.ANNOTATOR),
            "other researcher": self.bob,
            "owner": self.alice,
            "administrator": self.ann,
        }
        self.tokens = {who: token_create(user=user, name="t")[1] for who, user in self.accounts.items()}
        self.browsers = {who: self._browser_of(who) for who in PEOPLE}
        job = ReportJob.objects.create(
            dataset=dataset, study=self.study, kind="pairwise", requested_by=self.alice, epsilon=0.1
        )
        hook = webhook_create(
            user=self.alice, name="w", url="https://example.org/hook", events=["report.ready"]
        )
        sent = VerdictImport.objects.create(
            requested_by=self.alice, dataset=dataset, format="generic", name="v.csv", file="none.csv", state="done",
            found={"created": 1, "unchanged": 0},
        )  # fmt: skip
        own = judge_upload_create(user=self.alice, texts={"own.yaml": "strategy: longest"})
        shown = image_folder().add(picture())
        DatasetImage.objects.create(
            dataset=dataset, digest=shown.digest, width=40, height=30, size=shown.size
        )
        items_sent = DatasetImport.objects.create(
            requested_by=self.alice, dataset=dataset, dataset_name=dataset.name, name="i.csv", file="none.csv",
            state="done", mapping={"columns": {}},
        )  # fmt: skip
        team = team_create(name="Hers", by=self.alice)
        member, _ = member_add(team=team, user=user_make(username="mia"))
        of_study, _ = access_grant(subject=self.study, holder=member.user, role="viewer", by=self.alice)
        of_dataset, _ = access_grant(subject=dataset, holder=team, role="viewer", by=self.alice)
        # What a part of a route stands for, by its name, and by the route where the name says too little.
        self.parts: dict[str, Any] = {
            "slug": self.study.slug, "name": dataset.name, "platform": "prolific", "format": "csv", "paper": "href",
            "public_id": self.person.pseudonym, "action": "message", "decision": "refuse", "item_id": item.pk,
            "uidb64": "MQ", "token": link.token, "path": "consent/", "suffix": "json", "kind": "checklist",
            "content_type_id": 1, "object_id": 1, "id": self.bob.pk, "url": "nowhere",
            "app_label": "judges", "file": "csv", "digest": shown.digest, "response": 0, "number": 1,
            "before": 1, "now": 1, "document": "zip", "code": "ar", "shown": "join",
            "member": member.pk,
            "note": (note := note_add(item=item, author=self.alice, text="Hers.", nonce="n")).pk,
            "anchors": (anchors := AnchorSet.objects.create(judge=judge, dataset=dataset)).pk,
        }  # fmt: skip
        self.rows: dict[str, Any] = {
            "join/": invitation_make(study=self.study).token,
            "resume/": self.person.resume_token,
            "password/set/": "a-b",
            "account/password/set/": "a-b",
            "s/<slug:slug>/training/": QualificationQuestion.objects.filter(study=self.study)[0].pk,
            "s/<slug:slug>/work/": lease.pk,
            "s/<slug:slug>/messages/": self.person.interventions.get().pk,
            "studies/<slug:slug>/invitations/": Invitation.objects.get().pk,
            "studies/<slug:slug>/reports/": report.pk,
            "teams/": team.pk,
            "api/v1/teams/": team.pk,
            **dict.fromkeys(
                ("studies/<slug:slug>/share/", "api/v1/studies/<slug:slug>/access/"), of_study.pk
            ),
            **dict.fromkeys(
                ("datasets/<slug:name>/share/", "api/v1/datasets/<slug:name>/access/"), of_dataset.pk
            ),
            "reports/": agreement.pk,
            "me/sessions/": StaffSession.objects.create(user=self.alice, session_key="k", device="d").pk,
            "me/second-factor/passkey/": 1,
            "me/tokens/": token_create(user=self.alice, name="to be revoked")[0].pk,
            "reports/jobs/": job.pk,
            "api/v1/jobs/": job.pk,
            **dict.fromkeys(("me/webhooks/", "api/v1/webhooks/"), hook.pk),
            **dict.fromkeys(("me/deliveries/", "api/v1/deliveries/"), webhook_test(webhook=hook).pk),
            "sweeps/": sweep.pk,
            "sweeps/<row:pk>/comparison-<kind_name:kind>": of_checklists.pk,
            "sweeps/<row:pk>/tower": of_checklists.pk,
            "datasets/<slug:name>/items/": item.pk,
            "judges/": judge.pk,
            **dict.fromkeys(("judges/uploads/", "api/v1/judge-uploads/"), own.pk),
            "exports/<row:pk>/": exported.pk,
            "imports/": sent.pk,
            "imports/datasets/": items_sent.pk,
            "imports/unfinished/datasets/": items_sent.pk,
            "imports/unfinished/verdicts/": sent.pk,
            "imports/unfinished/staged/": staged_make(self.alice).pk,
            **dict.fromkeys(("imports/unfinished/uploads/", "datasets/upload/"), upload_make(self.alice).pk),
            "exports/<str:token>/": export_token(exported),
            "judgments/": Judgment.objects.filter(judge=judge)[0].pk,
            "decisions/": decision.pk,
            **dict.fromkeys(
                ("preregistrations/", "api/v1/preregistrations/"),
                preregistered(dataset=dataset, user=self.alice).pk,
            ),
            "api/v1/items/": item.pk,
            "api/v1/notes/": note.pk,
            "api/v1/anchors/": anchors.pk,
            "api/v1/exports/": exported.pk,
            "api/v1/labels/": Label.objects.filter(study=self.study)[0].pk,
            "api/v1/invitations/": Invitation.objects.get().pk,
            "api/v1/judgments/": Judgment.objects.filter(judge=judge)[0].pk,
            "api/v1/reports/": agreement.pk,
            "api/v1/decisions/": decision.pk,
            "api/v1/judges/": judge.pk,
            "api/v1/sweeps/": sweep.pk,
            "admin/judges/sweep/": sweep.pk,
            "admin/judges/endpoint/": Endpoint.objects.create(name="e", base_url="http://127.0.0.1:9/v1").pk,
            "admin/judges/prompttext/text/": "vanilla",
        }

    def _decide(self, sweep_id: int, dataset: Dataset, judge: Judge) -> Decision:
        view = sweep_view(sweep_id)
        content = comparison_get(sweep=view, dataset=dataset)
        return judge_promote(
            sweep=view, basis=dataset, fingerprint=judge.fingerprint, reason="r", user=self.ann,
            inputs_hash=content.inputs_hash, seen={},
        )[0]  # fmt: skip

    def address_of(self, address: Address) -> str:
        route = address.route.removeprefix("^").removesuffix("$")
        route = re.sub(r"\^?\(\?P<(\w+)>[^)]*\)/?\$?", r"<str:\1>", route)
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: self._value(part[1], route), route)

    def _value(self, name: str, route: str) -> str:
        if name == "object_id" and not route.startswith("admin/r/"):
            return str(self._any_row(route))
        if name == "picture" and "papers/" in route:
            return "f2-length-differences"
        if name == "name" and re.search("kind_name|tower", route):
            return self.checklists
        if name in ("pk", "token") or (name == "name" and "prompttext" in route):
            found = max((begin for begin in self.rows if route.startswith(begin)), key=len, default=None)
            if found is not None:
                return str(self.rows[found])
            if name == "pk":
                raise LookupError(f"{route}: say in `World.rows` which row its pk is")
        if name == "picture":
            pages = {
                "confidence/": "confusion",
                "systems/": "win-rates",
                "studies/": "over-time",
                "plan/": "designs",
            }
            return next((one for page, one in pages.items() if page in route), "forest-plot")
        if name == "format" and "mapping" in route:
            return "json"
        if name == "kind" and "prompttext" in route:
            return "pairwise"
        if name == "action" and "webhooks" in route:
            return "test"
        return str(self.parts[name])

    def _any_row(self, route: str) -> Any:
        _, app, model, *_ = route.split("/")
        row = apps.get_model(app, model).objects.order_by("pk").first()
        return 1 if row is None else row.pk

    def _browser_of(self, who: str) -> Client:
        """Somebody's browser; annotators have an account and came in by their personal link."""
        client = Client(raise_request_exception=False)
        person: Enrollment | None = {"annotator": self.person, "stranger": self.stranger}.get(who)
        user: User | None = self.accounts.get(who)
        if user is not None:
            client.force_login(user)
        if person is not None:
            client.get(reverse("annotation:resume", args=[person.resume_token]))
        return client


def ask(client: Client, method: str, address: str, data: dict[str, Any], **headers: str) -> HttpResponse:
    """One request, of which nothing stays, neither here nor in the browser."""
    cookies = deepcopy(client.cookies)
    with transaction.atomic():
        response = client.generic(
            method, address, urlencode(data), "application/x-www-form-urlencoded", headers=headers
        )
        transaction.set_rollback(True)
    client.cookies = cookies
    return response


def outcome(response: HttpResponse) -> str:
    """In a word: in (whatever the page then says of what was sent), sent to a login, or refused."""
    status = response.status_code
    if status in (301, 302) and re.match(r"(/login/|/admin/login/|/account/sign-in/)", response["Location"]):
        return LOGIN
    if status in (401, 403, 404, 405) or status >= 500:
        return str(status)
    return IN
