"""Rating: each response scored alone, then compared.

Scores 0 to 9: Zeng et al. (LLMBar), ICLR 2024. Scores 1 to 5 by described levels: Kim et al., "Prometheus: Inducing
Fine-grained Evaluation Capability in Language Models", ICLR 2024. The expected score over the token probabilities: Liu
et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023. The prompts are our own.
"""

from judges.strategies.pairwise import pair, render_outputs
from judges.strategies.parsing import unparsed
from judges.strategies.parsing_ratings import Rating, read_rating, read_rating_line
from judges.strategies.probabilities import label_chances
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, Verdict, several

SCALES = {"0-9": (0, 9), "1-5": (1, 5), "1-10": (1, 10)}
DESCRIBED = "1-5"
NO_CHANCES = "No log-probabilities of the scores came with the answers; they were read from the texts."
NEGLIGIBLE = 1e-3


def rating(item: ItemView, config: StrategyConfig) -> Steps:
    """Score each response alone; the higher score wins, equal ones are a hedge: choice 0, marked as such."""
    pair(item)
    answers = several((yield tuple(_question(item, config, text) for text in item.responses)))
    ratings = [_read(answer, config) for answer in answers]
    text = _raw_text(item, answers)
    for place, each in enumerate(ratings):
        if each.score is None:
            shown = "first" if place == item.order else "second"
            return unparsed(text, f"the {shown} response: {each.reason}")
    value: dict[str, object] = {}
    scores = tuple(float(each.score) for each in ratings if each.score is not None)
    if config.params["expected"]:
        expected = [_expected(answer, config, each) for answer, each in zip(answers, ratings, strict=True)]
        # Both or neither: an expected score and a whole one are not compared.
        if None in expected:
            value["note"] = NO_CHANCES
        else:
            value["ratings"] = [int(score) for score in (scores if item.order == 0 else scores[::-1])]
            scores = tuple(score for score in expected if score is not None)
    a, b = scores
    choice = 0 if a == b else 1 if a > b else 2
    if choice == 0:
        value["hedge"] = True
    return Verdict(choice, "parsed", raw_text=text, scores=(a, b), value=value or None)


def _question(item: ItemView, config: StrategyConfig, output: str) -> Chat:
    """Ask for the rating of one output: the identical request whatever it is paired with."""
    low, high = SCALES[config.params["scale"]]
    flags = {"described": config.params["scale"] == DESCRIBED, "cot": config.params["cot"]}
    messages = render_outputs(
        item,
        config,
        {"output": output, "low": str(low), "high": str(high)},
        *(name for name, raised in flags.items() if raised),
    )
    choices = () if config.params["cot"] else _labels(config)
    return Chat(messages, choices=choices, logprobs=config.params["expected"])


def _labels(config: StrategyConfig) -> tuple[str, ...]:
    low, high = SCALES[config.params["scale"]]
    return tuple(str(score) for score in range(low, high + 1))


def _read(answer: Answer, config: StrategyConfig) -> Rating:
    read = read_rating_line if config.params["cot"] else read_rating
    return read(answer.text, *SCALES[config.params["scale"]], cut_off=answer.cut_off)


def _expected(answer: Answer, config: StrategyConfig, read: Rating) -> float | None:
    """Return the mean score under the probabilities of the score tokens; None where they are not known."""
    labels = _labels(config)
    chances = label_chances(answer, labels, str(read.score), last=config.params["cot"])
    if chances is None:
        return None
    if "10" in chances and chances["10"] == 0 and chances["1"] > NEGLIGIBLE:
        # A vocabulary that writes 10 in two tokens: the first one does not tell 1 from 10.
        return None
    return sum(int(label) * chance for label, chance in chances.items())


def _raw_text(item: ItemView, answers: tuple[Answer, ...]) -> str:
    first, second = (answer.text for answer in (answers if item.order == 0 else answers[::-1]))
    return f"[first response]\n{first}\n\n[second response]\n{second}"
