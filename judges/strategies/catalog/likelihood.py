"""Judges that read likelihoods, vectors and scores instead of answers; and contestants, which answer themselves."""

from __future__ import annotations

from itertools import permutations

from judges.strategies.info import Param, StrategyInfo

LIKELIHOOD = "Likelihood"
MODELS = "Encoders, reward and preference models"
HREF = "Lyu et al., HREF, 2024"
HUMAN_RANK_EVAL = "Gritta et al., HumanRankEval, NAACL 2024"

_CLASSES = tuple(", ".join(order) for names in ("A B", "A B tie") for order in permutations(names.split()))
_NORMALISE = ("token", "character", "none")
_TEMPLATE = Param(
    str,
    "plain",
    "plain: raw text after 'Question:' and 'Answer:', as published; chat: the model's chat template.",
    choices=("plain", "chat"),
)
_BY_LENGTH = Param(
    str, "character", "Divide by the answer's length in characters (as published) or tokens.", _NORMALISE
)

ENTRIES: tuple[StrategyInfo, ...] = (
    StrategyInfo(
        "perplexity_reference",
        "Perplexity of the human reference",
        "judges.strategies.likelihood:perplexity_reference",
        family=LIKELIHOOD,
        source=HREF,
        main_model=False,
        open_roles=True,
        needs_reference=True,
        needs_prompt=False,
        params={
            "normalise": Param(
                str,
                "token",
                "Divide the log-likelihood by tokens (perplexity) or characters (fair between tokenizers).",
                _NORMALISE,
            )
        },
        takes=frozenset(),
        requests=frozenset({"score"}),
        order_matters=False,
        summary="The system whose model finds the human-written answer less surprising wins.",
    ),
    StrategyInfo(
        "loglikelihood_ranking",
        "Log-likelihood of the answers",
        "judges.strategies.likelihood:loglikelihood_ranking",
        kind="answer_ranking",
        family=LIKELIHOOD,
        source=HUMAN_RANK_EVAL,
        needs_prompt=False,
        params={"normalise": _BY_LENGTH, "template": _TEMPLATE},
        takes=frozenset(),
        requests=frozenset({"score"}),
        order_matters=False,
        summary="Ranks answers by how likely the evaluated model finds them, divided by their length.",
    ),
    StrategyInfo(
        "loglikelihood",
        "Log-likelihood of the responses",
        "judges.strategies.likelihood:loglikelihood",
        family=LIKELIHOOD,
        source=HUMAN_RANK_EVAL,
        needs_prompt=False,
        params={"normalise": _BY_LENGTH, "template": _TEMPLATE},
        takes=frozenset(),
        requests=frozenset({"score"}),
        order_matters=False,
        summary="Prefers the response that the evaluated model finds likelier, divided by its length.",
    ),
    StrategyInfo(
        "embedding",
        "Embedding similarity to the reference",
        "judges.strategies.similarity:embedding",
        family=MODELS,
        source=HREF,
        needs_reference=True,
        needs_prompt=False,
        params={"prefix": Param(str, "", "Put before each text, such as 'query: ' for encoders trained so.")},
        takes=frozenset(),
        requests=frozenset({"embed"}),
        order_matters=False,
        summary="Prefers the response whose vector points more nearly where the human reference's does.",
    ),
    StrategyInfo(
        "reward",
        "Reward model",
        "judges.strategies.reward:reward",
        family=MODELS,
        source="Ouyang et al., InstructGPT, 2022",
        needs_prompt=False,
        takes=frozenset(),
        requests=frozenset({"classify"}),
        order_matters=False,
        summary="Prefers the response to which a reward model (one output) gives the higher score.",
    ),
    StrategyInfo(
        "preference_classifier",
        "Preference classifier",
        "judges.strategies.reward:preference_classifier",
        family=MODELS,
        source="Jiang et al., LLM-Blender, ACL 2023",
        needs_prompt=False,
        params={
            "text": Param(
                str,
                "{question}\n\nResponse A:\n{a}\n\nResponse B:\n{b}",
                "What it reads, with {question}, {a} and {b}.",
            ),
            "text_pair": Param(str, "", "A second text beside it, for models that read two."),
            "classes": Param(str, "A, B", "Its outputs in their order: A, B and perhaps tie.", _CLASSES),
        },
        takes=frozenset({"tie"}),
        requests=frozenset({"classify"}),
        summary="A model that reads both responses and has outputs for A, B and perhaps a tie.",
    ),
    StrategyInfo(
        "generate",
        "Contestant",
        "judges.strategies.generate:generate",
        kind="generation",
        family="Contestants",
        needs_prompt=False,
        params={"system": Param(str, "", "A message of the system put before the instruction.")},
        takes=frozenset({"decoding"}),
        order_matters=False,
        version=2,
        summary="Answers the instructions of a dataset, so that its responses can be judged.",
    ),
)
