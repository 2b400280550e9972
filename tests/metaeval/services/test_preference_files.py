"""Preferences without texts by the command of HREF: AlpacaEval 2's leaderboard, small cases, files that are wrong."""

import csv

import pytest
from django.core.management import CommandError, call_command

from metaeval.stats import length_controlled_win_rate

HEAD = "model,index,dataset,preference,len_baseline,len_model"


def made(tmp_path, content, **options):
    file = tmp_path / "preferences.csv"
    file.write_text(content, encoding="utf-8")
    output = tmp_path / "out"
    call_command("report", paper="href", preferences=file, output=output, verbosity=0, **options)
    return output


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row["System"]: row for row in csv.DictReader(file)}


def preferences(n=60):
    rows = [HEAD]
    for k in range(n):
        rows.append(f"longer,{k},{'ab'[k % 2]},{1.9 if k % 3 else 1.2},400,{500 + 7 * k}")
        rows.append(f"even,{k},{'ab'[k % 2]},{(1, 2, 0)[k % 3]},400,{380 + k}")
    return "\n".join(rows)


def test_win_rates_lengths_and_what_is_missing(tmp_path):
    folder = made(tmp_path, preferences())
    rates = table(folder, "length-controlled")
    assert float(rates["longer"]["Win rate"]) == pytest.approx(100 * (0.2 + 2 * 0.9) / 3)
    assert float(rates["even"]["Win rate"]) == pytest.approx(50)
    assert float(rates["even"]["Discrete"]) == pytest.approx(50)
    assert float(rates["even"]["Mean length"]) == 410  # 409.5
    by_category = table(folder, "t5-win-rates")["longer"]
    assert set(by_category) == {"System", "Total", "a", "b"}
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "Table 2: leave-one-out agreement" in readme.partition("## Not in this data")[2]
    bias = (folder / "f7-length-bias-by-system.csv").read_text(encoding="utf-8")
    assert "longer,Length bias,0.3333" in bias
    assert (folder / "f6-p-values.csv").exists()


def test_difficulty_and_regularizing_rows_are_those_of_the_library(tmp_path):
    difficulty, gamed = tmp_path / "difficulty.csv", tmp_path / "gamed.csv"
    hard = [(k % 5) / 5 for k in range(60)]
    difficulty.write_text(
        "index,instruction_difficulty\n" + "\n".join(f"{k},{value}" for k, value in enumerate(hard))
    )
    gamed.write_text("preference,std_delta_len,instruction_difficulty,model\n0.9,-2,0.1,x\n0.2,1.5,0.3,x\n")
    plain = table(made(tmp_path, preferences(), difficulty=difficulty), "length-controlled")
    expected = length_controlled_win_rate(
        [1.9 if k % 3 else 1.2 for k in range(60)], [400] * 60, [500 + 7 * k for k in range(60)], hard,
        n_resamples=0,
    )  # fmt: skip
    assert float(plain["longer"]["Length-controlled"]) == pytest.approx(100 * expected.value)
    held = table(
        made(tmp_path, preferences(), difficulty=difficulty, regularizing=gamed), "length-controlled"
    )
    assert held["longer"]["Length-controlled"] != plain["longer"]["Length-controlled"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD, "expected at least one row"),
        ("model,index,preference\na,1,1.5", "len_baseline"),
        (f"{HEAD}\na,1,x,2.5,10,10", "row 2, field preference: expected 0 .tie. or from 1 to 2, found 2.5"),
        (f"{HEAD}\na,1,x,nan,10,10", "row 2, field preference: expected a number"),
        (f"{HEAD}\na,1,x,1,10,ten", "row 2, field len_model: expected a number"),
        (f"{HEAD}\na,1,x,1,10,10\na,1,x,2,10,10", "row 3, field index: expected one row"),
    ],
)
def test_files_that_are_wrong_are_refused_by_row_and_field(tmp_path, content, words):
    with pytest.raises(CommandError, match=words):
        made(tmp_path, content)
    assert not (tmp_path / "out").exists()


def test_the_difficulty_of_every_instruction_is_needed(tmp_path):
    difficulty = tmp_path / "difficulty.csv"
    difficulty.write_text("index,instruction_difficulty\n0,0.5\n")
    with pytest.raises(CommandError, match="expected every index of the preferences, found none for '1'"):
        made(tmp_path, preferences(3), difficulty=difficulty)


@pytest.mark.parametrize(
    "options", [{"paper": "llmbar"}, {"paper": "href", "name": "data"}, {"paper": "href", "output": None}]
)
def test_preferences_are_for_one_paper(tmp_path, options):
    given = {"preferences": tmp_path / "p.csv", "output": tmp_path / "out"} | options
    name = [given.pop("name")] if "name" in given else []
    with pytest.raises(CommandError, match="Preferences without texts are for one paper"):
        call_command("report", *name, **given)


def test_options_of_preferences_need_them(tmp_path):
    with pytest.raises(CommandError, match="--difficulty is for --preferences"):
        call_command("report", "data", output=tmp_path / "r.html", difficulty=tmp_path / "d.csv")


@pytest.mark.slow
def test_alpaca_evals_leaderboard(shared_data, tmp_path):
    """30 models: win rate, standard error and discrete win rate as published; length-controlled within 0.2 points."""
    data = shared_data / "alpaca_eval"
    output = tmp_path / "out"
    call_command(
        "report", paper="href", preferences=data / "model_preferences.csv", output=output, verbosity=0,
        difficulty=data / "instruction_difficulty.csv", regularizing=data / "df_gamed.csv",
    )  # fmt: skip
    with (data / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        published = {row[""]: row for row in csv.DictReader(file)}
    found = table(output, "length-controlled")
    assert len(found) == 30
    close = 0
    for name, row in found.items():
        expected = published[name]
        assert float(row["Win rate"]) == pytest.approx(float(expected["win_rate"]), abs=1e-8)
        assert float(row["Standard error"]) == pytest.approx(float(expected["standard_error"]), abs=1e-8)
        assert float(row["Discrete"]) == pytest.approx(float(expected["discrete_win_rate"]), abs=1e-8)
        off = abs(float(row["Length-controlled"]) - float(expected["length_controlled_winrate"]))
        assert off < 0.2
        close += off < 0.0065
    assert close >= 17
    # 84% of the 435 pairs of models differ on all instructions.
    readme = (output / "README.md").read_text(encoding="utf-8")
    assert "435 pairs" in readme
    assert "The 90th percentile does not fall below 0.05" in readme
