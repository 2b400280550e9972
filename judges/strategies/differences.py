"""What a strategy does otherwise than where it was published: said on its pages, by the API and in the docs."""

from collections.abc import Mapping
from types import MappingProxyType

OWN_WORDS = "The words are ours."
OURS = "Our own; there is no source."

DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "vanilla": f"{OWN_WORDS} LLMBar asks for “Output (a)”, ours for “A”. It is the paper's "
        "Vanilla without rules.",
        "rules": f"{OWN_WORDS} It is the paper's Vanilla*, with five rules of ours in place of its three.",
        "cot": f"{OWN_WORDS} The verdict stands on a last line of its own, in place of a closing sentence.",
        "reference": f"{OWN_WORDS} HREF runs it in AlpacaEval's code, which draws one order for each "
        "pair; here a sweep asks in the orders that you choose.",
        "guidelines": f"{OWN_WORDS} HREF shows its annotators' guidelines; here it is those of your study.",
        "fewshot": f"{OWN_WORDS} Each example is a turn of the conversation, as chat models are shown "
        "examples.",
        "metrics": f"{OWN_WORDS} At most five questions are asked for.",
        "reference_self": f"{OWN_WORDS} The model's own answer is asked for with the instruction alone as "
        "the message.",
        "metrics_reference": f"{OWN_WORDS} Both are generated without knowing of each other, as in LLMBar.",
        "swap": f"{OWN_WORDS} LLMBar asks for reasons in both orders, ours for the verdict alone, "
        "which it shares with vanilla; LLMBar settles a contradiction in each order, ours "
        "once; an unreadable answer makes the pair unparsed here, and contradicts nothing "
        "there. With “faithful”: as LLMBar.",
        "swap_cot": f"{OWN_WORDS} LLMBar settles a contradiction in each order, ours once; an "
        "unreadable answer makes the pair unparsed here, and contradicts nothing there. "
        "With “faithful”: as LLMBar.",
        "debate": f"{OWN_WORDS} ChatEval's personas give scores, ours a verdict. By default a "
        "moderator decides; “decision” majority is ChatEval's vote, “turns” its "
        "one-by-one and simultaneous-talk strategies; its summarizer is missing.",
        "rating": f"{OWN_WORDS} LLMBar counts equal or unreadable scores for one side in each order; "
        "here equal scores are a hedge and unreadable ones unparsed. “expected” takes the "
        "probabilities of one answer where G-Eval samples 20; “samples” of the judge "
        "draws them.",
        "rubric_each": f"{OWN_WORDS} HELM Instruct asks one question a criterion with its options, as "
        "here; the criteria are those of your items.",
        "rubric_all": f"{OWN_WORDS} HELM Instruct asks one criterion at a time; here all are asked at "
        "once, as JSON.",
        "checklist_each": f"{OWN_WORDS} InFoBench asks in one conversation, in which earlier answers are "
        "seen: that is “in_turn”. By default each question stands alone.",
        "checklist_all": f"{OWN_WORDS} InFoBench asks one question at a time; here all are asked at once, "
        "as JSON.",
        "importance_direct": f"{OWN_WORDS} Aspects are named by numbers, and answers in TOWER's form are read "
        "too.",
        "importance_ranking": f"{OWN_WORDS} Aspects are named by numbers, and answers in TOWER's form are read "
        "too.",
        "importance_tree": f"{OWN_WORDS} TOWER asks for nested JSON below the instruction, which is level 0, "
        "ours for a table of parents, which a JSON schema can hold a model to. The "
        "weights are the same, 1 / level from level 1. A tree that is none is sent back "
        "with its fault. With “faithful”: nested JSON in the aspects' own words.",
        "ranking_direct": OURS,
        "ranking_rating": OURS,
        "classification_direct": OURS,
        "perplexity_reference": "HREF's perplexity is per token, as here by default. The reference stands in the "
        "model's chat template behind the contestant's own prompt.",
        "loglikelihood_ranking": "As published by default: raw text, divided by characters. “chat” is an addition.",
        "loglikelihood": "The same, for pairs: HumanRankEval ranks several answers.",
        "embedding": "The encoder is yours to choose, and so is whether it wants a prefix.",
        "bertscore": "F1 without importance weights (idf) and without rescaling with a baseline, which "
        "would change no comparison of two responses. A text longer than the model takes "
        "fails; the published code cuts it off.",
        "reward": "The verdict is which score is higher; the probability is that of Bradley and "
        "Terry, which the paper trains with.",
        "preference_classifier": "PairRM averages both orders; here a judge is asked in the orders that you "
        "choose, and “text” is your model's own form.",
        "generate": OURS,
        "composite": "HREF chose one method for each of its categories; here you, or the choice of a "
        "judge, do.",
        "jury": "Verga et al. vote on correctness and average scores; here pairs, rubrics, "
        "checklists, rankings and categories are combined, with a quorum; fitted weights (pairs) are an addition.",
        "published": "The published words and parsers. What of a configuration is carried otherwise "
        "stands under “A published judge” in the page on sweeps.",
        "longest": OURS,
        "shortest": OURS,
        "always_a": OURS,
        "random": OURS,
        "rouge_l": "Words are folded to lower case and not stemmed; F-measure with equal weights, as "
        "in the rouge-score package.",
        "ngram": OURS,
        "own": OURS,
        "own_rubric": OURS,
        "graded": OURS,
        "own_checklist": OURS,
        "own_importance": OURS,
        "own_ranking": OURS,
        "own_classification": OURS,
        "mt_bench_pair": f"{OWN_WORDS} Marks and limits are MT-bench's; its tie is allowed only where the "
        "judge allows ties, and a judge of both orders is a sweep's choice. The "
        "conversation so far stands in the context. The published words: “import_judge "
        "fastchat”.",
        "mt_bench_single": f"{OWN_WORDS} Marks and scale are MT-bench's, which publishes the grades; here the "
        "higher one wins the pair.",
        "arena_hard": f"{OWN_WORDS} Marks are Arena-Hard's; an answer without one is not asked for "
        "again. The published words: “import_judge arena_hard”.",
        "prometheus_pair": f"{OWN_WORDS} The rubric is your guidelines. Prometheus' own model was trained on "
        "the published words.",
        "prometheus": f"{OWN_WORDS} The rubric is each criterion with its options, from 1 to 5 if they "
        "are. Prometheus' own model was trained on the published words.",
        "g_eval": f"{OWN_WORDS} G-Eval lets the model write its evaluation steps for each criterion "
        "first; here they are fixed. 20 draws at temperature 1, as there.",
        "healthbench": f"{OWN_WORDS} Points stand before an aspect's text as there. The score is not cut "
        "to 0 below; DRFR stands beside it.",
        "helm": f"{OWN_WORDS} As “rubric_each”: one question a criterion with its options; the "
        "criteria are those of your items.",
        "infobench": f"{OWN_WORDS} As “checklist_each” with “in_turn”: one conversation, in which "
        "earlier answers are seen.",
        "tower": f"{OWN_WORDS} As “importance_tree” with “faithful”. A tree that is none is sent "
        "back with its fault, which TOWER does not do.",
    }
)
