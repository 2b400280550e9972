"""Who may do what at every address: six people, every method, taken from the URL configuration.

An address that is new fails `test_every_address_has_an_expectation` until somebody says below what is expected of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from tests.access_world import (
    HIDDEN,
    IN,
    LOGIN,
    METHODS,
    NO_METHOD,
    PEOPLE,
    REFUSED,
    UNKNOWN,
    Address,
    World,
    addresses,
    ask,
    outcome,
)

# What each of `PEOPLE` meets, in their order.
Meets = tuple[str, str, str, str, str, str]
ANYBODY: Meets = (IN, IN, IN, IN, IN, IN)
# Leads who has shown no password to the login, and who is signed in onwards.
NO_FIRST_STEP: Meets = (LOGIN, IN, IN, IN, IN, IN)
SIGNED_IN: Meets = (LOGIN, IN, IN, IN, IN, IN)
WITH_ACCOUNT: Meets = (
    LOGIN,
    LOGIN,
    LOGIN,
    LOGIN,
    LOGIN,
    LOGIN,
)  # of annotators' accounts nobody here has a session
ANNOTATOR: Meets = (HIDDEN, IN, HIDDEN, HIDDEN, HIDDEN, HIDDEN)
RESEARCHERS: Meets = (LOGIN, REFUSED, REFUSED, IN, IN, IN)
OWNER: Meets = (LOGIN, REFUSED, REFUSED, HIDDEN, IN, IN)
ASKED: Meets = (LOGIN, REFUSED, REFUSED, HIDDEN, IN, HIDDEN)  # whoever asked for it
ADMINISTRATOR: Meets = (LOGIN, REFUSED, REFUSED, REFUSED, REFUSED, IN)
WITH_TOKEN: Meets = (UNKNOWN, REFUSED, REFUSED, REFUSED, REFUSED, IN)
READ_WITH_TOKEN: Meets = (UNKNOWN, REFUSED, REFUSED, IN, IN, IN)
OF_DATASET_WITH_TOKEN: dict[str, Meets] = {
    "public": READ_WITH_TOKEN,
    "private": (UNKNOWN, REFUSED, REFUSED, HIDDEN, IN, IN),
}
OF_STUDY_WITH_TOKEN: Meets = (UNKNOWN, REFUSED, REFUSED, HIDDEN, IN, IN)
ASKED_WITH_TOKEN: Meets = (UNKNOWN, REFUSED, REFUSED, HIDDEN, IN, HIDDEN)
# Of a public dataset of somebody: all researchers see it, and its owner and administrators change it.
CHANGED_WITH_TOKEN: Meets = (UNKNOWN, REFUSED, REFUSED, HIDDEN, IN, IN)
NOT_SET_UP: Meets = (HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN)
NO_WORKER: Meets = ("503", "503", "503", "503", "503", "503")  # none runs here
# Of a dataset's rows: every researcher's if it is public, its owner's if it is private.
DATASET: dict[str, Meets] = {"public": RESEARCHERS, "private": OWNER}

Meeting = Meets | dict[str, Meets]
Row = dict[str, Meeting]


def read(meets: Meeting) -> Row:
    return {"GET": meets, "HEAD": meets}


def take(meets: Meeting) -> Row:
    return {"POST": meets}


def both(meets: Meeting) -> Row:
    return read(meets) | take(meets)


EXPECTED: dict[str, Row] = {
    # the site
    "home": both(SIGNED_IN),
    "health": read(ANYBODY),
    "healthz": read(ANYBODY),
    "readyz": read(NO_WORKER),
    "metrics": read(NOT_SET_UP),  # who may read them: tests/config/observing/test_metrics.py
    "status": read(ADMINISTRATOR),
    "privacy-record": read(ADMINISTRATOR),
    "privacy-record-file": read(
        (LOGIN, REFUSED, REFUSED, REFUSED, REFUSED, HIDDEN)
    ),  # csv is no format of it
    "login": both(ANYBODY),
    "account_login": both(ANYBODY),  # the same address
    "mfa_authenticate": both(NO_FIRST_STEP),
    "passkey-sign-in": {"GET": NO_FIRST_STEP, "POST": NO_FIRST_STEP},
    "single-sign-on": take(NOT_SET_UP),
    "openid_connect_callback": read(NOT_SET_UP),
    "confirm": both(SIGNED_IN),
    "mfa_index": read(SIGNED_IN),
    **dict.fromkeys(
        ("mfa_activate_totp", "factor-passkey", "factor-codes-make"), both(SIGNED_IN)
    ),  # and asked to confirm it
    "mfa_deactivate_totp": both((LOGIN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN)),  # nobody has one here
    "factor-passkey-remove": both(SIGNED_IN),  # asked to confirm it first
    "mfa_view_recovery_codes": {"GET": (LOGIN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN)},
    "single-sign-on-disconnect": take(SIGNED_IN),
    "session-end": take((LOGIN, HIDDEN, HIDDEN, HIDDEN, IN, HIDDEN)),
    "sessions-end-others": take(SIGNED_IN),
    "logout": take(WITH_ACCOUNT),
    "me": both(SIGNED_IN),
    "tokens": both(RESEARCHERS),
    "webhooks": both(RESEARCHERS),
    "webhook": read(ASKED),
    "webhook-act": take(ASKED),
    "delivery-replay": take(ASKED),
    "token-revoke": take((LOGIN, REFUSED, REFUSED, HIDDEN, IN, HIDDEN)),
    "password-change": take(SIGNED_IN),
    "password-forgot": both(ANYBODY),
    "password-sent": read(ANYBODY),
    "password-set": both(ANYBODY),
    "password-done": read(ANYBODY),
    # ways into a study
    "annotation:join": both(ANYBODY),
    "annotation:resume": read(ANYBODY),
    "annotation:enter": both(ANYBODY),
    "annotation:hook": take(NOT_SET_UP),
    "annotation:language": both(ANYBODY),
    "annotation:screens": read(RESEARCHERS),
    "annotation:screen": read(RESEARCHERS),
    "annotation:account": read(WITH_ACCOUNT),
    "annotation:account-sign-up": both(ANYBODY),
    "annotation:account-sign-in": both(ANYBODY),
    "annotation:account-sign-out": take(WITH_ACCOUNT),
    "annotation:account-data": read(WITH_ACCOUNT),
    "annotation:account-delete": take(WITH_ACCOUNT),
    "annotation:account-forgot": both(ANYBODY),
    "annotation:account-sent": read(ANYBODY),
    "annotation:account-set": both(ANYBODY),
    "annotation:account-done": read(ANYBODY),
    "annotation:account-join": take(WITH_ACCOUNT),
    # an annotator's pages
    "annotation:place": read(ANNOTATOR),
    "annotation:consent": both(ANNOTATOR),
    "annotation:eligibility": both(ANNOTATOR),
    "annotation:guidelines": both(ANNOTATOR),
    "annotation:training": both(ANNOTATOR),
    "annotation:training-feedback": read(ANNOTATOR),
    "annotation:qualification": both(ANNOTATOR),
    "annotation:retry": both(ANNOTATOR),
    "annotation:work": both(ANNOTATOR),
    "annotation:assignment": both(ANNOTATOR),
    "annotation:assignment-step": read(ANNOTATOR),
    "annotation:draft": take(ANNOTATOR),
    "annotation:skip": both(ANNOTATOR),
    "annotation:report": both(ANNOTATOR),
    "annotation:ahead": take(ANNOTATOR),
    "annotation:offline": read(ANNOTATOR),
    "annotation:offline-worker": read(ANYBODY),
    "annotation:answers": read(ANNOTATOR),
    "annotation:own-work": read(ANNOTATOR),
    "annotation:own-data": read(ANNOTATOR),
    "annotation:own-data-file": read(ANNOTATOR),
    "annotation:own-data-delete": both(ANNOTATOR),
    "annotation:data-deleted": read(ANYBODY),
    "annotation:link": both(ANNOTATOR),
    "annotation:reading": both(ANNOTATOR),
    "annotation:rest": both(ANNOTATOR),
    "annotation:message": take(ANNOTATOR),
    "annotation:changes": read(ANNOTATOR),
    "annotation:finish": both(ANNOTATOR),
    "annotation:done": read(ANNOTATOR),
    "annotation:image": read(
        {"public": (HIDDEN, IN, HIDDEN, IN, IN, IN), "private": (HIDDEN, IN, HIDDEN, HIDDEN, IN, IN)}
    ),
    # studies
    "annotation:study-list": read(RESEARCHERS),
    "annotation:study-create": both(RESEARCHERS),
    "annotation:markdown-preview": take(RESEARCHERS),
    "annotation:study-estimate": take(RESEARCHERS),
    "annotation:study-detail": read(OWNER),
    "annotation:study-live": read(OWNER),
    "annotation:study-edit": both(OWNER),
    "annotation:study-guidelines": read(OWNER),
    "annotation:study-share": both(OWNER),
    "annotation:study-access-act": take(OWNER),
    "annotation:study-transfer": take(OWNER),
    "annotation:dataset-share": both(OWNER),
    "annotation:dataset-access-act": take(OWNER),
    "annotation:dataset-transfer": take(OWNER),
    "annotation:team-list": both(RESEARCHERS),
    "annotation:team-detail": read(OWNER),
    "annotation:team-act": take(OWNER),
    "annotation:team-member-add": take(OWNER),
    "annotation:team-member-act": take(OWNER),
    "annotation:study-preview": both(OWNER),
    "studies/<slug:slug>/preview/<path:path>": both(OWNER),
    "annotation:study-items": take(OWNER),
    "annotation:study-copy": take(OWNER),
    "annotation:study-state": take(OWNER),
    "annotation:study-entry": read(OWNER),
    "annotation:entry-link": take(OWNER),
    "annotation:entry-state": take(OWNER),
    "annotation:entry-reconcile": take(OWNER),
    "annotation:invitation-create": take(OWNER),
    "annotation:invitation-revoke": take(OWNER),
    "annotation:study-pay": read(OWNER),
    "annotation:study-pay-export": read(OWNER),
    "annotation:study-bonus": both(OWNER),
    "annotation:people-export": read(OWNER),
    "annotation:study-export": read(OWNER),
    "annotation:audit": read(ADMINISTRATOR),
    "annotation:audit-export": read(ADMINISTRATOR),
    "annotation:study-privacy": read(OWNER),
    "annotation:study-privacy-file": read(OWNER),
    "annotation:study-privacy-act": take(OWNER),
    "annotation:study-people": read(OWNER),
    "annotation:study-reasons-to-look": read(OWNER),
    "annotation:study-person": read(OWNER),
    "annotation:study-person-act": take(OWNER),
    "annotation:study-adjudicate": read(OWNER),
    "annotation:study-adjudicate-item": both(OWNER),
    "annotation:study-adjudicate-said": read(OWNER),
    "annotation:study-item-reports": read(OWNER),
    "annotation:study-report-decide": take(OWNER),
    # datasets
    "annotation:dataset-list": read(RESEARCHERS),
    "judges:dataset-upload": both(RESEARCHERS),
    "judges:dataset-upload-begin": take(RESEARCHERS),
    "judges:verdict-upload-begin": take(OWNER),
    "judges:upload-chunk": both(ASKED),
    "annotation:dataset-versions": read(DATASET),
    "annotation:study-move-on": take(OWNER),
    "judges:dataset-import": both(ASKED),
    "judges:dataset-import-errors": read(ASKED),
    # The preview of the world's file shows no image; who may have one: `test_dataset_imports`.
    "judges:dataset-import-image": read((LOGIN, REFUSED, REFUSED, HIDDEN, HIDDEN, HIDDEN)),
    "judges:dataset-import-mapping": read(ASKED),
    "annotation:dataset-detail": read(DATASET),
    "annotation:dataset-criteria": take(OWNER),
    "annotation:dataset-settings": take(OWNER),
    "annotation:dataset-documentation": take(OWNER),
    "annotation:dataset-export": read(DATASET),
    # reports, comparisons, decisions
    "metaeval:report-list": read(RESEARCHERS),
    "metaeval:report-new": take(RESEARCHERS),
    "metaeval:report-detail": read(OWNER),  # it is on a study
    "metaeval:report-download": read(OWNER),
    "metaeval:report-picture": read(OWNER),
    "metaeval:report-verify": take(OWNER),
    "metaeval:report-changes": read(OWNER),
    "metaeval:report-job": read(ASKED),
    "metaeval:report-job-act": take(ASKED),
    "metaeval:example": take(RESEARCHERS),
    "metaeval:loop": read(DATASET),
    "metaeval:study-judges": read(OWNER),
    "metaeval:study-pictures": read(OWNER),
    # Nothing is finished in this study; `test_study_judges` has one with a picture.
    "metaeval:study-picture": read((LOGIN, REFUSED, REFUSED, HIDDEN, HIDDEN, HIDDEN)),
    "metaeval:dataset-items": read(DATASET),
    "metaeval:dataset-item": read(DATASET),
    "metaeval:dataset-items-counts": read(DATASET),
    "metaeval:dataset-items-export": take(DATASET),
    "metaeval:dataset-items-send": take(DATASET),
    "metaeval:dataset-item-note": take(DATASET),
    "metaeval:dataset-item-note-change": take(ASKED),
    "metaeval:plan": read(DATASET),
    "metaeval:plan-picture": read(DATASET),
    "metaeval:plan-register": take(DATASET),
    "metaeval:preregistration": read(OWNER),
    "metaeval:preregistration-download": read(OWNER),
    "metaeval:paper-list": read(DATASET),
    "metaeval:paper-detail": read(DATASET),
    "metaeval:paper-download": read(DATASET),
    "metaeval:paper-picture": read(DATASET),
    "metaeval:systems": read(DATASET),
    "metaeval:systems-picture": read(DATASET),
    "metaeval:systems-download": read(DATASET),
    "metaeval:ratings-upload": take(DATASET),
    "metaeval:comparison": read(DATASET),
    "metaeval:comparison-picture": read(DATASET),
    "metaeval:comparison-download": read(DATASET),
    "metaeval:kind-comparison-download": read(DATASET),
    "metaeval:promote": read(DATASET) | take(ADMINISTRATOR),  # read: leads to the comparison
    "metaeval:decision": read(DATASET),
    "metaeval:decision-picture": read(DATASET),
    "metaeval:decision-summary": read(DATASET),
    "metaeval:decision-promote": read(DATASET) | take(ADMINISTRATOR),
    "metaeval:decision-download": read(DATASET),
    "metaeval:confidence": read(DATASET),
    "metaeval:confidence-picture": read(DATASET),
    "metaeval:confidence-download": read(DATASET),
    "metaeval:confidence-send": take(DATASET),
    "metaeval:label-next": read(DATASET),
    "metaeval:label-next-download": read(DATASET),
    "metaeval:label-next-send": take(DATASET),
    "metaeval:tower-download": read(DATASET),
    "metaeval:decision-judge": read(DATASET),
    "metaeval:decision-tool": read(DATASET),
    # the same of all judgments of a dataset
    "metaeval:dataset-comparison": read(DATASET),
    "metaeval:dataset-comparison-picture": read(DATASET),
    "metaeval:dataset-comparison-download": read(DATASET),
    "metaeval:dataset-kind-comparison-download": read(DATASET),
    "metaeval:dataset-decision": read(DATASET),
    "metaeval:dataset-decision-picture": read(DATASET),
    "metaeval:dataset-decision-summary": read(DATASET),
    "metaeval:dataset-decision-download": read(DATASET),
    "metaeval:dataset-confidence": read(DATASET),
    "metaeval:dataset-confidence-picture": read(DATASET),
    "metaeval:dataset-confidence-download": read(DATASET),
    "metaeval:dataset-confidence-send": take(DATASET),
    "metaeval:dataset-label-next": read(DATASET),
    "metaeval:dataset-label-next-download": read(DATASET),
    "metaeval:dataset-tower-download": read(DATASET),
    "metaeval:dataset-label-next-send": take(DATASET),
    "metaeval:dataset-promote": read(DATASET) | take(ADMINISTRATOR),
    "metaeval:dataset-decision-promote": read(DATASET) | take(ADMINISTRATOR),
    # sweeps, judges, judgments
    "judges:sweep-list": read(RESEARCHERS),
    "judges:sweep-detail": read(DATASET),
    "judges:judge-list": read(RESEARCHERS),
    "judges:judge-detail": read(DATASET),
    "judges:judge-export": read(DATASET),
    "judges:judge-export-file": read(DATASET),
    "judges:judge-uploads": both(RESEARCHERS),
    "judges:judge-upload": read(ASKED),
    "judges:judge-upload-act": take(ASKED),
    "judges:judge-in-time": read(ADMINISTRATOR),
    "metaeval:in-time-pictures": read(ADMINISTRATOR),
    # Nothing was checked; `test_pictures_of_pages` has anchors with a picture.
    "metaeval:in-time-picture": read((LOGIN, REFUSED, REFUSED, REFUSED, REFUSED, HIDDEN)),
    "judges:in-time-freeze": take(ADMINISTRATOR),
    "judges:in-time-act": take(ADMINISTRATOR),
    "judges:judgment": read(DATASET),
    "judges:judgment-list": read(DATASET),
    "judges:judgment-export": read(DATASET),
    "judges:verdict-import": both(OWNER),
    "judges:verdict-import-act": take(ASKED),
    "judges:unfinished-imports": read(RESEARCHERS),
    "judges:unfinished-datasets-act": take(ASKED),
    "judges:unfinished-verdicts-act": take(ASKED),
    "judges:unfinished-staged-act": take(ASKED),
    "judges:unfinished-uploads-act": take(ASKED),
    "judges:dataset-export-page": both(DATASET),
    "judges:study-export-page": both(OWNER),
    "judges:export-delete": take(ASKED),
    "judges:export-file": read(ANYBODY),  # who has the link, which nobody can guess
    # the API
    "api:index": {"GET": READ_WITH_TOKEN},
    "api:schema": read(ANYBODY),
    "api:docs": read(ANYBODY),
    "api:token": {"GET": READ_WITH_TOKEN, "DELETE": READ_WITH_TOKEN},
    "api:datasets": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:dataset": {"GET": OF_DATASET_WITH_TOKEN, "PATCH": CHANGED_WITH_TOKEN, "DELETE": WITH_TOKEN},
    "api:items": {"GET": OF_DATASET_WITH_TOKEN} | take(CHANGED_WITH_TOKEN),
    "api:versions": {"GET": OF_DATASET_WITH_TOKEN},
    "api:version_difference": {"GET": OF_DATASET_WITH_TOKEN},
    "api:study_move_on": take(OF_STUDY_WITH_TOKEN),
    "api:item": {"GET": OF_DATASET_WITH_TOKEN},
    "api:labels": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:label": {"GET": OF_STUDY_WITH_TOKEN},
    "api:studies": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:study": {"GET": OF_STUDY_WITH_TOKEN, "PATCH": OF_STUDY_WITH_TOKEN, "DELETE": WITH_TOKEN},
    "api:study_open": take(OF_STUDY_WITH_TOKEN),
    "api:study_pause": take(OF_STUDY_WITH_TOKEN),
    "api:study_close": take(OF_STUDY_WITH_TOKEN),
    "api:invitations": {"GET": OF_STUDY_WITH_TOKEN} | take(OF_STUDY_WITH_TOKEN),
    "api:study_copy": take(OF_STUDY_WITH_TOKEN),
    "api:study_access": {"GET": OF_STUDY_WITH_TOKEN} | take(OF_STUDY_WITH_TOKEN),
    "api:study_access_one": {"PATCH": OF_STUDY_WITH_TOKEN, "DELETE": OF_STUDY_WITH_TOKEN},
    "api:study_transfer": take(OF_STUDY_WITH_TOKEN),
    "api:dataset_access": {"GET": CHANGED_WITH_TOKEN} | take(CHANGED_WITH_TOKEN),
    "api:dataset_access_one": {"PATCH": CHANGED_WITH_TOKEN, "DELETE": CHANGED_WITH_TOKEN},
    "api:dataset_transfer": take(CHANGED_WITH_TOKEN),
    "api:teams": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:team": {"GET": CHANGED_WITH_TOKEN, "PATCH": CHANGED_WITH_TOKEN, "DELETE": CHANGED_WITH_TOKEN},
    "api:team_members": take(CHANGED_WITH_TOKEN),
    "api:team_member": {"PATCH": CHANGED_WITH_TOKEN, "DELETE": CHANGED_WITH_TOKEN},
    "api:study_progress": {"GET": OF_STUDY_WITH_TOKEN},
    "api:study_items": take(OF_STUDY_WITH_TOKEN),
    "api:study_annotators": {"GET": OF_STUDY_WITH_TOKEN},
    "api:study_annotator_erase": take(OF_STUDY_WITH_TOKEN),
    "api:reasons_to_look": {"GET": OF_STUDY_WITH_TOKEN},
    "api:notes": {"GET": OF_DATASET_WITH_TOKEN} | take(OF_DATASET_WITH_TOKEN),
    "api:note": {"PATCH": ASKED_WITH_TOKEN, "DELETE": ASKED_WITH_TOKEN},
    "api:exports": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:export": {"GET": ASKED_WITH_TOKEN, "DELETE": ASKED_WITH_TOKEN},
    "api:anchors_of_judge": {"GET": WITH_TOKEN} | take(WITH_TOKEN),
    "api:anchors_one": {"GET": WITH_TOKEN, "PATCH": WITH_TOKEN},
    "api:anchors_check": take(WITH_TOKEN),
    "api:anchors_retire": take(WITH_TOKEN),
    "api:report_verification": take(OF_STUDY_WITH_TOKEN),
    "api:report_changes": {"GET": OF_STUDY_WITH_TOKEN},
    "api:report_file": {"GET": OF_STUDY_WITH_TOKEN},
    "api:job_resume": take(ASKED_WITH_TOKEN),
    "api:invitation_revoke": take(OF_STUDY_WITH_TOKEN),
    "api:webhooks": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:webhook": {"GET": ASKED_WITH_TOKEN, "PATCH": ASKED_WITH_TOKEN, "DELETE": ASKED_WITH_TOKEN},
    "api:webhook_test": take(ASKED_WITH_TOKEN),
    "api:deliveries": {"GET": ASKED_WITH_TOKEN},
    "api:delivery_replay": take(ASKED_WITH_TOKEN),
    "api:strategies": {"GET": READ_WITH_TOKEN},
    "api:endpoints": {"GET": WITH_TOKEN} | take(WITH_TOKEN),
    "api:judges": {"GET": READ_WITH_TOKEN} | take(WITH_TOKEN),
    "api:judge": {"GET": OF_DATASET_WITH_TOKEN, "DELETE": WITH_TOKEN},
    "api:judge_document": {"GET": OF_DATASET_WITH_TOKEN},
    "api:judge_uploads": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:judge_upload": {"GET": ASKED_WITH_TOKEN, "DELETE": ASKED_WITH_TOKEN},
    "api:judge_upload_define": take(ASKED_WITH_TOKEN),
    "api:sweeps": {"GET": READ_WITH_TOKEN} | take(WITH_TOKEN),
    "api:sweep": {"GET": OF_DATASET_WITH_TOKEN, "DELETE": WITH_TOKEN},
    "api:sweep_estimate": {"GET": OF_DATASET_WITH_TOKEN},
    "api:sweep_start": take(WITH_TOKEN),
    "api:sweep_pause": take(WITH_TOKEN),
    "api:sweep_resume": take(WITH_TOKEN),
    "api:sweep_cancel": take(WITH_TOKEN),
    "api:sweep_judgments": {"GET": OF_DATASET_WITH_TOKEN},
    "api:judgments": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:judgment": {"GET": OF_DATASET_WITH_TOKEN},
    "api:reports": {"GET": READ_WITH_TOKEN} | take(READ_WITH_TOKEN),
    "api:report": {"GET": OF_STUDY_WITH_TOKEN},
    "api:job": {"GET": ASKED_WITH_TOKEN},
    "api:job_cancel": take(ASKED_WITH_TOKEN),
    "api:comparisons": take(READ_WITH_TOKEN),
    "api:selections": take(READ_WITH_TOKEN),
    "api:preregistrations": {"GET": READ_WITH_TOKEN},
    "api:preregistration": {"GET": OF_STUDY_WITH_TOKEN},
    "api:decisions": {"GET": READ_WITH_TOKEN} | take(WITH_TOKEN),
    "api:decision": {"GET": OF_DATASET_WITH_TOKEN},
    "api:decision_judge": {"GET": OF_DATASET_WITH_TOKEN},
}
# What is asked where nothing said would find nothing.
QUERY = {
    "annotation:markdown-preview": "field=guidelines",
    "metaeval:label-next-download": "budget=2&judge=&seed=1",
    "metaeval:label-next-send": "budget=2&judge=&seed=1",
    "metaeval:dataset-label-next-download": "budget=2&judge=&seed=1",
    "metaeval:dataset-label-next-send": "budget=2&judge=&seed=1",
}
SAID: dict[str, dict[str, str]] = {
    "metaeval:dataset-items-export": {"which": "all"},
    "metaeval:dataset-items-send": {"to": "study", "which": "all", "nonce": "0123456789abcdef"},
    "metaeval:dataset-item-note": {"text": "t", "nonce": "0123456789abcdef"},
    "metaeval:dataset-item-note-change": {"text": "t"},
    "annotation:entry-state": {"action": "close"},
    "annotation:study-access-act": {"action": "role", "role": "editor"},
    "annotation:dataset-access-act": {"action": "role", "role": "editor"},
    "annotation:team-act": {"action": "rename", "name": "Ours"},
    "annotation:team-member-act": {"action": "remove"},
    "annotation:study-copy": {"nonce": "abc"},
    "annotation:study-state": {"action": "pause"},
    "metaeval:report-job-act": {"action": "cancel"},
    "judges:verdict-import-act": {"action": "confirm"},
    "judges:judge-upload-act": {"action": "add"},
    "judges:dataset-import": {"action": "confirm"},
    "judges:unfinished-datasets-act": {"action": "continue"},
    "judges:unfinished-verdicts-act": {"action": "continue"},
    "judges:unfinished-staged-act": {"action": "continue"},
    "judges:unfinished-uploads-act": {"action": "continue"},
    "annotation:study-report-decide": {"decision": "keep"},
    "annotation:dataset-criteria": {"criteria": "helm-instruct"},
    "annotation:dataset-settings": {"title": "t", "split": "private", "licence": ""},
}
# Tables that say only that somebody came by.
SEEN = ("django_session", "annotation_apitoken")


def test_every_address_has_an_expectation() -> None:
    known = {address.name for address in addresses() if not _is_of_django(address)}
    assert known - EXPECTED.keys() == set(), "say in EXPECTED who may do what there"
    assert EXPECTED.keys() - known == set(), "there is no such address any more"


def _is_of_django(address: Address) -> bool:
    return address.route.startswith("admin/")


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.timeout(600)
@pytest.mark.parametrize("split", ["public", "private"])
def test_everybody_meets_what_is_expected(split: str) -> None:
    """Whoever is refused changes nothing, and neither does a method that no page has."""
    world = World(split=split)
    wrong = [
        problem
        for address in addresses()
        if not _is_of_django(address)
        for problem in _problems(world, address, split)
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def _problems(world: World, address: Address, split: str) -> Iterator[str]:
    where = world.address_of(address)
    if query := QUERY.get(address.name):
        where += f"?{query}"
    row = EXPECTED[address.name]
    for place, who in enumerate(PEOPLE):
        token = world.tokens.get(who, "") if address.name.startswith("api:") else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        browser = world.browsers[who]
        may = {method: _meets(meets, split)[place] for method, meets in row.items()}
        # Which methods a page has does not depend on the split.
        for method in METHODS if split == "public" else row:
            with writes() as written:
                met = outcome(ask(browser, method, where, SAID.get(address.name, {}), **headers))
            expected = may.get(method)
            told = f"{method} {where} ({address.name}), {who}: {met}"
            if expected is not None and met != expected:
                yield f"{told}, expected {expected}"
            if expected is None and (
                met.startswith("5") or (IN not in may.values() and met == IN and method != "OPTIONS")
            ):
                yield f"{told}, and nobody said that this method may"
            if expected != IN and written:
                yield f"{told}, and it wrote: {written[0]}"


def _meets(meets: Meeting, split: str) -> Meets:
    return meets[split] if isinstance(meets, dict) else meets


@contextmanager
def writes() -> Iterator[list[str]]:
    """What is written meanwhile, but that somebody came by."""
    found: list[str] = []

    def look(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            table = sql.partition("WHERE")[0]
            found.extend([sql] if not any(f'"{name}"' in table for name in SEEN) else [])
        return execute(sql, *rest)

    with connection.execute_wrapper(look):
        yield found


@pytest.mark.long
@pytest.mark.django_db
def test_the_admin_is_for_administrators() -> None:
    """Every address of it, so that one that is registered tomorrow is closed too."""
    world = World(split="public")
    open_to_all = {"admin:login", "admin:logout", "admin:jsi18n"}
    wrong = []
    for address in addresses():
        if not _is_of_django(address):
            continue
        where = world.address_of(address)
        for who in PEOPLE[:-1]:
            browser = world.browsers[who]
            for method in METHODS:
                with writes() as written:
                    met = outcome(ask(browser, method, where, {}))
                may = {LOGIN, REFUSED, NO_METHOD} | ({IN} if address.name in open_to_all else set())
                if met not in may or written:
                    wrong.append(f"{method} {where} ({address.name}), {who}: {met}")
        met = outcome(ask(world.browsers["administrator"], "GET", where, {}))
        if met.startswith("5"):
            wrong.append(f"GET {where} ({address.name}), administrator: {met}")
    assert not wrong, "\n" + "\n".join(wrong)
