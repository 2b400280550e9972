"""The promoted judge as files of another tool: by the API, and from the page of its dataset."""

import io
import json
import zipfile

import pytest
from django.urls import reverse

from annotation.models import Role
from metaeval.models import Decision
from tests.annotation.cast import client_of
from tests.annotation.factories import user_make
from tests.judges.props import endpoint_make, judge_make
from tests.metaeval.api.test_decisions import Caller, decision_of
from tests.metaeval.choices import two_datasets

pytestmark = pytest.mark.django_db
LOST = "context,orders,fences"


@pytest.fixture
def ada():
    return user_make(username="ada", role=Role.ADMINISTRATOR)


@pytest.fixture
def decision(ada):
    """A promotion; its judge is one that can be run."""
    sweep, _, _ = two_datasets()
    ask = Caller(ada)
    asked = {"sweep": sweep.pk, "parts": [{"dataset": "gold", "role": "gold", "weight": 1}]}
    found = ask("POST", "selections/", asked)
    made = ask("POST", "decisions/", decision_of(asked, found, "Good judge"), 201)
    Decision.objects.filter(pk=made["id"]).update(judge=judge_make(endpoint_make(), strategy="vanilla"))
    return Decision.objects.get(pk=made["id"])


def test_the_api_gives_files_once_what_is_lost_is_accepted(ada, decision):
    ask, path = Caller(ada), f"decisions/{decision.pk}/judge/"
    assert ask("GET", path)["decision"]["dataset"] == "gold"
    refused = ask("GET", f"{path}?to=alpaca-eval", status=400)
    assert refused["errors"][0]["field"] == "accept"
    assert f"accept {LOST}" in json.dumps(refused)
    found = ask("GET", f"{path}?to=alpaca-eval&accept={LOST}")
    assert sorted(found["lost"]) == sorted(LOST.split(","))
    assert json.loads(found["files"]["judge.json"])["decision"]["figures"]
    assert "What its promotion found" in found["files"]["README.md"]
    assert any(name.endswith("/configs.yaml") for name in found["files"])
    assert ask("GET", f"{path}?to=excel", status=400)["errors"][0]["field"] == "to"


def test_the_page_gives_an_archive_or_says_what_would_be_lost(ada, decision):
    client, url = client_of(ada), reverse("metaeval:decision-tool", args=[decision.pk])
    refused = client.get(url, {"to": "promptfoo"}, follow=True)
    assert refused.redirect_chain[0][0] == reverse("metaeval:dataset-comparison", args=["gold"])
    assert "promptfoo can&#x27;t carry the whole judge" in refused.content.decode()
    answer = client.get(url, {"to": "promptfoo", "lossy": "on"})
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = archive.namelist()
    assert any(name.endswith("/default_test.yaml") for name in names)
    assert {"README.md", "judge.json"} < set(names)
    other = client_of(user_make(username="ann", role=Role.ANNOTATOR))
    assert other.get(url, {"to": "promptfoo", "lossy": "on"}).status_code in (302, 403, 404)
