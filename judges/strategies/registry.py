"""Every strategy there is: what is known of it without importing it, in the order in which people choose, and how it is
imported when it is first used.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from itertools import permutations
from types import MappingProxyType
from typing import Any, cast

from judges.strategies.errors import UnknownStrategyError
from judges.strategies.info import Param, StrategyInfo
from judges.strategies.own_formats import QUESTION, named_preset, own_formats
from judges.strategies.types import Strategy

# --- pairs ----------------------------------------------------------------------------------------------------

LLMBAR = (
    "Zeng et al., Evaluating Large Language Models at Evaluating Instruction Following (LLMBar), ICLR 2024"
)
HREF = "Lyu et al., HREF: Human Response-Guided Evaluation of Instruction Following in Language Models, 2024"

RULES = Param(
    bool,
    False,
    "Put rules of judging first: what was asked counts before how it reads, looks and length do not count.",
    later=True,
)
BOTH_ORDERS = Param(
    bool,
    False,
    "Ask in both presentation orders and average. Without probabilities: where they contradict each other it is a "
    "tie, or unparsed if ties are not allowed.",
    later=True,
)
PROBABILITIES = Param(
    bool,
    False,
    "Read the verdict's probability from the log-probabilities of its token, where the server gives them, and choose "
    "what is likelier.",
    later=True,
)
FAITHFUL = "As published rather than as here: "
ONE_QUESTION = {"both_orders": BOTH_ORDERS, "probabilities": PROBABILITIES}
RULED = {"rules": RULES, **ONE_QUESTION}
TAKES = frozenset({"reference", "tie", "guidelines", "decoding"})
READS = 3
"""How verdicts are read; raised when the readers learn another way in which a verdict is said."""
# The same prompt files in every strategy, so that the steps are the same requests.
METRICS = {"metrics": "metrics.v1"}
ANSWER = {"answer": "answer.v1"}

PERSONAS = (
    "Everyday reader: You want to get done what the instruction is for, and ask which output gets you there; "
    "Fact checker: You check every claim, number and line of code, and ask what would mislead a reader; "
    "Editor: You hold the output against the wording of the instruction, word by word, and ask what was left out, "
    "added or turned into something else"
)

_question = partial(
    StrategyInfo, source=LLMBAR, prompt="vanilla.v2", params=ONE_QUESTION, version=READS, takes=TAKES
)
_steps = partial(_question, family="Several questions", prompt="informed.v1", params=RULED)

PAIRS = (
    _question(
        "vanilla",
        "Vanilla",
        "judges.strategies.direct:vanilla",
        summary="Asks which response is better, and nothing else: the plainest and cheapest way.",
    ),
    _question(
        "rules",
        "With rules",
        "judges.strategies.direct:rules",
        summary="Asks the same after rules of judging: following the instruction counts first, looks do not.",
    ),
    _question(
        "cot",
        "Chain of thought",
        "judges.strategies.direct:cot",
        source=f"{LLMBAR}; Wei et al., Chain-of-Thought Prompting, NeurIPS 2022",
        prompt="cot.v2",
        params={"rules": Param(bool, False, RULES.help), "both_orders": BOTH_ORDERS},
        summary="The model gives its reasons first and its verdict last: slower, and dearer.",
    ),
    _question(
        "reference",
        "With the human reference",
        "judges.strategies.direct:reference",
        source=HREF,
        needs_reference=True,
        prompt="reference.v2",
        params=RULED,
        summary="Shows the model a human-written answer beside the two responses.",
    ),
    _question(
        "guidelines",
        "By the annotators' guidelines",
        "judges.strategies.direct:guidelines",
        source=HREF,
        prompt="guidelines.v1",
        params=RULED,
        takes=TAKES | {"shots"},
        needs=frozenset({"guidelines"}),
        summary="Makes the guidelines that people follow the model's own, with their worked examples if there are any.",
    ),
    _question(
        "fewshot",
        "Few-shot",
        "judges.strategies.direct:fewshot",
        source="Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020",
        prompts={"cot": "cot.v2"},
        params={
            "cot": Param(bool, False, "Reasons first, as the examples give them, and the verdict last."),
            "rules": RULES,
            **ONE_QUESTION,
        },
        takes=TAKES | {"shots"},
        needs=frozenset({"shots"}),
        summary="Shows worked examples with their verdicts before it asks.",
    ),
    _steps(
        "metrics",
        "Self-generated metrics",
        "judges.strategies.metrics:metrics",
        prompts=METRICS,
        summary="Has the model list what matters for the instruction, then asks which response is better by it.",
    ),
    _steps(
        "reference_self",
        "Self-generated reference",
        "judges.strategies.metrics:reference_self",
        prompts=ANSWER,
        summary="Has the model answer the instruction itself, then asks which response is better beside its answer.",
    ),
    _steps(
        "metrics_reference",
        "Metrics and reference",
        "judges.strategies.metrics:metrics_reference",
        prompts={**METRICS, **ANSWER},
        summary="Both: what matters for the instruction, and an answer of the model's own.",
    ),
    _steps(
        "swap",
        "Swap and synthesise",
        "judges.strategies.synthesis:swap",
        prompt="vanilla.v2",
        prompts={"synthesis": "synthesis.v1"},
        prompts_with={"faithful": {"reasons": "cot.v2", "settle": "settle.v1"}},
        params={
            "rules": RULES,
            "faithful": Param(
                bool,
                False,
                f"{FAITHFUL}the first two questions ask for reasons, the last one shows them and asks for the verdict "
                "alone, and it is asked in each presentation order.",
                later=True,
            ),
        },
        order_matters=False,
        order_with=frozenset({"faithful"}),
        summary="Asks in both orders, and once more where the two verdicts contradict each other.",
    ),
    _steps(
        "swap_cot",
        "Swap and synthesise, with chain of thought",
        "judges.strategies.synthesis:swap_cot",
        prompt="cot.v2",
        prompts={"synthesis": "synthesis.v1"},
        params={
            "rules": RULES,
            "faithful": Param(
                bool,
                False,
                f"{FAITHFUL}the last question is asked in each presentation order, each with its own verdict.",
                later=True,
            ),
        },
        order_matters=False,
        order_with=frozenset({"faithful"}),
        summary="Asks for reasons and a verdict in both orders; where they contradict each other, weighs the reasons.",
    ),
    _steps(
        "debate",
        "Debate of personas",
        "judges.strategies.debate:debate",
        source="Chan et al., ChatEval: Towards Better LLM-based Evaluators through Multi-Agent Debate, ICLR 2024",
        prompt="debate.v1",
        prompts={"moderator": "moderator.v1"},
        params={
            "personas": Param(str, PERSONAS, "Who takes part: 'Name: how they look at things; Name: ...'."),
            "rounds": Param(int, 2, "How often each of them speaks.", low=1, high=5),
            "turns": Param(
                str,
                "one by one",
                "One by one: each hears all before. Together: each hears the rounds before, which is quicker.",
                choices=("one by one", "together"),
            ),
            "decision": Param(
                str,
                "moderator",
                "Who decides: a moderator who has heard it all, or the majority of the last round.",
                choices=("moderator", "majority"),
            ),
            "rules": RULES,
        },
        summary="Several personas discuss the two responses; a moderator or their majority gives the verdict.",
    ),
    StrategyInfo(
        "rating",
        "Rating, each response alone",
        "judges.strategies.rating:rating",
        family="Rating",
        source=(
            "Zeng et al. (LLMBar), ICLR 2024 (0 to 9); Kim et al., Prometheus, ICLR 2024 (1 to 5, described); "
            "Liu et al., G-Eval, EMNLP 2023 (expected score)"
        ),
        prompt="rating.v1",
        params={
            "scale": Param(
                str, "0-9", "1-5 has a description for each score.", choices=("0-9", "1-5", "1-10")
            ),
            "cot": Param(bool, False, "Reasons first, the score on the last line."),
            "rules": RULES,
            "expected": Param(
                bool,
                False,
                "Take the mean score under the token probabilities, where the server gives them: hardly ever a hedge.",
            ),
        },
        version=READS,
        takes=frozenset({"reference", "guidelines", "decoding"}),
        order_matters=False,
        summary="Scores each response alone and prefers the higher score; equal scores are a hedge.",
    ),
)

# --- rubrics, checklists, importance, rankings of several answers and categories ---------------------------------

RANKING = "answer_ranking"
_SEEN = frozenset({"reference", "guidelines", "decoding"})

# What the entries of a kind share.
_SHARED: dict[str, dict[str, Any]] = {
    "rubric": {
        "family": "Rubric",
        "source": "Zhang et al. (HELM Instruct), 2024",
        "takes": _SEEN,
        "version": READS,
    },
    "checklist": {
        "family": "Checklist",
        "source": "Qin et al. (InFoBench), Findings of ACL 2024",
        "takes": _SEEN,
        "version": READS,
    },
    "importance": {"family": "Importance", "source": "TOWER", "takes": _SEEN - {"reference"}},
    "classification": {"family": "Classification", "takes": _SEEN - {"reference"}},
}


def _of_kind(kind: str, shared: dict[str, Any]) -> Callable[..., StrategyInfo]:
    return partial(StrategyInfo, kind=kind, order_matters=False, **shared)


_rubric, _checklist, _importance, _classification = (_of_kind(*entry) for entry in _SHARED.items())
_ranking = partial(
    StrategyInfo,
    kind=RANKING,
    family="Ranking of answers",
    takes=_SEEN,
    version=READS,
    order_matters=False,
)

_RULES = Param(bool, False, "Put rules of rating before the question.")
_CANNOT_TELL = Param(bool, False, "Allow the answer “cannot tell”; it counts as not followed.")
_FLAT = Param(
    bool, False, "Compute TOWER also where the aspects are no tree: they then weigh the same, as for DRFR."
)
_SEED = Param(
    int, 0, "Draws the order in which the aspects are shown; 0 shows them as they are stored.", low=0
)

KINDS = (
    _rubric(
        "rubric_each",
        "One question a criterion",
        "judges.strategies.rubric:rubric_each",
        prompt="each.v1",
        params={
            "rules": _RULES,
            "cot": Param(bool, False, "The model gives its reasons first, and its rating last."),
            "expected": Param(
                bool,
                False,
                "Store the expected score too, from the probabilities of the ratings, where there are.",
            ),
        },
        summary="Rates the response on each criterion by itself, with its worded options; one request a criterion.",
    ),
    _rubric(
        "rubric_all",
        "All criteria at once",
        "judges.strategies.rubric:rubric_all",
        prompt="all.v1",
        params={
            "rules": _RULES,
            "cot": Param(bool, False, "The model gives its reasons in the same answer, before the ratings."),
        },
        summary="Rates the response on all criteria in one structured answer: one request an item.",
    ),
    _checklist(
        "checklist_each",
        "One question an aspect",
        "judges.strategies.checklist:checklist_each",
        prompt="each.v1",
        prompts={"next": "next.v1"},
        params={
            "cannot_tell": _CANNOT_TELL,
            "cot": Param(bool, False, "The model gives its reasons first, and its answer last."),
            "in_turn": Param(
                bool,
                False,
                "Ask in one conversation, one after the other, in which earlier answers are seen.",
            ),
            "flat": _FLAT,
        },
        summary="Asks yes or no for each aspect by itself, and computes DRFR and TOWER; one request an aspect.",
    ),
    _checklist(
        "checklist_all",
        "All aspects at once",
        "judges.strategies.checklist:checklist_all",
        prompt="all.v1",
        params={"cannot_tell": _CANNOT_TELL, "flat": _FLAT},
        summary="Asks yes or no for all aspects in one structured answer, and computes DRFR and TOWER.",
    ),
    _importance(
        "importance_direct",
        "Direct scoring",
        "judges.strategies.importance:importance_direct",
        prompt="direct.v1",
        params={"seed": _SEED},
        summary="Scores every aspect from 1 to 5 in one answer; equal scores share a rank.",
    ),
    _importance(
        "importance_ranking",
        "Ranking without ties",
        "judges.strategies.importance:importance_ranking",
        prompt="ranking.v1",
        params={"seed": _SEED},
        version=READS,
        summary="Orders all aspects in one answer, each of them once.",
    ),
    _importance(
        "importance_tree",
        "Aspect tree",
        "judges.strategies.importance:importance_tree",
        prompt="tree.v1",
        prompts={"retry": "retry.v1"},
        params={
            "attempts": Param(
                int,
                2,
                "How often it may ask in all: a tree that is none is sent back with its fault.",
                low=1,
                high=5,
            ),
            "seed": _SEED,
            "faithful": Param(
                bool,
                False,
                f"{FAITHFUL}the tree is asked for as nested JSON below the instruction, which is level 0, with each "
                "aspect's own words.",
                later=True,
            ),
        },
        prompts_with={"faithful": {"nested": "nested.v1", "nested_retry": "nested_retry.v1"}},
        summary="Builds the tree of what depends on what; an aspect weighs 1 / its level, and ranks by its weight.",
    ),
    _ranking(
        "ranking_direct",
        "All answers at once",
        "judges.strategies.ranking:ranking_direct",
        prompt="direct.v1",
        params={
            "seed": Param(
                int, 1, "Draws the order in which the answers are shown; 0: as they are stored.", low=0
            )
        },
        summary="Orders several answers to one question from best to worst in one answer, with or without ties.",
        takes=_SEEN | {"tie"},
    ),
    _ranking(
        "ranking_rating",
        "Each answer rated alone",
        "judges.strategies.ranking:ranking_rating",
        prompt="rating.v1",
        params={
            "expected": Param(
                bool, False, "Rank by the expected score, from the probabilities of the ratings."
            )
        },
        summary="Scores each answer alone from 0 to 9 and ranks by the scores; equal scores are ties.",
    ),
    _classification(
        "classification_direct",
        "Categories from a list",
        "judges.strategies.classification:classification_direct",
        prompt="direct.v1",
        params={
            "cot": Param(bool, False, "The model gives its reasons first, and the categories last."),
            "question": QUESTION,
            "seed": Param(
                int, 0, "Draws the order in which the categories are shown; 0: as they are listed.", low=0
            ),
        },
        summary="Shows the list with its definitions and asks for the category that fits best, or for all that fit.",
    ),
)

# --- likelihoods, vectors and scores instead of answers; and contestants, which answer themselves -----------------

LIKELIHOOD = "Likelihood"
MODELS = "Encoders, reward and preference models"
HREF_SHORT = "Lyu et al., HREF, 2024"
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

_promptless = partial(StrategyInfo, needs_prompt=False, takes=frozenset(), order_matters=False)
_likelihood = partial(
    _promptless,
    family=LIKELIHOOD,
    source=HUMAN_RANK_EVAL,
    params={"normalise": _BY_LENGTH, "template": _TEMPLATE},
    requests=frozenset({"score"}),
)

MODEL_OUTPUTS = (
    _likelihood(
        "perplexity_reference",
        "Perplexity of the human reference",
        "judges.strategies.likelihood:perplexity_reference",
        source=HREF_SHORT,
        main_model=False,
        open_roles=True,
        needs_reference=True,
        params={
            "normalise": Param(
                str,
                "token",
                "Divide the log-likelihood by tokens (perplexity) or characters (fair between tokenizers).",
                _NORMALISE,
            )
        },
        summary="The system whose model finds the human-written answer less surprising wins.",
    ),
    _likelihood(
        "loglikelihood_ranking",
        "Log-likelihood of the answers",
        "judges.strategies.likelihood:loglikelihood_ranking",
        kind=RANKING,
        summary="Ranks answers by how likely the evaluated model finds them, divided by their length.",
    ),
    _likelihood(
        "loglikelihood",
        "Log-likelihood of the responses",
        "judges.strategies.likelihood:loglikelihood",
        summary="Prefers the response that the evaluated model finds likelier, divided by its length.",
    ),
    _promptless(
        "embedding",
        "Embedding similarity to the reference",
        "judges.strategies.similarity:embedding",
        family=MODELS,
        source=HREF_SHORT,
        needs_reference=True,
        params={"prefix": Param(str, "", "Put before each text, such as 'query: ' for encoders trained so.")},
        requests=frozenset({"embed"}),
        summary="Prefers the response whose vector points more nearly where the human reference's does.",
    ),
    _promptless(
        "bertscore",
        "BERTScore with the reference",
        "judges.strategies.similarity:bertscore",
        family=MODELS,
        source="Zhang et al., BERTScore, ICLR 2020",
        needs_reference=True,
        params={
            "layer": Param(
                int,
                0,
                "The encoder's layer whose vectors are compared; 0: the one known to be best for it, else the last.",
                low=0,
            )
        },
        requests=frozenset({"match"}),
        summary="Prefers the response whose tokens match those of a human-written answer better, by an encoder.",
    ),
    _promptless(
        "reward",
        "Reward model",
        "judges.strategies.reward:reward",
        family=MODELS,
        source="Ouyang et al., InstructGPT, 2022",
        requests=frozenset({"classify"}),
        summary="Prefers the response to which a reward model (one output) gives the higher score.",
    ),
    _promptless(
        "preference_classifier",
        "Preference classifier",
        "judges.strategies.reward:preference_classifier",
        family=MODELS,
        source="Jiang et al., LLM-Blender, ACL 2023",
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
        order_matters=True,
        requests=frozenset({"classify"}),
        summary="A model that reads both responses and has outputs for A, B and perhaps a tie.",
    ),
    _promptless(
        "generate",
        "Contestant",
        "judges.strategies.conversations:generate",
        kind="generation",
        family="Contestants",
        params={"system": Param(str, "", "A message of the system put before the instruction.")},
        takes=frozenset({"decoding"}),
        version=2,
        summary="Answers the instructions of a dataset, so that its responses can be judged.",
    ),
)

# --- made of other judges; published prompts; the floor that a real judge must beat -------------------------------

_composed = partial(
    StrategyInfo,
    family="Made of other judges",
    main_model=False,
    needs_prompt=False,
    composed=True,
    takes=frozenset(),
    requests=frozenset(),
)
_heuristic = partial(
    StrategyInfo,
    family="Without a model",
    needs_model=False,
    requests=frozenset(),
    takes=frozenset(),
    order_matters=False,
)

OTHERS = (
    _composed(
        "composite",
        "Composite",
        "judges.strategies.composed:composite",
        source=HREF_SHORT,
        member_paths=True,
        params={
            "by": Param(
                str,
                "category",
                "What of an instruction says which member judges it.",
                ("category", "subset"),
                later=True,
            ),
        },
        summary="One judge for each category, or each subset, of instructions; '*' judges all others.",
    ),
    _composed(
        "jury",
        "Jury",
        "judges.strategies.composed:jury",
        source="Verga et al., Replacing Judges with Juries, 2024",
        params={
            "combine": Param(
                str,
                "majority",
                "Of pairs: the most frequent verdict, the mean of the probabilities, or the weighted votes.",
                ("majority", "mean_probability", "weights"),
            ),
            "quorum": Param(int, 1, "Fewest members whose verdict could be read.", low=1),
            "on_draw": Param(str, "tie", "What equal votes are.", ("tie", "unparsed")),
            "weights": Param(
                str,
                "",
                'Of weighted votes: the weight of each member by its name, as JSON: {"first": 1.2, "second": 0.4}.',
                later=True,
            ),
            "tie_margin": Param(
                float, 0.0, "Of weighted votes: a sum at most so far from 0 is a tie.", low=0.0, later=True
            ),
        },
        summary="Several judges at once; the majority, their mean probability or their weighted votes decide.",
    ),
    StrategyInfo(
        "published",
        "Published prompt",
        "judges.strategies.published:published",
        family="Published",
        source=(
            "LLMBar (Zeng et al., ICLR 2024), AlpacaEval (Li et al., 2023), MT-bench (Zheng et al., NeurIPS 2023) or "
            "Arena-Hard (Li et al., 2024), from your own copy"
        ),
        version=READS,
        takes=frozenset({"decoding"}),
        params={
            "drawn_order": Param(
                bool,
                False,
                "Show each pair once, in the order that AlpacaEval's own run draws for it, whatever order is asked.",
                later=True,
            ),
            "seed": Param(
                int, 0, "The seed of that run: 0 unless it was set, 42 in HREF.", low=0, later=True
            ),
        },
        summary="Asks in the words of a benchmark's own files, imported from your copy of them.",
    ),
    _heuristic(
        "longest",
        "Longer response",
        "judges.strategies.heuristics:longest",
        summary="Prefers more characters: how far length alone gets.",
    ),
    _heuristic(
        "shortest",
        "Shorter response",
        "judges.strategies.heuristics:shortest",
        summary="Prefers fewer characters.",
    ),
    _heuristic(
        "always_a",
        "Always the first shown",
        "judges.strategies.heuristics:always_a",
        summary="Prefers what is shown first: what a judge scores that reads nothing.",
        order_matters=True,
    ),
    _heuristic(
        "random",
        "Random choice",
        "judges.strategies.heuristics:random",
        summary="Tosses a coin; the same seed gives the same verdicts everywhere.",
        params={
            "seed": Param(int, 0, "Another seed, other coins."),
            "per_order": Param(bool, False, "Toss anew for each presentation order."),
        },
        order_matters=True,
    ),
    _heuristic(
        "rouge_l",
        "ROUGE-L with the reference",
        "judges.strategies.heuristics:rouge_l",
        summary="Prefers what shares the longer run of words, in order, with a human-written answer.",
        needs_reference=True,
    ),
    _heuristic(
        "ngram",
        "N-gram overlap with the reference",
        "judges.strategies.heuristics:ngram",
        summary="Prefers what shares more words and pairs of words with a human-written answer.",
        needs_reference=True,
    ),
)

_OF_KINDS = {info.name: info for info in KINDS}
OWN = own_formats(
    rubric=_OF_KINDS["rubric_each"].kind,
    checklist=_OF_KINDS["checklist_each"].kind,
    importance=_OF_KINDS["importance_tree"].kind,
    ranking=RANKING,
    classification=_OF_KINDS["classification_direct"].kind,
)
NAMED = (
    named_preset(
        _OF_KINDS["rubric_each"],
        "helm",
        "HELM Instruct",
        "Rates the response on each criterion by itself, with its worded options, as HELM Instruct does.",
    ),
    named_preset(
        _OF_KINDS["checklist_each"],
        "infobench",
        "InFoBench",
        "Asks yes or no for each aspect, one after the other in one conversation, and computes DRFR.",
        in_turn=True,
    ),
    named_preset(
        _OF_KINDS["importance_tree"],
        "tower",
        "TOWER",
        "Builds the tree of aspects as nested JSON below the instruction; an aspect weighs 1 / its level.",
        faithful=True,
    ),
)

STRATEGIES: Mapping[str, StrategyInfo] = MappingProxyType(
    {info.name: info for info in (*PAIRS, *KINDS, *MODEL_OUTPUTS, *OTHERS, *OWN, *NAMED)}
)


def strategy_info(name: str) -> StrategyInfo:
    """Return what is known of the strategy `name`; raises UnknownStrategyError with the names there are."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(sorted(STRATEGIES))
        raise UnknownStrategyError(f"There is no strategy '{name}'. Known strategies: {known}.") from None


@cache
def get_strategy(name: str) -> Strategy:
    """Import and return the strategy function of that name."""
    return cast("Strategy", _imported(strategy_info(name).target))


def strategy_check(info: StrategyInfo, source: str, params: Mapping[str, Any]) -> None:
    """Check the prompt and the settings of a judge as its strategy wants it; raises SpecError."""
    if info.check:
        _imported(info.check)(info, source, params)


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
