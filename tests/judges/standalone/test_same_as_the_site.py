"""The command gives the verdicts that a sweep of the site gives, for every strategy."""

import json

import pytest

from annotation.services.item_exports import items_table
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment
from judges.services.judges import ModelChoice
from judges.standalone.main import main
from judges.strategies.documents import document_make
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import JudgeSpec
from tests.judges.props import endpoint_make, judge_make, kinds_dataset_make, run, sweep_make
from tests.judges.standalone.files import rows_of
from web.tables import table_bytes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SHOT = {"instruction": "Say hi.", "output_a": "hi", "output_b": "no", "verdict": "A"}
SYSTEMS = ("secret-system-0", "secret-system-1")
BY_HTTP = {"chat", "score", "embed", "classify"}
COLUMNS = ("status", "choice", "probability", "value", "raw_text", "requests", "answered_by")


def judges_of_all_strategies(endpoint):
    """A judge of every strategy that a server can answer, and some with settings."""
    members = [judge_make(endpoint, strategy="vanilla"), judge_make(endpoint, "mock-first", strategy="cot")]
    found = list(members)
    for name, info in STRATEGIES.items():
        if name in ("generate", "vanilla", "published") or not info.requests <= BY_HTTP:
            continue
        content = {}
        if info.composed:
            content["members"] = (
                {"*": members[0]} if info.member_paths else dict(zip("xy", members, strict=True))
            )
        if info.open_roles:
            content["roles"] = {system: ModelChoice(endpoint, "mock-longer") for system in SYSTEMS}
        if "guidelines" in info.needs:
            content["guidelines"] = "Be fair."
        if "shots" in info.needs:
            content["shots"] = [SHOT]
        asks = info.needs_model and info.main_model
        found.append(judge_make(endpoint if asks else None, "mock-longer-0.8", strategy=name, **content))
    thoughtful = {
        "strategy": "vanilla",
        "params": {"probabilities": True, "both_orders": True},
        "allow_tie": True,
    }
    found.append(judge_make(endpoint, "mock-first-0.9", **thoughtful))
    sampling = {"decoding": {"temperature": 1.0, "seed": 3}, "samples": 3}
    found.append(judge_make(endpoint, "mock-random", strategy="metrics", **sampling))
    return found


def test_every_strategy_says_what_it_says_on_the_site(tmp_path, capsys):
    dataset = kinds_dataset_make(2)
    items = tmp_path / "items.jsonl"
    items.write_bytes(b"".join(table_bytes(items_table(dataset.items.all()), "jsonl")))
    compared = 0
    with running_mock_server() as server:
        judges = judges_of_all_strategies(endpoint_make(server.url))
        sweep_make(judges, dataset)
        run()
        for number, judge in enumerate(judges):
            path, out = tmp_path / f"judge-{number}.json", tmp_path / f"verdicts-{number}.jsonl"
            path.write_text(json.dumps(document_make(judge.name, JudgeSpec.from_dict(judge.spec))))
            given = ["judge", str(items), "--judge", str(path), "--out", str(out), "--quiet"]
            assert main(given) == 0, capsys.readouterr().err
            here = {(row["item"], row["order"]): tuple(row[name] for name in COLUMNS) for row in rows_of(out)}
            assert {row["fingerprint"] for row in rows_of(out)} == {judge.fingerprint}
            there = {}
            for row in Judgment.objects.filter(judge=judge).select_related("item"):
                answered = row.answered_by.split("\t")[1] if row.answered_by else ""
                said = (row.status, row.choice, row.probability, row.value, row.raw_text, row.requests)
                there[row.item.external_id, row.order] = (*said, answered)
            assert there, judge.strategy
            assert [row[:-1] for row in map(here.get, there)] == [row[:-1] for row in there.values()], (
                judge.strategy
            )
            assert here.keys() == there.keys()
            assert "failed" not in {row[0] for row in there.values()}, judge.strategy
            compared += len(there)
    assert compared > 100
