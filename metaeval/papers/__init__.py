"""The tables and figures of five papers, in their own layout, made from a dataset.

A paper has a module of its own, which gives `PaperTable`s, pictures, and a `MissingPart` for each table or figure that
the data does not carry. Numbers are those of `metaeval.figures` and `metaeval.stats`.
"""

from metaeval.papers import helm_instruct, href, humanrankeval, llmbar, tower
from metaeval.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    "llmbar": Paper(
        "llmbar",
        "LLMBar",
        "Z. Zeng et al., “Evaluating Large Language Models at Evaluating Instruction Following”, ICLR 2024",
        ("pairwise",),
        llmbar.llmbar_parts,
    ),
    "href": Paper(
        "href",
        "HREF",
        "X. Lyu et al., “HREF: Human Response-Guided Evaluation of Instruction Following in Language Models”, 2024",
        ("pairwise",),
        href.href_parts,
        ranks_systems=True,
    ),
    "helm-instruct": Paper(
        "helm-instruct",
        "HELM Instruct",
        "Y. Zhang et al., “HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute "
        "Ratings”, 2024",
        ("rubric",),
        helm_instruct.helm_instruct_parts,
    ),
    "humanrankeval": Paper(
        "humanrankeval",
        "HumanRankEval",
        "M. Gritta, G. Lampouras and I. Iacobacci, “HumanRankEval: Automatic Evaluation of LMs as Conversational "
        "Assistants”, NAACL 2024",
        ("answer_ranking",),
        humanrankeval.humanrankeval_parts,
    ),
    "tower": Paper(
        "tower",
        "TOWER",
        "N. Ziems, Z. Zhang and M. Jiang, “TOWER: Tree Organized Weighting for Evaluating Complex Instructions”, "
        "Findings of EMNLP 2024",
        ("importance", "checklist"),
        tower.tower_parts,
        beside=("pairwise",),
    ),
}
