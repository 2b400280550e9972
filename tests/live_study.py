"""A study on a live site, made by a process of its own, and what its tables say of the rules that never break.

`python -m tests.live_study` makes one on the database of the environment and prints it as JSON.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from tests.live_site import ROOT

if TYPE_CHECKING:
    from annotation.models import Study

BATCH = 2000
WORDS = [
    "annotator",
    "answer",
    "context",
    "each",
    "human",
    "label",
    "model",
    "of",
    "score",
    "study",
    "the",
    "when",
]
PROMPT_WORDS, ANSWER_WORDS = 50, 130  # 1.9 KB an item


@dataclass(frozen=True)
class LiveStudy:
    pk: int
    slug: str
    resume_paths: list[str]


def live_study(
    database_url: str,
    *,
    items: int,
    people: int,
    answer_words: int = ANSWER_WORDS,
    steps: int = 0,
    **rules: Any,
) -> LiveStudy:
    """An open study of pairs, or of the first wrong step of traces of so many steps, with people at its work."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.live_study", "--items", str(items), "--people", str(people)),
            *("--answer-words", str(answer_words), "--steps", str(steps), "--rules", json.dumps(rules)),
        ],
        cwd=ROOT,
        env=os.environ
        | {
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_POOL_SIZE": "0",
            "LOG_LEVEL": "ERROR",
        },
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return LiveStudy(**json.loads(done.stdout.splitlines()[-1]))


CURRENT = """
    FROM annotation_label l WHERE l.study_id = %(study)s AND l.role = 'work' AND NOT l.is_surplus AND NOT l.is_set_aside
    AND NOT EXISTS (SELECT 1 FROM annotation_label later WHERE later.supersedes_id = l.id)
"""
FINDINGS = {
    "over_assigned": f"""
        SELECT count(*) FROM annotation_studyitem s
        LEFT JOIN (SELECT item_id, count(*) AS n {CURRENT} GROUP BY item_id) c ON c.item_id = s.item_id
        WHERE s.study_id = %(study)s AND (c.n > s.overlap OR s.n_open + s.n_accepted > s.overlap)""",
    "repeated": """
        SELECT count(*) FROM (
            SELECT 1 FROM annotation_label WHERE study_id = %(study)s AND supersedes_id IS NULL AND role = 'work'
            GROUP BY item_id, annotator_id HAVING count(*) > 1) twice""",
    "items_miscounted": f"""
        SELECT count(*) FROM annotation_studyitem s
        LEFT JOIN (SELECT item_id, count(*) AS n {CURRENT} GROUP BY item_id) c ON c.item_id = s.item_id
        LEFT JOIN (SELECT study_item_id, count(*) AS n FROM annotation_assignment
                   WHERE state = 'open' AND role = 'work' GROUP BY study_item_id) o ON o.study_item_id = s.id
        WHERE s.study_id = %(study)s AND (s.n_accepted <> coalesce(c.n, 0) OR s.n_open <> coalesce(o.n, 0))""",
    "people_miscounted": f"""
        SELECT count(*) FROM annotation_enrollment e
        LEFT JOIN (SELECT annotator_id, count(*) AS n {CURRENT} GROUP BY annotator_id) c
            ON c.annotator_id = e.annotator_id
        WHERE e.study_id = %(study)s AND e.n_accepted <> coalesce(c.n, 0)""",
}
FIRST_LABELS = """
    SELECT assignment_id, choice, shown_order FROM annotation_label
    WHERE study_id = %s AND supersedes_id IS NULL AND assignment_id IS NOT NULL"""


def findings(database_url: str, study: int, acknowledged: Iterable[tuple[int | str, int]]) -> dict[str, int]:
    """How often a rule was broken; `lost` are acknowledged answers (assignment, choice as shown) that are not there
    exactly once, as they were given.
    """
    with psycopg.connect(database_url) as connection:
        found = {
            name: connection.execute(query, {"study": study}).fetchone()[0]  # type: ignore[index, arg-type]
            for name, query in FINDINGS.items()
        }
        stored: dict[Any, list[int]] = {}
        for assignment, choice, order in connection.execute(FIRST_LABELS, (study,)):
            shown = 0 if choice == 0 else order.index(choice - 1) + 1
            stored.setdefault(assignment, []).append(shown)
    found["lost"] = sum(stored.get(assignment) != [choice] for assignment, choice in acknowledged)
    found["labels"] = len(stored)
    return found


def _make(items: int, people: int, answer_words: int, steps: int, rules: dict[str, Any]) -> LiveStudy:
    from django.urls import reverse

    from tests.annotation.factories import annotator_make, enrollment_make

    study = _traces(items, steps, rules) if steps else _pairs(items, answer_words, rules)
    enrolled = [
        enrollment_make(study=study, annotator=annotator_make(source=study.slug, external_id=str(k)))
        for k in range(people)
    ]
    paths = [reverse("annotation:resume", args=[person.resume_token]) for person in enrolled]
    _settle()
    return LiveStudy(study.pk, study.slug, paths)


def _settle() -> None:
    """What PostgreSQL does by itself within a minute of so many tables and rows, and then in the middle of what is
    measured.

    Not of tables that are empty: once looked at, they count as empty in its plans.
    """
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Told later, the rows of the import would count as changed since.
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute(
                "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND pg_relation_size(oid) > 0"
            )
            tables = [name for (name,) in cursor.fetchall()]
            cursor.execute(f"VACUUM (ANALYZE) {', '.join(tables)}")


def _traces(items: int, steps: int, rules: dict[str, Any]) -> "Study":
    """Traces whose steps each say a paragraph and get sixty lines from a tool."""
    from tests.annotation.traces import messages_of, step_row, trace_study

    said, result = "I read the file and compare it with what was asked. " * 10, "a line of a file\n" * 60
    rows = [
        step_row(steps, id=f"t{k}", trace=messages_of(steps, said=said, result=result)) for k in range(items)
    ]
    with tempfile.TemporaryDirectory() as folder:
        return trace_study(Path(folder), *rows, **rules)


def _pairs(items: int, answer_words: int, rules: dict[str, Any]) -> "Study":
    from annotation.models import Dataset, Instruction, Item, ItemResponse, Response, StudyItem
    from tests.annotation.factories import study_make

    words = random.Random(7)
    text = lambda n: " ".join(words.choices(WORDS, k=n))  # noqa: E731
    # Paragraphs, as long answers have; a short one is one.
    answer = lambda: "\n\n".join(text(min(200, answer_words - k)) for k in range(0, answer_words, 200))  # noqa: E731
    count = Dataset.objects.count()
    dataset = Dataset.objects.create(name=f"live-{count}", title="Pairs")
    study = study_make(dataset=dataset, slug=f"live-{count}", **rules)
    for start in range(0, items, BATCH):
        some = range(start, min(start + BATCH, items))
        instructions = Instruction.objects.bulk_create(
            Instruction(dataset=dataset, external_id=f"i{k}", text=f"#{k} {text(PROMPT_WORDS)}") for k in some
        )
        rows = Item.objects.bulk_create(
            Item(dataset=dataset, instruction=one, external_id=f"p{k}", kind="pairwise", position=k)
            for k, one in zip(some, instructions, strict=True)
        )
        responses = Response.objects.bulk_create(
            Response(instruction=one, external_id=str(side), system=f"system-{side}", text=answer())
            for one in instructions
            for side in (0, 1)
        )
        ItemResponse.objects.bulk_create(
            ItemResponse(item=rows[k // 2], response=response, position=k % 2)
            for k, response in enumerate(responses)
        )
        StudyItem.objects.bulk_create(
            StudyItem(study=study, item=row, position=row.position, overlap=study.overlap) for row in rows
        )
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--answer-words", type=int, default=ANSWER_WORDS)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--rules", type=json.loads, default={})
    arguments = parser.parse_args()
    import django

    django.setup()
    made = _make(arguments.items, arguments.people, arguments.answer_words, arguments.steps, arguments.rules)
    sys.stdout.write(json.dumps(vars(made)))


if __name__ == "__main__":
    main()
