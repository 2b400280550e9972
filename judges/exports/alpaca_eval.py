"""An annotator of AlpacaEval: `configs.yaml` and its prompt's template.

The template is ChatML, in which ``{instruction}`` and the like are replaced one after the other, each once. What stands
in braces without a space is such a place, so a prompt that has other text of this form can't be written down.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import COMPARE, OUTPUT_A, OUTPUT_B
from judges.exports.writing import (
    ABSTENTION,
    CONSTRAINED,
    CONTEXT,
    ENDPOINT,
    EXTRA_BODY,
    FENCES,
    MAX_TOKENS,
    ORDERS,
    PROBABILITIES,
    REFERENCE,
    SAMPLES,
    SEED,
    STOP,
    SYSTEM,
    TEMPERATURE,
    THINKING,
    TIE,
    TOP_P,
    TURNS,
    ExportJudge,
    ExportTarget,
    Files,
)

_COLUMNS = {OUTPUT_A: "output_1", OUTPUT_B: "output_2"}
_PLACE = re.compile(r"{([^ \s]+?)}")
"""AlpacaEval's own expression."""
_PREFERENCE = {"A": 1, "B": 2, "tie": 1.5}
"""A tie of 0 would become 3 where AlpacaEval swaps the outputs."""


def annotator_write(judge: ExportJudge) -> Files:
    """Return the folder of an annotator: to be put below the evaluators' folder, or named by its path."""
    question = judge.question
    columns = {name: _COLUMNS.get(name, name) for name in question.texts}
    messages = question.messages(lambda name: f"{{{columns[name]}}}")
    template = "\n".join(f"<|im_start|>{role}\n{content}\n<|im_end|>" for role, content in messages)
    if sorted(_PLACE.findall(template)) != sorted(columns.values()):
        raise ExportRefusedError(
            "prompt", "AlpacaEval takes text in braces for the name of a column, and shows each column once."
        )
    model = judge.document.spec.main_model()
    fields = request_fields(model)
    kwargs: dict[str, Any] = {
        "model_name": model.model,
        **({"openai_api_base": model.endpoint} if model.endpoint else {}),
        "requires_chatml": True,
        # Null rather than left out, which would be AlpacaEval's own default.
        **{name: fields.pop(name, None) for name in ("max_tokens", "temperature", "top_p")},
        **fields,
    }
    parser = {_PREFERENCE[label]: pattern for label, pattern in question.answer.patterns().items()}
    config = {
        judge.name: {
            "prompt_template": f"{judge.name}/prompt.txt",
            "fn_completions": "openai_completions",
            "completions_kwargs": kwargs,
            "fn_completion_parser": "regex_parser",
            "completion_parser_kwargs": {"outputs_to_match": parser},
            "batch_size": 1,
        }
    }
    return {
        f"{judge.name}/configs.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=110),
        f"{judge.name}/prompt.txt": template,
    }


TARGET = ExportTarget(
    name="alpaca-eval",
    title="AlpacaEval",
    write=annotator_write,
    version="alpaca-eval 0.6.6",
    how="The folder is an annotator: `alpaca_eval --annotators_config FOLDER/NAME`, or "
    '`PairwiseAnnotator(annotators_config="FOLDER/NAME")`.',
    about={COMPARE: "`output_1` is Output A, `output_2` Output B; a preference is 1, 2, or 1.5 for a tie."},
    carries={
        SYSTEM: "In the template.",
        TURNS: "In the template.",
        ENDPOINT: "`model_name` and `openai_api_base`; the key comes from `OPENAI_API_KEY`.",
        TEMPERATURE: "As it is.",
        TOP_P: "As it is.",
        MAX_TOKENS: "As it is.",
        THINKING: "As it is, or in `extra_body`.",
        SEED: "As it is.",
        STOP: "As it is.",
        EXTRA_BODY: "As it is.",
        REFERENCE: 'A column `reference`: pass `input_keys=("instruction", "reference")`.',
        TIE: "A preference of 1.5.",
    },
    loses={
        CONTEXT: "A template has no conditions: put an item's input into its instruction.",
        CONSTRAINED: "Answers are asked for in words alone.",
        ORDERS: "Each pair is shown once, in an order that AlpacaEval draws.",
        SAMPLES: "Each pair is asked about once.",
        PROBABILITIES: "The verdict is read from the text.",
        ABSTENTION: "A preference has no certainty to compare with it.",
        FENCES: "A template can't look at a response, so one that holds a delimiter can end its own.",
    },
)
