"""Mappings of columns: guessed from names and contents, written as a document, and read by the importer."""

import json
from pathlib import Path

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.importers.fields import KEEP, PREFERENCE
from annotation.importers.guessing import table_look
from annotation.importers.mapping import TableMapping, mapping_of

LONG = "This is an answer that is long enough to be one, with the number {} in it."


def written(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def arena(folder: Path, n: int = 6) -> Path:
    winners = ("model_a", "tie", "model_b", "model_a", "tie", "model_a")
    rows = [
        f'{i // 2},"How {i // 2}?","{LONG.format(i // 2)}","{LONG.format(i // 2 + 1)}",x,y,{winners[i]},expert_{i % 2}'
        for i in range(n)
    ]
    header = "question_id,prompt,response_a,response_b,model_a,model_b,winner,annotator"
    return written(folder, "votes.csv", header, *rows)


class TestGuesses:
    def test_votes_between_two_models(self, tmp_path: Path) -> None:
        path = arena(tmp_path)
        guess = table_look(path).guess
        assert guess.columns == {
            "question_id": "instruction_id",
            "prompt": "instruction",
            "response_a": "response_1",
            "response_b": "response_2",
            "model_a": "system_1",
            "model_b": "system_2",
            "winner": "preference",
            "annotator": "annotator",
        }
        bundle = read_generic(path, mapping=guess)
        assert (len(bundle.items), len(bundle.labels)) == (3, 6)
        assert [one.value["choice"] for one in bundle.labels] == [1, 0, 2, 1, 0, 1]

    def test_names_that_say_nothing_are_read_by_their_contents(self, tmp_path: Path) -> None:
        rows = [
            f"Wie geht {i}?;{LONG.format(i)};{LONG.format(i + 9)};{('left', 'right')[i % 2]}"
            for i in range(4)
        ]
        guess = table_look(written(tmp_path, "x.csv", "Frage;Links;Rechts;Besser", *rows)).guess
        assert list(guess.columns.values()) == ["instruction", "response_1", "response_2", "preference"]
        assert guess.values["Besser"] == {"left": 1, "right": 2, "tie": 0}

    def test_short_answers_are_responses_where_their_names_say_so(self, tmp_path: Path) -> None:
        rows = [
            f"How long is river {n}?;{n} km;No idea.;{'left' if n % 2 else 'right'};{n}" for n in range(8)
        ]
        path = written(tmp_path, "x.csv", "Prompt;Answer one;Answer two;Which is better?;Tone (0-10)", *rows)
        guess = table_look(path).guess
        assert list(guess.columns.values()) == [
            "instruction",
            "response_1",
            "response_2",
            PREFERENCE,
            KEEP,
        ]
        scores = [f"How long is river {n}?;{n};{n + 1}" for n in range(8)]
        path = written(tmp_path, "y.csv", "Prompt;Answer one score;Answer two score", *scores)
        assert "response_2" not in table_look(path).guess.columns.values()

    def test_ratings_make_a_rubric_with_its_criteria(self, tmp_path: Path) -> None:
        rows = [
            f'd{i},"{LONG.format(i)}","{LONG.format(i)} short",{i % 5 + 1},{5 - i % 5},w1' for i in range(5)
        ]
        path = written(
            tmp_path, "r.csv", "doc_id,source_text,summary,coherence,is fluent,annotator_id", *rows
        )
        guess = table_look(path).guess
        assert guess.kind == "rubric"
        assert [one["key"] for one in guess.criteria] == ["coherence", "is-fluent"]
        bundle = read_generic(path, mapping=guess)
        assert bundle.labels[1].value == {"ratings": {"coherence": 2, "is-fluent": 4}}
        assert bundle.labels[1].annotator == "w1"

    def test_each_column_of_ratings_has_a_scale_of_its_own(self, tmp_path: Path) -> None:
        seen = {
            "helpfulness": ((0, 4, 3, 4), {"low": 0, "high": 4}),
            "overall score": ((9, 0, 10, 7), {"low": 0, "high": 10}),
            "fluency": ((6, 2, 7, 1), {"low": 1, "high": 7}),
            "quality": ((55, 80, 0, 95), {"low": 0, "high": 100}),
            "is_correct": ((1, 0, 1, 1), "pass_fail"),
            "safe": (("pass", "fail", "pass", "pass"), "pass_fail"),
            "Tone (1-9)": ((3, 4, 5, 2), {"low": 1, "high": 9}),
            "verbosity": ((1, 2, 5, 4), None),
            "words": ((120, 80, 90, 70), "-"),
            "from_web": ((0, 1, 1, 0), "-"),
        }
        header = ",".join(("prompt", "response", "annotator", *seen))
        rows = [
            f'"{LONG.format(i)}?","{LONG.format(i)} short",w1,'
            + ",".join(str(one[i]) for one, _ in seen.values())
            for i in range(4)
        ]
        path = written(tmp_path, "r.csv", header, *rows)
        guess = table_look(path).guess
        found = {one["question"]: one.get("scale") for one in guess.criteria}
        assert found == {name: scale for name, (_, scale) in seen.items() if scale != "-"}
        assert (guess.columns["words"], guess.columns["from_web"]) == (KEEP, KEEP)
        bundle = read_generic(path, mapping=guess)
        assert bundle.labels[1].value["ratings"] == {
            "helpfulness": 4, "overall-score": 0, "fluency": 2, "quality": 80, "is_correct": 0, "safe": 0,
            "Tone-1-9": 4, "verbosity": 2,
        }  # fmt: skip

    def test_words_that_come_again_make_categories(self, tmp_path: Path) -> None:
        rows = [f"{LONG.format(i)}\t{('good', 'bad')[i % 2]}" for i in range(6)]
        path = written(tmp_path, "c.tsv", "text\tlabel", *rows)
        guess = table_look(path).guess
        assert (guess.kind, guess.categories) == ("classification", {"list": ["bad", "good"]})
        assert read_generic(path, mapping=guess).items[0].gold == {"categories": {"bad": False, "good": True}}

    def test_a_verdict_that_could_not_be_read_stays_one_beside_words(self, tmp_path: Path) -> None:
        said = ("left", "right", "left", "tie", "right", "unparsed")
        rows = [f'Why {n}?,"{LONG.format(n)}","{LONG.format(n + 1)}",{word}' for n, word in enumerate(said)]
        path = written(tmp_path, "v.csv", "prompt,response_a,response_b,judge:gpt", *rows)
        bundle = read_generic(path, mapping=table_look(path).guess)
        assert [one.value and one.value["choice"] for one in bundle.verdicts] == [1, 2, 1, 0, 2, None]

    def test_samples_stand_beside_each_column_and_are_short(self, tmp_path: Path) -> None:
        path = written(tmp_path, "s.csv", "a,b", f'"{"x" * 500}",1', '"two\nlines",', "third,1", "fourth,2")
        looks = {one.name: one.samples for one in table_look(path).columns}
        assert looks == {"a": ("x" * 80, "two lines", "third"), "b": ("1", "2")}

    def test_what_was_saved_is_used_where_it_fits(self, tmp_path: Path) -> None:
        path = written(tmp_path, "s.csv", "q,x,y,new", "Why?,a,b,c")
        saved = TableMapping({"q": "instruction", "x": "response_2", "y": "response_1"})
        assert table_look(path, saved).guess.columns == {**saved.columns, "new": KEEP}
        other = TableMapping({"gone": "instruction"})
        assert "gone" not in table_look(path, other).guess.columns

    def test_an_empty_or_strange_file_is_refused(self, tmp_path: Path) -> None:
        for name, content in (("a.csv", b""), ("a.parquet", b"nothing"), ("a.txt", b"x"), ("a.json", b"{")):
            path = tmp_path / name
            path.write_bytes(content)
            with pytest.raises(ImportFileError):
                table_look(path)


class TestDocument:
    def test_it_comes_back(self, tmp_path: Path) -> None:
        guess = table_look(arena(tmp_path)).guess
        assert mapping_of(json.loads(json.dumps(guess.document()))) == guess

    @pytest.mark.parametrize(
        ("document", "field", "words"),
        [
            ([], None, "expected an object"),
            ({}, "columns", "expected an object"),
            ({"format": "other/2", "columns": {}}, "format", "touchstone.mapping/1"),
            ({"colums": {}}, "colums", "did you mean 'columns'"),
            ({"columns": {"a": 3}}, "columns.a", "expected a field"),
            ({"columns": {"a": {"field": "gold", "words": {}}}}, "columns.a", "unknown member"),
            ({"columns": {"a": {"field": "gold", "values": [1]}}}, "columns.a", "words"),
            ({"columns": {"": "gold"}}, "columns", "names of columns"),
            ({"columns": {}, "kind": 3}, "kind", "expected text"),
            ({"columns": {}, "criteria": float("nan")}, None, "finite"),
        ],
    )
    def test_what_is_wrong_is_named(self, document: object, field: str | None, words: str) -> None:
        with pytest.raises(ImportFileError, match=words) as caught:
            mapping_of(document, "m.yaml")
        assert (caught.value.file, caught.value.field) == ("m.yaml", field)

    def test_words_mean_what_it_says_whatever_their_case(self, tmp_path: Path) -> None:
        path = written(
            tmp_path, "x.csv", "instruction,response_1,response_2,who", "a,b,c, Ours ", "d,e,f,THEIRS"
        )
        said = {"columns": {"who": {"field": "gold", "values": {"ours": 1, "Theirs": 2}}}}
        assert [one.gold for one in read_generic(path, mapping=mapping_of(said)).items] == [
            {"choice": 1},
            {"choice": 2},
        ]

    def test_a_kind_goes_for_rows_that_name_none(self, tmp_path: Path) -> None:
        rows = [{"instruction": "a"}, {"instruction": "b", "kind": "pairwise", "responses": ["x", "y"]}]
        path = written(tmp_path, "x.jsonl", *map(json.dumps, rows))
        bundle = read_generic(path, mapping=TableMapping(kind="instructions"))
        assert (len(bundle.instructions), [one.kind for one in bundle.items]) == (2, ["pairwise"])

    def test_a_declaration_that_is_wrong_names_the_mapping(self, tmp_path: Path) -> None:
        path = written(tmp_path, "x.csv", "instruction,response_1", "a,b")
        with pytest.raises(ImportFileError) as caught:
            read_generic(path, mapping=TableMapping(kind="rubric", criteria=[{"key": "k"}]))
        assert caught.value.file == "mapping"
