"""`judges.Judge`, as a notebook and a service use it."""

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from annotation.importers import ImportFileError
from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.standalone.service import JudgeUnavailableError
from judges.strategies.errors import SpecError
from tests.judges.standalone.files import ROOT, WITHOUT_DJANGO

pytestmark = pytest.mark.service

CRITERIA = [
    {"key": "helpful", "question": "How helpful is it?", "options": {str(k): f"{k}" for k in range(1, 6)}}
]


@pytest.fixture(scope="module")
def server():
    with running_mock_server() as running:
        yield running


def judge_of(server, strategy, model="mock-longer", **fields):
    return Judge.define(strategy, model=model, base_url=server.url, **fields)


def test_a_pair_is_compared_in_both_orders(server):
    with judge_of(server, "cot") as judge:
        found = judge.compare("Say hello.", "Hello.", "Hello to all of you.")
        assert (found.status, found.choice, found.orders, found.requests) == ("parsed", 2, (2, 2), 2)
        once = judge.compare(
            "Say hello.", "Hello.", "Hello to all of you.", orders="original", context="At night."
        )
        assert (once.choice, once.orders, once.requests) == (2, (2,), 1)


def test_orders_that_contradict_each_other_are_a_tie(server):
    with judge_of(server, "vanilla", "mock-first") as judge:
        found = judge.compare("Say hello.", "Hello.", "Hi.")
    assert (found.choice, found.orders, found.probability) == (0, (1, 2), 0.5)


def test_probabilities_of_both_orders_are_averaged(server):
    with judge_of(server, "vanilla", params={"probabilities": True}) as judge:
        each = [judge.compare("Go.", "A b c d.", "A.", orders="original").probability]
        found = judge.compare("Go.", "A b c d.", "A.")
    assert found.choice == 1
    assert 0.5 < found.probability <= 1.0
    assert each[0] is not None


def test_the_other_kinds(server):
    with judge_of(server, "rubric_each") as judge:
        assert set(judge.rate("Say hello.", "Hello.", CRITERIA).value["ratings"]) == {"helpful"}
    with judge_of(server, "checklist_all") as judge:
        found = judge.check("Say hello, briefly.", "Hello.", ["It greets.", "It is brief."])
        assert set(found.value["answers"]) == {"a1", "a2"}
    with judge_of(server, "ranking_direct") as judge:
        assert len(judge.rank("Say hello.", ["Hello.", "Hi.", "Good day."]).value["ranks"]) == 3
    with judge_of(server, "importance_direct") as judge:
        assert set(judge.weigh("Say hello, briefly.", ["It greets.", "It is brief."]).value["ranks"]) == {
            "a1",
            "a2",
        }


def test_many_callers_at_once_share_one_judge(server):
    found = {}
    with judge_of(server, "vanilla", "mock-slow-20") as judge:

        def ask(k):
            found[k] = judge.compare(f"Say hello {k % 7}.", "Hello.", "Hello to all of you.").choice

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 20
    assert None not in found.values()


def test_the_asynchronous_form_says_the_same(server):
    async def ask_all(judge):
        return await asyncio.gather(
            *(judge.acompare(f"Say {k}.", "Hello.", "Hello to all.") for k in range(8))
        )

    # In a thread of its own: the loop of a browser may be running in this one.
    with judge_of(server, "cot") as judge, ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: asyncio.run(ask_all(judge))).result()
        said = judge.judge_all(
            {"instruction": f"Say {k}.", "responses": ["Hello.", "Hello to all."]} for k in range(8)
        )
    assert [each.choice for each in found] == [each.choice for each in said] == [2] * 8


def test_an_item_that_is_none_is_refused_by_the_name_of_its_field(server):
    with judge_of(server, "vanilla") as judge:
        with pytest.raises(ImportFileError, match="field responses"):
            judge.judge({"instruction": "Say hello.", "responses": ["Hello."]})
        with pytest.raises(ImportFileError, match="field kind: expected 'pairwise'"):
            judge.rank("Say hello.", ["Hello.", "Hi.", "Hey."])


def test_a_refused_request_is_a_failed_answer_and_the_judge_goes_on(server):
    with judge_of(server, "vanilla", "mock-400-long-3000") as judge:
        failed = judge.compare("Say hello.", "x" * 5000, "Hi.")
        assert (failed.status, failed.choice) == ("failed", None)
        assert "maximum context length" in failed.reason
        assert judge.compare("Say hello.", "Hello.", "Hi.").status == "parsed"


def test_a_server_that_refuses_all_is_an_error(server):
    with judge_of(server, "vanilla", "mock-401") as judge:
        with pytest.raises(JudgeUnavailableError, match="access was refused"):
            judge.compare("Say hello.", "Hello.", "Hi.")
        with pytest.raises(JudgeUnavailableError, match="access was refused"):
            judge.compare("Say hello.", "Hello.", "Hi.")
    with pytest.raises(JudgeUnavailableError, match="closed"):
        judge.compare("Say hello.", "Hello.", "Hi.")


def test_a_saved_judge_is_the_same_one_and_a_changed_file_is_refused(server, tmp_path):
    path = tmp_path / "judge.json"
    with judge_of(server, "metrics_reference", params={"rules": True}) as judge:
        judge.save(path)
    with Judge.load(path) as loaded:
        assert loaded.fingerprint == judge.fingerprint
        assert loaded.compare("Say hello.", "Hello.", "Hello to you.").choice == 2
    values = json.loads(path.read_text())
    values["spec"]["prompt_source"] += " "
    values["spec"]["prompt_sha"] = ""
    path.write_text(json.dumps(values))
    with pytest.raises(SpecError, match="fingerprint: expected"):
        Judge.load(path)


def test_the_threshold_of_the_promotion_says_when_people_are_to_decide(server, tmp_path):
    path = tmp_path / "judge.json"
    with judge_of(server, "vanilla", "mock-first") as judge:
        judge.save(path)
        assert judge.compare("Go.", "A b c d.", "A.").abstains is None
    values = json.loads(path.read_text())
    for threshold, abstains in ((0.5, False), (0.6, True), (None, None)):
        path.write_text(json.dumps(values | {"decision": {"abstention": {"threshold": threshold}}}))
        with Judge.load(path) as loaded:
            assert loaded.compare("Go.", "A b c d.", "A.").abstains is abstains


NOTEBOOK = f"""
{WITHOUT_DJANGO}
from judges import Judge
with Judge.define("longest") as judge:
    print(judge.compare("Say hello.", "Hello.", "Hi.").choice)
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("django", "celery", "config")))
print([name for name in sys.modules if name.startswith(("judges.models", "annotation.models"))])
"""


def test_a_notebook_needs_no_django():
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["1", "[]", "[]"], done.stderr


def test_the_package_is_light_until_a_judge_is_asked_for():
    script = "import sys, judges; print(sorted(name for name in sys.modules if name.startswith('judges')))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['judges']"
