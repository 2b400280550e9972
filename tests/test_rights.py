"""What a viewer, an editor and an owner may do: every address and operation that changes something, as each of them.

An address that is new fails `test_every_change_says_whose_it_is` until it is said below what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from annotation.forms.study import StudyForm
from annotation.models import Dataset, Study, User
from annotation.services.sharing import access_grant
from annotation.services.tokens import token_create
from config.api.schema import schema_make
from metaeval.reports.errors import ReportError
from metaeval.services.label_next import abstained_send
from tests.access_world import HIDDEN, IN, REFUSED, World, addresses, ask, outcome
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.test_access import EXPECTED, QUERY, SAID, writes

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
ROLES = ("stranger", "viewer", "editor", "owner")

# What it takes to do something at an address that names a study or a dataset, or a row of one:
VIEWER = "viewer"  # makes a row of one's own, or changes nothing that others see
EDITOR = "editor"
OWNER = "owner"
ADMINISTRATOR = "administrator"
OWN = "own"  # rows of the person who made them, whatever they may do with the study: in `test_access`

NEEDS: dict[str, str] = {
    "annotation:study-edit": EDITOR,
    "annotation:study-preview": VIEWER,
    "studies/<slug:slug>/preview/<path:path>": VIEWER,
    "annotation:study-items": EDITOR,
    "annotation:study-copy": EDITOR,  # of a private dataset; of others a viewer may
    "annotation:study-state": EDITOR,
    "annotation:study-move-on": EDITOR,
    "annotation:study-share": OWNER,
    "annotation:study-access-act": OWNER,
    "annotation:study-transfer": OWNER,
    "annotation:entry-link": OWNER,
    "annotation:entry-state": OWNER,
    "annotation:entry-reconcile": OWNER,
    "annotation:invitation-create": EDITOR,
    "annotation:invitation-revoke": EDITOR,
    "annotation:study-bonus": OWNER,
    "annotation:study-person-act": EDITOR,
    "annotation:study-privacy-act": OWNER,
    "annotation:study-adjudicate-item": EDITOR,
    "annotation:study-report-decide": EDITOR,
    "annotation:dataset-criteria": EDITOR,
    "annotation:dataset-settings": OWNER,
    "annotation:dataset-documentation": OWNER,
    "annotation:dataset-share": OWNER,
    "annotation:dataset-access-act": OWNER,
    "annotation:dataset-transfer": OWNER,
    "judges:verdict-import": EDITOR,
    "judges:verdict-upload-begin": EDITOR,
    "judges:dataset-export-page": VIEWER,
    "judges:study-export-page": VIEWER,
    "metaeval:dataset-items-export": VIEWER,
    "metaeval:dataset-items-send": EDITOR,
    "metaeval:dataset-item-note": VIEWER,
    "metaeval:dataset-item-note-change": OWN,
    "metaeval:plan-register": VIEWER,
    "metaeval:ratings-upload": VIEWER,
    "metaeval:report-verify": VIEWER,
    # They send to a study: which, `test_sending_items_takes_an_editor_of_the_study`.
    **dict.fromkeys(
        (
            *("metaeval:confidence-send", "metaeval:dataset-confidence-send"),
            *("metaeval:label-next-send", "metaeval:dataset-label-next-send"),
        ),
        VIEWER,
    ),
    **dict.fromkeys(
        (
            *("metaeval:promote", "metaeval:dataset-promote"),
            *("metaeval:decision-promote", "metaeval:dataset-decision-promote"),
            *("judges:in-time-freeze", "judges:in-time-act"),
        ),
        ADMINISTRATOR,
    ),
    "api:dataset": OWNER,
    "api:items": EDITOR,
    "api:dataset_access": OWNER,
    "api:dataset_access_one": OWNER,
    "api:dataset_transfer": OWNER,
    "api:study": EDITOR,
    "api:study_open": EDITOR,
    "api:study_pause": EDITOR,
    "api:study_close": EDITOR,
    "api:study_move_on": EDITOR,
    "api:study_copy": EDITOR,
    "api:study_items": EDITOR,
    "api:study_access": OWNER,
    "api:study_access_one": OWNER,
    "api:study_transfer": OWNER,
    "api:study_annotator_erase": OWNER,
    "api:invitations": EDITOR,
    "api:invitation_revoke": EDITOR,
    "api:notes": VIEWER,
    "api:note": OWN,
    "api:report_verification": VIEWER,
    **dict.fromkeys(
        (
            *("api:anchors_of_judge", "api:anchors_one", "api:anchors_check", "api:anchors_retire"),
            *("api:judge", "api:sweep", "api:sweep_start", "api:sweep_pause", "api:sweep_resume"),
            *("api:sweep_cancel", "api:endpoints", "api:judges", "api:sweeps", "api:decisions"),
        ),
        ADMINISTRATOR,
    ),
    # Owners delete nothing; administrators do.
    "api:dataset DELETE": ADMINISTRATOR,
    "api:study DELETE": ADMINISTRATOR,
}
# They change something and name no study and no dataset, or name it in their body.
ELSEWHERE = {
    "of the reader": {
        *("account_login", "confirm", "factor-codes-make", "factor-passkey", "factor-passkey-remove"),
        *("mfa_activate_totp", "mfa_authenticate", "mfa_deactivate_totp", "passkey-sign-in"),
        *("session-end", "sessions-end-others", "single-sign-on", "single-sign-on-disconnect"),
        *("home", "login", "logout", "me", "tokens", "token-revoke", "webhooks", "webhook-act"),
        *("delivery-replay", "password-change", "password-forgot", "password-set"),
        *("api:token", "api:webhooks", "api:webhook", "api:webhook_test", "api:delivery_replay"),
        *("metaeval:report-job-act", "api:job_cancel", "api:job_resume", "judges:export-delete"),
        *("api:export", "judges:judge-uploads", "judges:judge-upload-act", "api:judge_uploads"),
        *("api:judge_upload", "api:judge_upload_define", "judges:dataset-upload"),
        *("judges:dataset-upload-begin", "judges:upload-chunk", "judges:dataset-import"),
        *("judges:verdict-import-act", "judges:unfinished-datasets-act", "judges:unfinished-verdicts-act"),
        *("judges:unfinished-staged-act", "judges:unfinished-uploads-act", "metaeval:example"),
        *("annotation:study-create", "annotation:markdown-preview", "annotation:study-estimate"),
    },
    "of a team": {
        *("annotation:team-list", "annotation:team-act", "annotation:team-member-add"),
        *("annotation:team-member-act", "api:teams", "api:team", "api:team_members", "api:team_member"),
    },
    "named in the body: below": {
        *("api:datasets", "api:labels", "api:judgments", "api:studies", "api:exports", "api:reports"),
        *("api:comparisons", "api:selections", "metaeval:report-new"),
    },
}
BODIES: dict[str, dict[str, str]] = SAID | {
    "metaeval:dataset-items-send": {"to": "study", "which": "all", "nonce": "0123456789abcdef"},
}


def _of_annotators(name: str, route: str) -> bool:
    """Annotators' own pages, and ways into a study: nobody's role counts there."""
    return route.startswith(("s/", "join/", "resume/", "enter/", "hooks/", "account/", "language/"))


def _changes() -> Iterator[tuple[str, str]]:
    """Name and method of what changes something on the site."""
    for address in addresses():
        if address.route.startswith("admin/") or _of_annotators(address.name, address.route):
            continue
        for method in EXPECTED.get(address.name, {}):
            if method in CHANGING:
                yield address.name, method


def test_every_change_says_whose_it_is() -> None:
    known = set(NEEDS) | set().union(*ELSEWHERE.values())
    names = {name for name, _ in _changes()}
    assert names - known == set(), "say in NEEDS what it takes"
    assert {name for name in known if " " not in name} - names == set(), "there is no such address any more"


def test_every_operation_of_the_api_is_asked() -> None:
    """The matrix takes methods from `test_access`; the schema has no others."""
    asked = {(name, method) for name, method in _changes() if name.startswith("api:")}
    operations = sum(
        method.upper() in CHANGING for path in schema_make()["paths"].values() for method in path
    )
    assert len(asked) == operations


class Shared(World):
    """The same world, and three more people: Alice has made one a viewer and one an editor."""

    def __init__(self, *, split: str) -> None:
        super().__init__(split=split)
        people = {"stranger": self.bob, "owner": self.alice}
        for role in ("viewer", "editor"):
            people[role] = user_make(username=role)
            self.share(people[role], role)
        for who, user in people.items():
            self.accounts[who] = user
            self.browsers[who] = self._browser_of(who)
            self.tokens[who] = token_create(user=user, name="rights")[1]

    def share(self, user: User, role: str) -> None:
        mine: list[Study | Dataset] = [*Dataset.objects.filter(owner=self.alice), self.study]
        for subject in mine:
            access_grant(subject=subject, holder=user, role=role, by=self.alice)


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_a_viewer_changes_nothing_and_an_editor_nothing_of_the_owner() -> None:
    world = Shared(split="private")
    routes = {address.name: address for address in addresses()}
    wrong = []
    for name, method in _changes():
        needed = NEEDS.get(f"{name} {method}", NEEDS.get(name))
        if needed is None or needed == OWN:
            continue
        where = world.address_of(routes[name]) + (f"?{QUERY[name]}" if name in QUERY else "")
        for role in ROLES:
            # A person with an account of the site, but none of this study: as in `test_access`.
            may = needed in ROLES and ROLES.index(role) >= ROLES.index(needed)
            headers = {"Authorization": f"Bearer {world.tokens[role]}"} if name.startswith("api:") else {}
            with writes() as written:
                met = outcome(ask(world.browsers[role], method, where, BODIES.get(name, {}), **headers))
            refused = (HIDDEN,) if role == "stranger" and needed != ADMINISTRATOR else (HIDDEN, REFUSED)
            told = f"{method} {where} ({name}), {role}: {met}"
            if may and met != IN:
                wrong.append(f"{told}, expected in")
            if not may and (met not in refused or written):
                wrong.append(
                    f"{told}, expected {needed} alone{f'; it wrote {written[0]}' if written else ''}"
                )
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.django_db
def test_sending_items_takes_an_editor_of_the_study() -> None:
    """The study is named in the form, beside the dataset of the address."""
    alice, bob = user_make(username="alice"), user_make(username="bob")
    dataset = dataset_make(owner=alice, name="pairs")
    study = study_make(dataset=dataset, owner=alice, slug="hers")
    item = dataset.items.order_by("position")[0]
    client = Client()
    client.force_login(bob)
    send = f"{reverse('metaeval:dataset-items-send', args=['pairs'])}?kind=pairwise"
    said = {"to": "adjudication", "study": "hers", "which": "ticked", "item": item.pk}
    for role, may in [(None, False), ("viewer", False), ("editor", True)]:
        if role is not None:
            access_grant(subject=study, holder=bob, role=role, by=alice)
        client.post(send, said)
        assert study.adjudication_requests.exists() == may, role
        page = client.get(send.replace("send/", "")).content.decode()
        assert ("Send to adjudication" in page) == may, role
        if may:
            abstained_send(items=[("p0", 0.5)], dataset=dataset, study="hers", user=bob)
        else:
            with pytest.raises(ReportError, match="no such study"):
                abstained_send(items=[("p0", 0.5)], dataset=dataset, study="hers", user=bob)


@pytest.mark.django_db
def test_a_viewer_of_a_private_dataset_gives_none_of_it_to_annotators() -> None:
    alice, bob = user_make(username="alice"), user_make(username="bob")
    dataset = dataset_make(owner=alice, name="secret", split="private")
    client = Client()
    client.force_login(bob)
    offered = []
    for role in ("viewer", "editor"):
        access_grant(subject=dataset, holder=bob, role=role, by=alice)
        form = StudyForm(user=bob)
        offered.append(dataset in form.fields["dataset"].queryset)
        made = StudyForm({"dataset": dataset.pk, "title": "Mine"}, user=bob)
        offered.append("dataset" not in made.errors)
    assert offered == [False, False, True, True]


@pytest.mark.django_db
def test_an_editor_saves_a_study_whose_datasets_they_only_view() -> None:
    alice, bob = user_make(username="alice"), user_make(username="bob")
    dataset = dataset_make(owner=alice, name="secret", split="private", pairs=12)
    study = study_make(dataset=dataset, owner=alice, slug="hers")
    access_grant(subject=study, holder=bob, role="editor", by=alice)
    client = Client()
    client.force_login(bob)
    address = reverse("annotation:study-edit", args=["hers"])
    form = client.get(address).context["form"]
    said = {name: "" if form[name].value() is None else form[name].value() for name in form.fields}
    response = client.post(address, said | {"title": "Theirs"})
    assert response.status_code == 302, response.context["form"].errors
    study.refresh_from_db()
    assert (study.title, study.owner, study.dataset) == ("Theirs", alice, dataset)
