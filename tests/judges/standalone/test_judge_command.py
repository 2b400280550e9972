"""`touchstone judge` against the mock server, in a process of its own in which there is no Django."""

import json
import signal
import time

import pytest

from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.services.judge_files import judge_of_file
from judges.standalone.main import main
from judges.strategies.errors import SpecError
from tests.judges.standalone.files import at, command, pairs_write, process, rows_of, rows_write

pytestmark = pytest.mark.service


def judged(*arguments):
    """Run the command in this process."""
    return main(["judge", *map(str, arguments), "--quiet"])


def test_a_file_of_pairs_is_judged_in_both_orders_where_there_is_no_django(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 3), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        code, said, complaints = command("judge", items, "--strategy", "cot", *at(server), "--out", out)
        assert server.stats()["requests"] == 6
    assert (code, said) == (0, ""), complaints
    assert "6 of 6 verdicts (100%)" in complaints
    rows = rows_of(out)
    assert sorted((row["item"], row["order"], row["choice"]) for row in rows) == [
        (f"p{k}", order, 2) for k in range(3) for order in (0, 1)
    ]
    row = rows[0]
    assert (row["status"], row["kind"], row["value"], row["strategy"]) == (
        "parsed",
        "pairwise",
        {"choice": 2},
        "cot",
    )
    assert (row["model"], row["answered_by"], row["requests"]) == ("mock-longer", "mock-longer", 1)
    assert row["raw_text"].endswith(("Verdict: B", "Verdict: A"))
    assert not list(tmp_path.glob("*.requests*"))


def test_a_finished_file_sends_nothing_and_stays_as_it_is(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl"), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        given = [items, "--strategy", "vanilla", *at(server), "--out", out]
        assert judged(*given) == 0
        before = out.read_bytes()
        assert judged(*given) == 0
        assert server.stats()["requests"] == 8
    assert out.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["vanilla", "metrics_reference"])
def test_a_killed_command_goes_on_and_sends_again_only_what_was_under_way(tmp_path, strategy):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 40), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        # Slower than the pause between two writes, which is 50 ms at most.
        given = ["judge", items, "--strategy", strategy, *at(server, "mock-slow-100"), "--out", out]
        given += ["--concurrency", 4]
        killed = process(*given)
        while server.stats()["requests"] < 40:
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        before = rows_of_whole_lines(out)
        with out.open("ab") as torn:  # as a kill in the middle of a write leaves it
            torn.write(b'{"item":"p1","order":0,"torn')
        code, _, complaints = command(*given)
        stats = server.stats()
    assert code == 0, complaints
    rows = rows_of(out)
    assert rows[: len(before)] == before
    assert len(before) > 0
    assert len({(row["item"], row["order"]) for row in rows}) == len(rows) == 80
    assert {row["status"] for row in rows} == {"parsed"}
    # Four were with the server, and each of the four connections had brought at most one answer since the last write.
    assert stats["repeated"] <= 8
    assert not list(tmp_path.glob("*.requests*"))


def rows_of_whole_lines(path):
    text = path.read_bytes()
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


def test_two_commands_do_not_write_to_one_file(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 1), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        slow = process("judge", items, "--strategy", "vanilla", *at(server, "mock-slow-2000"), "--out", out)
        while not server.stats()["requests"]:
            time.sleep(0.01)
        assert judged(items, "--strategy", "vanilla", *at(server), "--out", out) == 3
        assert "another command is writing to it" in capsys.readouterr().err
        slow.kill()
        slow.communicate()


def test_a_budget_stops_it_and_a_larger_one_goes_on(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 10), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        given = [items, "--strategy", "vanilla", *at(server), "--out", out, "--concurrency", "2"]
        assert judged(*given, "--budget-tokens", 500) == 1
        sent = server.stats()["requests"]
        assert 0 < sent < 20
        assert "The budget of 500 tokens is reached" in capsys.readouterr().err
        # What was used before counts.
        assert judged(*given, "--budget-tokens", 500) == 1
        assert server.stats()["requests"] == sent
        assert judged(*given, "--budget-tokens", 100_000) == 0
        assert server.stats()["requests"] == server.stats()["distinct"] == 20
    assert len(rows_of(out)) == 20


def test_a_server_that_refuses_stops_it_with_what_came(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "verdicts.jsonl"
    with running_mock_server(api_key="secret") as server:
        given = [items, "--strategy", "vanilla", *at(server), "--out", out]
        assert judged(*given) == 1
        assert "access was refused" in capsys.readouterr().err
    assert out.read_bytes() == b""


def test_a_key_is_named_by_its_variable_and_stands_nowhere(tmp_path, monkeypatch):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "verdicts.jsonl"
    monkeypatch.setenv("MODEL_KEY_VARIABLES", "")
    with running_mock_server(api_key="sesame-91") as server:
        given = [
            "judge",
            items,
            "--strategy",
            "vanilla",
            *at(server),
            "--out",
            out,
            "--api-key-env",
            "MY_KEY",
        ]
        code, said, complaints = command(*given, MY_KEY="sesame-91")
        assert code == 0, complaints
    assert "sesame" not in said + complaints + out.read_text()


def test_what_failed_is_asked_again_only_if_told(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 1), tmp_path / "verdicts.jsonl"
    rows_write(items, [*rows_of(items), {"id": "long", "instruction": "Go.", "responses": ["x" * 5000, "y"]}])
    with running_mock_server() as server:
        given = [items, "--strategy", "vanilla", *at(server, "mock-400-long-3000"), "--out", out]
        assert judged(*given) == 0
        assert "2 could not be judged" in capsys.readouterr().err
        assert sorted(row["status"] for row in rows_of(out)) == ["failed", "failed", "parsed", "parsed"]
        sent = server.stats()["requests"]
        assert judged(*given) == 0
        assert server.stats()["requests"] == sent
        assert judged(*given, "--retry-failed") == 0
        assert server.stats()["requests"] == sent + 2
    assert len(rows_of(out)) == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"instruction": "Hi", "responses": ["a"]}', "row 2, field responses"),
        ('{"instruction": "Hi", "responses": ["a", "b"], "kind": "poem"}', "row 2, field kind"),
        ('{"instruction": "Hi", "responses"', "row 2"),
        ('{"instruction": "Hi", "responses": ["a", "b"], "rference": "x"}', "row 2, field rference"),
    ],
)
def test_errors_of_a_file_name_the_line_and_the_field(tmp_path, capsys, line, said):
    items = pairs_write(tmp_path / "pairs.jsonl", 1)
    items.write_text(f"{items.read_text()}{line}\n")
    assert judged(items, "--strategy", "longest", "--out", tmp_path / "out.jsonl") == 3
    complaint = capsys.readouterr().err
    assert f"{items}" in complaint
    assert said in complaint


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("not a verdict", "row 1: expected a verdict"),
        ('{"item": "p0", "order": 0, "sample": 0, "fingerprint": "f", "content": 5}', "row 1, field content"),
        ('{"item": "p0", "order": 0, "sample": 0, "fingerprint": "f", "content": "c"}', "another judge"),
    ],
)
def test_an_output_that_is_none_is_refused_and_left_alone(tmp_path, capsys, written, said):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 1), tmp_path / "out.jsonl"
    out.write_text(f"{written}\n")
    assert judged(items, "--strategy", "longest", "--out", out) == 3
    assert said in capsys.readouterr().err
    assert out.read_text() == f"{written}\n"


def test_items_that_changed_under_their_names_are_refused(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "out.jsonl"
    assert judged(items, "--strategy", "longest", "--out", out) == 0
    pairs_write(items, 2, context="In French.")
    assert judged(items, "--strategy", "longest", "--out", out) == 3
    assert "the texts of item “p0”" in capsys.readouterr().err.replace("'p0'", "“p0”").replace('"p0"', "“p0”")


def test_the_standard_output_and_parquet_have_the_same_rows(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    items = pairs_write(tmp_path / "pairs.jsonl", 3)
    code, said, _ = command("judge", items, "--strategy", "longest", "--out", "-", "--quiet")
    assert code == 0
    lines = [json.loads(line) for line in said.splitlines()]
    out = tmp_path / "verdicts.parquet"
    assert judged(items, "--strategy", "longest", "--out", out) == 0
    rows = pq.read_table(out).to_pylist()
    assert [(row["item"], row["order"], row["choice"]) for row in rows] == [
        (row["item"], row["order"], row["choice"]) for row in lines
    ]
    assert json.loads(rows[0]["value"]) == lines[0]["value"]
    assert [path.name for path in tmp_path.iterdir() if path != items] == ["verdicts.parquet"]


def test_orders_and_limit(tmp_path):
    items = pairs_write(tmp_path / "pairs.jsonl", 30)
    found = {}
    for orders in ("original", "random"):
        out = tmp_path / f"{orders}.jsonl"
        assert judged(items, "--strategy", "always_a", "--out", out, "--orders", orders, "--limit", 20) == 0
        found[orders] = [row["order"] for row in rows_of(out)]
    assert found["original"] == [0] * 20
    assert len(found["random"]) == 20
    assert 3 < sum(found["random"]) < 17


def test_options_that_contradict_each_other_are_refused(tmp_path, capsys):
    items = pairs_write(tmp_path / "pairs.jsonl", 1)
    out = tmp_path / "out.jsonl"
    for given, said in (
        ([], "expected --judge FILE, or --strategy NAME"),
        (["--strategy", "cot"], "model: the strategy 'cot' asks a model"),
        (["--strategy", "nonsense"], "There is no strategy 'nonsense'"),
        (["--strategy", "longest", "--budget", "1"], "--budget: needs --price-prompt"),
        (["--strategy", "longest", "--set", "decoding"], "--set: expected FIELD=VALUE"),
        (["--strategy", "longest", "--map", "x"], "--map: expected COLUMN=FIELD"),
        (["--judge", tmp_path / "none.json"], "No such file"),
    ):
        assert judged(items, *given, "--out", out) == 3, given
        assert said in capsys.readouterr().err
    assert not out.exists()
    assert main(["nonsense"]) == 2
    assert "there is no command 'nonsense'" in capsys.readouterr().err


def test_samples_are_counted_by_the_budget_and_their_shares_are_the_probability(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 3), tmp_path / "verdicts.jsonl"
    sampled = ["--set", "samples=4", "--set", "decoding.temperature=1", "--set", "decoding.seed=7"]
    with running_mock_server() as server:
        given = [items, "--strategy", "vanilla", *at(server, "mock-random"), "--out", out, *sampled]
        assert judged(*given, "--set", "allow_tie=true") == 0
        assert server.stats()["requests"] == server.stats()["distinct"] == 24
    rows = rows_of(out)
    assert {row["requests"] for row in rows} == {4}
    assert {row["probability"] for row in rows} <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert len({tuple(row["value"]["votes"].values()) for row in rows}) > 1


OWN = r"""
name: By its length
strategy: own
model: mock-longer
prompt_source: |
  # user
  Which is longer?
  <output_a{{mark}}>
  {{output_a}}
  </output_a{{mark}}>
  <output_b{{mark}}>
  {{output_b}}
  </output_b{{mark}}>
  Reply with A or B.
params:
  read: pattern
  pattern: "[AB]"
  reasons: false
"""


def test_a_judge_in_a_format_of_ones_own_is_a_file_of_yaml(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "verdicts.jsonl"
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    with running_mock_server() as server:
        assert judged(items, "--judge", own, "--base-url", server.url, "--out", out) == 0
    assert sorted((row["judge"], row["order"], row["choice"]) for row in rows_of(out)) == [
        ("By its length", order, 2) for order in (0, 0, 1, 1)
    ]
    own.write_text(OWN.replace('"[AB]"', '"(?=A)"'))
    with pytest.raises(SpecError, match=r"params\.pattern: not a regular expression of RE2"):
        judge_of_file(own)


PUBLISHED = {
    "name": "one",
    "type": "pairwise",
    "output_format": "[[A]]",
    "system_prompt": "Weigh.",
    "prompt_template": "Which follows {question}? (a) {answer_a} (b) {answer_b} Say [[A]] or [[B]].",
}


def test_a_published_evaluator_runs_from_the_files_of_its_authors(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "verdicts.jsonl"
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "judge_prompts.jsonl").write_text(json.dumps(PUBLISHED))
    path = tmp_path / "judge.yaml"
    path.write_text("published: {format: fastchat, path: theirs, evaluator: one}\nmodel: mock-longer\n")
    document = judge_of_file(path).document
    assert (document.name, document.spec.strategy, document.spec.model) == (
        "MT-bench one",
        "published",
        "mock-longer",
    )
    with running_mock_server() as server:
        assert judged(items, "--judge", path, "--base-url", server.url, "--out", out) == 0
    assert {row["judge"] for row in rows_of(out)} == {"MT-bench one"}
    for text, problem in (
        ("{format: fastchat, path: theirs}", "say which of its evaluators"),
        ("{format: helm, path: theirs}", "there is no format 'helm'"),
        ("{format: fastchat, path: none, evaluator: x}", "No such file"),
        ("{format: fastchat}", "published.path: expected text"),
        ("{where: x}", "unknown field"),
    ):
        path.write_text(f"published: {text}\nmodel: m\n")
        with pytest.raises(SpecError, match=problem):
            judge_of_file(path)


def test_the_files_of_the_authors_are_a_judge_by_themselves(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "verdicts.jsonl"
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    prompts = theirs / "judge_prompts.jsonl"
    prompts.write_text(f"{json.dumps(PUBLISHED)}\n{json.dumps(PUBLISHED | {'name': 'two'})}\n")
    with running_mock_server() as server:
        at = ("--base-url", server.url, "--model", "mock-longer", "--quiet")
        assert judged(items, "--judge", prompts, "--out", out, *at) == 3
        assert "there are 2: say which one. Expected one of one, two." in capsys.readouterr().err
        assert judged(items, "--judge", theirs, "--evaluator", "three", "--out", out, *at) == 3
        assert "there is no 'three'. Expected one of one, two." in capsys.readouterr().err
        assert judged(items, "--judge", theirs, "--evaluator", "two", "--out", out, *at) == 0
        assert "another one" not in capsys.readouterr().err
        assert {row["judge"] for row in rows_of(out)} == {"MT-bench two"}
        prompts.write_text(json.dumps(PUBLISHED))
        assert judged(items, "--judge", prompts, "--out", tmp_path / "alone.jsonl", *at) == 0
    assert len(rows_of(tmp_path / "alone.jsonl")) == 4
    judge = Judge.load(theirs, model="mock-longer", base_url="http://127.0.0.1:9/v1", evaluator="one")
    assert judge.name == "MT-bench one"
    judge.close()
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    with pytest.raises(SpecError, match="expected none: the file is one judge"):
        judge_of_file(own, evaluator="one")


def test_a_judge_of_ones_own_is_a_yaml(tmp_path, capsys):
    items, out, own = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "out.jsonl", tmp_path / "own.yaml"
    with running_mock_server() as server:
        own.write_text(
            f"name: Rules at home\nstrategy: rules\nmodel: mock-longer\nendpoint: {server.url}\n"
            "decoding: {temperature: 0.5}\nparams: {probabilities: true}\n"
        )
        assert judged(items, "--judge", own, "--out", out) == 0
        elsewhere = tmp_path / "elsewhere.jsonl"
        assert judged(items, "--judge", own, "--model", "mock-first", "--out", elsewhere) == 0
    assert {row["judge"] for row in rows_of(out)} == {"Rules at home"}
    assert None not in {row["probability"] for row in rows_of(out)}
    assert "it is another one" in capsys.readouterr().err
    assert rows_of(out)[0]["fingerprint"] != rows_of(elsewhere)[0]["fingerprint"]
    own.write_text(
        "strategy: rules\nmodel: m\nendpoint: http://127.0.0.1:9/v1\ndecoding: {temperature: hot}\n"
    )
    assert judged(items, "--judge", own, "--out", tmp_path / "none.jsonl") == 3
    assert f"{own}, decoding.temperature: expected a number" in capsys.readouterr().err


def test_judges_share_what_they_ask_alike_by_a_cache(tmp_path):
    items, cache = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "answers.sqlite"
    with running_mock_server() as server:
        given = [items, *at(server), "--cache", cache]
        assert judged(*given, "--strategy", "vanilla", "--out", tmp_path / "vanilla.jsonl") == 0
        assert judged(*given, "--strategy", "swap", "--out", tmp_path / "swap.jsonl") == 0
        # Swap asks vanilla's questions, and once more where these contradict each other: nowhere.
        assert server.stats()["requests"] == 4
    assert cache.is_file()
    assert {row["requests"] for row in rows_of(tmp_path / "swap.jsonl")} == {2}


def test_ctrl_c_keeps_what_is_under_way_and_says_how_to_continue(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 50), tmp_path / "out.jsonl"
    with running_mock_server() as server:
        given = ["judge", items, "--strategy", "vanilla", *at(server, "mock-slow-200"), "--out", out]
        stopped = process(*given, "--concurrency", 4)
        while server.stats()["requests"] < 8:
            time.sleep(0.01)
        stopped.send_signal(signal.SIGINT)
        _, err = stopped.communicate(timeout=60)
        sent = server.stats()["requests"]
    assert stopped.returncode == 1
    assert b"Give the same command again to continue" in err
    assert len(rows_of(out)) == sent < 100


def test_a_contestant_judges_nothing(tmp_path, capsys):
    items = pairs_write(tmp_path / "pairs.jsonl", 1)
    given = ["--strategy", "generate", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    assert judged(items, *given, "--out", tmp_path / "out.jsonl") == 3
    assert "a contestant, which answers instructions" in capsys.readouterr().err


def test_a_thinking_judge_by_options_and_by_yaml(tmp_path):
    items = pairs_write(tmp_path / "pairs.jsonl", 2)
    file = tmp_path / "thinking.yaml"
    with running_mock_server() as server:
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        model = at(server, "mock-reasoner")
        given = [items, "--strategy", "vanilla", *model, "--set", "decoding.reasoning_effort=low"]
        assert judged(*given, "--out", first) == 0
        file.write_text(
            f"strategy: vanilla\nmodel: mock-reasoner\nendpoint: {server.url}\n"
            "decoding: {reasoning_effort: low, temperature: null, max_completion_tokens: 2000}\n"
        )
        assert judged(items, "--judge", file, "--out", second) == 0
    for out in (first, second):
        assert [(row["status"], row["reasoning_tokens"]) for row in rows_of(out)] == [("parsed", 64)] * 4


def test_a_budget_above_the_limit_is_refused_before_anything_is_asked(tmp_path, capsys):
    items = pairs_write(tmp_path / "pairs.jsonl", 1)
    with running_mock_server() as server:
        given = [
            items,
            "--strategy",
            "vanilla",
            *at(server, "mock-reasoner"),
            "--out",
            tmp_path / "out.jsonl",
        ]
        given += ["--set", 'backend_options={"thinking_form": "vllm"}']
        given += ["--set", "decoding.thinking_budget=4096", "--set", "decoding.max_tokens=1000"]
        assert judged(*given) != 0
        assert server.stats()["requests"] == 0
    assert "thinking_budget: expected fewer tokens than the limit of 1,000" in capsys.readouterr().err


@pytest.mark.parametrize("several", [False, True])
def test_items_to_classify_are_judged_by_the_list_of_their_file_or_their_own(tmp_path, several):
    listed = {"list": [{"key": "sport", "definition": "Teams and games."}, "weather"], "several": several}
    items = rows_write(
        tmp_path / "topics.jsonl",
        [
            {"categories": listed},
            {"id": "n1", "kind": "classification", "instruction": "Both teams won games."},
            {"id": "n2", "kind": "classification", "instruction": "The weather is fine."},
            {
                "id": "n3",
                "kind": "classification",
                "instruction": "Which is the planet of war?",
                "categories": [
                    {"key": "A", "definition": "The Moon"},
                    {"key": "B", "definition": "A planet of war"},
                ],
            },
        ],
    )
    own = tmp_path / "own.yaml"
    own.write_text(
        "name: Topics\nstrategy: own_classification\nmodel: mock-overlap\nprompt_source: |\n"
        "  # user\n  <text{{mark}}>\n  {{instruction}}\n  </text{{mark}}>\n  <categories{{mark}}>\n  {{categories}}\n"
        '  </categories{{mark}}>\n  Reply with a JSON object: {"reasons": "...", "categories": [...]}\n'
    )
    with running_mock_server() as server:
        for name, given in (
            ("alone", ["--strategy", "classification_direct", *at(server, "mock-overlap")]),
            ("own", ["--judge", own, "--base-url", server.url]),
        ):
            out = tmp_path / f"{name}.jsonl"
            code, _, complaints = command("judge", items, *given, "--out", out)
            assert code == 0, complaints
            values = {row["item"]: row["value"] for row in rows_of(out)}
            assert values == {
                "n1": {"categories": {"sport": True, "weather": False}},
                "n2": {"categories": {"sport": False, "weather": True}},
                "n3": {"categories": {"A": False, "B": True}},
            }
