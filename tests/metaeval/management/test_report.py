"""`manage.py report`: from rows to a file."""

import json
import stat
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from metaeval.models import Report
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.reports.shown import render
from tests.metaeval.rows import judge_make, judgments_make, label_make, labels_make, swept

pytestmark = pytest.mark.django_db


def report(name, path, *arguments):
    call_command("report", name, "--output", str(path), "--resamples", "200", *arguments, verbosity=0)
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else text


@pytest.fixture
def pairs():
    dataset = dataset_make(pairs=6, name="pairs", per_instruction=2)
    labels_make(dataset=dataset, choices=[(1, 1, 2), (2, 2), (1, None), (0, 1, 1), (1, 2)])
    swept(dataset=dataset)
    return dataset


@pytest.mark.both_databases
def test_json_of_a_dataset(pairs, tmp_path):
    content = report("pairs", tmp_path / "r.json")
    assert content["schema"] == "touchstone.report/2"
    assert content["items"]["n_items"] == 6
    assert content["items"]["n_instructions"] == 3
    assert content["people"]["n_labels"] == 11
    names = [(judge["name"], judge["baseline"]) for judge in content["judges"]]
    assert names == [
        ("Good judge", False),
        ("Poor judge", False),
        ("longest", True),
        ("shortest", True),
        ("always first", True),
    ]
    good = content["judges"][0]["measures"]
    assert good["accuracy"]["overall"]["value"] == 1
    assert good["cost_per_1000"]["overall"]["value"] == pytest.approx(2)
    assert good["seconds_each"]["overall"]["value"] == pytest.approx(0.5)
    leave_one_out = content["people"]["measures"]["leave_one_out"]["overall"]
    assert leave_one_out["n"] == 4
    assert leave_one_out["value"] == pytest.approx((1 / 3 + 1 + 1 / 3 + 0) / 4)


def test_epsilon_of_the_alternative_annotator_test(pairs, tmp_path):
    assert report("pairs", tmp_path / "a.json")["options"]["epsilon"] == 0.1
    assert report("pairs", tmp_path / "b.json", "--epsilon", "0.15")["options"]["epsilon"] == 0.15
    with pytest.raises(CommandError, match="epsilon"):
        report("pairs", tmp_path / "c.json", "--epsilon", "1")


def test_twice_the_same_bytes(pairs, tmp_path):
    for suffix in ("json", "md", "html", "tex"):
        report("pairs", tmp_path / f"a.{suffix}")
        report("pairs", tmp_path / f"b.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_study_counts_its_own_labels(pairs, tmp_path):
    study = study_make(dataset=pairs, slug="mine", is_simulated=True)
    labels_make(dataset=pairs, choices=[(1, 1)], study=study, simulated=True)
    whole = report("pairs", tmp_path / "whole.json")["people"]
    assert (whole["n_labels"], whole["simulated_share"]) == (13, pytest.approx(2 / 13))
    for arguments in (("mine",), ("pairs", "--study", "mine")):
        content = report(arguments[0], tmp_path / "study.json", *arguments[1:])
        assert content["name"] == "mine"
        assert content["study"]["is_simulated"] is True
        assert (content["people"]["n_labels"], content["people"]["simulated_share"]) == (2, 1.0)


def test_an_annotator_of_two_studies_has_one_opinion(tmp_path):
    dataset = dataset_make(pairs=1, name="one")
    (annotator, _) = labels_make(dataset=dataset, choices=[(1, 1)])
    study = study_make(dataset=dataset)
    label_make(item=dataset.items.get(), annotator=annotator, choice=2, study=study)
    humans = report("one", tmp_path / "r.json")["people"]
    assert (humans["n_labels"], humans["n_repeated_left_out"]) == (2, 1)
    assert humans["measures"]["leave_one_out"]["overall"]["value"] == 1


def test_chosen_judges_and_a_real_judge_in_place_of_its_baseline(pairs, tmp_path):
    judge = judge_make("By length", strategy="longest", backend="heuristic")
    judgments_make(judge=judge, dataset=pairs, choices=[(1, 1)] * 6)
    names = [
        judge["name"] for judge in report("pairs", tmp_path / "r.json", "--judges", "By length")["judges"]
    ]
    assert names == ["By length", "shortest", "always first"]
    with pytest.raises(CommandError, match=r"No judge .By lenth'.*did you mean By length"):
        report("pairs", tmp_path / "r.json", "--judges", "By lenth")


@pytest.mark.both_databases
def test_judges_are_in_the_order_of_their_names_on_every_database(pairs, tmp_path):
    for name in ("b judge", "B judge", "_judge", "Árbitro", "a-judge", "a judge"):
        judgments_make(judge=judge_make(name), dataset=pairs, choices=[(1, 1)] * 6)
    names = [judge["name"] for judge in report("pairs", tmp_path / "r.json")["judges"]][:-3]
    assert names == sorted(names)


@pytest.mark.both_databases
def test_a_report_that_was_kept_is_the_report(pairs, tmp_path):
    report("pairs", tmp_path / "r.json", "--save")
    kept = Report.objects.get().content
    for suffix in (".json", ".md", ".html", ".tex"):
        report("pairs", tmp_path / f"again{suffix}")
        assert render(kept, suffix) == (tmp_path / f"again{suffix}").read_text()


def test_imported_judges_have_no_cost(pairs, tmp_path):
    judge = judge_make("Imported", strategy="x", backend="imported")
    judgments_make(judge=judge, dataset=pairs, choices=[(1, None)] * 6, cost=0, latency_ms=0)
    content = report("pairs", tmp_path / "r.json", "--judges", "Imported")
    measures = content["judges"][0]["measures"]
    assert measures["cost_per_1000"]["overall"]["value"] is None
    assert measures["unparsed_rate"]["overall"]["value"] == 0.5


@pytest.mark.parametrize(
    ("name", "output", "words"),
    [
        ("pears", "r.json", "did you mean pairs"),
        ("pairs", "r.docx", r"written as \.html, \.pdf, .*\.zip, not as \.docx"),
        ("pairs", "r", "not as no extension"),
        ("pairs", "nowhere/r.json", "There is no folder"),
    ],
)
def test_refused_with_what_was_expected(pairs, tmp_path, name, output, words):
    with pytest.raises(CommandError, match=words):
        report(name, tmp_path / output)
    assert list(tmp_path.iterdir()) == []


def test_bad_options(pairs, tmp_path):
    for arguments in (
        ("--seed", "-1"),
        ("--resamples", "-5"),
        ("--study", "none-such"),
        ("--convention", "mine"),
    ):
        with pytest.raises(CommandError):
            call_command("report", "pairs", "--output", str(tmp_path / "r.json"), *arguments)


def test_the_file_is_replaced_whole(pairs, tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    path.write_text("old")
    monkeypatch.setattr(
        "pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(CommandError, match="No space left"):
        call_command("report", "pairs", "--output", str(path), "--resamples", "0")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_mode_is_that_of_any_new_file(pairs, tmp_path):
    report("pairs", tmp_path / "r.md")
    (tmp_path / "other").write_text("")
    assert stat.S_IMODE((tmp_path / "r.md").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "other").stat().st_mode
    )


def test_save_keeps_the_report_once(pairs, tmp_path):
    for _ in range(2):
        content = report("pairs", tmp_path / "r.json", "--save")
    kept = Report.objects.get()
    assert kept.content == content
    assert kept.inputs_hash == content["inputs_hash"]


def test_nothing_to_report_on(tmp_path):
    dataset_make(pairs=0, name="void")
    with pytest.raises(CommandError, match="no items to report on"):
        report("void", tmp_path / "r.json")


def test_llmbar_from_its_files(shared_data, tmp_path):
    quiet = {"verbosity": 0}
    call_command(
        "import_dataset", "llmbar", str(shared_data / "llmbar/Dataset/LLMBar"), name="llmbar", **quiet
    )
    call_command(
        "import_judgments", "llmbar", str(shared_data / "llmbar/judgments.csv"), dataset="llmbar", **quiet
    )
    call_command("report", "llmbar", "--output", str(tmp_path / "r.json"), "--resamples", "10")
    content = json.loads((tmp_path / "r.json").read_text())
    judges = {(judge["model"], judge["strategy"]): judge["measures"] for judge in content["judges"]}
    printed = json.loads((Path(settings.BASE_DIR) / "fixtures/statistics/llmbar.json").read_text())["rows"]
    comparisons = [row for row in printed if not row["strategy"].startswith("Rating")]
    assert len(comparisons) == 20
    for row in comparisons:
        measures = judges[row["judge"], row["strategy"]]
        for figure, name in (("accuracy", "accuracy"), ("agreement", "positional_agreement_llmbar")):
            for group, expected in row[figure].items():
                value = cell(measures[name], group)["value"]
                assert float(f"{100 * value:.1f}") == expected, (row["judge"], row["strategy"], figure, group)


def cell(breakdown, group):
    """A cell of the published tables: a subset, the mean of the adversarial ones, or the mean of all."""
    if group in ("Adversarial", "Average"):
        return breakdown["macro"]["average" if group == "Average" else group]
    return breakdown["subset"][group if group == "Natural" else f"Adversarial/{group}"]


def test_alpaca_from_its_file(shared_data, tmp_path):
    file = shared_data / "alpaca_eval/alpaca_farm_human_crossannotations.json"
    call_command("import_dataset", "alpaca-human", str(file), name="alpaca", labels_per_item=4, verbosity=0)
    content = report("alpaca", tmp_path / "r.json")
    measures = content["people"]["measures"]
    assert round(100 * measures["leave_one_out"]["overall"]["value"], 5) == 65.66358
    longest = next(judge for judge in content["judges"] if judge["strategy"] == "longest")
    assert round(100 * longest["measures"]["agreement"]["overall"]["value"], 6) == 59.567901
    published = report("alpaca", tmp_path / "p.json", "--convention", "alpaca_eval")
    longest = next(judge for judge in published["judges"] if judge["strategy"] == "longest")
    assert round(100 * longest["measures"]["agreement"]["overall"]["value"], 5) == 62.19136


def test_a_published_convention(pairs, tmp_path):
    content = report("pairs", tmp_path / "a.json", "--preset", "mt_bench_s2")
    assert content["options"]["preset"] == "mt_bench_s2"
    assert content["judges"][0]["measures"]["mt_bench_s2_agreement"]["overall"]["value"] is not None
    assert "preset" not in report("pairs", tmp_path / "b.json")["options"]
    with pytest.raises(CommandError, match="rewardbench2 has no figures of the kind"):
        report("pairs", tmp_path / "c.json", "--preset", "rewardbench2")
    with pytest.raises(CommandError, match="invalid choice: 'x'"):
        report("pairs", tmp_path / "c.json", "--preset", "x")
    assert not (tmp_path / "c.json").exists()


def test_a_margin_in_points(pairs, tmp_path):
    options = report("pairs", tmp_path / "a.json", "--margin", "2", "--annotators", "these")["options"]
    assert (options["margin"], options["annotators"]) == (0.02, "these")
    with pytest.raises(CommandError, match="margin"):
        report("pairs", tmp_path / "b.json", "--margin", "100")
