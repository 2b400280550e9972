"""Human judgments as their authors keep them: HREF, SummEval, JUDGE-BENCH, alternative annotators, HealthBench."""

import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from annotation.importers import ImportFileError
from annotation.importers.alternative_annotators import read_alternative_annotators
from annotation.importers.healthbench import read_healthbench
from annotation.importers.href_pairs import read_href_pairs
from annotation.importers.judge_bench_nlp import Metric, read_judge_bench_nlp
from annotation.importers.records import DatasetBundle
from annotation.importers.summeval import read_summeval
from tests.annotation.importers.benchmarks import (
    instance,
    met,
    metric,
    preferred,
    rubric_prompt,
    schema,
    summary,
    write_json,
    write_lines,
)

# --- HREF and SummEval ------------------------------------------------------------------------------------


def test_href(tmp_path: Path) -> None:
    rows = [preferred(1, 2, 0, 1), preferred(2, annotaters=None, annotators=["ann"]), preferred(1, 1)]
    rows[2] |= {"annotaters": ["ann", "ann"], "instruction": "Name a lake."}
    bundle = read_href_pairs(write_lines(tmp_path / "dev.jsonl", *rows))
    assert [(one.annotator, one.value["choice"]) for one in bundle.labels] == [
        ("person 0", 1),
        ("person 1", 2),
        ("person 2", 0),
        ("person 3", 1),
        ("ann", 2),
        ("ann", 1),
        ("ann#2", 1),
    ]
    # The same texts twice are two pairs of one instruction.
    assert (len(bundle.items), len(bundle.instructions)) == (3, 2)
    assert (bundle.instructions[0].category, bundle.instructions[0].reference) == ("Open QA", "The Rhine.")


def test_summeval(tmp_path: Path) -> None:
    rows = [summary("M1", (5, 4, 5), (3, 3)), summary("M2", (1, 2, 1), (2, 3)) | {"text": "A dog barked."}]
    rows[0]["text"] = "A dog barked."
    bundle = read_summeval(write_lines(tmp_path / "model_annotations.aligned.paired.jsonl", *rows))
    assert [item.external_id for item in bundle.items] == ["dm-test-1/M1", "dm-test-1/M2"]
    assert (len(bundle.instructions), bundle.instructions[0].context) == (1, "A dog barked.")
    assert bundle.instructions[0].reference == "A dog barked."
    assert Counter(one.annotator for one in bundle.labels) == dict.fromkeys(
        ("expert 1", "expert 2", "expert 3", "crowdworker 1", "crowdworker 2"), 2
    )
    assert bundle.labels[0].value == {"ratings": dict.fromkeys([one.key for one in bundle.criteria], 5)}


# --- JUDGE-BENCH ------------------------------------------------------------------------------------------


def test_graded_from_one_to_five_is_a_rubric(tmp_path: Path) -> None:
    content = schema(
        instance(1, "One.", Fluency=[4, 3.0, None], Coherence=[5, 1]),
        instance("b", {"source": "Eins.", "translation": "One."}, Fluency=[2], Coherence={"mean_human": 2.5}),
        metrics=[metric("Fluency"), metric("Coherence")],
    )
    bundle = read_judge_bench_nlp(write_json(tmp_path / "ours.json", content))
    assert [one.key for one in bundle.criteria] == ["Fluency", "Coherence"]
    assert bundle.criteria[0].question == "How is the Fluency?"
    assert [(one.item, one.annotator, one.value) for one in bundle.labels] == [
        ("1", "crowdworker 1", {"ratings": {"Fluency": 4, "Coherence": 5}}),
        ("1", "crowdworker 2", {"ratings": {"Fluency": 3, "Coherence": 1}}),
        ("b", "crowdworker 1", {"ratings": {"Fluency": 2}}),
    ]
    assert [one.text for one in bundle.responses] == ["One.", "source:\nEins.\n\ntranslation:\nOne."]


def test_other_metrics_are_classified_each_with_its_labels(tmp_path: Path) -> None:
    metrics = [metric("use of facts", worst=1, best=3), metric("clear", labels=["0", "1"]), metric("overall")]
    content = schema(
        instance(0, "One.", **{"use of facts": [3, 1], "clear": ["1", 0], "overall": [5]}),
        metrics=metrics,
        expert="true",
    )
    bundle = read_judge_bench_nlp(write_json(tmp_path / "ours.json", content))
    assert [(item.external_id, item.kind) for item in bundle.items] == [
        ("0", "rubric"),
        ("0/use-of-facts", "classification"),
        ("0/clear", "classification"),
    ]
    assert bundle.categories is not None
    assert bundle.categories.scheme.level == "interval"
    said = {(one.item, one.annotator): one.value for one in bundle.labels}
    assert said["0/use-of-facts", "expert 1"] == {"categories": {"1": False, "2": False, "3": True}}
    assert said["0/clear", "expert 2"] == {"categories": {"0": True, "1": False}}


def test_a_majority_alone_is_gold_and_labels_may_differ_in_case(tmp_path: Path) -> None:
    content = schema(
        instance("x", "Hello.", toxicity={"majority_human": "no", "individual_human_scores": []}),
        instance("y", "Oi.", toxicity=["YES", "No"]),
        metrics=[metric("toxicity", labels=["Yes", "No"])],
    )
    bundle = read_judge_bench_nlp(write_json(tmp_path / "ours.json", content))
    assert bundle.items[0].gold == {"categories": {"Yes": False, "No": True}}
    assert bundle.items[1].gold is None
    assert [one.value["categories"] for one in bundle.labels] == [
        {"Yes": True, "No": False},
        {"Yes": False, "No": True},
    ]


def test_two_outputs_and_winner_codes_are_a_pair(tmp_path: Path) -> None:
    parts = {"input": "Name a river.", "output_a": "The Po.", "output_b": "Rome."}
    content = schema(
        # LLMBar's files have another name in their instances than in the declaration.
        instance("Natural_0", parts, quality=["model_b"]),
        metrics=[metric("quality_single_turn", labels=["model_a", "model_b"])],
    )
    bundle = read_judge_bench_nlp(write_json(tmp_path / "ours.json", content))
    assert (bundle.items[0].kind, bundle.labels[0].value) == ("pairwise", {"choice": 2})
    assert [one.text for one in bundle.responses] == ["The Po.", "Rome."]


def test_answers_of_models_are_verdicts(tmp_path: Path) -> None:
    scores = {"individual_human_scores": [4], "mean_human": 4.0}
    content = schema(
        instance(1, "One.", Fluency=scores | {"org/m": "I'd say 4 of 5."}, Coherence=scores | {"org/m": "2"}),
        instance(2, "Two.", Fluency=scores | {"org/m": "Good."}, Coherence=scores | {"org/m": "Bad."}),
        metrics=[metric("Fluency"), metric("Coherence")],
    )
    bundle = read_judge_bench_nlp(write_json(tmp_path / "ours.json", content))
    assert [(one.item, one.judge, one.value, one.status) for one in bundle.verdicts] == [
        ("1", "org/m", {"ratings": {"Fluency": 4, "Coherence": 2}}, "parsed"),
        ("2", "org/m", None, "unparsed"),
    ]
    assert bundle.verdicts[0].raw == "Fluency: I'd say 4 of 5.\nCoherence: 2"
    yes = Metric("supported", "categorical", ("yes", "no"), "")
    assert [yes.read(text) for text in ("No, it isn't.", "Yes and no", "nothing")] == ["no", "yes", None]
    points = Metric("q", "graded", tuple(map(str, range(1, 8))), "")
    assert [points.read(text) for text in ("10 of 7", "It's 3.5", "seven", "6!")] == ["7", "3", None, "6"]


def test_chosen_metrics(tmp_path: Path) -> None:
    continuous = {
        "metric": "quality",
        "category": "continuous",
        "worst": 0.0,
        "best": 100.0,
        "prompt": "Rate.",
    }
    content = schema(
        instance(1, "One.", quality=[71.5], Fluency=[4]), metrics=[continuous, metric("Fluency")]
    )
    file = write_json(tmp_path / "ours.json", content)
    with pytest.raises(ImportFileError, match=r"found 'continuous'\. Choose the other metrics by name"):
        read_judge_bench_nlp(file)
    assert len(read_judge_bench_nlp(file, ["Fluency"]).labels) == 1
    with pytest.raises(ImportFileError, match="a metric 'Tone'; the file has quality or Fluency"):
        read_judge_bench_nlp(file, ["Tone"])


def test_the_published_alphas_of_newsroom_come_out(shared_data: Path) -> None:
    import json

    from metaeval.stats import krippendorff_alpha

    folder = shared_data / "newsroom"
    if not folder.is_dir():
        pytest.skip(f"Newsroom's judgments are not at {folder}")
    bundle = read_judge_bench_nlp(folder / "newsroom.labels.json")
    assert (len(bundle.items), len(bundle.labels)) == (420, 3 * 420)
    published = json.loads((folder / "published_newsroom.json").read_text(encoding="utf-8"))
    of_people = next(iter(published.values()))
    for criterion in bundle.criteria:
        found = krippendorff_alpha(ratings_of(bundle, criterion.key), level="ordinal", n_resamples=0)
        assert found.value == pytest.approx(of_people[criterion.key]["krippendorff_alpha"], abs=1e-12)


def ratings_of(bundle: DatasetBundle, criterion: str) -> np.ndarray:
    """Items by annotators, NaN where missing."""
    items = {item.external_id: place for place, item in enumerate(bundle.items)}
    people = {name: place for place, name in enumerate(sorted({one.annotator for one in bundle.labels}))}
    found = np.full((len(items), len(people)), np.nan)
    for label in bundle.labels:
        found[items[label.item], people[label.annotator]] = label.value["ratings"][criterion]
    return found


# --- Alternative annotators -------------------------------------------------------------------------------


def test_words_are_categories(tmp_path: Path) -> None:
    write_json(
        tmp_path / "human_annotations.json", {"w1": {"a__food": "good", "b": "bad"}, "w2": {"a__food": "bad"}}
    )
    said = {"llm-x": {"a__food": "good", "b": None, "nobody labeled it": "bad"}, "llm-y": {"b": "unknown"}}
    write_json(tmp_path / "llm_annotations.json", said)
    write_json(tmp_path / "prompts.json", {"a": {"text_id": "a", "str_prompt": "How was it?"}})
    bundle = read_alternative_annotators(tmp_path)
    assert [(item.external_id, item.kind) for item in bundle.items] == [
        ("a__food", "classification"),
        ("b", "classification"),
    ]
    assert [one.text for one in bundle.instructions] == ["How was it?", "b"]
    assert bundle.categories is not None
    assert (bundle.categories.scheme.level, bundle.categories.scheme.order) == (
        "nominal",
        ("bad", "good", "unknown"),
    )
    assert bundle.labels[0].value == {"categories": {"bad": False, "good": True, "unknown": False}}
    assert [(one.judge, one.item, one.status) for one in bundle.verdicts] == [
        ("llm-x", "a__food", "parsed"),
        ("llm-x", "b", "unparsed"),
        ("llm-y", "b", "parsed"),
    ]


def test_numbers_are_categories_at_interval_level(tmp_path: Path) -> None:
    people = {"w1": {"a": 4, "b": 10}, "w2": {"a": 5.0}}
    archive = tmp_path / "pair.zip"
    one = write_json(tmp_path / "human_annotations.json", people)
    with zipfile.ZipFile(archive, "w") as file:
        for folder in ("lesion", "wax"):
            file.write(one, f"{folder}/human_annotations.json")
    with pytest.raises(ImportFileError, match=r"one file human_annotations\.json, found 2"):
        read_alternative_annotators(archive)
    with zipfile.ZipFile(archive, "w") as file:
        file.write(one, "lesion/human_annotations.json")
    bundle = read_alternative_annotators(archive)
    assert bundle.categories is not None
    assert (bundle.categories.scheme.level, bundle.categories.scheme.order) == ("interval", ("4", "5", "10"))


# --- HealthBench ------------------------------------------------------------------------------------------


def test_rubrics_with_points(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "eval.jsonl", rubric_prompt(), rubric_prompt("h2", None))
    bundle = read_healthbench(file)
    assert [(item.external_id, item.kind) for item in bundle.items] == [("h1", "checklist")]
    assert [one.key for one in bundle.instructions] == ["h1", "h2"]
    assert (bundle.instructions[0].category, len(bundle.instructions[0].conversation)) == (
        "emergency_referrals",
        2,
    )
    assert [(one.key, one.text, one.metadata["points"]) for one in bundle.aspects[:2]] == [
        ("c1", "Says to see a doctor.", 7),
        ("c2", "Tells to ignore it.", -5),
    ]
    assert bundle.responses[0].system == "physician"


def test_labels_of_physicians(tmp_path: Path) -> None:
    rows = [met(True, False), met(True, completion_id="k2"), met(False, rubric="Tells to ignore it.")]
    bundle = read_healthbench(write_lines(tmp_path / "meta.jsonl", *rows))
    assert [(one.annotator, one.value["answers"]["criterion"]) for one in bundle.labels] == [
        ("doc0", True),
        ("doc1", False),
        ("doc0", True),
        ("doc0", False),
    ]
    assert (len(bundle.items), len(bundle.instructions)) == (3, 2)
