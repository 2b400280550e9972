"""`manage.py report` on kinds other than pairs: which kind, whose labels, which options, what it refuses."""

import csv
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Kind, Label
from metaeval.models import Report
from metaeval.reports.render import BINARY, FORMATS
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import joined, kind_labels, kind_swept, value_of
from tests.metaeval.reports.latex_checker import check
from tests.metaeval.reports.shown import render, verdict_of

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING)


def report(name, path, *arguments):
    call_command("report", name, "--output", str(path), "--resamples", "100", *arguments, verbosity=0)
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else text


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_format(kind, tmp_path):
    dataset, _ = kind_swept(kind)
    content = report(dataset.name, tmp_path / "r.json", "--save")
    assert (content["schema"], content["kind"]) == ("touchstone.report/2", kind)
    assert (content["people"]["n_labels"], len(content["judges"])) == (24, 2)
    kept = Report.objects.get()
    assert kept.options["kind"] == kind
    for suffix in (one for one in FORMATS if one not in BINARY):
        text = report(dataset.name, tmp_path / f"a{suffix}", "--save")
        report(dataset.name, tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
        assert render(kept.content, suffix) == (tmp_path / f"a{suffix}").read_bytes().decode()
        if suffix == ".tex":
            assert check(text)
    assert Report.objects.count() == 1
    rows = list(csv.DictReader(StringIO((tmp_path / "a.csv").read_text())))
    assert {"people", "annotator 1", "annotator 2"} < {row["who"] for row in rows}


def test_a_study_counts_its_own_labels(tmp_path):
    dataset = kind_dataset_make(Kind.RUBRIC, items=6)
    kind_labels(dataset, Kind.RUBRIC, (0, 1))
    study = study_make(dataset=dataset, slug="mine", kind=Kind.RUBRIC)
    items = list(dataset.items.order_by("position"))
    person = annotator_make()
    for k, item in enumerate(items[:4]):
        fields = {"item": item, "study": study, "kind": Kind.RUBRIC, "value": value_of(Kind.RUBRIC, k)}
        Label.objects.create(annotator=person, **fields)
        Label.objects.create(annotator=annotator_make(), is_set_aside=True, **fields)
    assert report(dataset.name, tmp_path / "r.json")["people"]["n_labels"] == 16
    for arguments in (("mine",), (dataset.name, "--study", "mine")):
        content = report(arguments[0], tmp_path / "r.json", *arguments[1:])
        assert (content["name"], content["study"]["slug"]) == ("mine", "mine")
        assert (content["people"]["n_labels"], content["people"]["n_annotators"]) == (4, 1)


def test_a_person_of_two_studies_has_one_opinion(tmp_path):
    dataset = kind_dataset_make(Kind.IMPORTANCE, items=3)
    (person,) = kind_labels(dataset, Kind.IMPORTANCE, (0,))
    item = dataset.items.first()
    study = study_make(dataset=dataset, kind=Kind.IMPORTANCE)
    value = value_of(Kind.IMPORTANCE, 1)
    Label.objects.create(item=item, annotator=person, study=study, kind=Kind.IMPORTANCE, value=value)
    people = report(dataset.name, tmp_path / "r.json")["people"]
    assert (people["n_labels"], people["n_repeated_left_out"]) == (3, 1)


def test_which_kind_of_a_dataset(tmp_path):
    rubric = kind_dataset_make(Kind.RUBRIC, items=4)
    dataset = joined(rubric, kind_dataset_make(Kind.CHECKLIST, items=4))
    kind_labels(dataset, Kind.RUBRIC, (0,))
    assert report(dataset.name, tmp_path / "r.json")["kind"] == "rubric"
    kind_labels(dataset, Kind.CHECKLIST, (0, 1))
    assert report(dataset.name, tmp_path / "r.json")["kind"] == "checklist"
    assert report(dataset.name, tmp_path / "r.json", "--kind", "rubric")["kind"] == "rubric"
    with pytest.raises(CommandError, match=r"no items of the kind importance; it has checklist, rubric\."):
        report(dataset.name, tmp_path / "r.json", "--kind", "importance")
    joined(dataset, dataset_make(pairs=4))
    assert report(dataset.name, tmp_path / "r.json")["schema"] == "touchstone.report/2"
    study_make(dataset=dataset, slug="mine", kind=Kind.RUBRIC)
    assert report("mine", tmp_path / "r.json")["kind"] == "rubric"
    with pytest.raises(CommandError, match="'mine' is of the kind rubric, not checklist"):
        report("mine", tmp_path / "r.json", "--kind", "checklist")


def test_against_people_or_gold(tmp_path):
    dataset, _ = kind_swept(Kind.CHECKLIST, gold=True)
    for against in ("people", "gold"):
        content = report(dataset.name, tmp_path / "r.json", "--against", against)
        assert content["options"]["against"] == against
    bare = kind_dataset_make(Kind.CHECKLIST)
    with pytest.raises(CommandError, match=r"no gold answers .* it has neither labels nor gold answers"):
        report(bare.name, tmp_path / "r.json", "--against", "gold")
    kind_labels(bare, Kind.CHECKLIST, (0,))
    with pytest.raises(CommandError, match=r"no gold answers .* it has labels"):
        report(bare.name, tmp_path / "r.json", "--against", "gold")


def test_options_of_the_other_kinds_are_refused(tmp_path):
    dataset, _ = kind_swept(Kind.RUBRIC)
    pairs = dataset_make(pairs=3)
    for name, arguments, words in (
        (
            dataset.name,
            ("--convention", "alpaca_eval"),
            "alpaca_eval is of pairs; this report is of the kind rubric",
        ),
        (
            pairs.name,
            ("--against", "gold"),
            "a report on pairs compares judges with both human annotators and gold",
        ),
        (dataset.name, ("--seed", "-1"), "seed: expected 0 or more"),
        (dataset.name, ("--judges", "Near rubic"), "did you mean Near rubric"),
        (dataset.name, ("--kind", "kind"), "invalid choice"),
    ):
        with pytest.raises(CommandError, match=words):
            report(name, tmp_path / "r.json", *arguments)
    with pytest.raises(CommandError, match=r"\.zip, not as \.docx"):
        report(dataset.name, tmp_path / "r.docx")
    assert list(tmp_path.iterdir()) == []


def test_chosen_judges_seed_and_resamples(tmp_path):
    dataset, _ = kind_swept(Kind.RUBRIC)
    content = report(dataset.name, tmp_path / "r.json", "--judges", "Near rubric", "--seed", "3")
    assert [judge["name"] for judge in content["judges"]] == ["Near rubric"]
    assert (content["options"]["n_resamples"], content["options"]["seed"]) == (100, 3)


def test_nothing_but_items(tmp_path, capsys):
    dataset = kind_dataset_make(Kind.ANSWER_RANKING)
    call_command("report", dataset.name, "--output", str(tmp_path / "r.md"))
    assert "There is nothing to report yet." in capsys.readouterr().out
    assert "There are no labels." in (tmp_path / "r.md").read_text()


INFOBENCH = [
    {
        "id": f"case-{number}",
        "instruction": f"Write letter {number}.",
        "input": "",
        "category": "Writing",
        "subset": "Easy_set" if number % 2 else "Hard_set",
        "decomposed_questions": ["Is it a letter?", "Is it short?", "Is it polite?"],
        "question_label": [["Format"], ["Number"], ["Style"]],
        "output": f"Dear {number}.",
        "eval": [True, number % 3 > 0, True],
    }
    for number in range(12)
]


def check_infobench(path, tmp_path, *, overall, easy, hard):
    """The judge's verdicts are all there is: what they say is the news, not that nothing can be compared."""
    call_command("import_dataset", "infobench", str(path), "--name", "infobench", verbosity=0)
    content = report("infobench", tmp_path / "r.json", "--kind", "checklist")
    verdict = verdict_of(content)
    assert (verdict.kind, verdict.label) == ("scores", "Not compared")
    assert verdict.headline.startswith(f"DRFR, pooled: {overall}%")
    assert verdict.headline.endswith("according to InFoBench's evaluation")
    tex = report("infobench", tmp_path / "r.tex", "--kind", "checklist")
    assert "tab:infobench-checklist-judges-drfr-micro-subset" in check(tex)
    (table,) = (part for part in tex.split(r"\begin{table}") if "judges-drfr-micro-subset" in part)
    for figure in (easy, hard):
        assert f" {figure} " in table
    # No row of a judge is all dashes.
    assert not [
        line
        for line in tex.splitlines()
        if "&" in line and line.startswith("InFo") and not any(sign.isdigit() for sign in line)
    ]
    for suffix in (".md", ".html"):
        text = report("infobench", tmp_path / f"r{suffix}", "--kind", "checklist")
        assert "No judge can be compared" not in text
        assert "Agreement per question by subset" not in text
        assert "DRFR, pooled by subset" in text


def test_a_judge_without_a_target_still_says_its_drfr(tmp_path):
    path = tmp_path / "gpt4_eval.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in INFOBENCH))
    check_infobench(path, tmp_path, overall="88.9", easy="88.9", hard="88.9")


def test_infobench_as_published(shared_data, tmp_path):
    check_infobench(
        shared_data / "infobench" / "gpt4_eval.jsonl", tmp_path, overall="87.6", easy="88.4", hard="87.2"
    )
