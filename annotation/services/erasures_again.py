"""After a restore: who was erased since the backup was made is erased again, by the list of hashes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotation.models import Annotator, Enrollment, ErasureKind, Label
from annotation.services.erasure import enrollment_erase, imported_erase
from annotation.services.erasure_log import RESTORE, ErasedPerson, erased_at, person_hash

CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class AppliedErasures:
    """What a list did: how many people were erased again, and how many of its lines the database knows nobody for."""

    erased: int
    unknown: int


def erasures_apply(
    lines: Iterable[ErasedPerson], *, dry_run: bool = False, tell: Callable[[str], None] = lambda _: None
) -> AppliedErasures:
    """Erase again whom the list names and this database still knows. Once more changes nothing."""
    wanted = {line.person: line for line in lines}
    done: set[str] = set()
    if not wanted:
        return AppliedErasures(0, 0)
    people = Enrollment.objects.filter(anonymized_on=None).select_related("study", "annotator")
    found = [
        (person.pk, line)
        for person in people.iterator(chunk_size=CHUNK)
        if (line := wanted.get(person_hash(person.annotator.public_id, person.study_id))) is not None
    ]
    for pk, line in found:
        done.add(line.person)
        if not dry_run:
            person = people.get(pk=pk)
            enrollment_erase(
                enrollment=person,
                why=RESTORE,
                with_labels=line.kind == ErasureKind.DELETED,
                texts_kept=line.texts_kept,
                now=erased_at(line),
            )
    imported = Annotator.objects.filter(pk__in=Label.objects.filter(study=None).values("annotator"))
    named = [
        (annotator.pk, line)
        for annotator in imported.iterator(chunk_size=CHUNK)
        if (line := wanted.get(person_hash(annotator.public_id, None))) is not None
    ]
    for pk, line in named:
        done.add(line.person)
        if not dry_run:
            imported_erase(
                annotator=Annotator.objects.get(pk=pk),
                with_labels=line.kind == ErasureKind.DELETED,
                why=RESTORE,
                now=erased_at(line),
            )
    applied = AppliedErasures(len(done), len(wanted) - len(done))
    tell(f"Erasures since the backup: {applied.erased:,} people erased again.")
    return applied
