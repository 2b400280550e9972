"""The client of the API: in the words of the schema, patient with what passes, and the whole loop on a real site."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_type_hints

import httpx
import pytest

from config.api.schema import schema_make
from tests import migrated
from tests.live_site import ROOT, LiveSite, manage
from tests.services import scratch_directory
from touchstone_client import ApiProblem, Touchstone, rows
from touchstone_client.http import MOST_BYTES

LOOP = re.compile(r"```python loop\.py\n(.*?)```", re.DOTALL)
# Where a page of the schema has another name than the client.
DETAIL = {"Report": "ReportDetail", "Decision": "DecisionMade", "Sweep": "SweepDetail"}
DETAIL |= {"Preregistration": "PreregistrationDetail", "Dataset": "DatasetDetail", "Anchors": "AnchorsDetail"}
DETAIL |= {"Webhook": "WebhookSecret", "Progress": "StudyProgress", "Team": "TeamDetail"}
MORE = {"Sweep": {"warnings", "judges_made"}}
SENT = {"LabelRow": "LabelRowRequest", "JudgmentRow": "JudgmentRowRequest"}
PARTIAL = {"Study", "Sweep", "JudgmentRow", "Progress"}


@pytest.mark.django_db
def test_its_rows_have_the_fields_of_the_schema():
    schemas = schema_make()["components"]["schemas"]
    checked = 0
    for name in vars(rows):
        kind = getattr(rows, name)
        if not hasattr(kind, "__required_keys__"):
            continue
        schema = schemas[SENT.get(name) or DETAIL.get(name, name)]
        known = set(schema["properties"]) | MORE.get(name, set())
        mine = set(get_type_hints(kind))
        assert mine <= known, (name, mine - known)
        if name not in PARTIAL:
            assert known <= mine, (name, known - mine)
        checked += 1
    assert checked >= 13


def test_it_has_a_method_for_each_operation():
    """But for the site's own description of itself."""
    call = re.compile(r"""_api\.(pages|get|file|post|patch|delete)\(\s*f?"([^"]+)"|path = (f)"([^"]+)\"""")
    verbs = {"pages": "get", "file": "get"}
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "touchstone_client").glob("*.py"))
    mine = set()
    for verb, path, is_path, later in call.findall(source):
        verb, path = ("get", later) if is_path else (verbs.get(verb, verb), path)
        mine.add((verb, re.sub(r"{[^}]+}", "{}", path)))
    wanted = {
        (verb, re.sub(r"{[^}]+}", "{}", path.removeprefix("/api/v1/")))
        for path, operations in schema_make()["paths"].items()
        for verb in operations
    } - {("get", "")}
    assert mine == wanted, (wanted - mine, mine - wanted)


class Site:
    """What a site would answer, in turn; and what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked, self.slept = list(answers), [], []

    def __call__(self, request):
        self.asked.append(request)
        status, body, headers = self.answers.pop(0)
        if status is None:
            raise httpx.ReadError("the connection broke")
        return httpx.Response(status, json=body, headers=headers)

    def client(self):
        return Touchstone(
            "http://site", "tst_x", transport=httpx.MockTransport(self), sleep=self.slept.append
        )


def test_a_write_is_repeated_with_the_same_key_until_it_passes():
    site = Site((None, {}, {}), (429, {}, {"Retry-After": "7"}), (503, {}, {}), (201, {"slug": "s"}, {}))
    assert site.client().study_create("teas", "T")["slug"] == "s"
    assert len({request.headers["Idempotency-Key"] for request in site.asked}) == 1
    assert len({request.content for request in site.asked}) == 1
    assert site.slept[1] == 7


def test_a_problem_is_raised_with_its_errors_and_not_repeated():
    problem = {"type": "t", "title": "Wrong", "detail": "d", "errors": [{"field": "overlap", "message": "m"}]}
    site = Site((400, problem, {}))
    with pytest.raises(ApiProblem, match="Wrong") as caught:
        site.client().study_change("s", overlap=0)
    assert caught.value.errors == problem["errors"]
    assert len(site.asked) == 1


def test_pages_are_read_as_they_are_needed():
    site = Site(
        (200, {"next": "http://inside:1/api/v1/datasets/?cursor=abc&limit=2", "results": [1, 2]}, {}),
        (200, {"next": None, "results": [3]}, {}),
    )
    rows_ = site.client().datasets(limit=2, split=None)
    assert next(rows_) == 1
    assert len(site.asked) == 1
    assert list(rows_) == [2, 3]
    assert str(site.asked[1].url) == "http://site/api/v1/datasets/?cursor=abc&limit=2"


def test_a_large_import_comes_in_parts_that_fit():
    done = {"dataset": {}, "items": 1, "items_created": 1, "labels": 0, "labels_created": 0}
    site = Site(*[(200, dict(done), {})] * 3)
    big = {"instruction": "x" * (MOST_BYTES // 2), "responses": ["é", "b"]}
    assert site.client().dataset_import("teas", [big] * 3)["items_created"] == 3
    sizes = [len(request.content) for request in site.asked]
    assert max(sizes) < 1_000_000
    assert [request.url.path for request in site.asked[1:]] == ["/api/v1/datasets/teas/items/"] * 2
    assert all(json.loads(request.content)["items"] for request in site.asked)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.service
def test_the_documented_loop_runs_on_a_site():
    """As somebody runs it who has copied it from the page."""
    (script,) = LOOP.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
    folder = Path(tempfile.mkdtemp(prefix="client-", dir=scratch_directory()))
    url = f"sqlite:///{folder / 'site.sqlite3'}"
    migrated.copy_to(folder / "site.sqlite3")
    manage(url, "shell", "--verbosity", "0", "--command",
           "from annotation.models import User; User.objects.create_user('ada', role='administrator')")  # fmt: skip
    token = manage(url, "api_token", "ada").strip()
    site = LiveSite(url, workers=1, WAKE_UP_SECONDS="1")
    site.start()
    try:
        told = {"TOUCHSTONE_URL": f"http://127.0.0.1:{site.port}", "TOUCHSTONE_TOKEN": token}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | told,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=150,
        )
    finally:
        site.stop()
    assert done.returncode == 0, done.stderr
    assert "The sweep is finished" in done.stdout
    assert "72 judgments" in done.stdout
    assert "Decided for longest" in done.stdout
