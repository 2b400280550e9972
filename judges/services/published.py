"""Published evaluators, read from a user's own copy of their files, as judges."""

from annotation.models import User
from judges.models import Endpoint, Judge
from judges.services.judges import judge_create
from judges.services.published_files import PublishedJudge


def published_create(
    *,
    read: PublishedJudge,
    endpoint: Endpoint,
    model: str = "",
    name: str = "",
    drawn_order: bool = False,
    seed: int = 0,
    created_by: User | None = None,
) -> Judge:
    """Define the judge; raises ValidationError, or DuplicateJudgeError if it is there already.

    Parameters
    ----------
    model : str
        In place of the model that the evaluator names.
    drawn_order, seed : bool, int
        Show each pair once, in the order that AlpacaEval's run with this seed draws for it.
    """
    return judge_create(
        name=name or read.name,
        strategy="published",
        endpoint=endpoint,
        model=model or read.model,
        prompt="published.v1",
        prompt_source=read.evaluator.to_text(),
        notes=" ".join(read.notes),
        params={"drawn_order": drawn_order, "seed": seed} if drawn_order else {},
        created_by=created_by,
    )
