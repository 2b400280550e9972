"""SummEval: summaries of news articles by 16 systems, rated by three experts and five crowdworkers.

Source: https://github.com/Yale-LILY/SummEval (`model_annotations.aligned.jsonl`, or `...paired.jsonl` with the
articles; A. Fabbri et al., "SummEval: Re-evaluating Summarization Evaluation", TACL 9, 2021).
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_SYSTEM, Row
from annotation.importers.tables import plain_rows
from annotation.kinds.rubric import Rubric

CRITERIA: Mapping[str, str] = {
    "coherence": "Do the sentences of the summary make a well-structured whole?",
    "consistency": "Are the facts of the summary those of the article?",
    "fluency": "Are the sentences of the summary well written?",
    "relevance": "Does the summary hold what is important in the article, and nothing else?",
}
POINTS = (1, 2, 3, 4, 5)
OPTIONS = {"1": "1 (worst)", "2": "2", "3": "3", "4": "4", "5": "5 (best)"}
PEOPLE = {"expert_annotations": "expert", "turker_annotations": "crowdworker"}
INSTRUCTION = "Summarize the article."


def read_summeval(path: str | Path) -> DatasetBundle:
    """Read the file. Each row is a rubric of one summary; its id is the article's and the system's: ``dm-test-1/M11``.

    The people of a row are numbered, "expert 1" to "crowdworker 5": the file doesn't say who they are. The first of
    `references` is the reference; the article is the context, where the file was paired with the articles (`text`).
    """
    file = Path(path)
    builder = BundleBuilder(f"summeval: {file.name}")
    faults = Faults()
    faults.each(plain_rows(file, faults), partial(_add, builder))
    faults.check()
    return builder.finish(file)


def _add(builder: BundleBuilder, row: Row) -> None:
    if not builder.criteria:
        for key, question in CRITERIA.items():
            builder.criterion(row, key=key, question=question, options=OPTIONS)
    article, system = row.identifier("id", limit=150), row.identifier("model_id", limit=40)
    references = row.items("references")
    instruction = builder.instruction(
        row,
        text=INSTRUCTION,
        context=row.text("text"),
        reference=row.within("references[0]", {"text": references[0]}).text("text") if references else None,
        key=article,
    )
    external_id = f"{article}/{system}"
    builder.item(
        row,
        external_id=external_id,
        kind=Rubric.name,
        instruction=instruction,
        responses=[builder.response(instruction, system=system[:MAX_SYSTEM], text=row.answer("decoded"))],
    )
    for field, who in PEOPLE.items():
        for place, data in enumerate(row.items(field)):
            rated = row.within(f"{field}[{place}]", data)
            rated.only(tuple(CRITERIA))
            builder.label(
                row,
                item=external_id,
                annotator=f"{who} {place + 1}",
                value={"ratings": {key: rated.number_in(key, POINTS) for key in CRITERIA}},
                field=f"{field}[{place}]",
            )
