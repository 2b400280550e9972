"""Ratings from elsewhere: read from files of other people, refused with file, row and field, stored once."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.importers.errors import ImportFileError
from metaeval.models import OutsideRatings
from metaeval.reports.errors import RatingsError
from metaeval.services.outside import ratings_import, ratings_read


def written(tmp_path, text, name="scores.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_columns_are_found(tmp_path):
    found = ratings_read(written(tmp_path, "rank,model,elo\nfirst,a,1201.5\nsecond,b,-3e2\nthird,c,\n"))
    assert (found.scores, found.column, found.n_without) == ({"a": 1201.5, "b": -300.0}, "elo", 1)


def test_an_index_without_a_name_is_the_column_of_systems(tmp_path):
    found = ratings_read(written(tmp_path, ",win_rate\na,71.5 %\nb,50\n"))
    assert found.scores == {"a": 71.5, "b": 50.0}


def test_json_lines(tmp_path):
    rows = [{"system": "a", "score": 1}, {"system": "b", "score": 2.5}]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)), "scores.jsonl")
    assert ratings_read(path).scores == {"a": 1.0, "b": 2.5}


def test_the_published_leaderboard(shared_data):
    path = shared_data / "alpaca_eval" / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv"
    with pytest.raises(ImportFileError, match="which of win_rate, standard_error"):
        ratings_read(path)
    found = ratings_read(path, score="length_controlled_winrate")
    assert found.scores["NullModel"] == pytest.approx(86.45780691307947)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("model,elo\na,1\na,2\n", {}, "row 3, field model: 'a' is named a second time"),
        ("model,elo\na,high\nb,2\n", {"score": "elo"}, "row 2, field elo: expected a number, found 'high'"),
        ("model,elo\na,1\n,2\n", {}, "row 3, field model: expected the name of a system"),
        ("model,elo,wins\na,1,2\n", {}, "which of elo, wins"),
        ("model,elo\na,1,2\n", {}, "row 2: expected 2 fields as in the header, found 3"),
        ("model,elo\n", {}, "expected at least one system"),
        ("", {}, "the file is empty"),
        ("model,elo\na,1\n", {"score": "points"}, "field points: there is no such column; found model, elo"),
        ("model,elo\na,1\n", {"score": "model"}, "are the same column"),
        ("model,elo\na,\n", {"score": "elo"}, "expected a score of at least one system"),
        ("model,note\na,good\n", {}, "no column of numbers"),
        ("model,elo\na,1e999\n", {"score": "elo"}, "expected a number"),
    ],
)
def test_what_is_refused(tmp_path, text, options, said):
    with pytest.raises(ImportFileError) as refused:
        ratings_read(written(tmp_path, text), **options)
    assert said in str(refused.value)
    assert "scores.csv" in str(refused.value)


@pytest.mark.django_db
def test_the_same_again_changes_nothing_and_other_ratings_need_a_word(tmp_path):
    first = ratings_read(written(tmp_path, "model,elo\na,1\nb,2\n"))
    ratings, changed = ratings_import(file=first, name="arena", source="somewhere")
    assert changed
    assert (ratings.title, ratings.scores) == ("arena", {"a": 1.0, "b": 2.0})
    assert ratings_import(file=first, name="arena") == (ratings, False)
    second = ratings_read(written(tmp_path, "model,elo\na,5\n"))
    with pytest.raises(RatingsError, match="other ratings named 'arena'"):
        ratings_import(file=second, name="arena")
    assert OutsideRatings.objects.get().scores == {"a": 1.0, "b": 2.0}
    _, changed = ratings_import(file=second, name="arena", replace=True)
    assert changed
    kept = OutsideRatings.objects.get()
    assert (kept.scores, kept.source) == ({"a": 5.0}, "somewhere")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "two words", "a" * 81, "a/b"])
def test_a_name_is_for_an_address(tmp_path, name):
    file = ratings_read(written(tmp_path, "model,elo\na,1\n"))
    with pytest.raises(RatingsError, match="cannot be a name"):
        ratings_import(file=file, name=name)


@pytest.mark.django_db
def test_the_command(tmp_path):
    path = written(tmp_path, "model,elo,games\na,1,10\nb,,3\n")
    with pytest.raises(CommandError, match="choose the column"):
        call_command("import_ratings", str(path), name="arena")
    assert not OutsideRatings.objects.exists()
    said = StringIO()
    call_command("import_ratings", str(path), name="arena", score="elo", title="The arena", stdout=said)
    assert "Stored arena: 1 system by elo, 1 without a score left out." in said.getvalue()
    assert OutsideRatings.objects.get().title == "The arena"
