"""What a judge is: validation that names the field, and a fingerprint of what changes answers."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies import registry
from judges.strategies.errors import SpecError, UnknownStrategyError
from judges.strategies.model_ref import HARMLESS_OPTIONS, checked_options
from judges.strategies.registry import STRATEGIES, get_strategy, strategy_info
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import Decoding

BASE = {
    "strategy": "vanilla",
    "backend": "openai",
    "endpoint": "https://api.example.org/v1",
    "model": "judge-1",
}

SHOT = {"instruction": "Say hi.", "output_a": "hi", "output_b": "no", "verdict": "A"}


def spec(**changes) -> JudgeSpec:
    return JudgeSpec.from_dict({**BASE, **changes})


def test_what_is_left_out_is_filled_in():
    built = spec()

    assert built.prompt == "vanilla.v2"
    assert len(built.prompt_sha) == 64
    assert built.decoding == Decoding()
    assert built == spec(prompt="vanilla.v2", prompt_sha=built.prompt_sha, decoding={"temperature": 0})


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_makes_a_spec_that_survives_json(strategy):
    info = strategy_info(strategy)
    roles = {"system": {"backend": "openai", "model": "m"}} if info.open_roles else {}
    members = {"first": BASE, "second": BASE | {"strategy": "cot"}} if info.composed else {}
    built = spec(
        strategy=strategy,
        allow_tie=True,
        decoding={"temperature": 0.5, "stop": ["\n"]},
        roles=roles,
        members=members,
        prompt_source="" if info.prompt or not info.needs_prompt else "# user\nWhich?",
        guidelines="Be fair." if "guidelines" in info.needs else "",
        shots=[SHOT] if "shots" in info.needs else [],
    )

    again = JudgeSpec.from_dict(json.loads(json.dumps(built.to_dict())))
    assert again == built
    assert again.fingerprint() == built.fingerprint()
    assert len(built.fingerprint()) == 16
    assert json.loads(built.canonical_json())["strategy"] == strategy


CHANGES = [
    {"strategy": "rules"},
    {"strategy": "cot"},
    {"strategy": "cot", "params": {"rules": True}},
    {"strategy": "reference"},
    {"strategy": "random", "params": {"seed": 1}},
    {"strategy": "random", "params": {"seed": 2}},
    {"strategy": "random", "params": {"seed": 2, "per_order": True}},
    {"strategy": "longest"},
    {"backend": "other"},
    {"endpoint": "https://api.example.org/v2"},
    {"endpoint": "http://api.example.org/v1"},
    {"endpoint": "https://api.example.org:8443/v1"},
    {"model": "judge-2"},
    {"revision": "abc"},
    {"prompt": "rules.v1"},
    {"prompt": "vanilla.v1"},
    {"guidelines": "Be fair."},
    {"params": {"both_orders": True}},
    {"params": {"probabilities": True}},
    {"strategy": "fewshot", "shots": [SHOT]},
    {"strategy": "fewshot", "shots": [SHOT, SHOT]},
    {"strategy": "fewshot", "shots": [SHOT | {"verdict": "B"}]},
    {"strategy": "guidelines", "guidelines": "Be fair."},
    {"strategy": "guidelines", "guidelines": "Be strict."},
    {"use_reference": True},
    {"allow_tie": True},
    {"decoding": {"temperature": 0.1}},
    {"decoding": {"temperature": None}},
    {"decoding": {"max_tokens": 16}},
    {"decoding": {"top_p": 0.9}},
    {"decoding": {"seed": 0}},
    {"decoding": {"stop": ["\n"]}},
    {"backend_options": {"structured": "vllm"}},
    {"backend_options": {"extra_body": {"reasoning_effort": "low"}}},
]


def test_every_change_that_matters_changes_the_fingerprint():
    prints = {spec(**change).fingerprint() for change in [{}, *CHANGES]}

    assert len(prints) == len(CHANGES) + 1


@pytest.mark.parametrize(
    "same",
    [
        {"endpoint": "https://API.example.org/v1/"},
        {"endpoint": " https://api.example.org/v1 "},
        {"decoding": {"temperature": 0}},
        {"decoding": {"temperature": 0.0, "max_tokens": 1024, "stop": []}},
        {"params": {}},
        {"params": {"both_orders": False, "probabilities": False}},
        {"shots": [SHOT]},
        {"backend_options": {"api_key_env": "SOME_KEY", "timeout": 5, "capacity": 2, "price_prompt": 3.0}},
        {"backend_options": {"structured": "none", "extra_body": {}}},
    ],
)
def test_what_cannot_change_an_answer_does_not_change_the_fingerprint(same):
    assert spec(**same).fingerprint() == spec().fingerprint()


def test_a_heuristic_is_the_same_whatever_model_stands_beside_it():
    plain = JudgeSpec(strategy="longest")
    dressed = spec(strategy="longest", allow_tie=True, use_reference=True, decoding={"seed": 4})

    assert dressed == plain
    assert dressed.fingerprint() == plain.fingerprint()
    assert not plain.needs_model
    assert plain.backend == plain.model == plain.prompt == ""


def test_the_reference_strategy_always_uses_the_reference():
    assert spec(strategy="reference").use_reference
    assert (
        spec(strategy="reference").fingerprint()
        == spec(strategy="reference", use_reference=True).fingerprint()
    )


def test_a_strategy_that_reads_differently_is_another_judge(monkeypatch):
    before = spec().fingerprint()
    info = strategy_info("vanilla")
    changed = registry.StrategyInfo(
        info.name, info.title, info.target, prompt=info.prompt, version=info.version + 1
    )
    monkeypatch.setattr(registry, "STRATEGIES", {**STRATEGIES, "vanilla": changed})

    assert spec().fingerprint() != before


def test_fingerprints_are_stable_across_releases():
    """Stored fingerprints must stay those of their judges: a change here is a migration of the data."""
    assert JudgeSpec(strategy="longest").fingerprint() == "833c2078587c8ef0"
    assert spec(prompt="vanilla.v1").fingerprint() == "07a57a2567e5b2ad"
    assert spec(strategy="rules", prompt="rules.v1").fingerprint() == "2c3f78ae8cef3376"
    assert spec(strategy="cot", prompt="cot.v1").fingerprint() == "488d8eb7e3272882"
    assert spec(strategy="reference", prompt="reference.v1").fingerprint() == "d1a4eadf46c9d58c"


@pytest.mark.parametrize("strategy", ["vanilla", "rules", "cot", "reference", "guidelines", "fewshot"])
def test_a_judge_that_asks_in_both_orders_does_not_depend_on_the_order(strategy):
    words = {"strategy": strategy, "guidelines": "Be fair.", "shots": [SHOT]}

    assert spec(**words).order_matters
    assert not spec(**words, params={"both_orders": True}).order_matters


def test_what_a_strategy_does_not_use_is_forgotten():
    rating = spec(strategy="rating", allow_tie=True, shots=[SHOT])

    assert rating == spec(strategy="rating")
    assert not rating.allow_tie
    assert not rating.order_matters


BAD = [
    ({"strategy": "fewshot"}, "shots", "must be given"),
    ({"strategy": "fewshot", "shots": [SHOT | {"verdict": "tie"}]}, "shots.0.verdict", "may not answer"),
    ({"strategy": "fewshot", "shots": [SHOT | {"verdict": "C"}]}, "shots.0.verdict", "one of A, B, tie"),
    ({"strategy": "guidelines"}, "guidelines", "must be given"),
    ({"strategy": "guidelines", "guidelines": " \n"}, "guidelines", "must be given"),
    ({"prompt": "vanilla.v1", "guidelines": "Be fair."}, "guidelines", "no place for them in 'vanilla.v1'"),
    ({"strategy": "rating", "params": {"scale": "1-7"}}, "params.scale", "one of 0-9, 1-5, 1-10"),
    ({"strategy": "debate", "params": {"rounds": 0}}, "params.rounds", "from 1 to 5"),
    ({"strategy": "vanila"}, "strategy", "Known strategies"),
    ({"strategy": 3}, "strategy", "expected text"),
    ({"strategie": "x"}, "strategie", "unknown field"),
    ({"backend": ""}, "backend", "name of a backend"),
    ({"backend": "../x"}, "backend", "name of a backend"),
    ({"model": " "}, "model", "asks a model"),
    ({"model": None}, "model", "expected text"),
    ({"endpoint": "api.example.org"}, "endpoint", "http or https"),
    ({"endpoint": "ftp://example.org"}, "endpoint", "http or https"),
    ({"endpoint": "http://[::1"}, "endpoint", "not a URL"),
    ({"endpoint": "http://x:99999/"}, "endpoint", "not a URL"),
    ({"endpoint": "https://me:hunter2@example.org/v1"}, "endpoint", "no user name"),
    ({"endpoint": "https://example.org/v1?key=hunter2"}, "endpoint", "no user name"),
    ({"prompt": "vanilla.v9"}, "prompt", r"vanilla\.v1"),
    ({"prompt": "../../x.v1"}, "prompt", "no pairwise prompt"),
    ({"prompt_sha": "0" * 64}, "prompt_sha", "not the one"),
    ({"use_reference": "yes"}, "use_reference", "true or false"),
    ({"allow_tie": 1}, "allow_tie", "true or false"),
    ({"decoding": 3}, "decoding", "an object"),
    ({"decoding": {"heat": 1}}, "decoding.heat", "unknown field"),
    ({"decoding": {"temperature": "0.5"}}, "decoding.temperature", "a number"),
    ({"decoding": {"temperature": True}}, "decoding.temperature", "a number"),
    ({"decoding": {"temperature": -0.1}}, "decoding.temperature", "from 0 to 2"),
    ({"decoding": {"temperature": float("nan")}}, "decoding.temperature", "from 0 to 2"),
    ({"decoding": {"top_p": 1.5}}, "decoding.top_p", "from 0 to 1"),
    ({"decoding": {"max_tokens": 0}}, "decoding.max_tokens", "at least 1"),
    ({"decoding": {"max_tokens": 1.5}}, "decoding.max_tokens", "whole number"),
    ({"decoding": {"seed": -1}}, "decoding.seed", "at least 0"),
    ({"decoding": {"stop": "x"}}, "decoding.stop", "list of texts"),
    ({"decoding": {"stop": [""]}}, "decoding.stop", "not empty"),
    ({"params": []}, "params", "an object"),
    ({"params": {"seed": 1}}, "params.seed", "no such setting"),
    ({"strategy": "random", "params": {"seed": "1"}}, "params.seed", "whole number"),
    ({"strategy": "random", "params": {"seed": True}}, "params.seed", "whole number"),
    ({"strategy": "cot", "params": {"rules": 1}}, "params.rules", "true or false"),
    ({"backend_options": "x"}, "backend_options", "an object"),
    ({"backend_options": {"x": {1, 2}}}, "backend_options", "JSON"),
    (
        {"backend_options": {"api_key_env": "sk-hunter2"}},
        "backend_options.api_key_env",
        "environment variable",
    ),
    ({"backend_options": {"api_key": "hunter2"}}, "backend_options.api_key", "secrets are not stored"),
]


@pytest.mark.parametrize(("change", "field", "problem"), BAD, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_refused_by_the_name_of_its_field(change, field, problem):
    with pytest.raises(SpecError, match=problem) as caught:
        spec(**change)

    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert "hunter2" not in str(caught.value)


def test_a_spec_needs_a_strategy_and_an_object():
    with pytest.raises(SpecError, match="strategy: missing"):
        JudgeSpec.from_dict({})
    with pytest.raises(SpecError, match="judge: expected an object"):
        JudgeSpec.from_dict([])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*JudgeSpec.__dataclass_fields__, "other"]), json_values))
def test_any_json_is_a_spec_or_a_spec_error(values):
    for given_values in (values, {**BASE, **values}):
        try:
            built = JudgeSpec.from_dict(given_values)
        except SpecError:
            continue
        assert JudgeSpec.from_dict(built.to_dict()) == built


def test_a_spec_cannot_be_changed():
    options = {"extra_body": {"a": 1}}
    built = spec(backend_options=options)
    options["extra_body"]["a"] = 2

    assert built.backend_options["extra_body"] == {"a": 1}
    with pytest.raises(FrozenInstanceError):
        built.model = "other"
    with pytest.raises(TypeError):
        built.backend_options["x"] = 1
    with pytest.raises(TypeError):
        built.params["x"] = 1


def test_the_registry_names_what_it_has():
    with pytest.raises(
        UnknownStrategyError, match=r"There is no strategy 'none'\. Known strategies: .*always_a, "
    ):
        get_strategy("none")
    for name, info in STRATEGIES.items():
        assert callable(get_strategy(name))
        assert info.name == name
        assert info.title
        assert info.needs_model or not info.prompt


def test_prices_keys_and_pace_are_harmless():
    assert {"api_key_env", "capacity", "timeout", "price_prompt", "is_local"} <= HARMLESS_OPTIONS
    assert "structured" not in HARMLESS_OPTIONS


def test_the_field_of_the_token_limit_is_no_secret_and_one_further_in_is():
    assert checked_options({"max_tokens_field": "max_completion_tokens"})
    with pytest.raises(
        SpecError, match=r"backend_options\.extra_body\.headers\.Authorization: secrets"
    ) as caught:
        checked_options({"extra_body": {"headers": {"Authorization": "Bearer x"}, "top_k": 1}})
    assert "Bearer" not in str(caught.value)
