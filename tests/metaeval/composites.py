"""Two judges that know different things, and the sweep from which a composite of them is chosen."""

from typing import Any

from annotation.models import Instruction
from judges.models import Judge, Sweep
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make
from tests.judges.props import judge_make as real_judge_make
from tests.metaeval.rows import judgments_make, sweep_make

PLACES = {"category": ("Brainstorm", "Rewrite"), "subset": ("Natural", "Adversarial/Neighbor")}


def specialists(
    *, pairs: int = 60, by: str = "category", wrong: int = 2, name: str = "arena", **fields: Any
) -> tuple[Sweep, Judge, Judge]:
    """Each is right on one half of the instructions, and on the other wrong on one of `wrong`.

    With ``wrong=2`` a composite is worth it. The judges are such as can be asked, so that a composite can be made.
    """
    dataset = dataset_make(pairs=pairs, name=name, **fields)
    first, second = PLACES[by]
    for k, item in enumerate(dataset.items.order_by("position")):
        place = first if k < pairs // 2 else second
        told = {"category": "Chat", by: place}
        Instruction.objects.filter(pk=item.instruction_id).update(**told)
    endpoint = endpoint_make(open_weights=True)
    judges = [
        real_judge_make(endpoint, model, name=judge)
        for judge, model in (("First half", "mock-first"), ("Second half", "mock-longer"))
    ]
    for place, judge in enumerate(judges):
        said = []
        for k in range(pairs):
            truth, is_own = k % 2 + 1, (k >= pairs // 2) == bool(place)
            is_wrong = not is_own and (k // 2) % wrong == 0
            said.append((3 - truth if is_wrong else truth,) * 2)
        judgments_make(judge=judge, dataset=dataset, choices=said, cost=0.008 if place else 0.001)
    return sweep_make(judges=judges, datasets=[dataset], name="Specialists"), *judges
