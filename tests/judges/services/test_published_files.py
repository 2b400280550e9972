"""The authors' own files: every configuration is read, or named with the reason; stored answers give their verdicts."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import yaml

from judges.backends.openai_protocol import build_body
from judges.backends.wire import build_wire
from judges.services.published_files import alpaca_eval_read, fastchat_read, llmbar_read
from judges.strategies.parsing import read_verdict_line
from judges.strategies.parsing_ratings import read_rating_line
from judges.strategies.published_config import Published
from judges.strategies.published_parsers import Unreadable, read_published
from judges.strategies.spec import build_strategy
from judges.strategies.types import Answer, Chat, ItemView, StrategyWalk
from tests.judges.strategies.feeding import feed, judge

ITEMS = (
    ItemView(1, "pairwise", "Say hi.", ("Hi", "Bye"), reference="Hello!"),
    ItemView(2, "pairwise", "Add <b>&</b> {1}.\n\n", (" 3\n", "ß\u2028four }"), context="1 2", reference="3"),
    ItemView(3, "pairwise", "Zwei\r\nZeilen %s \\1", ("\\n", "{{x}} $1"), reference="*"),
)


def filled(template: str, *rows: dict) -> tuple:
    """Fill in, then split, as LLMBar (`str.format_map`) does it, and AlpacaEval (one replacement after the other)."""
    prompt = template
    if len(rows) == 1 and "output_human" not in rows[0]:
        prompt = template.format_map(rows[0])
    else:
        for row in rows:
            for name in dict.fromkeys(re.findall(r"{([^ \s]+?)}", template)):
                prompt = prompt.replace("{" + name + "}", row[name], 1)
    prompt = prompt.strip()
    if not prompt.startswith("<|im_start|>"):
        human = re.fullmatch(r"\s*Human:(.*?)\n\nAssistant:\s*", prompt, re.DOTALL)
        return (("user", (human[1] if human else prompt).strip()),)
    found = []
    for part in prompt.split("<|im_start|>")[1:]:
        role, content = part.split("\n", 1)
        found.append((role.strip(), content.split("<|im_end|>", 1)[0].strip()))
    return tuple(found)


def asked(evaluator: Published, item: ItemView, *answers: str, **params: object) -> list[tuple[Chat, ...]]:
    """Return what is asked of an item, given these answers."""
    spec = judge("published", prompt_source=evaluator.to_text(), params=params)
    walk, rounds = StrategyWalk(build_strategy(spec)(item)), []
    going, left = walk.advance(), list(answers)
    while going:
        rounds.append(walk.asked)
        if not left:
            return rounds
        count = len(walk.asked)
        going, left = walk.advance([Answer(text) for text in left[:count]]), left[count:]
    return rounds


def test_every_evaluator_of_llmbar_asks_word_for_word(published: Path) -> None:
    folder = published / "llmbar" / "evaluators"
    modes, settings = Counter(), Counter()
    for path in sorted((folder / "config").rglob("*.json")):
        name = path.relative_to(folder / "config").with_suffix("").as_posix()
        read = llmbar_read(folder=folder, evaluator=name)
        evaluator, rows = read.evaluator, json.loads(path.read_text())
        assert read.notes == ()
        modes[evaluator.mode] += 1
        texts = [(folder / "prompts" / row["prompt"]).read_text() for row in rows]
        for item, last in product(ITEMS, ("no verdict", "Output (a) is better.")):
            whole = "\n\n".join(part for part in (item.instruction, item.context) if part)
            pair = {"output_1": item.responses[0], "output_2": item.responses[1]}
            turned = {"output_1": item.responses[1], "output_2": item.responses[0]}
            if evaluator.mode == "swap":
                rounds = asked(evaluator, item, last, last)
                both = [filled(texts[0], {"input": whole} | outputs) for outputs in (pair, turned)]
                assert [each.messages for each in rounds[0]] == both, name
                if len(rounds) == 2:
                    reasons = {"explanation_1": last, "explanation_2": last.replace("(a)", "(b)")}
                    assert rounds[1][0].messages == filled(texts[1], {"input": whole} | pair | reasons), name
                continue
            helps = [f"help {number}" for number in range(len(texts) - 1)]
            rounds = asked(evaluator, item, *helps)
            if helps:
                assert [each.messages for each in rounds[0]] == [
                    filled(text, {"input": whole}) for text in texts[:-1]
                ], name
            values = {"input": whole} | {f"auxiliary_input_{k}": text for k, text in enumerate(helps)}
            shown = [values | pair] if evaluator.mode == "compare" else [
                values | {"output": output} for output in item.responses
            ]  # fmt: skip
            assert [each.messages for each in rounds[-1]] == [filled(texts[-1], each) for each in shown], name
        for row, step in zip(rows, evaluator.steps, strict=True):
            given = row.get("openai_kwargs") or row.get("generate_kwargs") or row["palm_kwargs"]
            tokens = next(value for key, value in given.items() if key.startswith("max_"))
            assert (step.max_tokens, step.temperature) == (tokens, given.get("temperature")), name
            biases = {-100.0: given.get("tokens_to_avoid", []), 7.0: given.get("tokens_to_favor", [])}
            assert step.biases == tuple((text, bias) for bias, texts in biases.items() for text in texts)
            settings["biased"] += bool(step.biases)
    assert modes == {"compare": 46, "swap": 12, "rate": 7}
    assert settings["biased"] == 36


def test_every_annotator_of_alpaca_eval_asks_word_for_word(published: Path) -> None:
    folder, parsers, batched, count = published / "alpaca_eval" / "evaluators_configs", {}, Counter(), 0
    for path in sorted(folder.rglob("config*.yaml")):
        for name, config in yaml.safe_load(path.read_text()).items():
            read = alpaca_eval_read(path=path, name=name)
            evaluator, step = read.evaluator, read.evaluator.steps[0]
            count += 1
            batched[evaluator.batch_size] += 1
            parsers.setdefault(evaluator.parser, []).append(evaluator.parser_options)
            given = config["completions_kwargs"]
            for key, value in given.items():
                if key.startswith("max_"):
                    assert step.max_tokens == value, name
                elif key in {"temperature", "top_p"}:
                    assert getattr(step, key) == value, name
                elif key.startswith("tokens_to_"):
                    assert set(value) <= {text for text, _ in step.biases}, name
            assert ("tools" in given) == (step.function is not None), name
            if step.function is not None:
                wire = build_wire(asked(evaluator, ITEMS[0])[0][0], model="m")
                body = build_body(wire, structured="none", max_tokens_field="max_tokens", extra={})
                assert {key: body[key] for key in ("tools", "tool_choice")} == {
                    key: given[key] for key in ("tools", "tool_choice")
                }, name
            template = (folder / config["prompt_template"]).read_text()
            for item in ITEMS:
                row = {
                    "instruction": "\n\n".join(part for part in (item.instruction, item.context) if part),
                    "output_1": item.responses[0],
                    "output_2": item.responses[1],
                    "output_human": item.reference,
                }
                ((chat,),) = asked(evaluator, item)
                if evaluator.batch_size == 1:
                    rows = [row]
                else:
                    # One pair to annotate: filled up with the dummy example, then shuffled as the published code does.
                    dummy = {"instruction": "1+1=", "output_1": "2", "output_2": "3", "output_human": ""}
                    frame = pd.DataFrame([row, *[dummy] * (evaluator.batch_size - 1)])
                    rows = frame.sample(frac=1, random_state=0).to_dict("records")
                assert chat.messages == filled(template, *rows), name
    assert count == 57
    assert batched == {1: 50, 5: 5, 4: 2}
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


def test_every_prompt_of_mt_bench_asks_word_for_word(published: Path) -> None:
    path = published / "fastchat" / "judge_prompts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 8
    for row in rows:
        evaluator = fastchat_read(path=path, name=row["name"]).evaluator
        two = "multi-turn" in row["name"]
        for item in ITEMS:
            item = replace(
                item, context="", conversation=(("user", "First?"), ("assistant", "1.")) if two else ()
            )
            first, second = item.responses
            values = {"question": item.instruction, "answer": first, "answer_a": first, "answer_b": second}
            values |= {"question_1": "First?", "question_2": item.instruction, "answer_1": "1."}
            values |= {"answer_a_1": "1.", "answer_b_1": "1.", "answer_a_2": first, "answer_b_2": second}
            values |= {"ref_answer_1": "1." if two else item.reference, "ref_answer_2": item.reference}
            answers = [values | {"answer_2": first}, values | {"answer": second, "answer_2": second}]
            expected = [
                (("system", row["system_prompt"]), ("user", row["prompt_template"].format(**each)))
                for each in (answers if row["type"] == "single" else answers[:1])
            ]
            ((*chats,),) = asked(evaluator, item)
            assert [each.messages for each in chats] == expected, row["name"]
            assert {(each.temperature, each.max_tokens) for each in chats} == {(0.0, 2048)}


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
