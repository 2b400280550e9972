"""Tables with other names of columns, other separators, no ids; and files with many errors."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_alpaca_human, read_generic
from annotation.importers.columns import read_mapping
from annotation.importers.errors import MAX_ERRORS, RefusedFileError, UnknownColumnsError
from annotation.importers.fields import KEEP, LEAVE_OUT
from annotation.importers.mapping import TableMapping

TEXTS = ("instruction", "response_1", "response_2")


def jsonl(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def pair(**more: Any) -> dict[str, Any]:
    return {"instruction": "Say hello.", "response_1": "hello", "response_2": "bye"} | more


def shown(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """Items as (instruction, responses, gold)."""
    bundle = read_generic(path, **options)
    texts = {(one.instruction, one.key): one.text for one in bundle.responses}
    asked = {one.key: one.text for one in bundle.instructions}
    return [
        (asked[one.instruction], *(texts[one.instruction, key] for key in one.responses), one.gold)
        for one in bundle.items
    ]


class TestManyErrors:
    def test_all_rows_are_read_and_each_is_named(self, tmp_path: Path) -> None:
        file = jsonl(
            tmp_path / "x.jsonl",
            pair(gold=7),
            pair(),
            pair(instruction=""),
            pair(labels=[{"annotator": "ann"}]),
        )
        with file.open("a") as out:
            out.write("{\n")
        with pytest.raises(RefusedFileError) as caught:
            read_generic(file)
        found = [(one.row, one.field) for one in caught.value.errors]
        assert found == [(1, "gold"), (3, "instruction"), (4, "labels[0].value"), (5, None)]
        assert str(caught.value).startswith("4 errors:\n")
        assert "expected 0, 1 or 2" in str(caught.value).splitlines()[1]

    def test_the_first_twenty(self, tmp_path: Path) -> None:
        file = jsonl(tmp_path / "x.jsonl", *(pair(gold=7) for _ in range(30)))
        with pytest.raises(RefusedFileError) as caught:
            read_generic(file)
        assert [one.row for one in caught.value.errors] == list(range(1, MAX_ERRORS + 1))
        assert str(caught.value).startswith("The first 20 errors:")

    def test_csv(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("instruction,response_1,response_2,gold\na,b,c,9\na,b\nx,y,z,1\nd,e,f,8\n")
        with pytest.raises(RefusedFileError) as caught:
            read_generic(file)
        assert [one.row for one in caught.value.errors] == [2, 3, 5]

    def test_wrong_criteria_are_named_alone(self, tmp_path: Path) -> None:
        rubric = {"kind": "rubric", "instruction": "i", "responses": ["r"]}
        file = jsonl(tmp_path / "x.jsonl", rubric | {"criteria": [{"key": "c"}]}, rubric, rubric)
        with pytest.raises(ImportFileError) as caught:
            read_generic(file)
        assert (caught.value.row, caught.value.field) == (1, "criteria[0].options")


class TestIds:
    def test_the_same_content_has_the_same_id(self, tmp_path: Path) -> None:
        rows = [pair(), pair(instruction="Say bye."), pair(gold=1, category="Chat")]
        first = [one.external_id for one in read_generic(jsonl(tmp_path / "a.jsonl", *rows)).items]
        with (tmp_path / "b.csv").open("w", newline="") as out:
            table = csv.DictWriter(out, [*TEXTS, "gold", "category"])
            table.writeheader()
            table.writerows(rows)
        assert [one.external_id for one in read_generic(tmp_path / "b.csv").items] == first
        assert len(set(first)) == 3

    def test_the_same_texts_twice_are_two_items(self, tmp_path: Path) -> None:
        first, second = read_generic(jsonl(tmp_path / "a.jsonl", pair(gold=1), pair(gold=2))).items
        assert second.external_id == f"{first.external_id}-2"

    def test_instructions_alone(self, tmp_path: Path) -> None:
        row = {"kind": "instructions", "instruction": "Name a river."}
        assert len(read_generic(jsonl(tmp_path / "a.jsonl", row, row)).instructions) == 1


class TestSeparators:
    @pytest.mark.parametrize("mark", [";", "\t", "|", ","])
    @pytest.mark.parametrize("blank", ["", "\n"])
    def test_the_header_says_what_separates(self, tmp_path: Path, mark: str, blank: str) -> None:
        file = tmp_path / ("x.tsv" if mark == "\t" else "x.csv")
        head, row = mark.join(TEXTS), mark.join(('"a; b, c\td | e"', "f", "g"))
        file.write_text(f"{blank}{head}\n{row}\n")
        assert shown(file) == [("a; b, c\td | e", "f", "g", None)]

    def test_unknown_names_too(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("Frage;Antwort A, kurz;Antwort B\nWarum?;darum;so\n")
        names = {"Frage": "instruction", "Antwort A, kurz": "response_1", "Antwort B": "response_2"}
        assert shown(file, mapping=names) == [("Warum?", "darum", "so", None)]


class TestPreferences:
    """Tables of trainers: the chosen response is the right one."""

    def test_texts(self, tmp_path: Path) -> None:
        row = {"prompt": "Why?", "chosen": "Because.", "rejected": "No."}
        assert shown(jsonl(tmp_path / "x.jsonl", row)) == [("Why?", "Because.", "No.", {"choice": 1})]
        file = tmp_path / "x.csv"
        file.write_text("prompt,chosen,rejected\nWhy?,Because.,No.\n")
        assert shown(file) == [("Why?", "Because.", "No.", {"choice": 1})]

    def test_conversations(self, tmp_path: Path) -> None:
        asked = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Why?"},
        ]
        good, bad = ({"role": "assistant", "content": text} for text in ("Because.", "No."))
        rows = [
            {"chosen": [*asked, good], "rejected": [*asked, bad]},
            {"prompt": asked, "chosen": [good], "rejected": [bad]},
        ]
        for number, row in enumerate(rows):
            bundle = read_generic(jsonl(tmp_path / f"{number}.jsonl", row))
            only = bundle.instructions[0]
            assert (only.text, only.context) == ("Why?", "Be brief.")
            assert [turn["text"] for turn in only.conversation] == ["Hi", "Hello"]
            assert [one.text for one in bundle.responses] == ["Because.", "No."]
            assert bundle.items[0].gold == {"choice": 1}
        row = {"prompt": "Why?", "chosen": [asked[3], good], "rejected": [asked[3], bad]}
        assert shown(jsonl(tmp_path / "text.jsonl", row))[0] == ("Why?", "Because.", "No.", {"choice": 1})

    @pytest.mark.service
    def test_parquet_with_scores_that_are_kept(self, tmp_path: Path) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        turns = [{"role": "user", "content": "Why?"}]
        columns: dict[str, Any] = {
            "prompt": ["Why?"],
            "chosen": [[*turns, {"role": "assistant", "content": "Because."}]],
            "rejected": [[*turns, {"role": "assistant", "content": "No."}]],
            "score_chosen": [8.5],
        }
        file = tmp_path / "x.parquet"
        parquet.write_table(pyarrow.table(columns), file)
        with pytest.raises(UnknownColumnsError) as caught:
            read_generic(file)
        assert caught.value.guesses == {
            "prompt": "instruction",
            "chosen": "chosen",
            "rejected": "rejected",
            "score_chosen": KEEP,
        }
        bundle = read_generic(file, mapping=caught.value.guesses)
        assert bundle.items[0].metadata == {"score_chosen": 8.5}
        assert bundle.items[0].gold == {"choice": 1}


class TestAlpaca:
    ROW = {"instruction": "Why?", "output_1": "a", "output_2": "b", "dataset": "koala"}

    def test_people_are_annotators_and_a_pair_is_one_item(self, tmp_path: Path) -> None:
        rows = [self.ROW | {"preference": p, "annotator_index": i} for i, p in enumerate((1, 2, 0, 1.5))]
        bundle = read_generic(jsonl(tmp_path / "x.jsonl", *rows))
        assert len(bundle.items) == 1
        assert bundle.instructions[0].subset == "koala"
        assert [(one.annotator, one.value["choice"]) for one in bundle.labels] == [
            ("0", 1),
            ("1", 2),
            ("2", 0),
            ("3", 0),
        ]

    def test_a_judge_is_no_person(self, tmp_path: Path) -> None:
        more = {"annotator": "gpt4", "generator_1": "m1", "generator_2": "m2", "preference": 1.0001}
        bundle = read_generic(jsonl(tmp_path / "x.jsonl", self.ROW | more))
        assert (bundle.labels, bundle.items[0].gold) == ((), None)
        (verdict,) = bundle.verdicts
        assert (verdict.judge, verdict.value) == ("gpt4", {"choice": 1, "grade": 2.9994})
        assert verdict.details == {"probability": 0.9999}

    def test_a_judge_may_be_more_or_less_sure(self, tmp_path: Path) -> None:
        """A preference of 1.75 is a probability of 3/4 of the second; a plain 1, 1.5 or 2 says no probability."""
        rows = [
            self.ROW | {"preference": p, "annotator": f"j{p}", "generator_1": "a", "generator_2": "b"}
            for p in (1.75, 1.25, 1.5, 1, 2.0)
        ]
        bundle = read_generic(jsonl(tmp_path / "x.jsonl", *rows))
        assert [(one.value, dict(one.details)) for one in bundle.verdicts] == [
            ({"choice": 2, "grade": -1.5}, {"probability": 0.25}),
            ({"choice": 1, "grade": 1.5}, {"probability": 0.75}),
            ({"choice": 0}, {}),
            ({"choice": 1}, {}),
            ({"choice": 2}, {}),
        ]

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"probability": 1.5}, "probability: expected a number from 0 to 1, found 1.5"),
            ({"probability": True}, "probability: expected a number from 0 to 1, found True"),
            ({"probability": 0.5, "value": None}, "probability: expected a verdict beside it, found none"),
        ],
    )
    def test_a_probability_that_is_none(self, tmp_path: Path, changes: dict[str, Any], words: str) -> None:
        row = {"instruction": "Why?", "response_1": "a", "response_2": "b"}
        verdict = {"judge": "j", "value": 1} | changes
        with pytest.raises(ImportFileError, match=rf"verdicts\[0\].{words}"):
            read_generic(jsonl(tmp_path / "x.jsonl", row | {"verdicts": [verdict]}))

    def test_a_probability_is_of_pairs(self, tmp_path: Path) -> None:
        row = {
            "kind": "answer_ranking",
            "instruction": "Why?",
            "responses": ["a", "b"],
            "verdicts": [{"judge": "j", "value": {"ranks": {"0": 1, "1": 2}}, "probability": 0.5}],
        }
        with pytest.raises(ImportFileError, match="expected it of pairs alone"):
            read_generic(jsonl(tmp_path / "x.jsonl", row))

    def test_nobody_is_gold(self, tmp_path: Path) -> None:
        bundle = read_generic(jsonl(tmp_path / "x.jsonl", self.ROW | {"preference": 2.0}))
        assert bundle.items[0].gold == {"choice": 2}
        bundle = read_generic(jsonl(tmp_path / "x.jsonl", self.ROW | {"preference": 1.75}))
        assert bundle.items[0].gold == {"choice": 2, "grade": -1.5}
        with pytest.raises(ImportFileError, match="field preference"):
            read_generic(jsonl(tmp_path / "x.jsonl", self.ROW | {"preference": 2.3}))

    def test_the_published_file(self, shared_data: Path) -> None:
        file = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
        own, generic = read_alpaca_human(file), read_generic(file)
        said = [one.value for one in own.labels]
        assert (len(generic.items), [one.value for one in generic.labels]) == (len(own.items), said)

    def test_llmbar(self, shared_data: Path) -> None:
        file = shared_data / "llmbar" / "Dataset" / "LLMBar" / "Natural" / "dataset.json"
        items = shown(file)
        assert len(items) == 100
        assert {one[3]["choice"] for one in items} == {1, 2}


class TestMapping:
    def test_what_is_unknown_is_asked_with_samples_and_guesses(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("Question,response_1,respons_2,weight\nWhy?,a,b,3\n")
        with pytest.raises(UnknownColumnsError) as caught:
            read_generic(file)
        asked = caught.value
        assert asked.columns == ("Question", "response_1", "respons_2", "weight")
        assert asked.samples == {"Question": "Why?", "response_1": "a", "respons_2": "b", "weight": "3"}
        assert asked.guesses["respons_2"] == "response_2"
        assert [one.field for one in asked.errors] == ["Question", "respons_2", "weight", "instruction"]

    def test_what_is_said_is_done(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("Q,one,two,better,who,weight,noise\nWhy?,a,b,1,ann,3,x\nWhy?,a,b,2,ben,4,y\n")
        names = read_mapping(
            [
                "Q=instruction",
                "one=response_1",
                "two=response_2",
                "better=label",
                "who=annotator",
                "weight=metadata",
                f"noise={LEAVE_OUT}",
            ]
        )
        bundle = read_generic(file, mapping=names)
        assert [(one.annotator, one.value["choice"]) for one in bundle.labels] == [("ann", 1), ("ben", 2)]
        assert bundle.items[0].metadata == {"weight": "3"}

    def test_a_column_for_each_person_and_judge(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("instruction,response_1,response_2,annotator1,annotator2,gpt\nWhy?,a,b,1,2,2\n")
        with pytest.raises(UnknownColumnsError) as caught:
            read_generic(file)
        asked = caught.value.guesses
        assert [asked[name] for name in ("annotator1", "annotator2", "gpt")] == [*("annotator:",) * 2, KEEP]
        assert "did you mean 'annotator:annotator1'?" in str(caught.value)
        bundle = read_generic(
            file, mapping={"annotator1": "annotator:", "annotator2": "annotator:", "gpt": "judge:"}
        )
        assert [(one.annotator, one.value["choice"]) for one in bundle.labels] == [
            ("annotator1", 1),
            ("annotator2", 2),
        ]
        assert [one.judge for one in bundle.verdicts] == ["gpt"]

    def test_a_tables_field_beside_nested_ones_is_to_be_mapped(self, tmp_path: Path) -> None:
        """It was asked whether ``preference`` meant ``preference``."""
        file = tmp_path / "x.jsonl"
        file.write_text('{"id": "1", "instruction": "Why?", "responses": ["a", "b"], "preference": 1}\n')
        with pytest.raises(UnknownColumnsError, match="map it to the field 'preference'") as caught:
            read_generic(file)
        assert "did you mean" not in str(caught.value)

    def test_a_refusal_names_the_column_of_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        file.write_text("prompt,chosen,rejected,gut\nWhy?,a,b,9\n")
        with pytest.raises(ImportFileError) as caught:
            read_generic(file, mapping={"gut": "gold"})
        assert caught.value.field == "gut"

    @pytest.mark.parametrize(
        ("mapping", "words"),
        [
            ({"none": "gold"}, "there is no such column"),
            ({"x": "golden"}, "'golden' is no field; did you mean 'gold'"),
            ({"x": "response_1"}, "expected one column for response_1"),
        ],
    )
    def test_refused(self, tmp_path: Path, mapping: dict[str, str], words: str) -> None:
        file = tmp_path / "x.csv"
        file.write_text("instruction,response_1,response_2,x\na,b,c,1\n")
        with pytest.raises(ImportFileError, match=words):
            read_generic(file, mapping=mapping)

    @pytest.mark.parametrize("words", ["gold", "=gold", "gold="])
    def test_words_that_say_nothing(self, words: str) -> None:
        with pytest.raises(ValueError, match="expected COLUMN=FIELD"):
            read_mapping([words])


class TestResponseSets:
    def labels(self, path: Path, columns: dict[str, str], **options: Any) -> list[tuple[str, Any]]:
        bundle = read_generic(path, mapping=columns, **options)
        return [(label.annotator, label.value) for label in bundle.labels]

    COLUMNS = {"who": "annotator", "picked": "label", "fine": "reasonable"}

    def test_of_pairs_in_a_table(self, tmp_path: Path) -> None:
        file = tmp_path / "x.csv"
        with file.open("w", newline="") as out:
            written = csv.writer(out)
            written.writerow([*TEXTS, "who", "picked", "fine"])
            for who, picked, fine in (
                ("ann", 1, "1|0"),
                ("ben", 2, "[2, 1]"),
                ("cat", 0, ""),
                ("dan", 2, "0"),
            ):
                written.writerow(["Say hello.", "hello", "bye", who, picked, fine])
        assert self.labels(file, self.COLUMNS) == [
            ("ann", {"choice": 1, "reasonable": ["1", "0"]}),
            ("ben", {"choice": 2, "reasonable": ["1", "2"]}),
            ("cat", {"choice": 0}),
            ("dan", {"choice": 2, "reasonable": ["0", "2"]}),
        ]

    def test_words_mean_what_the_mapping_says(self, tmp_path: Path) -> None:
        file = jsonl(tmp_path / "x.jsonl", pair(who="ann", picked="A", fine=["A", "same"]))
        words = {"a": 1, "b": 2, "same": 0}
        mapping = TableMapping(columns=self.COLUMNS, values={"picked": words, "fine": words})
        bundle = read_generic(file, mapping=mapping)
        assert [label.value for label in bundle.labels] == [{"choice": 1, "reasonable": ["1", "0"]}]

    def test_of_categories_and_ratings(self, tmp_path: Path) -> None:
        topic = {"kind": "classification", "instruction": "?", "categories": ["sport", "money"]}
        file = jsonl(tmp_path / "x.jsonl", topic | {"who": "ann", "picked": "sport", "fine": ["Money"]})
        assert self.labels(file, self.COLUMNS) == [
            ("ann", {"categories": {"sport": True, "money": False}, "reasonable": ["sport", "money"]})
        ]
        rated = {
            "kind": "rubric",
            "instruction": "?",
            "response_1": "x",
            "criteria": [{"key": "c", "question": "?", "scale": "pass_fail"}],
        }
        sent = rated | {"who": "ann", "picked": {"ratings": {"c": 1}}, "fine": {"c": ["Fail"]}}
        file = jsonl(tmp_path / "y.jsonl", sent)
        assert self.labels(file, self.COLUMNS) == [
            ("ann", {"ratings": {"c": 1}, "reasonable": {"c": [0, 1]}})
        ]

    @pytest.mark.parametrize(
        ("more", "field", "words"),
        [
            ({"who": "ann", "picked": 1, "fine": ["9"]}, "fine", "found '9'"),
            ({"who": "ann", "fine": ["1"]}, "fine", "expected a label of an annotator beside it"),
            ({"picked": 1, "fine": ["1"]}, None, "expected an annotator beside a label"),
        ],
    )
    def test_refusals_name_row_and_field(
        self, tmp_path: Path, more: Any, field: str | None, words: str
    ) -> None:
        file = jsonl(tmp_path / "x.jsonl", pair(who="zoe", picked=1, fine=["1"]), pair(**more))
        with pytest.raises(ImportFileError) as caught:
            read_generic(file, mapping=self.COLUMNS)
        assert words in str(caught.value)
        assert caught.value.row == 2
        if field is not None:
            assert caught.value.field == field
