"""Judges that were defined before are the same ones today: stored judgments hang on their fingerprints."""

from __future__ import annotations

from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import JudgeSpec
from tests.judges.strategies.feeding import WORDS

OLD_PUBLISHED = """{
 "dialect": "llmbar",
 "mode": "compare",
 "parser": "llmbar_parser",
 "parser_options": {"parsing": {"1": "a", "2": "b"}},
 "steps": [{"json_schema": null, "logprobs": false, "max_tokens": 50, "temperature": 0.0,
  "template": "{input} {output_1} {output_2}"}]
}"""
FIELDS = {
    **WORDS,
    "published": {"prompt": "published.v1", "prompt_source": OLD_PUBLISHED},
    "perplexity_reference": {"roles": {"x": {"backend": "openai", "model": "m"}}},
    "composite": {"members": {"*": {"strategy": "longest"}}},
    "jury": {"members": {"one": {"strategy": "longest"}}},
}
GOLDEN = {
    "vanilla": "9e71fd1b2cc25988",
    "rules": "263e1570337ae7b4",
    "cot": "992865fb54be3962",
    "reference": "733e3b986901e986",
    "guidelines": "de75ac7f35db742e",
    "fewshot": "34aaa99a45359d7f",
    "metrics": "8c5da4f39648a043",
    "reference_self": "de2f8b05d884f48f",
    "metrics_reference": "4c7bc144e63f8eb0",
    "swap": "1707377af43728be",
    "swap_cot": "4b57129024466668",
    "debate": "a40290935fc32d14",
    "rating": "2eb2776b8acf7efe",
    "rubric_each": "dd476e31b359b4cd",
    "rubric_all": "466221d32b7e4df0",
    "checklist_each": "1a36ee67c6f1f78e",
    "checklist_all": "1d964ff9892dfe27",
    "importance_direct": "ae283adc9ef7eb25",
    "importance_ranking": "575c64b8c44459af",
    "importance_tree": "350f49fa664ed2c5",
    "ranking_direct": "ad04960d74530bf1",
    "ranking_rating": "bb60d1d5920e223b",
    "classification_direct": "ec421e6c762d4382",
    "perplexity_reference": "33de5f8b14bfec2c",
    "loglikelihood_ranking": "51e26c561775e824",
    "loglikelihood": "a452818ae4e43be4",
    "embedding": "48f6fc28a7e934ad",
    "bertscore": "dda8c11f4ec16bdd",
    "reward": "8d2c09e3a99f5238",
    "preference_classifier": "a72426a50f41ca7b",
    "generate": "37d4d42a924cde96",
    "composite": "7535075351a1f2d7",
    "jury": "5a68c74548d3a479",
    "published": "b136a544ed44ccb8",
    "longest": "833c2078587c8ef0",
    "shortest": "0d3fe75d26a78fd0",
    "always_a": "6c252856b4b44fa9",
    "random": "4b13ed256ae41f3c",
    "rouge_l": "8eabcba062ccdbd6",
    "ngram": "d17718272bc322ab",
    "own": "5bac38aa401fe8a8",
    "graded": "691b2b29a5a3c030",
    "own_rubric": "d789fe8d423325e7",
    "own_checklist": "884cec3aec53f66f",
    "own_importance": "bd4ffec6cc943fde",
    "own_ranking": "9f17a8d038a9d7b9",
    "own_classification": "2e4406b8fb833b50",
    "mt_bench_pair": "f3541d957f41c15e",
    "mt_bench_single": "7529444bb7156f5b",
    "arena_hard": "526d97580443cc35",
    "prometheus_pair": "45adafab79320047",
    "prometheus": "90c7df26b8086f4d",
    "g_eval": "15a8d286354fa1cc",
    "healthbench": "8199a8ecb6535ddf",
    "helm": "92e3eca48cbc4d0b",
    "infobench": "f17e3093bdde9a2b",
    "tower": "18bb72ce4430e5a3",
}


def plain(strategy: str) -> JudgeSpec:
    """Return the judge that says nothing of a strategy's settings."""
    return JudgeSpec(strategy=strategy, backend="openai", model="m", **FIELDS.get(strategy, {}))


def test_a_plain_judge_of_each_strategy_keeps_its_fingerprint() -> None:
    """Whoever changes one of these makes other judges of all that are stored: a migration of the data."""
    found = {name: plain(name).fingerprint() for name in GOLDEN}
    assert found == GOLDEN
    # Whoever adds a strategy adds its line.
    assert GOLDEN.keys() == STRATEGIES.keys()
