"""From judgments and labels to a jury with fitted weights, a judge that runs here and without a site."""

import json

import pytest
from django.core.management import CommandError, call_command

from judges.backends.mock_server import running_mock_server
from judges.models import Judge, Judgment
from judges.standalone.main import main
from judges.strategies.documents import document_make, document_read
from judges.strategies.spec import JudgeSpec
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make
from tests.judges.standalone.files import pairs_write, rows_of
from tests.metaeval.rows import labels_make

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def fit(capsys, *names, **options):
    call_command("fit_jury", "pairs", judges=list(names), **options)
    return capsys.readouterr().out


def test_a_jury_is_fitted_made_run_exported_and_judges_without_a_site(tmp_path, capsys):
    dataset = dataset_make(pairs=30, name="pairs")
    labels_make(dataset=dataset, choices=[(1 + (k % 3 == 0), 1 + (k % 3 == 0), 2) for k in range(30)])
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        members = [
            judge_make(endpoint, model, name=model)
            for model in ("mock-longer-0.9", "mock-random", "mock-shorter-0.7")
        ]
        sweep_make(members, dataset)
        run()
        text = fit(capsys, *(judge.name for judge in members), create="Weighted jury")
        assert "Jury, held out" in text
        assert "Optimism" in text
        jury = Judge.objects.get(name="Weighted jury")
        weights = json.loads(jury.spec["params"]["weights"])
        assert set(weights) == {judge.name for judge in members}
        assert "in-sample" in jury.notes
        fit(capsys, *(judge.name for judge in members), create="Another name")
        assert Judge.objects.filter(strategy="jury").count() == 1
        # It sends nothing that its members did not ask, and says what the sum of its weights says.
        before = server.stats()["requests"]
        sweep_make([jury], dataset)
        run()
        assert server.stats()["requests"] == before
        for judgment in Judgment.objects.filter(judge=jury):
            votes = judgment.value["votes"]
            score = sum(weights[name] * {1: 1, 2: -1, 0: 0}[vote] for name, vote in votes.items())
            margin = jury.spec["params"]["tie_margin"]
            assert judgment.choice == (0 if abs(score) <= margin else 1 if score > 0 else 2)
        document = document_make(jury.name, JudgeSpec.from_dict(jury.spec))
        assert document_read(json.loads(json.dumps(document))).spec.fingerprint() == jury.fingerprint
        file, out = tmp_path / "judge.json", tmp_path / "verdicts.jsonl"
        file.write_text(json.dumps(document))
        items = pairs_write(tmp_path / "pairs.jsonl", 3)
        assert main(["judge", str(items), "--judge", str(file), "--out", str(out), "--quiet"]) == 0
        assert {row["status"] for row in rows_of(out)} == {"parsed"}


@pytest.mark.parametrize(
    ("names", "words"),
    [(["nobody", "else"], "No judge"), (["one"], "two members"), (["one", "two"], "two instructions")],
)
def test_what_cannot_be_fitted_is_refused(capsys, names, words):
    dataset = dataset_make(pairs=3, name="pairs")
    sweep_make([judge_make(name="one"), judge_make(name="two", strategy="shortest")], dataset)
    run()
    with pytest.raises(CommandError, match=words):
        fit(capsys, *names)
    with pytest.raises(CommandError, match="no dataset"):
        call_command("fit_jury", "nothing", judges=names)
