"""The tables and figures of five papers, in their own layout, made from a dataset.

A paper has a module of its own, which gives `PaperTable`s, pictures, and a `MissingPart` for each table or figure that
the data does not carry. Numbers are those of `metaeval.figures` and `metaeval.stats`.
"""

from metaeval.papers import llmbar
from metaeval.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    "llmbar": Paper(
        "llmbar",
        "LLMBar",
        "Z. Zeng et al., “Evaluating Large Language Models at Evaluating Instruction Following”, ICLR 2024",
        ("pairwise",),
        llmbar.parts,
    ),
}
