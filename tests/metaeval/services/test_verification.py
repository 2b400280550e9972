"""A stored report is computed again from the rows: it holds, or it says which fields moved, and why."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Item, Label
from judges.models import Judgment
from metaeval.models import Report
from metaeval.reports.changes import changes_of
from metaeval.reports.render import render
from metaeval.reports.report import report_of
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.reports import report_subject, subject_report
from metaeval.services.verification import report_named, report_verify
from tests.annotation.cast import Cast
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, swept

pytestmark = pytest.mark.django_db


@pytest.fixture
def pairs():
    dataset = dataset_make(pairs=6, name="pairs", per_instruction=2)
    labels_make(dataset=dataset, choices=[(1, 1, 2), (2, 2), (1, None), (0, 1, 1), (1, 2)])
    swept(dataset=dataset)
    return dataset


def written(path, name="pairs", *more):
    call_command("report", name, "--output", str(path), "--resamples", "200", *more, verbosity=0)
    return path


def verify(capsys, given, *more):
    """Whether it holds, and what the command says."""
    try:
        call_command("report", "--verify", str(given), *more)
    except CommandError as error:
        return False, capsys.readouterr().out + str(error)
    return True, capsys.readouterr().out


@pytest.mark.both_databases
def test_a_report_holds_until_a_label_changes(pairs, tmp_path, capsys):
    file = written(tmp_path / "r.json")
    holds, words = verify(capsys, file)
    assert holds
    assert "The report holds: all" in words
    assert "Data and options are the same." in words
    Label.objects.create(
        item=pairs.items.get(position=5),
        annotator=Label.objects.first().annotator,
        kind="pairwise",
        value={"choice": 1},
        choice=1,
    )
    holds, words = verify(capsys, file)
    assert not holds
    assert "The data changed since." in words
    assert "Labels: 11 -> 12" in words
    assert "people / n_labels: 11 -> 12" in words
    assert "fields differ." in words


def test_a_changed_number_in_the_file_is_named(pairs, tmp_path, capsys):
    file = written(tmp_path / "r.json")
    content = json.loads(file.read_text())
    content["judges"][1]["measures"]["accuracy"]["overall"]["value"] = 0.25
    file.write_text(json.dumps(content))
    holds, words = verify(capsys, file)
    assert not holds
    assert "judges / Poor judge / measures / accuracy / overall / value: 0.25 -> 0" in words
    assert "1 of" in words
    assert verify(capsys, file, "--tolerance", "0.3")[0]


def test_same_counts_other_content(pairs, tmp_path):
    before = report_named(str(written(tmp_path / "a.json")))[0]
    judgment = Judgment.objects.filter(judge__name="Poor judge").first()
    Judgment.objects.filter(pk=judgment.pk).update(choice=3 - judgment.choice)
    Item.objects.filter(pk=pairs.items.first().pk).update(gold={"choice": 2})
    after = report_named(str(written(tmp_path / "b.json")))[0]
    changed = {one.field for one in changes_of(before, after).data}
    assert changed == {"Gold answers: content", "Judge Poor judge: content"}


def test_a_judge_that_came_later_changes_nothing(pairs, tmp_path, capsys):
    file = written(tmp_path / "r.json")
    # Its name sorts first, so that it takes the place of another in every list.
    judgments_make(judge=judge_make("A new judge"), dataset=pairs, choices=[(1, 1)] * 6)
    holds, words = verify(capsys, file)
    assert holds
    assert "Judges that the report doesn't have were left out: A new judge." in words
    later = written(tmp_path / "later.json")
    call_command("report", "--diff", str(file), str(later))
    words = capsys.readouterr().out
    assert "Judge A new judge: added -> 12 judgments" in words
    assert "the data changed" in words
    # The leader is known by its name, so a judge before it in the list moves nothing.
    assert "selections / accuracy / leader" not in words


def test_options_and_software_are_reasons(pairs, tmp_path, capsys):
    file = written(tmp_path / "a.json")
    other = written(tmp_path / "b.json", "pairs", "--convention", "alpaca_eval", "--epsilon", "0.2")
    content = json.loads(other.read_text())
    content["software"]["version"] = "9.9"
    other.write_text(json.dumps(content))
    call_command("report", "--diff", str(file), str(other))
    words = capsys.readouterr().out
    assert "the options and software changed" in words
    assert "tie_break: expected -> alpaca_eval" in words
    assert "9.9" in words


@pytest.mark.parametrize("kind", ["rubric", "checklist"])
def test_other_kinds_and_a_sweep(kind, tmp_path, capsys):
    dataset, sweep = kind_swept(kind)
    assert verify(capsys, written(tmp_path / "r.json", dataset.name))[0]
    # What the comparison page of the sweep offers as a file.
    content = comparison_get(sweep=sweep_view(sweep.pk), dataset=dataset, kind=kind)
    file = tmp_path / "comparison.json"
    file.write_text(render(content, ".json"))
    assert verify(capsys, file)[0]


def test_a_stored_report_by_its_number_with_the_labels_of_who_made_it(cast: Cast, pairs, tmp_path, capsys):
    study = study_make(dataset=pairs, slug="hers", owner=cast.bob)
    subject = report_subject(user=cast.alice, dataset="pairs")
    stored = subject_report(user=cast.alice, subject=subject)
    # Labels of another researcher's study are none of hers to count.
    labels_make(dataset=pairs, choices=[(1, 1)], study=study)
    assert verify(capsys, stored.pk)[0]
    assert not report_verify(report_of(stored.content)).holds
    Report.objects.all().delete()
    with pytest.raises(CommandError, match="There is no report"):
        call_command("report", "--verify", str(stored.pk))


def test_a_dataset_that_is_gone(pairs, tmp_path, capsys):
    file = written(tmp_path / "r.json")
    type(pairs).objects.filter(pk=pairs.pk).update(name="other")
    holds, words = verify(capsys, file)
    assert not holds
    assert "The report can't be recomputed" in words
    assert "There is no dataset or study 'pairs'" in words


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"schema": "touchstone.report/2"}', "[" * 100_000, '{"schema": 1}']
)
def test_a_file_that_is_no_report(text, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises(CommandError, match=r"no report|isn't a JSON file"):
        call_command("report", "--verify", str(file))
    with pytest.raises(CommandError, match="Cannot read"):
        call_command("report", "--verify", str(tmp_path / "missing.json"))
