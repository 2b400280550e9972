"""The props of the tests of contestants: instructions, contestants, what they answered, the form of pairs."""

from typing import Any

from annotation.models import Dataset, Instruction
from judges.models import Generation, Judge
from tests.judges.props import endpoint_make, judge_make


def source_make(n: int = 4, **fields: Any) -> Dataset:
    """Instructions alone, with references."""
    dataset = Dataset.objects.create(name="tea", title="Tea", licence="MIT", **fields)
    Instruction.objects.bulk_create(
        Instruction(
            dataset=dataset,
            external_id=f"i{k}",
            text=f"Question {k}?",
            context="A context." if k == 0 else "",
            conversation=[{"role": "user", "text": "Hello."}] if k == 1 else [],
            reference=f"Reference {k}.",
            category="List",
            subset="Easy/First",
            metadata={"k": k},
        )
        for k in range(n)
    )
    return dataset


def contestant_make(name: str) -> Judge:
    return judge_make(endpoint_make(), name=name, strategy="generate", model=f"model-{name}")


def answers_make(
    contestant: Judge, dataset: Dataset, *, samples: int = 1, skip: tuple[str, ...] = ()
) -> None:
    Generation.objects.bulk_create(
        Generation(
            contestant=contestant,
            instruction=instruction,
            sample=sample,
            status="parsed",
            text=f"{contestant} on {instruction.external_id}, {sample}.",
        )
        for instruction in dataset.instructions.order_by("pk")
        for sample in range(samples)
        if instruction.external_id not in skip
    )


def form_of(*contestants: Judge, **fields: Any) -> dict[str, Any]:
    return {
        "contestants": [judge.pk for judge in contestants],
        "against": "reference",
        "samples": "first",
        "seed": "0",
        "name": "pairs",
        "title": "",
    } | fields
