"""The page Export judge: what each tool loses, or why it is refused, and the same files as on the command line."""

import io
import json
import re
import zipfile
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from annotation.services.tokens import token_create
from judges.exports.targets import TARGETS, export_target
from judges.exports.writing import target_export
from judges.models import Judge
from judges.services.judge_imports import judge_document
from judges.strategies.documents import document_read
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import dataset_make
from tests.judges.api.test_api import Program
from tests.judges.props import endpoint_make, judge_make, kinds_dataset_make, run_instant, sweep_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def judge(cast):
    """A judge of a public dataset, which every researcher may see."""
    made = judge_make(endpoint_make(), strategy="rules", decoding={"temperature": 0.5, "seed": 3})
    sweep_make([made], dataset_make(pairs=1, owner=cast.alice))
    return made


def page(judge, user, **query):
    return client_of(user).get(reverse("judges:judge-export", args=[judge.pk]), query)


def file(judge, user, follow=False, **query):
    url = reverse("judges:judge-export-file", args=[judge.pk])
    return client_of(user).get(url, query, follow=follow)


def test_the_page_of_a_judge_leads_to_its_exports(cast, judge):
    detail = client_of(cast.bob).get(reverse("judges:judge-detail", args=[judge.pk])).content.decode()
    assert reverse("judges:judge-export", args=[judge.pk]) in detail
    found = page(judge, cast.bob)
    assert [offer.target.name for offer in found.context["offers"]] == list(TARGETS)


def test_each_tool_says_what_it_loses_and_gives_the_files_of_the_command(cast, judge):
    document = document_read(judge_document(judge))
    found = page(judge, cast.bob)
    html = found.content.decode()
    exported = 0
    for offer in found.context["offers"]:
        name = offer.target.name
        if offer.refused:
            assert name not in re.findall(r'name="to" value="([^"]+)"', html)
            assert offer.refused.replace("`", "") in text_of(found).replace("&#x27;", "'"), name
            continue
        lost = [each for each, _, _ in offer.lost]
        for _, what, why in offer.lost:
            assert what.replace("`", "") in text_of(found), name
            assert offer.target.loses[_] == why
        sent = file(judge, cast.bob, to=name, accept=",".join(lost))
        archive = zipfile.ZipFile(io.BytesIO(b"".join(sent) if sent.streaming else sent.content))
        expected = target_export(export_target(name), document, accept=lost).files
        assert {each: archive.read(each).decode() for each in archive.namelist()} == dict(expected), name
        exported += 1
        if lost:  # one that isn't accepted is refused, with its reason
            refused = file(judge, cast.bob, follow=True, to=name, accept=",".join(lost[1:]))
            assert "Nothing was exported" in text_of(refused)
    assert exported >= 5


def test_our_own_file_is_the_judge_with_its_fingerprint(cast, judge):
    sent = file(judge, cast.bob)
    assert sent.headers["Content-Disposition"].startswith("attachment")
    assert json.loads(sent.content)["fingerprint"] == judge.fingerprint


def test_a_rubrics_criteria_are_those_of_a_dataset_that_it_judged(cast):
    dataset = kinds_dataset_make()
    made = judge_make(endpoint_make(), strategy="rubric_each")
    assert "its dataset" in text_of(page(made, cast.ann))  # it has judged none yet
    sweep_make([made], dataset)
    run_instant("5")
    found = page(made, cast.bob)
    assert found.context["dataset"] == dataset
    offer = next(each for each in found.context["offers"] if each.target.name == "langfuse")
    assert not offer.refused
    accept = ",".join(name for name, _, _ in offer.lost)
    sent = file(made, cast.bob, to="langfuse", accept=accept)
    archive = zipfile.ZipFile(io.BytesIO(sent.content))
    assert any("How helpful is it?" in archive.read(name).decode() for name in archive.namelist())


def test_what_nobody_can_ask_and_what_nobody_knows_is_refused(cast, judge):
    said = text_of(file(judge, cast.bob, follow=True, to="excel"))
    assert "there is no target" in said
    Judge.objects.filter(pk=judge.pk).update(fingerprint="0" * 16)
    assert "This judge can't be exported" in text_of(page(judge, cast.bob))
    assert "Nothing was exported" in text_of(file(judge, cast.bob, follow=True))


def test_a_judge_that_they_may_not_see_is_not_exported(cast, client):
    hidden = judge_make(endpoint_make())
    sweep_make([hidden], dataset_make(pairs=1, split="private", owner=cast.alice))
    for ask in (page, file):
        assert ask(hidden, cast.alice).status_code == 200
        assert ask(hidden, cast.bob).status_code == 404
        assert ask(hidden, cast.carl).status_code == 403
    assert "login" in client.get(reverse("judges:judge-export", args=[hidden.pk])).url


def test_a_program_gets_the_same(cast, judge):
    program = Program(token_create(user=cast.bob, name="test")[1])
    address = f"judges/{judge.pk}/document/"
    offers = page(judge, cast.bob).context["offers"]
    offer = next(each for each in offers if each.lost and not each.refused)
    refused = program.get(f"{address}?{urlencode({'to': offer.target.name})}", status=400)
    assert offer.lost[0][2] in str(refused)
    accept = ",".join(name for name, _, _ in offer.lost)
    made = program.get(f"{address}?{urlencode({'to': offer.target.name, 'accept': accept})}")
    assert set(made["lost"]) == {name for name, _, _ in offer.lost}
    assert {"README.md", "judge.json"} < set(made["files"])
    assert "no target" in str(program.get(f"{address}?to=excel", status=400))
    assert "no such dataset" in str(program.get(f"{address}?to=langfuse&dataset=nowhere", status=400))
