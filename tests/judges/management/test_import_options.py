"""Options of `import_dataset generic`: a mapping file, rows that are left out, the next version of a dataset."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset, DatasetVersion, Item, Label

pytestmark = pytest.mark.django_db
MAPPING = """
format: touchstone.mapping/1
columns:
  Question: instruction
  First: response_1
  Second: response_2
  Best: {field: gold, values: {left: 1, right: 2}}
  Note: "-"
"""
TABLE = "Question,First,Second,Best,Note\nWhy?,a,b,left,x\nHow?,c,d,Right,y\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MAPPING)
    (tmp_path / "x.csv").write_text(TABLE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *options: str, path: str = "x.csv") -> str:
    call_command("import_dataset", "generic", path, "--name", "d", *options)
    return capsys.readouterr().out


class TestMapping:
    def test_a_file_is_read_by_it_and_the_next_one_too(self, here, capsys):
        assert "2 items" in run(capsys, "--mapping", "m.yaml")
        assert [one.gold["choice"] for one in Item.objects.order_by("position")] == [1, 2]
        (here / "y.csv").write_text(TABLE + "Who?,e,f,left,z\n")
        assert "Added 1 item" in run(capsys, path="y.csv")

    def test_json_and_single_columns_before_it(self, here, capsys):
        said = {
            "columns": {"Question": "instruction", "First": "response_1", "Second": "response_2", "Best": "-"}
        }
        (here / "m.json").write_text(json.dumps(said))
        run(capsys, "--mapping", "m.json", "--map", "Note=category")
        item = Item.objects.order_by("position").first()
        assert (item.gold, item.instruction.category) == (None, "x")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("columns: {Question: golden}", "'golden' is no field"),
            ("columns: {Nothing: gold}", "there is no such column"),
            ("columns: [", "not YAML"),
            ("a: &a [*a]", "alias"),
            ("colums: {}", "did you mean 'columns'"),
            ("", "the file is empty"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_is_stored(self, here, capsys, content, words):
        (here / "bad.yaml").write_text(content)
        with pytest.raises(CommandError, match=words):
            run(capsys, "--mapping", "bad.yaml")
        with pytest.raises(CommandError, match="expected a file; there is none of this name"):
            run(capsys, "--mapping", "none.yaml")
        assert not Dataset.objects.exists()

    def test_it_is_an_option_of_the_generic_format(self, here):
        with pytest.raises(CommandError, match="--mapping is an option of generic"):
            call_command("import_dataset", "dices", "x.csv", "--name", "d", "--mapping", "m.yaml")
        with pytest.raises(CommandError, match="--skip-bad-rows is an option of generic"):
            call_command("import_dataset", "dices", "x.csv", "--name", "d", "--skip-bad-rows")


class TestSkipBadRows:
    @pytest.fixture
    def bad(self, here):
        (here / "x.csv").write_text(TABLE + "Who?,e\nWhen?,g,h,middle,\n")

    def test_off_by_default(self, bad, capsys):
        with pytest.raises(CommandError, match="2 errors"):
            run(capsys, "--mapping", "m.yaml")
        assert not Dataset.objects.exists()

    @pytest.mark.parametrize("name", ["", "left.jsonl"])
    def test_rows_that_are_left_out_are_in_a_file(self, bad, here, capsys, name):
        assert "2 rows left out" in run(
            capsys, "--mapping", "m.yaml", "--skip-bad-rows", *([name] if name else [])
        )
        lines = (here / (name or "d.left-out.jsonl")).read_text().splitlines()
        first, second = map(json.loads, lines)
        assert (first["row"], first["field"], first["data"]) == (4, None, ["Who?", "e"])
        assert "expected 5 fields as in the header" in first["reason"]
        assert (second["row"], second["field"], second["data"]["Question"]) == (5, "Best", "When?")
        assert DatasetVersion.objects.get().rows_left_out == 2
        assert Item.objects.count() == 2

    def test_the_same_file_again_makes_the_file_that_is_asked_for(self, bad, here, capsys):
        run(capsys, "--mapping", "m.yaml", "--skip-bad-rows")
        assert "unchanged" in run(capsys, "--mapping", "m.yaml", "--skip-bad-rows", "why.jsonl")
        assert (here / "why.jsonl").read_text() == (here / "d.left-out.jsonl").read_text()

    def test_without_bad_rows_there_is_no_file(self, here, capsys):
        run(capsys, "--mapping", "m.yaml", "--skip-bad-rows")
        assert not (here / "d.left-out.jsonl").exists()

    def test_a_file_of_bad_rows_alone_is_refused(self, here, capsys):
        (here / "x.csv").write_text("Question,First,Second,Best,Note\na,b\n")
        with pytest.raises(CommandError, match="expected at least one item"):
            run(capsys, "--mapping", "m.yaml", "--skip-bad-rows")
        assert (here / "d.left-out.jsonl").exists()
        assert not Dataset.objects.exists()


class TestAgain:
    def test_the_same_file_is_known_without_being_read(self, here, capsys, monkeypatch):
        run(capsys, "--mapping", "m.yaml")
        monkeypatch.setattr("judges.management.commands.import_dataset.read_generic_parts_with_images", None)
        assert "unchanged: 2 items, 0 labels" in run(capsys, "--mapping", "m.yaml")

    def test_it_is_read_where_something_else_is_asked(self, here, capsys):
        run(capsys, "--mapping", "m.yaml")
        with pytest.raises(CommandError, match="exists with title"):
            run(capsys, "--mapping", "m.yaml", "--title", "Another")


class TestNewVersion:
    def rows(self, here, *changes, labels=()):
        rows = [
            {"id": f"q{n}", "instruction": f"Ask {n}", "responses": ["a", "b"], "labels": list(labels)}
            | change
            for n, change in enumerate(changes)
            if change is not None
        ]
        (here / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def test_what_differs_is_replaced_and_what_lacks_is_removed(self, here, capsys):
        label = {"annotator": "ann", "value": 1}
        self.rows(here, {}, {}, {}, labels=[label])
        run(capsys, path="x.jsonl")
        self.rows(here, {}, {"responses": ["a", "changed"]}, None, {})
        with pytest.raises(CommandError, match="field response_2"):
            run(capsys, path="x.jsonl")
        words = run(capsys, "--new-version", path="x.jsonl")
        assert "Added 1 item and 0 labels; changed 1 item, removed 1 item; now version 2." in words
        now = Item.objects.current().order_by("position").values_list("external_id", "since_version")
        assert list(now) == [("q0", 1), ("q1", 2), ("q3", 2)]
        assert list(Item.objects.of_version(1).order_by("position").values_list("external_id", flat=True)) == [
            "q0", "q1", "q2",
        ]  # fmt: skip
        # Labels stay where they were given.
        assert sorted(Label.objects.values_list("item__external_id", "item__until_version")) == [
            ("q0", None), ("q1", 2), ("q2", 2),
        ]  # fmt: skip
        assert "unchanged" in run(capsys, "--new-version", path="x.jsonl")
        assert Dataset.objects.get().version == 2

    def test_an_instruction_with_a_name_may_change_too(self, here, capsys):
        named = {"instruction_id": "i0"}
        self.rows(here, named, {})
        run(capsys, path="x.jsonl")
        self.rows(here, named | {"instruction": "Ask otherwise", "category": "New"}, {})
        run(capsys, "--new-version", path="x.jsonl")
        texts = Item.objects.filter(external_id="q0").order_by("since_version")
        assert [one.instruction.text for one in texts] == ["Ask 0", "Ask otherwise"]
        assert {one.instruction.external_id for one in texts} == {"i0"}
        # And back again: a third version, with what the first one had.
        self.rows(here, named, {})
        run(capsys, "--new-version", path="x.jsonl")
        assert Item.objects.current().get(external_id="q0").instruction.text == "Ask 0"
        assert Item.objects.filter(external_id="q0").count() == 3
