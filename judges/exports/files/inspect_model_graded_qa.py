"""A judge as Inspect's `model_graded_qa`, exported by Touchstone: `judge_data.json` holds the arguments."""

import json
import os
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.scorer import Scorer, model_graded_qa

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "judge_data.json").read_text(encoding="utf-8"))


def judge_scorers(model: str | Model | None = None) -> list[Scorer]:
    """The judge's scorers: one, or one for each criterion; another model makes it another judge."""
    if not isinstance(model, Model):
        config = GenerateConfig(**DATA["config"])
        if model is None:
            key = os.environ.get(DATA["api_key_env"], "none")
            name, url = f"openai-api/judge/{DATA['model']}", DATA["endpoint"]
            model = get_model(name, base_url=url, api_key=key, config=config)
        else:
            model = get_model(model, config=config)
    return [
        model_graded_qa(template=call["template"], grade_pattern=call["grade_pattern"], model=model)
        for call in DATA["calls"]
    ]
