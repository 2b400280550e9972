"""A database of the first frozen version, with rows in every table, becomes one of today and goes back."""

import json
from contextlib import closing

import pytest

from tests.upgrade.stored import (
    FROZEN,
    Site,
    stored_columns,
    stored_dump,
    stored_on_postgres,
    stored_on_sqlite,
)

pytestmark = pytest.mark.service

DJANGOS_OWN = {"annotation_user_groups", "annotation_user_user_permissions"}


@pytest.fixture(params=["sqlite", "postgres"])
def site(request, tmp_path):
    if request.param == "sqlite":
        yield stored_on_sqlite(tmp_path)
    else:
        with stored_on_postgres(tmp_path) as stored:
            yield stored


# In one process each: to start one takes longer than what it does.
UNDO = f"""
from django.core.management import call_command
for app, migration in {FROZEN!r}.items():
    call_command("migrate", app, migration, verbosity=0)
"""
AGAIN = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
"""
PAGES = """
from django.contrib.auth.signals import user_logged_in
from django.test import Client
from django.urls import reverse
from annotation.models import Dataset, Study, User
from judges.models import Judge, Judgment, Sweep
from metaeval.models import Report
user_logged_in.disconnect(dispatch_uid="update_last_login")  # the rows are compared afterwards
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="admin"))
pages = [*(f"/datasets/{one.name}/" for one in Dataset.objects.all()), "/datasets/", "/studies/", "/reports/"]
pages += [reverse("annotation:study-detail", args=[one.slug]) for one in Study.objects.all()]
pages += [reverse("metaeval:report-detail", args=[one.pk]) for one in Report.objects.all()]
pages += [reverse("metaeval:comparison", args=[one.pk]) for one in Sweep.objects.all()]
pages += [reverse(f"admin:judges_{name}_changelist") for name in ("sweep", "judge", "endpoint", "judgment")]
for page in pages:
    print(client.get(page).status_code, page)
"""


ASK = """
import json
from judges.backends.wire import WireRequest
from judges.engine.database_store import DatabaseStore
from judges.strategies.types import Answer
wire = WireRequest("chat", "m", (("user", "Na\u00efve?"),), choices=("A", "B"), regex="[AB]")
kept = DatabaseStore()
assert kept.claim([("f" * 64, "openai|here|", wire, wire.shown())], owner="one") == 1
assert kept.save_answers([("f" * 64, 1, Answer("A"), wire)]) == 1
print(wire.canonical_json())
"""
REQUEST = "judges_modelrequest"
STAGED = """
import json, pathlib, tempfile
from annotation.importers.generic import read_generic_parts
from annotation.models import Label
from annotation.services.dataset_parts import dataset_import_staged
from annotation.services.staged_imports import staged_begin
def stop(*_):
    raise KeyboardInterrupt
path = pathlib.Path(tempfile.mkdtemp()) / "half.jsonl"
row = {"instruction": "Say it", "responses": ["a", "b"], "labels": [{"annotator": "ann", "value": 1}]}
path.write_text("".join(json.dumps(row | {"id": f"q{n}"}) + chr(10) for n in range(4)))
try:
    dataset_import_staged(
        parts=read_generic_parts(path, rows=2), finished=print, stored=stop,
        staging=staged_begin(name="half", key="k" * 64, file="half.jsonl", title="Half"),
    )
except KeyboardInterrupt:
    print(Label.objects.filter(item__dataset__is_staged=True).count())
"""
"""An import that isn't finished, which versions before would take for a dataset."""


def request_of_today(site: Site) -> str:
    """Store a request as it is stored today; returns its payload."""
    asked = site.manage("shell", "--verbosity", "0", code=ASK)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout.strip()


def request_undone(site: Site, payload: str) -> None:
    """It is a row of the first version now; it is taken out again."""
    names = ["hash", "kind", "endpoint", "model", "payload", "state"]
    rows = {row[0]: row[1:] for row in site.rows({REQUEST: names})[REQUEST]}
    kind, endpoint, model, written, state = rows["f" * 64]
    assert (kind, endpoint, model, state) == ("chat", "openai|here|", "m", "done")
    assert (written if isinstance(written, dict) else json.loads(written)) == json.loads(payload)
    with site.connection() as connection:
        connection.execute(f"DELETE FROM {REQUEST} WHERE hash = '{'f' * 64}'")
        connection.commit()


def test_the_stored_version_has_rows_in_every_table_of_the_apps():
    with closing(stored_dump()) as stored:
        tables = {name for (name,) in stored.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ours = {name for name in tables if name.startswith(tuple(FROZEN))} - DJANGOS_OWN
    assert len(ours) > 35
    assert ours <= set(stored_columns())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_stored_database_is_upgraded_loses_nothing_and_can_go_back(site: Site):
    columns = stored_columns()
    columns["judges_modelrequest"].remove(
        "lease_until"
    )  # a worker's row has it now, and of these the time is over
    columns["annotation_study"].remove("ask_strength")  # a scale of 5 points today
    with site.connection() as connection:
        connection.execute("UPDATE annotation_study SET ask_strength = true WHERE id = 1")
        connection.commit()
    strengths = {"annotation_study": ["id", "ask_strength"]}
    asked_before = site.rows(strengths)
    before = site.rows(columns)
    upgraded = site.manage("migrate")
    assert upgraded.returncode == 0, upgraded.stderr
    assert site.rows(columns) == before
    points = dict(site.rows({"annotation_study": ["id", "preference_points"]})["annotation_study"])
    assert points == {study: 5 if asks else 3 for study, asks in asked_before["annotation_study"]}
    assert set(points.values()) == {3, 5}
    sets = [asks for (asks,) in site.rows({"annotation_study": ["response_sets"]})["annotation_study"]]
    assert sets
    assert not any(sets)
    reading = ["submit_on_choice", "require_comment", "show_differences", "show_word_counts"]
    reading += ["collect_signals", "machine_text"]
    rules = site.rows({"annotation_study": reading})["annotation_study"]
    assert rules
    assert not any(value for row in rules for value in row)
    lists = ["dimensions", "reasons", "require_reason"]
    for row in site.rows({"annotation_study": lists})["annotation_study"]:
        assert [json.loads(each) if isinstance(each, str) else each for each in row[:2]] == [[], []]
        assert not row[2]
    found = site.rows({"annotation_study": ["language"], "annotation_annotator": ["language"]})
    assert {language for (language,) in found["annotation_study"]} == {"en"}
    assert {language for (language,) in found["annotation_annotator"]} == {""}
    ahead = site.rows({"annotation_study": ["fetch_ahead"], "annotation_assignment": ["ahead"]})
    assert all(rows and not any(value for (value,) in rows) for rows in ahead.values())
    assert {rule for (rule,) in site.rows({"annotation_study": ["evidence"]})["annotation_study"]} == {"off"}
    assert {marks for (marks,) in site.rows({"annotation_label": ["evidence"]})["annotation_label"]} == {None}
    assert before["judges_modelrequest"]
    asked = request_of_today(site)
    staged = site.manage("shell", "--verbosity", "0", code=STAGED)
    assert staged.stdout.strip() == "2", staged.stderr
    undone = site.manage("shell", "--verbosity", "0", code=UNDO)
    assert undone.returncode == 0, undone.stderr
    request_undone(site, asked)
    assert site.rows(columns) == before
    assert site.rows(strengths) == asked_before
    again = site.manage("shell", "--verbosity", "0", code=f"{AGAIN}{PAGES}")
    assert again.returncode == 0, again.stderr
    assert site.rows(columns) == before
    assert {line for line in again.stdout.splitlines() if not line.startswith("200 ")} == set()
    assert len(again.stdout.splitlines()) > 20


@pytest.mark.parametrize(
    ("older", "missing"),
    [
        ("DROP INDEX assignment_run_out", "assignment_run_out of table annotation_assignment"),
        (
            "ALTER TABLE judges_endpoint DROP COLUMN open_weights",
            "column open_weights of table judges_endpoint",
        ),
        ("DROP TABLE metaeval_outsideratings", "table metaeval_outsideratings"),
    ],
)
def test_a_database_made_before_the_schema_was_frozen_is_refused_in_a_sentence(tmp_path, older, missing):
    site = stored_on_sqlite(tmp_path)
    with site.connection() as connection:
        connection.executescript(older)
    refused = site.manage("migrate")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert f"older than its first frozen schema ({missing} is missing)" in refused.stderr
    assert "Applying" not in refused.stdout
