"""The authors' own files: every configuration is read, or named with the reason; stored answers give their verdicts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from judges.services.published import PublishedError, alpaca_eval_read, llmbar_read
from judges.strategies.parsing import read_verdict_line
from judges.strategies.parsing_ratings import read_rating_line
from judges.strategies.published_parsers import Unreadable, read_published
from judges.strategies.types import Answer, ItemView
from tests.judges.strategies.feeding import feed, judge

BATCHED = {
    f"alpaca_farm/{name}" for name in ("gpt4_1", "gpt4_2", "gpt4_3", "gpt4_5", "davinci003_1", "davinci003_3")
}
BATCHED |= {"alpaca_farm_greedy_gpt4/alpaca_farm_greedy_gpt4"}


@pytest.fixture(scope="session")
def published(request: pytest.FixtureRequest) -> Path:
    """The judges as their authors keep them, which are not part of the project."""
    given = os.environ.get("TOUCHSTONE_PUBLISHED")
    path = Path(given) if given else request.getfixturevalue("shared_data") / "published"
    if not path.is_dir():
        pytest.skip(f"the authors' files are not at {path}; set TOUCHSTONE_PUBLISHED to where they are")
    return path


def test_every_evaluator_of_llmbar_is_read(published: Path) -> None:
    folder, refused, modes = published / "llmbar" / "evaluators", {}, []
    paths = sorted((folder / "config").rglob("*.json"))
    for path in paths:
        name = path.relative_to(folder / "config").with_suffix("").as_posix()
        try:
            modes.append(llmbar_read(folder=folder, evaluator=name).evaluator.mode)
        except PublishedError as error:
            refused[name] = str(error)
    assert refused == {}
    assert {mode: modes.count(mode) for mode in set(modes)} == {"compare": 46, "swap": 12, "rate": 7}


def test_every_annotator_of_alpaca_eval_is_read_but_those_of_several_pairs(published: Path) -> None:
    folder, refused, parsers = published / "alpaca_eval" / "evaluators_configs", {}, {}
    for path in sorted(folder.rglob("configs.yaml")):
        for name in yaml.safe_load(path.read_text()):
            try:
                read = alpaca_eval_read(path=path, name=name).evaluator
                parsers.setdefault(read.parser, []).append(read.parser_options)
            except PublishedError as error:
                refused[f"{path.parent.name}/{name}"] = str(error)
    assert set(refused) == BATCHED
    assert all("batch_size: judges are asked one pair at a time" in reason for reason in refused.values())
    # What chat models make of "a Python dictionary and nothing else".
    ranks = [
        {"model": name, "rank": rank} for rank, name in enumerate(("model_2", "m", "M", "model_1")[::3], 1)
    ]
    for text in (f"```python\n{ranks}\n```", f"Here it is:\n\n```json\n{json.dumps(ranks)}\n```"):
        for options in parsers["ranking_parser"]:
            assert read_published("ranking_parser", options, Answer(text)).choice == 2
    ordered = json.dumps({"ordered_models": [{"model": "M", "rank": 1}, {"model": "m", "rank": 2}]})
    ordered_names = ordered.replace('"M"', '"model_2"').replace('"m"', '"model_1"')
    assert parsers["pipeline_meta_parser"]
    for options in parsers["pipeline_meta_parser"]:
        found = []
        for text in (f"```json\n{ordered}\n```", f"```json\n{ordered_names}\n```"):
            try:
                found.append(read_published("pipeline_meta_parser", options, Answer(text)).choice)
            except Unreadable:
                continue
        assert found == [2]


RESULTS = [
    ("Neighbor", "GPT-4/Vanilla"),
    ("Manual", "GPT-4/Vanilla"),
    ("Neighbor", "GPT-4/Swap"),
    ("Manual", "GPT-4/Swap"),
    ("Neighbor", "GPT-4/Rating"),
    ("Manual", "GPT-4/Rating"),
    ("Neighbor", "ChatGPT/Metrics_Reference"),
    ("Manual", "ChatGPT/Metrics_Reference"),
]


@pytest.mark.parametrize(("subset", "name"), RESULTS)
def test_the_authors_answers_give_the_authors_verdicts(published: Path, subset: str, name: str) -> None:
    """Their stored completions, fed to the judge that their configuration becomes, in both orders."""
    root = published / "llmbar" / "Dataset" / "LLMBar" / "Adversarial" / subset / "evaluators"
    rows = json.loads((root / name / "result.json").read_text())
    evaluator = llmbar_read(folder=published / "llmbar" / "evaluators", evaluator=name).evaluator
    spec = judge("published", prompt_source=evaluator.to_text())
    for row in rows:
        *earlier, last = row["results"]
        outputs = (row["output_1"], row["output_2"])
        for order, key in enumerate(("swap = False", "swap = True")):
            if evaluator.mode == "rate":
                answers = [last[f"score_{number}"][0] for number in ((1, 2), (2, 1))[order]]
            elif evaluator.mode == "swap":
                first, *decided = row["results"]
                both = [first[each]["completion"][0] for each in ("swap = False", "swap = True")]
                answers = [
                    *(both if order == 0 else both[::-1]),
                    *(each[key]["completion"][0] for each in decided),
                ]
            else:
                answers = [*(text for text, _ in earlier), last[key]["completion"][0]]
            item = ItemView(
                1, "pairwise", row["input"], outputs if order == 0 else outputs[::-1], order=order
            )
            choice = feed(spec, *answers, item=item).choice
            canonical = 3 - choice if order and choice else choice
            if evaluator.mode == "rate" and not canonical:
                continue  # a hedge or no number: the authors count it for one side in each order
            assert (None if canonical is None else str(canonical)) == last[key]["winner"], (row["input"], key)


def test_verdicts_in_the_forms_of_fastchat_are_read(published: Path) -> None:
    lines = (published / "fastchat" / "judge_prompts.jsonl").read_text().splitlines()
    forms = {json.loads(line)["output_format"] for line in lines}
    assert forms == {"[[A]]", "[[rating]]"}
    reasons = "Both answer the question, and the second is longer.\n\n"
    for letter, choice in (("A", 1), ("B", 2), ("C", 0)):
        for end in (f"[[{letter}]]", f"My final verdict is: [[{letter}]]", f"**[[{letter}]]**"):
            assert read_verdict_line(reasons + end, allow_tie=True).choice == choice
    assert read_rating_line("It holds 9 of 10 facts.\n\nRating: [[7]]", 1, 10).score == 7
    assert read_rating_line("It holds 9 of 10 facts. [[7]]", 1, 10).score == 7
