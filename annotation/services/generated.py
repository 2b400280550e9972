"""Writing what models answered: responses to a dataset's instructions, and new datasets of pairs made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotation.importers import DatasetBundle, InstructionRecord, ItemRecord, Origin, ResponseRecord
from annotation.importers.build import content_key
from annotation.kinds import PAIRWISE
from annotation.models import Dataset, Instruction, User
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import DatasetImportError, dataset_import

BATCH = 2000
MAX_SOURCE = 300


@dataclass(frozen=True, slots=True)
class GeneratedPair:
    """An item of a new dataset: two responses to an instruction of another, in canonical order."""

    instruction_id: int
    external_id: str
    systems: tuple[str, str]
    texts: tuple[str, str]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@transaction.atomic
def pairs_store(
    *,
    source: Dataset,
    pairs: Sequence[GeneratedPair],
    name: str,
    title: str,
    made_of: str,
    description: str = "",
    owner: User | None = None,
) -> ImportResult:
    """Make a dataset of pairs over the instructions of another: whole or not at all.

    The same again changes nothing; more pairs of the same making are added. The split, the licence and the owner of
    a private dataset are the source's: nobody sees a private text here who could not see it there.

    Parameters
    ----------
    made_of : str
        Says what the pairs are made of; a dataset of that name made of something else is refused.

    Raises
    ------
    DatasetImportError
        The name is none or taken, or there is no pair.
    ImportFileError
        A pair that is stored says something else.
    """
    if not pairs:
        raise DatasetImportError("there is no pair to store.")
    made_of = made_of[:MAX_SOURCE]
    _refuse_another(name, made_of)
    # Said at its making; what an administrator has changed since stays.
    is_new = not Dataset.objects.filter(name=name).exists()
    result = dataset_import(
        bundle=_bundle(source, pairs, made_of),
        name=name,
        title=title or None,
        split=source.split,
        licence=source.licence if is_new and source.licence else None,
        description=description if is_new and description else None,
        owner=source.owner if source.is_private and source.owner is not None else owner,
        source=made_of,
    )
    # Made by somebody else while we looked.
    _refuse_another(name, made_of)
    return result


def _refuse_another(name: str, made_of: str) -> None:
    taken = Dataset.objects.filter(name=name).exclude(source=made_of).first()
    if taken is not None:
        raise DatasetImportError(
            f"there is a dataset {name!r} already, with other content; choose another name."
        )


def _bundle(source: Dataset, pairs: Sequence[GeneratedPair], made_of: str) -> DatasetBundle:
    wanted = {pair.instruction_id for pair in pairs}
    rows = Instruction.objects.filter(dataset=source).order_by("pk")
    instructions = {row.pk: row for row in rows.iterator(chunk_size=BATCH) if row.pk in wanted}
    origins = {pk: Origin(source.name, number) for number, pk in enumerate(instructions, start=1)}
    responses: dict[tuple[int, str], ResponseRecord] = {}
    items = []
    for pair in pairs:
        key = instructions[pair.instruction_id].external_id
        names = []
        for system, text in zip(pair.systems, pair.texts, strict=True):
            names.append(content_key(system, text))
            responses[pair.instruction_id, names[-1]] = ResponseRecord(key, names[-1], system, text)
        items.append(
            ItemRecord(
                pair.external_id,
                PAIRWISE.name,
                key,
                origins[pair.instruction_id],
                tuple(names),
                metadata=pair.metadata,
            )
        )
    return DatasetBundle(
        source=made_of,
        instructions=tuple(
            InstructionRecord(
                row.external_id,
                row.text,
                origins[pk],
                row.context,
                row.reference,
                row.category,
                row.subset,
                row.metadata,
                tuple(row.conversation),
            )
            for pk, row in instructions.items()
        ),
        responses=tuple(responses.values()),
        items=tuple(items),
    )
