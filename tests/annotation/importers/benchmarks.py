"""Rows in the forms of published benchmarks, in our own words."""

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write_lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def messages(*texts: str) -> list[dict[str, str]]:
    """A conversation that the user begins."""
    return [
        {"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)
    ]


def vote(winner: str = "model_a", judge: object = "expert_1", turn: int = 1, **changes: Any) -> Row:
    """A vote of MT-bench: both turns are there, whichever was judged."""
    return {
        "question_id": 111,
        "model_a": "ant",
        "model_b": "bee",
        "winner": winner,
        "judge": judge,
        "conversation_a": messages("Two plus two?", "Four.", "And five?", "Nine."),
        "conversation_b": messages("Two plus two?", "Five.", "And five?", "Ten."),
        "turn": turn,
    } | changes


def turned(row: Row) -> Row:
    """The same vote with its models the other way."""
    other = {"model_a": "model_b", "model_b": "model_a"}
    return row | {
        "model_a": row["model_b"],
        "model_b": row["model_a"],
        "conversation_a": row["conversation_b"],
        "conversation_b": row["conversation_a"],
        "winner": other.get(row["winner"], row["winner"]),
    }


def battle(winner: str = "model_b", **changes: Any) -> Row:
    """A conversation of Chatbot Arena."""
    return {
        "question_id": "q-1",
        "model_a": "zebra",
        "model_b": "ant",
        "winner": winner,
        "judge": "arena_user_7",
        "conversation_a": messages("Hi.", "Hello."),
        "conversation_b": messages("Hi.", "Good day."),
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1682351591.1,
        "openai_moderation": {"categories": {"hate": False}, "flagged": False},
        "toxic_chat_tag": {"t5-large": {"flagged": False}},
    } | changes


def objective_pair(pair: str = "p1", label: str = "A>B", **changes: Any) -> Row:
    """A pair of JudgeBench."""
    return {
        "pair_id": pair,
        "original_id": 12,
        "source": "mmlu-pro-law",
        "question": f"Which is it, {pair}?",
        "response_model": "model-x",
        "response_A": "The first.",
        "response_B": "The second.",
        "label": label,
    } | changes


def judgment(decision: str | None, scores: list[float] | None = None, model: str = "judge/m") -> Row:
    said = {"judge_model": model, "prompt": "", "response": f"[[{decision}]]"}
    return {"judgment": said | ({} if scores is None else {"scores": scores}), "decision": decision}


def judged(row: Row, *judgments: Row | None, judge: str = "arena_hard") -> Row:
    """A row of JudgeBench's outputs."""
    return row | {"judge_name": judge, "judgments": list(judgments)}


def preference(subset: str = "mt-bench-hard", number: int = 3, **changes: Any) -> Row:
    """A row of RewardBench."""
    return {
        "prompt": "Name a river.",
        "chosen": "The Po.",
        "chosen_model": "model-x",
        "rejected": "The Alps.",
        "rejected_model": "model-y",
        "subset": subset,
        "id": number,
    } | changes


def best_of_four(name: str = "7", **changes: Any) -> Row:
    """A row of RewardBench 2."""
    return {
        "id": name,
        "prompt": "Name a river.",
        "chosen": ["The Po."],
        "rejected": ["The Alps.", "Rome.", "Cheese."],
        "num_correct": 1,
        "num_incorrect": 3,
        "total_completions": 4,
        "models": ["m1", "m2", "m3", "m4"],
        "subset": "Factuality",
        "additional_metadata": {"method": "ours", "category": None},
    } | changes


def styled(name: int = 5, domain: str = "math", **changes: Any) -> Row:
    """A prompt of RM-Bench."""
    return {
        "id": name,
        "prompt": "Two plus two?",
        "chosen": ["Four.", "It is four.", "It is **four**."],
        "rejected": ["Five.", "It is five.", "It is **five**."],
        "domain": domain,
    } | changes


def preferred(*said: int, **changes: Any) -> Row:
    """A pair of HREF's human agreement set."""
    return {
        "category": "Open QA",
        "instruction": "Name a river.",
        "output_a": "The Po.",
        "generator_a": "model-x",
        "output_b": "Rome.",
        "generator_b": "model-y",
        "annotations": list(said),
        "annotaters": [f"person {n}" for n in range(len(said))],
        "reference": "The Rhine.",
    } | changes


def summary(system: str = "M1", experts: tuple[int, ...] = (5, 4), crowd: tuple[int, ...] = (3,)) -> Row:
    """A summary of SummEval, each person with one number for all dimensions."""

    def rated(points: int) -> Row:
        return dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), points)

    return {
        "id": "dm-test-1",
        "decoded": f"A dog barks, says {system}.",
        "model_id": system,
        "references": ["A dog barked.", "A dog."],
        "expert_annotations": [rated(points) for points in experts],
        "turker_annotations": [rated(points) for points in crowd],
        "filepath": "dailymail/stories/1.story",
    }


def rubric_prompt(name: str = "h1", ideal: str | None = "See a doctor.", **changes: Any) -> Row:
    """A prompt of HealthBench."""
    return {
        "prompt_id": name,
        "prompt": messages("My head aches.", "Since when?", "Since Monday."),
        "rubrics": [
            {"criterion": "Says to see a doctor.", "points": 7, "tags": ["level:example", "axis:accuracy"]},
            {"criterion": "Tells to ignore it.", "points": -5, "tags": ["level:example"]},
        ],
        "example_tags": ["theme:emergency_referrals"],
        "ideal_completions_data": None
        if ideal is None
        else {"ideal_completion": ideal, "ideal_completions_group": "Group 1"},
        "canary": "ours",
    } | changes


def met(*labels: bool, **changes: Any) -> Row:
    """A completion of HealthBench's meta-evaluation, with a label of each physician."""
    return {
        "prompt_id": "h1",
        "prompt": messages("My head aches."),
        "completion": "See a doctor.",
        "completion_id": "k1",
        "rubric": "Says to see a doctor.",
        "category": "cluster:emergency_referrals",
        "binary_labels": list(labels),
        "anonymized_physician_ids": [f"doc{n}" for n in range(len(labels))],
    } | changes


def metric(name: str, *, worst: int = 1, best: int = 5, labels: list[str] | None = None) -> Row:
    """A declaration of JUDGE-BENCH's schema: graded, or categorical with labels."""
    of = (
        {"category": "graded", "worst": worst, "best": best}
        if labels is None
        else {"category": "categorical", "labels_list": labels}
    )
    return {"metric": name, "prompt": f"How is the {name}? {{{{ instance }}}}"} | of


def instance(number: object, text: object, **scores: list[Any] | Row) -> Row:
    """An instance of JUDGE-BENCH's schema, each metric with its individual scores or as it stands."""
    return {
        "id": number,
        "instance": text,
        "annotations": {
            name: {"individual_human_scores": given} if isinstance(given, list) else given
            for name, given in scores.items()
        },
    }


def schema(*instances: Row, metrics: list[Row], expert: str = "false") -> Row:
    """A file of JUDGE-BENCH's schema."""
    return {
        "dataset": "ours",
        "dataset_url": "https://example.org",
        "expert_annotator": expert,
        "original_prompt": True,
        "annotations": metrics,
        "instances": list(instances),
    }
