"""What a page can do, a program can do too, or the documentation says why not."""

from config.api.schema import schema_make
from tests.live_site import ROOT
from tests.test_access import EXPECTED

BY_API = {
    "webhooks": "webhooks_post",
    "webhook-act": "webhooks_one_change",
    "delivery-replay": "deliveries_one_replay_post",
    "token-revoke": "token_delete",
    "annotation:study-create": "studies_post",
    "annotation:study-edit": "studies_one_change",
    "annotation:study-items": "studies_one_items_post",
    "annotation:study-move-on": "studies_one_version_post",
    "annotation:study-copy": "studies_one_copy_post",
    "annotation:study-privacy-act": "studies_one_annotators_one_erase_post",
    "annotation:study-state": "studies_one_open_post",
    "annotation:study-share": "studies_one_access_post",
    "annotation:study-access-act": "studies_one_access_one_change",
    "annotation:study-transfer": "studies_one_transfer_post",
    "annotation:dataset-share": "datasets_one_access_post",
    "annotation:dataset-access-act": "datasets_one_access_one_delete",
    "annotation:dataset-transfer": "datasets_one_transfer_post",
    "annotation:team-list": "teams_post",
    "annotation:team-act": "teams_one_change",
    "annotation:team-member-add": "teams_one_members_post",
    "annotation:team-member-act": "teams_one_members_one_change",
    "annotation:invitation-create": "studies_one_invitations_post",
    "annotation:invitation-revoke": "invitations_one_revoke_post",
    "judges:dataset-upload": "datasets_post",
    "judges:dataset-upload-begin": "datasets_post",
    "judges:upload-chunk": "datasets_post",
    "judges:dataset-import": "datasets_post",
    "annotation:dataset-criteria": "datasets_one_change",
    "annotation:dataset-settings": "datasets_one_change",
    "annotation:dataset-documentation": "datasets_one_change",
    "metaeval:report-new": "reports_post",
    "metaeval:report-verify": "reports_one_verification_post",
    "metaeval:report-job-act": "jobs_one_cancel_post",
    "metaeval:dataset-items-send": "studies_one_items_post",
    "metaeval:dataset-item-note": "items_one_notes_post",
    "metaeval:dataset-item-note-change": "notes_one_change",
    "metaeval:promote": "decisions_post",
    "metaeval:decision-promote": "decisions_post",
    "metaeval:dataset-promote": "decisions_post",
    "metaeval:dataset-decision-promote": "decisions_post",
    "metaeval:confidence-send": "studies_one_items_post",
    "metaeval:dataset-confidence-send": "studies_one_items_post",
    "metaeval:label-next-send": "studies_one_items_post",
    "metaeval:dataset-label-next-send": "studies_one_items_post",
    "judges:verdict-import": "judgments_post",
    "judges:verdict-upload-begin": "judgments_post",
    "judges:verdict-import-act": "judgments_post",
    "judges:judge-uploads": "judge-uploads_post",
    "judges:judge-upload-act": "judge-uploads_one_define_post",
    "judges:in-time-freeze": "judges_one_anchors_post",
    "judges:in-time-act": "anchors_one_check_post",
    "judges:dataset-export-page": "exports_post",
    "judges:study-export-page": "exports_post",
    "judges:export-delete": "exports_one_delete",
}
"""Pages that change something, each with an operation that does it."""
ONLY_ON_PAGES = {
    "Your account": {
        *("login", "logout", "me", "tokens", "password-change", "password-forgot", "password-set"),
        *(
            "account_login",
            "mfa_authenticate",
            "passkey-sign-in",
            "single-sign-on",
            "single-sign-on-disconnect",
        ),
        *("confirm", "session-end", "sessions-end-others"),
        *(
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "factor-passkey",
            "factor-passkey-remove",
            "factor-codes-make",
        ),
    },
    "Annotators' own pages": {
        name
        for name in EXPECTED
        if name.startswith(("annotation:account", "annotation:join", "annotation:enter", "annotation:hook"))
    }
    | {
        f"annotation:{name}"
        for name in (
            *(
                "consent",
                "eligibility",
                "guidelines",
                "training",
                "qualification",
                "retry",
                "work",
                "assignment",
            ),
            *("draft", "ahead", "skip", "report", "link", "rest", "message", "reading", "finish", "language"),
            "own-data-delete",
        )
    },
    "Decisions about annotators": {"annotation:study-person-act", "annotation:study-bonus"},
    "Adjudication and reported items": {"annotation:study-adjudicate-item", "annotation:study-report-decide"},
    "Links to crowdsourcing platforms": {
        "annotation:entry-link",
        "annotation:entry-state",
        "annotation:entry-reconcile",
    },
    "Previews": {
        *("annotation:markdown-preview", "annotation:study-estimate", "annotation:study-preview"),
        *("studies/<slug:slug>/preview/<path:path>", "metaeval:example"),
    },
    "Selections of items": {"metaeval:dataset-items-export"},
    "Unfinished imports": {
        f"judges:unfinished-{sort}-act" for sort in ("datasets", "verdicts", "staged", "uploads")
    },
    "Planning": {"metaeval:plan-register"},
    "Ratings of systems": {"metaeval:ratings-upload"},
}
"""The rest, under the words that the documentation has for it."""


def test_every_action_of_a_page_has_an_operation_or_a_reason():
    actions = {name for name, row in EXPECTED.items() if "POST" in row and not name.startswith("api:")}
    # These show a form, and change nothing where they stand.
    actions -= {"home"}
    named = set().union(*ONLY_ON_PAGES.values())
    assert not (both := set(BY_API) & named), both
    assert actions <= set(BY_API) | named, actions - set(BY_API) - named
    operations = {one["operationId"] for path in schema_make()["paths"].values() for one in path.values()}
    assert set(BY_API.values()) <= operations, set(BY_API.values()) - operations
    assert set(BY_API) <= actions, set(BY_API) - actions


def test_the_documentation_gives_the_reasons():
    words = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## Only on pages")[2]
    rows = [line.split("|")[1].strip() for line in words.splitlines() if line.startswith("| ")]
    assert set(ONLY_ON_PAGES) <= set(rows), set(ONLY_ON_PAGES) - set(rows)
