"""Judges of rubrics, checklists, importance and rankings of several answers."""

from __future__ import annotations

from functools import partial

from judges.strategies.catalog.pairwise import READS
from judges.strategies.info import Param, StrategyInfo

_SEEN = frozenset({"reference", "guidelines", "decoding"})

# What the entries of a kind share.
_rubric = partial(
    StrategyInfo,
    kind="rubric",
    family="Rubric",
    source="Zhang et al. (HELM Instruct), 2024",
    takes=_SEEN,
    version=READS,
    order_matters=False,
)
_checklist = partial(
    StrategyInfo,
    kind="checklist",
    family="Checklist",
    source="Qin et al. (InFoBench), Findings of ACL 2024",
    takes=_SEEN,
    version=READS,
    order_matters=False,
)
_importance = partial(
    StrategyInfo,
    kind="importance",
    family="Importance",
    source="TOWER",
    takes=_SEEN - {"reference"},
    order_matters=False,
)
_ranking = partial(
    StrategyInfo,
    kind="answer_ranking",
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

ENTRIES = (
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
        },
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
)
