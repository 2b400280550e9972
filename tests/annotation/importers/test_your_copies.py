"""Published files of benchmarks, where ``TOUCHSTONE_DATA`` names a folder with copies: rows, and figures of papers.

None is part of the project. Each test names the folder that it looks for, and skips where that isn't there.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from annotation.importers import (
    DatasetBundle,
    read_alternative_annotators,
    read_chatbot_arena,
    read_healthbench,
    read_href_pairs,
    read_judgebench,
    read_mtbench,
    read_rewardbench,
    read_rewardbench2,
    read_rmbench,
    read_summeval,
)
from metaeval.stats import alternative_annotator_test, preset, vote_agreement

# Parquet is decoded in a process of its own.
pytestmark = pytest.mark.service


@pytest.fixture
def copy(shared_data: Path) -> Callable[[str], Path]:
    def folder(name: str) -> Path:
        found = shared_data / name
        if not found.exists():
            pytest.skip(f"there is no copy at {found}")
        return found

    return folder


def by_subset(bundle: DatasetBundle) -> Counter[str]:
    subsets = {one.key: one.subset for one in bundle.instructions}
    return Counter(subsets[item.instruction] for item in bundle.items)


def test_mt_bench(copy):
    """By the card 3,355 votes and 2,400 verdicts; by the paper's table 5 85% and 81% (setup S2, first turn)."""
    bundle = read_mtbench(copy("mt_bench"))
    assert (len(bundle.labels), len(bundle.verdicts)) == (3355, 2400)
    first = [item.external_id for item in bundle.items if item.external_id.endswith("/1")]
    place = {name: n for n, name in enumerate(first)}
    experts = [one for one in bundle.labels if one.item in place and one.annotator.startswith("expert")]
    people = sorted({one.annotator for one in experts})
    votes = np.full((len(first), len(people)), np.nan)
    for one in experts:
        votes[place[one.item], people.index(one.annotator)] = one.value["choice"]
    judge = np.full(len(first), np.nan)
    for verdict in bundle.verdicts:
        if verdict.item in place:
            judge[place[verdict.item]] = (verdict.value or {})["choice"]
    options = preset("mt_bench_s2").of(vote_agreement)
    found = [vote_agreement(votes, verdicts, **options).value for verdicts in (judge, None)]
    assert [round(100 * value) for value in found] == [85, 81]


def test_chatbot_arena(copy):
    """33,000 conversations, each with the vote of its user."""
    bundle = read_chatbot_arena(copy("chatbot_arena"))
    assert (len(bundle.items), len(bundle.labels)) == (33_000, 33_000)


def test_judgebench(copy):
    """350 pairs of GPT-4o's responses and 270 of Claude 3.5 Sonnet's, each with one right response."""
    bundle = read_judgebench(copy("judgebench"))
    assert len(bundle.items) == 620
    assert all(item.gold for item in bundle.items)


def test_rewardbench(copy):
    """The filtered file has 2,985 pairs, by whose subsets the published sections weigh, but for math-prm and xstest."""
    bundle = read_rewardbench(copy("rewardbench"))
    assert len(bundle.items) == 2985
    sizes = by_subset(bundle)
    for weights in preset("rewardbench").of("section_accuracy")["sections"].values():
        for subset, weight in weights.items():
            assert sizes[subset] == weight or "math-prm" in subset or "xstest" in subset


def test_rewardbench_2(copy):
    assert len(read_rewardbench2(copy("rewardbench2")).items) == 1865


def test_rm_bench(copy):
    """Nine pairs a prompt, three of each level."""
    bundle = read_rmbench(copy("rmbench"))
    levels = Counter(subset.rpartition("/")[2] for subset in by_subset(bundle).elements())
    assert levels["hard"] == levels["normal"] == levels["easy"] == len(bundle.items) / 3
    named = {
        name for weights in preset("rm_bench").of("section_accuracy")["sections"].values() for name in weights
    }
    assert set(by_subset(bundle)) == named


def test_href(copy):
    """1,452 pairs, each with the preferences of four people."""
    bundle = read_href_pairs(copy("href"))
    assert len(bundle.items) == 1452
    assert set(Counter(one.item for one in bundle.labels).values()) == {4}


def test_summeval(copy):
    """1,600 summaries, each rated by three experts and five crowdworkers."""
    bundle = read_summeval(next(copy("summeval").glob("*.jsonl")))
    assert (len(bundle.items), len(bundle.labels)) == (1600, 1600 * 8)


def test_healthbench(copy):
    """5,000 prompts, each with criteria."""
    bundle = read_healthbench(next(copy("healthbench").glob("*_oss_eval.jsonl")))
    assert len(bundle.instructions) == 5000
    assert {one.instruction for one in bundle.aspects} == {one.key for one in bundle.instructions}


@pytest.mark.parametrize(
    ("name", "who", "winning_rate", "advantage"),
    [("framing", "skilled", 1.0, 0.92), ("mtbench", "experts", 0.0, 0.77)],
)
def test_the_alternative_annotator_test(copy, name, who, winning_rate, advantage):
    """GPT-4o's winning rate and advantage probability, as published."""
    bundle = read_alternative_annotators(copy("alt_test") / name)
    items = {item.external_id: n for n, item in enumerate(bundle.items)}
    people = sorted({one.annotator for one in bundle.labels})
    categories: dict[str, int] = {}

    def code(value: dict[str, dict[str, bool]]) -> int:
        chosen = next(key for key, is_chosen in value["categories"].items() if is_chosen)
        return categories.setdefault(chosen, len(categories))

    labels = np.full((len(items), len(people)), np.nan)
    for one in bundle.labels:
        labels[items[one.item], people.index(one.annotator)] = code(one.value)
    judge = np.full(len(items), np.nan)
    for verdict in bundle.verdicts:
        if verdict.judge == "gpt-4o" and verdict.value:
            judge[items[verdict.item]] = code(verdict.value)
    found = alternative_annotator_test(
        labels, judge, **preset(f"alt_test_{who}").of(alternative_annotator_test)
    )
    assert (round(found.winning_rate, 2), round(found.advantage_probability.value, 2)) == (
        winning_rate,
        advantage,
    )
