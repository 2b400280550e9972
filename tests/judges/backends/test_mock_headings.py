"""The mock server answers prompts of other people: by the words, marks, ranks or scores that they ask for."""

from dataclasses import replace
from pathlib import Path

import pytest

from judges import Judge
from judges.backends.mock_answers import respond
from judges.backends.mock_models import parse_model
from judges.backends.mock_server import MockServer
from judges.services.judge_files import judge_read, judges_found
from judges.strategies.documents import JudgeDocument
from judges.strategies.errors import SpecError

pytestmark = pytest.mark.service
LONG, SHORT = "A long answer that says a great deal about tea.", "Tea."
UNDER = "# Text (a):\n{0}\n\n# Text (b):\n{1}\n\n"
STRUCTURE = (
    '[\n  {{\n    "name": "model_1",\n    "text": """{0}"""\n  }},\n'
    '  {{\n    "name": "model_2",\n    "text": """{1}"""\n  }}\n]\n'
)
MARKED = "[Start of A's answer]\n{0}\n[End of A's answer]\n[Start of B's answer]\n{1}\n[End of B's answer]\n"
RANKS = "{{'model': 'model_1', 'rank': {}}}"
ASKED = [
    (UNDER + '# Is "Text (a)" or "Text (b)" better?', "Text (a)", "Text (b)"),
    (UNDER + "Say which is best, (a) or (b). You may say Text (a) or Text (b).", "Text (a)", "Text (b)"),
    (UNDER + 'Give an explanation, and end with "So Text (a)." or "So Text (b)."', "So Text (a).", "So Text (b)."),
    (MARKED + "[[A]] or [[B]]?", "[[A]]", "[[B]]"),
    (UNDER + "From [[A>>B]] over [[A>B]] to [[B>>A]].", "[[A>B]]", "[[B>>A]]"),
    (UNDER + "Write [[rating_a,rating_b]].", "[[8,5]]", "[[5,8]]"),
    (UNDER + "A line with only two values.", "8 5\n", "5 8\n"),
    (STRUCTURE + "[{{'model': <name>, 'rank': <rank>}}]", RANKS.format(1), RANKS.format(2)),
]  # fmt: skip
"""A prompt with two texts, and what an answer for the first and for the second of them has in it."""


def answer(prompt, model="mock-longer", **body):
    made = parse_model(model)
    assert made is not None
    return respond(made, model, {"messages": [{"role": "user", "content": prompt}], **body}).text


@pytest.mark.parametrize(("prompt", "first", "second"), ASKED)
def test_the_verdict_is_in_the_words_of_the_prompt(prompt, first, second):
    assert first in answer(prompt.format(LONG, SHORT))
    assert second in answer(prompt.format(SHORT, LONG))
    assert answer(prompt.format(LONG, SHORT)) == answer(prompt.format(LONG, SHORT))
    assert second in answer(prompt.format(LONG, SHORT), "mock-shorter")


@pytest.mark.parametrize("asked", ["from 1 to 10, as [[rating]]", "of 0 to 9. ONLY the score"])
def test_a_score_follows_the_output(asked):
    prompt = "Rate the answer {}.\n# Answer:\n{}\n# Reference answer:\n" + LONG * 20
    long, short = (answer(prompt.format(asked, text)).strip("Rating: []") for text in (LONG * 9, SHORT))
    assert int(long) > int(short)


def test_a_function_is_called_with_the_verdict():
    parts = {"model": {"type": "string"}, "rank": {"type": "number"}}
    properties = {
        "order": {"type": "array", "items": {"type": "object", "properties": parts}},
        "best": {"type": "string", "description": "'Text (a)' or 'Text (b)'"},
    }
    function = {"name": "say", "parameters": {"type": "object", "properties": properties}}
    said = answer(UNDER.format(SHORT, LONG), tools=[{"type": "function", "function": function}])
    assert '"best": "Text (b)"' in said
    assert '{"model": "a", "rank": 2}' in said


def test_an_instruction_without_outputs_is_carried_out():
    assert "A mock answer" in answer("Say what is better, A or B.")


MORE_THAN_ONE_PAIR = {
    "gpt4_1",
    "gpt4_2",
    "gpt4_3",
    "gpt4_5",
    "davinci003_1",
    "davinci003_3",
    "alpaca_farm_greedy_gpt4",
}
"""Evaluators of AlpacaEval that ask about several pairs at once."""
IN_WORDS_OF_NO_FORM = {
    "chatgpt_2",
    "davinci003_2",
    "davinci003_4",
    "aviary_gpt4",
    "improved_aviary_gpt4",
    "PaLM2/CoT",
}


def test_the_authors_own_judges_are_answered(published: Path, server: MockServer):
    """Each by its own prompt, and read by its own parser."""
    n = 0
    for name in ("llmbar", "alpaca_eval", "fastchat"):
        folder = published / name
        for found in judges_found(folder):
            if found.name in MORE_THAN_ONE_PAIR | IN_WORDS_OF_NO_FORM or "multi-turn" in found.name:
                continue
            try:
                read = judge_read(found, folder, model="mock-longer")
            except SpecError:
                continue  # `test_published_files` names these with their reasons
            spec = replace(read.document.spec, endpoint=server.url)
            with Judge(JudgeDocument(found.name, spec)) as judge:
                for first, second, better in ((LONG, SHORT, 1), (SHORT, LONG, 2)):
                    said = judge.compare("Say something about tea.", first, second, reference="Tea!")
                    assert said.choice == better, (found.name, said)
            n += 1
    assert n > 100
