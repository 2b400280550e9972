"""The demo's content keeps its promises: valid, varied, fair to short and long answers, and all made up."""

import json
import re
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cases import over

DEMO = Path(__file__).resolve().parents[3] / "fixtures" / "demo"
Item = dict[str, Any]

CATEGORIES = {
    "Brainstorm",
    "Open QA",
    "Closed QA",
    "Extract",
    "Generation",
    "Rewrite",
    "Summarize",
    "Classify",
    "Reasoning Over Numerical Data",
    "Multi-Document Synthesis",
    "Fact Checking",
}
# Tasks that are about a given text need that text.
NEED_CONTEXT = {"Closed QA", "Extract", "Summarize", "Multi-Document Synthesis"}
SYSTEMS = {"cedar-7b", "willow-13b", "rowan-30b", "hazel-3b"}
REAL_NAMES = re.compile(
    r"\b(\w*gpt\w*|openai|anthropic|claude|llama\w*|gemini|gemma|mistral|mixtral|qwen|deepseek|vicuna|alpaca|falcon"
    r"|palm-\d|bard|grok|cohere|yi-\d+b|phi-\d|olmo|tulu|zephyr|wizardlm)\b",
    re.IGNORECASE,
)
FIELDS = {
    "id": str,
    "kind": str,
    "category": str,
    "subset": str,
    "instruction": str,
    "context": str,
    "reference": str,
    "responses": list,
    "metadata": dict,
}
MATH = re.compile(r"\$[^$\n]+\$")


def read_items(name: str) -> list[Item]:
    lines = (DEMO / name).read_bytes().decode("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((DEMO / name).read_text(encoding="utf-8"))


PAIRS = read_items("pairs.jsonl")
QUALIFICATION = read_items("qualification.jsonl")
EVERY = PAIRS + QUALIFICATION


def name_of(item: Item) -> str:
    return str(item["id"])


def texts(item: Item) -> list[str]:
    return [response["text"] for response in item["responses"]]


def longer(item: Item) -> int:
    """1 or 2: which response has more characters; 0 if they are equally long."""
    first, second = map(len, texts(item))
    return 0 if first == second else 1 if first > second else 2


def better(item: Item) -> int:
    margin = item["metadata"]["margin"]
    return 0 if margin == 0 else 1 if margin > 0 else 2


@over(EVERY, name_of)
def test_item_is_valid(item: Item) -> None:
    assert set(item) == {*FIELDS, "gold"}
    for field, kind in FIELDS.items():
        assert type(item[field]) is kind, field
    assert item["kind"] == "pairwise"
    assert item["category"] in CATEGORIES
    for field in ("instruction", "reference", "subset"):
        assert item[field].strip(), field
    assert item["context"] or item["category"] not in NEED_CONTEXT
    assert item["gold"] in (None, 0, 1, 2)
    assert item["metadata"]["note"].strip()
    assert len(item["responses"]) == 2
    for response in item["responses"]:
        assert set(response) == {"system", "text"}
        assert response["text"] == response["text"].strip() != ""


@over(EVERY, name_of)
def test_gold_agrees_with_the_margin(item: Item) -> None:
    assert -2 <= item["metadata"]["margin"] <= 2
    assert item["gold"] in (None, better(item))


@over(EVERY, name_of)
def test_the_two_responses_differ_in_text_and_system(item: Item) -> None:
    first, second = texts(item)
    assert first.casefold() != second.casefold()
    assert len({response["system"] for response in item["responses"]}) == 2


@over(EVERY, name_of)
def test_all_names_of_systems_are_fictional(item: Item) -> None:
    assert {response["system"] for response in item["responses"]} <= SYSTEMS
    assert not REAL_NAMES.search(json.dumps(item, ensure_ascii=False))


@over(EVERY, name_of)
def test_markup_is_closed(item: Item) -> None:
    """Code fences and dollars come in pairs, and a dollar is never money: it would be read as mathematics."""
    for text in [item["instruction"], item["context"], item["reference"], *texts(item)]:
        assert text.count("```") % 2 == 0
        assert text.count("$") % 2 == 0
        assert text.count("**") % 2 == 0
        assert not re.search(r"\$\d+(?:[.,]\d+)?(?:\s|$)", re.sub(r"\$\$.*?\$\$|\$[^$]+\$", "", text))
        assert not re.search(r"</?[a-z]+[ >]", text), "Markdown, not HTML"


def test_ids_are_unique_over_both_files() -> None:
    counts = Counter(item["id"] for item in PAIRS + QUALIFICATION)
    assert [name for name, n in counts.items() if n > 1] == []


def test_no_instruction_is_asked_twice() -> None:
    counts = Counter(item["instruction"] + item["context"] for item in PAIRS + QUALIFICATION)
    assert max(counts.values()) == 1


def test_pairs_cover_the_categories() -> None:
    counts = Counter(item["category"] for item in PAIRS)
    assert len(PAIRS) >= 60
    assert len(counts) >= 8
    assert min(counts.values()) >= 5, "each category is large enough to be shown by itself"


def test_some_pairs_are_adversarial() -> None:
    subsets = Counter(item["subset"] for item in PAIRS)
    assert all(subset == "Natural" or subset.startswith("Adversarial/") for subset in subsets)
    assert 0.2 <= 1 - subsets["Natural"] / len(PAIRS) <= 0.5


def test_about_two_in_five_pairs_have_gold() -> None:
    share = sum(item["gold"] is not None for item in PAIRS) / len(PAIRS)
    assert 0.35 <= share <= 0.45


@pytest.mark.parametrize("only_gold", [False, True])
def test_the_longer_response_is_better_about_half_of_the_time(only_gold: bool) -> None:
    decided = [item for item in PAIRS if better(item) and (item["gold"] is not None or not only_gold)]
    share = sum(longer(item) == better(item) for item in decided) / len(decided)
    assert 0.35 <= share <= 0.65


@pytest.mark.parametrize("only_gold", [False, True])
def test_the_better_response_stands_first_about_half_of_the_time(only_gold: bool) -> None:
    decided = [item for item in PAIRS if better(item) and (item["gold"] is not None or not only_gold)]
    share = sum(better(item) == 1 for item in decided) / len(decided)
    assert 0.4 <= share <= 0.6


def test_no_system_always_wins_or_always_loses() -> None:
    won: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for item in PAIRS:
        for position, response in enumerate(item["responses"], start=1):
            met[response["system"]] += 1
            won[response["system"]] += better(item) == position
    assert set(met) == SYSTEMS
    assert all(0.1 < won[name] / met[name] < 0.9 for name in SYSTEMS)


@pytest.mark.parametrize(
    "pattern",
    [MATH, re.compile(r"\$\$.+?\$\$"), re.compile(r"^```\w+$", re.M), re.compile(r"^\|(?:-+\|)+$", re.M)],
    ids=["inline mathematics", "displayed mathematics", "code", "table"],
)
def test_responses_show_what_the_page_can_render(pattern: re.Pattern[str]) -> None:
    assert any(pattern.search(text.replace(" ", "")) for item in PAIRS for text in texts(item))


def test_json_in_responses_parses() -> None:
    blocks = [
        block
        for item in PAIRS
        for text in [item["reference"], *texts(item)]
        for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    ]
    assert blocks
    assert all(isinstance(json.loads(block), list) for block in blocks)


@over([item for item in EVERY if "haiku" in item["instruction"]], name_of)
def test_better_haiku_has_three_lines(item: Item) -> None:
    assert len(texts(item)[better(item) - 1].splitlines()) == 3


def test_numeric_limits_are_kept_by_the_better_response_and_the_reference() -> None:
    """Where an instruction sets a limit in words, the answer that is called better keeps it."""
    limited = 0
    for item in PAIRS:
        limit = re.search(r"(?:at most|under) (\d+) words", item["instruction"], re.IGNORECASE)
        if limit:
            limited += 1
            for text in (item["reference"], texts(item)[better(item) - 1]):
                assert len(text.split()) <= int(limit[1]), item["id"]
    assert limited >= 3


def test_rewriting_without_the_letter_e() -> None:
    (item,) = [item for item in PAIRS if 'letter "e"' in item["instruction"]]
    assert "e" not in texts(item)[better(item) - 1].lower()
    assert "e" not in item["reference"].lower()


def test_forbidden_words_are_avoided_by_the_better_response() -> None:
    (item,) = [item for item in PAIRS if 'Do not use the words "bread"' in item["instruction"]]
    forbidden = re.compile("bread|dough|bakery", re.IGNORECASE)
    worse, good = texts(item)[2 - better(item)], texts(item)[better(item) - 1]
    assert forbidden.search(worse)
    assert not forbidden.search(good)
    assert not forbidden.search(item["reference"])


def test_qualification_is_balanced() -> None:
    assert len(QUALIFICATION) == 12
    assert Counter(item["gold"] for item in QUALIFICATION) == {1: 6, 2: 6}
    assert Counter(longer(item) == item["gold"] for item in QUALIFICATION) == {True: 6, False: 6}
    assert all(abs(item["metadata"]["margin"]) == 2 for item in QUALIFICATION), "clear cases only"


def test_study_settings_fit_the_content() -> None:
    settings = read_toml("study.toml")
    study = settings["study"]
    assert study["question"] == "Which answer follows the instruction better?"
    assert study["overlap"] == 4
    assert study["tie_policy"] in ("off", "tie")
    assert 0 < study["qualification_pass"] <= study["qualification_size"] <= len(QUALIFICATION)
    assert Decimal(study["pay_per_item"]) > 0
    assert study["is_simulated"] is True
    for name in (settings["dataset"]["file"], settings["qualification"]["file"], *settings["texts"].values()):
        assert (DEMO / name).is_file()


def test_consent_tells_what_it_must_and_agrees_with_the_settings() -> None:
    text = (DEMO / "consent.md").read_text(encoding="utf-8")
    study = read_toml("study.toml")["study"]
    for word in ("demonstration", "Who asks", "What do we keep", "May you stop", "made-up name"):
        assert word in text
    assert f"{study['pay_per_item']} euros" in text
    assert (study["pay_currency"], study["qualification_size"], study["qualification_pass"]) == ("EUR", 10, 9)
    assert "ten questions" in text
    assert "nine right answers" in text


def test_guidelines_cover_the_hard_cases() -> None:
    text = (DEMO / "guidelines.md").read_text(encoding="utf-8")
    assert 200 <= len(text.split()) <= 500, "half a page to a page"
    for word in ("tie", "Length", "Style", "right", "Two examples"):
        assert word in text


def test_simulated_annotators_have_sound_parameters() -> None:
    simulated = read_toml("simulated.toml")
    people = simulated["annotators"]
    assert len(people) >= 12
    for field in ("name", "seed"):
        assert len({person[field] for person in people}) == len(people), field
    for person in people:
        assert 0.5 < person["accuracy"] < 1
        assert -1 <= person["length_bias"] <= 1
        assert 0 <= person["tie_rate"] <= 1
        assert person["seconds"] > 0
    study = read_toml("study.toml")["study"]
    assert simulated["plan"]["labels_per_item"] == study["overlap"]
    assert 0 < simulated["plan"]["open_items"] < len(PAIRS)
