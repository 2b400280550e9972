"""Ways of asking a model which of two responses is better."""

from __future__ import annotations

from judges.strategies.info import Param, StrategyInfo

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
ONE_QUESTION = {"both_orders": BOTH_ORDERS, "probabilities": PROBABILITIES}
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

ENTRIES = (
    StrategyInfo(
        "vanilla",
        "Vanilla",
        "judges.strategies.direct:vanilla",
        source=LLMBAR,
        prompt="vanilla.v2",
        params=ONE_QUESTION,
        version=READS,
        takes=TAKES,
        summary="Asks which response is better, and nothing else: the plainest and cheapest way.",
    ),
    StrategyInfo(
        "rules",
        "With rules",
        "judges.strategies.direct:rules",
        source=LLMBAR,
        prompt="vanilla.v2",
        params=ONE_QUESTION,
        version=READS,
        takes=TAKES,
        summary="Asks the same after rules of judging: following the instruction counts first, looks do not.",
    ),
    StrategyInfo(
        "cot",
        "Chain of thought",
        "judges.strategies.cot:cot",
        source=f"{LLMBAR}; Wei et al., Chain-of-Thought Prompting, NeurIPS 2022",
        prompt="cot.v2",
        params={"rules": Param(bool, False, RULES.help), "both_orders": BOTH_ORDERS},
        version=READS,
        takes=TAKES,
        summary="The model gives its reasons first and its verdict last: slower, and dearer.",
    ),
    StrategyInfo(
        "reference",
        "With the human reference",
        "judges.strategies.direct:reference",
        source=HREF,
        needs_reference=True,
        prompt="reference.v2",
        params={"rules": RULES, **ONE_QUESTION},
        version=READS,
        takes=TAKES,
        summary="Shows the model a human-written answer beside the two responses.",
    ),
    StrategyInfo(
        "guidelines",
        "By the annotators' guidelines",
        "judges.strategies.direct:guidelines",
        source=HREF,
        prompt="guidelines.v1",
        params={"rules": RULES, **ONE_QUESTION},
        version=READS,
        takes=TAKES | {"shots"},
        needs=frozenset({"guidelines"}),
        summary="Makes the guidelines that people follow the model's own, with their worked examples if there are any.",
    ),
    StrategyInfo(
        "fewshot",
        "Few-shot",
        "judges.strategies.fewshot:fewshot",
        source="Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020",
        prompt="vanilla.v2",
        prompts={"cot": "cot.v2"},
        params={
            "cot": Param(bool, False, "Reasons first, as the examples give them, and the verdict last."),
            "rules": RULES,
            **ONE_QUESTION,
        },
        version=READS,
        takes=TAKES | {"shots"},
        needs=frozenset({"shots"}),
        summary="Shows worked examples with their verdicts before it asks.",
    ),
    StrategyInfo(
        "metrics",
        "Self-generated metrics",
        "judges.strategies.metrics:metrics",
        family="Several questions",
        source=LLMBAR,
        prompt="informed.v1",
        prompts=METRICS,
        params={"rules": RULES, **ONE_QUESTION},
        version=READS,
        takes=TAKES,
        summary="Has the model list what matters for the instruction, then asks which response is better by it.",
    ),
    StrategyInfo(
        "reference_self",
        "Self-generated reference",
        "judges.strategies.metrics:reference_self",
        family="Several questions",
        source=LLMBAR,
        prompt="informed.v1",
        prompts=ANSWER,
        params={"rules": RULES, **ONE_QUESTION},
        version=READS,
        takes=TAKES,
        summary="Has the model answer the instruction itself, then asks which response is better beside its answer.",
    ),
    StrategyInfo(
        "metrics_reference",
        "Metrics and reference",
        "judges.strategies.metrics:metrics_reference",
        family="Several questions",
        source=LLMBAR,
        prompt="informed.v1",
        prompts={**METRICS, **ANSWER},
        params={"rules": RULES, **ONE_QUESTION},
        version=READS,
        takes=TAKES,
        summary="Both: what matters for the instruction, and an answer of the model's own.",
    ),
    StrategyInfo(
        "swap",
        "Swap and synthesise",
        "judges.strategies.synthesis:swap",
        family="Several questions",
        source=LLMBAR,
        prompt="vanilla.v2",
        prompts={"synthesis": "synthesis.v1"},
        params={"rules": RULES},
        version=READS,
        takes=TAKES,
        order_matters=False,
        summary="Asks in both orders, and once more where the two verdicts contradict each other.",
    ),
    StrategyInfo(
        "swap_cot",
        "Swap and synthesise, with chain of thought",
        "judges.strategies.synthesis:swap_cot",
        family="Several questions",
        source=LLMBAR,
        prompt="cot.v2",
        prompts={"synthesis": "synthesis.v1"},
        params={"rules": RULES},
        version=READS,
        takes=TAKES,
        order_matters=False,
        summary="Asks for reasons and a verdict in both orders; where they contradict each other, weighs the reasons.",
    ),
    StrategyInfo(
        "debate",
        "Debate of personas",
        "judges.strategies.debate:debate",
        family="Several questions",
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
        version=READS,
        takes=TAKES,
        summary="Several personas discuss the two responses; a moderator or their majority gives the verdict.",
    ),
)
