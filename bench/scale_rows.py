"""Rows of a large site, made in the database: texts are drawn for each pair, no easier to compress than real ones."""

from __future__ import annotations

from typing import Any

WORDS = """string_agg((ARRAY['the','a','judge','answer','which','better','because','model','reads','long','short',
    'correct','instruction','list','of','four','cities','and','explains','why','it','holds','for','every','number','poem',
    'code','returns','value','that','is','not','what','was','asked','although','polite'])
    [1 + abs(hashtext((%(name)s)::text || '-' || w)) %% 37], ' ')"""


def words(name: str, n: int) -> str:
    """SQL of a text of n words, its own for each value of the expression `name`."""
    return f"(SELECT {WORDS % {'name': name}} FROM generate_series(1, {n}) AS w)"


def dataset_of_pairs(name: str, pairs: int) -> Any:
    """A dataset of so many pairs of 100-word responses to prompts of 60 words."""
    from django.db import connection

    from annotation.models import Dataset

    dataset = Dataset.objects.create(name=name, title=name.capitalize())
    key = dataset.pk
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_instruction (dataset_id, external_id, text, category, subset, context, reference,"
            " conversation, metadata)"
            f" SELECT {key}, 'i' || k, {words(f'k + {key} * 10000000', 60)}, 'Brainstorm', '', '', NULL, '[]', '{{}}'"
            f" FROM generate_series(1, {pairs}) AS k"
        )
        cursor.execute(
            "INSERT INTO annotation_response (instruction_id, external_id, system, text, messages)"
            f" SELECT i.id, i.external_id || '-' || s, 'system ' || s, {words('i.id * 2 + s', 100)}, '[]'"
            f" FROM annotation_instruction AS i, generate_series(0, 1) AS s WHERE i.dataset_id = {key}"
        )
        cursor.execute(
            "INSERT INTO annotation_item"
            " (dataset_id, instruction_id, external_id, kind, position, explanation, metadata)"
            f" SELECT {key}, id, external_id, 'pairwise', row_number() OVER (ORDER BY id), '', '{{}}'"
            f" FROM annotation_instruction WHERE dataset_id = {key} ORDER BY id"
        )
        cursor.execute(
            "INSERT INTO annotation_itemresponse (item_id, response_id, position)"
            " SELECT it.id, r.id, row_number() OVER (PARTITION BY it.id ORDER BY r.id) - 1"
            " FROM annotation_item AS it JOIN annotation_response AS r USING (instruction_id)"
            f" WHERE it.dataset_id = {key}"
        )
    return dataset


def study_of(dataset: Any, people: int, **rules: Any) -> tuple[Any, list[Any]]:
    """An open study of all pairs of a dataset, and its people, who are at its work."""
    from django.db import connection

    from annotation.models import Study, StudyState
    from tests.annotation.factories import annotator_make, enrollment_make

    study = Study.objects.create(
        dataset=dataset,
        dataset_version=dataset.version,
        slug=dataset.name,
        title="Which is better?",
        state=StudyState.OPEN,
        consent="You agree to have your answers stored.",
        guidelines="Prefer the answer that **follows** the instruction.",
        **rules,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_studyitem"
            " (study_id, item_id, position, role, overlap, n_open, n_accepted, probability)"
            f" SELECT {study.pk}, id, position - 1, 'work', {study.overlap}, 0, 0, 1 FROM annotation_item"
            f" WHERE dataset_id = {dataset.pk} ORDER BY position"
        )
    return study, [
        enrollment_make(study=study, annotator=annotator_make(source=study.slug, external_id=str(k)))
        for k in range(people)
    ]


def half_labelled(study: Any, people: list[Any]) -> int:
    """Label the first half of the items as often as the study wants, by its people in turn; returns how many labels."""
    from django.db import connection

    from annotation.services.studies import statistics_refresh

    half = study.study_items.count() // 2
    who = ",".join(str(person.pk) for person in people)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_assignment (study_item_id, enrollment_id, role, state, shown_order, ahead,"
            " leased_at, expires_at, submitted_at, release_reason)"
            f" SELECT s.id, (ARRAY[{who}])[1 + (s.position * {study.overlap} + k) % {len(people)}],"
            " 'work', 'submitted',"
            " CASE WHEN hashtext(s.id::text || k) % 2 = 0 THEN '[0, 1]'::jsonb ELSE '[1, 0]'::jsonb END, 0,"
            " now() - interval '2 hours', now() - interval '1 hour', now() - interval '90 minutes', ''"
            f" FROM annotation_studyitem AS s, generate_series(0, {study.overlap - 1}) AS k"
            f" WHERE s.study_id = {study.pk} AND s.position < {half}"
        )
        cursor.execute(
            "INSERT INTO annotation_label (item_id, annotator_id, study_id, assignment_id, role, kind, value, choice,"
            " shown_order, is_surplus, is_set_aside, comment, pasted_chars, source, probability, active_ms, wall_ms,"
            " created_at)"
            " SELECT s.item_id, e.annotator_id, s.study_id, a.id, 'work', 'pairwise',"
            " jsonb_build_object('choice', c.choice), c.choice, a.shown_order, false, false, '', 0, '', 1,"
            " 30000, 35000, a.submitted_at"
            " FROM annotation_assignment AS a JOIN annotation_studyitem AS s ON s.id = a.study_item_id"
            " JOIN annotation_enrollment AS e ON e.id = a.enrollment_id,"
            " LATERAL (SELECT abs(hashtext(a.id::text)) % 3 AS choice) AS c"
            f" WHERE s.study_id = {study.pk}"
        )
        labels = cursor.rowcount
        cursor.execute(
            f"UPDATE annotation_studyitem SET n_accepted = overlap WHERE study_id = {study.pk} AND position < {half}"
        )
        cursor.execute(
            "UPDATE annotation_enrollment AS e SET n_accepted = n.n, n_claimed = n.n, cursor = %s FROM"
            " (SELECT enrollment_id, count(*) AS n FROM annotation_assignment GROUP BY 1) AS n"
            f" WHERE n.enrollment_id = e.id AND e.study_id = {study.pk}",
            [half - 1],
        )
    statistics_refresh()
    return int(labels)
