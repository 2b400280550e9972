"""`touchstone gate` against the mock server: its four exits, where there is no Django, and what it says."""

import json
import math
from xml.etree import ElementTree as Xml

import pytest

from judges.backends.mock_server import running_mock_server
from judges.standalone.main import main
from tests.judges.standalone.files import command, rows_write

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def server():
    with running_mock_server() as started:
        yield started


@pytest.fixture
def judge(tmp_path, server):
    """A judge that prefers the longer response."""
    return judge_write(tmp_path / "judge.json", server, "mock-longer")


def judge_write(path, server, model, **fields):
    values = {"name": "longer", "strategy": "vanilla", "model": model, "endpoint": server.url, **fields}
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def gold_write(path, n, n_right):
    """Pairs whose second response is longer, and is right in the first `n_right` of them."""
    return rows_write(
        path,
        [
            {
                "id": f"p{k}",
                "instruction": f"Write sentence number {k}.",
                "responses": [f"Sentence {k}.", f"This is a longer sentence, number {k}."],
                "gold": 2 if k < n_right else 1,
            }
            for k in range(n)
        ],
    )


@pytest.fixture
def gate(capsys):
    """Run the command in this process; returns its exit code and what it wrote."""

    def run(*arguments):
        code = main(["gate", *map(str, arguments), "--quiet"])
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


@pytest.mark.parametrize(
    ("n_right", "code", "word"), [(40, 0, "trusted"), (8, 1, "not trusted"), (32, 2, "inconclusive")]
)
def test_the_exit_code_says_whether_the_judge_is_trusted(tmp_path, judge, gate, n_right, code, word):
    gold = gold_write(tmp_path / "gold.jsonl", 40, n_right)
    found, said, complaints = gate(judge, gold, "--min-agreement", 0.7)
    assert (found, complaints) == (code, "")
    assert said.startswith(f"longer: {word}\n")
    assert f"Accuracy: {100 * n_right / 40:.1f}%" in said
    assert ("Sample size needed" in said) == (code == 2)


@pytest.mark.slow
def test_it_runs_where_there_is_no_django(tmp_path, judge):
    gold = gold_write(tmp_path / "gold.jsonl", 20, 20)
    code, said, complaints = command("gate", judge, gold, "--min-agreement", 0.7)
    assert code == 0, complaints
    assert "trusted" in said
    assert "40 of 40 verdicts (100%)" in complaints
    assert command("gate", judge, gold, "--min-agreement", "most")[0] == 3


def test_the_sample_size_needed_is_enough(tmp_path, judge, gate):
    """32 of 40 right, 70% asked: the file says how many items; that many at the same share are enough."""
    files = {name: tmp_path / f"gate.{name}" for name in ("json", "junit", "markdown")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    code, _, _ = gate(judge, gold_write(tmp_path / "gold.jsonl", 40, 32), "--min-agreement", 0.7, *options)
    assert code == 2
    check = json.loads(files["json"].read_text())["checks"][0]
    assert (check["name"], check["value"], check["n"], check["outcome"]) == (
        "agreement", 0.8, 40, "inconclusive",
    )  # fmt: skip
    assert check["low"] < 0.7 < check["high"]
    n = math.ceil(check["needed"] / 5 * 1.1) * 5  # Wilson's interval is not symmetric
    assert n > 40
    code, _, _ = gate(judge, gold_write(tmp_path / "more.jsonl", n, n * 4 // 5), "--min-agreement", 0.7)
    assert code == 0
    suite = Xml.fromstring(files["junit"].read_text())[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "1")
    assert "Sample size needed" in suite[0].find("skipped").get("message")
    markdown = files["markdown"].read_text()
    assert markdown.startswith("## longer: inconclusive\n")
    assert "| at least 70.0% | 40 | **inconclusive** |" in markdown


def test_a_drop_below_the_baseline_is_paired(tmp_path, judge, server, gate):
    """The same 40 items: the judge before was right on all, this one on none: 100 points. Against itself: none."""
    gold = gold_write(tmp_path / "gold.jsonl", 40, 40)
    asked = [gold, "--max-drop", 10]
    code, _, complaints = gate(judge, *asked)
    assert code == 3
    assert "there is no baseline" in complaints
    code, said, _ = gate(judge, *asked, "--min-agreement", 0.8, "--save-baseline")
    assert (code, "There is no baseline yet" in said) == (0, True)
    baseline = tmp_path / "judge.baseline.jsonl"
    assert len(baseline.read_text().splitlines()) == 80
    code, said, _ = gate(judge, *asked)
    assert code == 0, said
    assert "Drop of accuracy: 0.0 points" in said
    code, said, _ = gate(judge, gold, "--max-drop", 2)  # forty items cannot rule out two points
    assert (code, "about 476 labeled items" in said) == (2, True)
    worse = judge_write(tmp_path / "worse.json", server, "mock-shorter")
    code, said, _ = gate(worse, *asked, "--baseline", baseline)
    assert code == 1
    assert "Drop of accuracy: 100.0 points" in said


def test_a_baseline_on_other_texts_is_left_out(tmp_path, judge, gate):
    gold = gold_write(tmp_path / "gold.jsonl", 20, 20)
    assert gate(judge, gold, "--max-drop", 2, "--min-agreement", 0.5, "--save-baseline")[0] == 0
    text = gold.read_text().replace("longer sentence, number 3.", "longer phrase, number 3.")
    gold.write_text(text)
    code, said, _ = gate(judge, gold, "--max-drop", 2)
    assert "1 items of the baseline are left out" in said
    assert "n = 19" in said
    assert code in (0, 2)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: [p["judge"], p["missing"], "--min-agreement", 0.7], "missing.jsonl"),
        (lambda p: [p["missing"], p["gold"], "--min-agreement", 0.7], "missing.jsonl"),
        (lambda p: [p["judge"], p["gold"]], "--min-agreement"),
        (lambda p: [p["judge"], p["gold"], "--min-agreement", 80], "such as 0.8"),
        (lambda p: [p["judge"], p["gold"], "--min-agreement", "most"], "invalid float"),
        (lambda p: [p["judge"], p["gold"], "--min-agreement", 0.7, "--against", "people"], "two labels"),
        (
            lambda p: [p["judge"], p["gold"], "--min-agreement", 0.7, "--base-url", "http://127.0.0.1:9/v1"],
            "nothing can be said",
        ),
    ],
    ids=["no gold", "no judge", "nothing asked", "percent", "no number", "no labels", "no endpoint"],
)
def test_what_is_broken_is_never_a_verdict(tmp_path, judge, gate, change, complaint):
    paths = {
        "judge": judge,
        "gold": gold_write(tmp_path / "gold.jsonl", 3, 3),
        "missing": tmp_path / "missing.jsonl",
    }
    junit = tmp_path / "junit.xml"
    code, said, complaints = gate(*change(paths), "--junit", junit)
    assert (code, said) == (3, "")
    assert complaint in complaints
    if complaint not in ("invalid float",):
        assert Xml.fromstring(junit.read_text())[0].get("errors") == "1"


def test_a_killed_gate_goes_on_from_its_verdicts(tmp_path, judge, server, gate):
    gold, verdicts = gold_write(tmp_path / "gold.jsonl", 10, 10), tmp_path / "verdicts.jsonl"
    asked = [judge, gold, "--min-agreement", 0.5, "--verdicts", verdicts]
    assert gate(*asked)[0] == 0
    n = server.stats()["requests"]
    lines = verdicts.read_text().splitlines(keepends=True)
    verdicts.write_text("".join(lines[:15]) + lines[15][:20])
    assert gate(*asked)[0] == 0
    assert server.stats()["requests"] == n + 5


def test_labels_of_people_count_as_in_a_report(tmp_path, judge, gate):
    """Leave-one-out by hand: each pair has labels 2, 2, 1; a judge that says 2 meets the left-out label in two of
    three cases, so 66.7%."""
    rows = [
        {
            "id": f"p{k}",
            "instruction": f"Write sentence number {k}.",
            "responses": [f"Sentence {k}.", f"This is a longer sentence, number {k}."],
            "labels": [{"annotator": f"a{j}", "value": value} for j, value in enumerate((2, 2, 1))],
        }
        for k in range(12)
    ]
    code, said, _ = gate(
        judge,
        rows_write(tmp_path / "gold.jsonl", rows),
        "--min-agreement",
        0.2,
        "--verdicts",
        tmp_path / "v.jsonl",
    )
    assert code == 0
    assert "Agreement with human annotators: 66.7%" in said
    assert "36 labels; held against human labels" in said


OPTIONS = {str(k): f"{k}" for k in range(1, 6)}
ASPECTS = [{"key": "a", "text": "It is a poem."}, {"key": "b", "text": "It is short."}]
KINDS = {
    "rubric": (
        "rubric_each",
        {
            "responses": ["Drip."],
            "criteria": [{"key": "c", "question": "Clear?", "options": OPTIONS}],
            "gold": {"ratings": {"c": 3}},
        },
        "Closeness of ratings",
    ),
    "checklist": (
        "checklist_each",
        {"responses": ["Drip."], "aspects": ASPECTS, "gold": {"answers": {"a": True, "b": False}}},
        "Agreement per question",
    ),
    "importance": (
        "importance_direct",
        {"aspects": ASPECTS, "gold": {"ranks": {"a": 1, "b": 2}}},
        "Spearman",
    ),
    "answer_ranking": (
        "ranking_direct",
        {"responses": ["A.", "Bb.", "Ccc."], "gold": {"ranks": {"0": 3, "1": 2, "2": 1}}},
        "Pearson",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_gate(tmp_path, server, gate, kind):
    strategy, about, label = KINDS[kind]
    judge = judge_write(tmp_path / "judge.json", server, "mock-random", strategy=strategy)
    rows = [{"id": f"i{k}", "kind": kind, "instruction": f"Number {k}.", **about} for k in range(12)]
    verdicts, written = tmp_path / "verdicts.jsonl", tmp_path / "gate.json"
    asked = ["--min-agreement", "-0.99", "--verdicts", verdicts, "--json", written]
    code, said, complaints = gate(judge, rows_write(tmp_path / "gold.jsonl", rows), *asked)
    assert code in (0, 2), complaints
    assert label in said, said
    check = json.loads(written.read_text())["checks"][0]
    assert 0 < check["n"] <= 12  # a ranking that is all ties has no correlation
    assert -1 <= check["low"] <= check["value"] <= check["high"] <= 1


STRENGTH = ({"choice": 2, "strength": "slightly"}, {"choice": 2, "strength": "much"})
LONG = (" and goes on", " and goes on, and on, and on")


def graded_write(path, *, gold):
    """Pairs of which every other has a second response that is much better, and much longer."""
    known = (
        (lambda value: {"gold": value})
        if gold
        else (lambda value: {"labels": [{"annotator": "a", "value": value}]})
    )
    rows = [
        {
            "id": f"p{k}",
            "instruction": f"Write sentence number {k}.",
            "responses": [f"Sentence {k}", f"Sentence {k}{LONG[k % 2]}"],
            **known(STRENGTH[k % 2]),
        }
        for k in range(20)
    ]
    return rows_write(path, rows)


@pytest.mark.parametrize("gold", [True, False])
def test_graded_preferences_are_held_by_the_correlation_of_grades(tmp_path, judge, gate, gold):
    items, verdicts, written = (tmp_path / name for name in ("gold.jsonl", "v.jsonl", "gate.json"))
    graded_write(items, gold=gold)
    asked = [judge, items, "--figure", "grade_spearman", "--verdicts", verdicts, "--json", written]
    code, said, complaints = gate(*asked, "--min-agreement", 0.5)
    assert code == 2, complaints
    assert "the judge's verdicts have no grade" in said
    # What a judge says that answers on the points of the scale.
    rows = [json.loads(line) for line in verdicts.read_text().splitlines()]
    rows_write(verdicts, [row | {"value": STRENGTH[int(row["item"][1:]) % 2]} for row in rows])
    code, said, complaints = gate(*asked, "--min-agreement", 0.5)
    assert code == 0, complaints
    assert "Spearman correlation of grades: 1.00" in said
    check = json.loads(written.read_text())["checks"][0]
    assert (check["value"], check["n"]) == (1.0, 20)
    baseline = rows_write(
        tmp_path / "before.jsonl", [row | {"value": STRENGTH[1 - int(row["item"][1:]) % 2]} for row in rows]
    )
    code, said, complaints = gate(*asked, "--max-drop", 2, "--baseline", baseline)
    assert code == 0, complaints
    code, said, complaints = gate(*asked, "--min-agreement", 0.5, "--against", "people" if gold else "gold")
    assert code == 3
    assert "expected labels or gold answers that say how strong a preference is" in complaints


def test_the_side_of_a_graded_preference_is_what_ranks_judges(tmp_path, judge, gate):
    items = graded_write(tmp_path / "gold.jsonl", gold=True)
    code, said, complaints = gate(judge, items, "--min-agreement", 0.5)
    assert (code, "Accuracy" in said) == (0, True), complaints
    code, _, complaints = gate(judge, items, "--min-agreement", 0.5, "--figure", "kappa")
    assert code == 3
    assert (
        "--figure: expected one of agreement, accuracy, grade_spearman, grade_pearson, got kappa."
        in complaints
    )
