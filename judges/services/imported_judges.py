"""Judges whose verdicts came in a file: who they are, found again or made.

A verdict names its judge, and may say the fingerprint of its configuration. By that it is the site's judge of this
configuration; where there is none, a judge of which no more is known. By its name alone a judge is one of imports.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NoReturn

from annotation.importers import ImportFileError, VerdictRecord
from annotation.importers.errors import quoted
from judges.models import BackendKind, Judge
from judges.services.judges import free_name


def imported_judge_spec(record: VerdictRecord, source: str) -> dict[str, str]:
    """The whole content of a judge that is only known by name, or by its fingerprint."""
    known = {"fingerprint": record.fingerprint} if record.fingerprint else {}
    return {
        "backend": str(BackendKind.IMPORTED),
        "name": record.judge,
        "model": record.model,
        "strategy": record.strategy,
        "source": source,
        **known,
    }


def imported_judge_fingerprint(spec: Mapping[str, str]) -> str:
    """SHA-256 of the spec as canonical JSON; of one with a fingerprint, of this alone, whatever its name is."""
    told = spec.get("fingerprint")
    identity = {"backend": spec["backend"], "fingerprint": told} if told else dict(spec)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def judge_key(record: VerdictRecord) -> str:
    """What is the same in all verdicts of one judge of a file, and in no other's."""
    return f"fingerprint {record.fingerprint}" if record.fingerprint else f"name {record.judge}"


@dataclass(frozen=True, slots=True)
class FileJudges:
    """The judges of a file's verdicts, by `judge_key`: the first verdict of each, and those that the site has."""

    first: Mapping[str, VerdictRecord]
    known: Mapping[str, Judge]
    source: str


def file_judges(verdicts: Sequence[VerdictRecord], source: str) -> FileJudges:
    """Find the judges of verdicts.

    Raises
    ------
    ImportFileError
        Two verdicts contradict each other about their judge, or its name is another judge's.
    """
    first = _first_of_judges(verdicts)
    known = _by_fingerprint(first, source) | _by_name(first, source)
    return FileJudges(first, known, source)


def file_judges_make(judges: FileJudges) -> dict[str, Judge]:
    """Make the judges that the site doesn't have; returns these, by `judge_key`. Refuses as `file_judges` does."""
    made = {}
    for key, record in judges.first.items():
        if key in judges.known:
            continue
        spec = imported_judge_spec(record, judges.source)
        defaults = {
            "backend": BackendKind.IMPORTED,
            "model": record.model or record.judge,
            "strategy": record.strategy,
            "spec": spec,
        }
        fingerprint = imported_judge_fingerprint(spec)
        if record.fingerprint:
            defaults["name"] = free_name(record.judge)
            judge, _ = Judge.objects.get_or_create(fingerprint=fingerprint, defaults=defaults)
        else:
            defaults["fingerprint"] = fingerprint
            judge, _ = Judge.objects.get_or_create(name=record.judge, defaults=defaults)
            _check(judge, record, judges.source)  # one that was made meanwhile, of a file on another dataset
        made[key] = judge
    return made


def _first_of_judges(verdicts: Sequence[VerdictRecord]) -> dict[str, VerdictRecord]:
    """The first verdict of each judge; all of them have its model and strategy."""
    first: dict[str, VerdictRecord] = {}
    for record in verdicts:
        known = first.setdefault(judge_key(record), record)
        if (known.model, known.strategy) != (record.model, record.strategy):
            _refuse(
                record,
                "judge",
                f"expected model and strategy of {quoted(record.judge)} as in row {known.origin.row}, "
                f"{quoted(known.model)} and {quoted(known.strategy)}; found {quoted(record.model)} and "
                f"{quoted(record.strategy)}.",
            )
    return first


def _by_fingerprint(first: Mapping[str, VerdictRecord], source: str) -> dict[str, Judge]:
    """The site's own judge of a fingerprint before one of which no more is known."""
    told = {key: record for key, record in first.items() if record.fingerprint}
    imported = {
        key: imported_judge_fingerprint(imported_judge_spec(record, source)) for key, record in told.items()
    }
    found = _judges(fingerprint__in=[*imported.values(), *(record.fingerprint for record in told.values())])
    by_fingerprint = {judge.fingerprint: judge for judge in found}
    both = {
        key: (by_fingerprint.get(one.fingerprint), by_fingerprint.get(imported[key]))
        for key, one in told.items()
    }
    return {key: judge for key, (own, other) in both.items() if (judge := own or other) is not None}


def _by_name(first: Mapping[str, VerdictRecord], source: str) -> dict[str, Judge]:
    named = {record.judge: key for key, record in first.items() if not record.fingerprint}
    judges = _judges(name__in=list(named))
    for judge in judges:
        _check(judge, first[named[judge.name]], source)
    return {named[judge.name]: judge for judge in judges}


def _judges(**wanted: Collection[str]) -> Sequence[Judge]:
    return list(Judge.objects.filter(**wanted)) if any(wanted.values()) else []


def _check(judge: Judge, record: VerdictRecord, source: str) -> None:
    if judge.fingerprint != imported_judge_fingerprint(imported_judge_spec(record, source)):
        _refuse(
            record,
            "judge",
            f"there is a judge {quoted(judge.name)} already, with another configuration "
            f"({judge.get_backend_display()}, strategy {judge.strategy}); choose another name.",
        )


def _refuse(record: VerdictRecord, field: str, message: str) -> NoReturn:
    raise ImportFileError(record.origin.file, record.origin.row, field, message)
