"""A study counted again from its rows, whatever its counters, exports and figures say."""

from collections import Counter

from django.core.cache import cache

from annotation.models import Assignment, AssignmentState, ItemRole, Label, Study
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.annotators import annotators_of
from annotation.selectors.overview import study_list_for
from annotation.selectors.pay import pay_report
from annotation.selectors.progress import study_progress
from annotation.services.exports import label_rows
from tests.annotation.factories import user_make


def counting_labels(study: Study) -> list[Label]:
    """By the words of the documents: the latest of a person on an item, on time, not set aside, of the work."""
    superseded = set(
        Label.objects.filter(study=study, supersedes__isnull=False).values_list("supersedes_id", flat=True)
    )
    return [
        label
        for label in Label.objects.filter(study=study).select_related("assignment")
        if label.pk not in superseded
        and not label.is_surplus
        and not label.is_set_aside
        and label.role == "work"
    ]


def counters_check(study: Study) -> None:
    """Places and people have the counts that their rows have, and no item more than its overlap."""
    labels = counting_labels(study)
    by_place = Counter(label.assignment.study_item_id for label in labels if label.assignment)
    by_person = Counter(label.annotator_id for label in labels)
    twice = Counter((label.annotator_id, label.item_id) for label in labels)
    assert not [key for key, times in twice.items() if times > 1]
    leases = Assignment.objects.filter(study_item__study=study, state=AssignmentState.OPEN, role="work")
    opened = Counter(leases.values_list("study_item_id", flat=True))
    for place in study.study_items.all():
        assert (place.n_open, place.n_accepted) == (opened[place.pk], by_place[place.pk])
        assert place.n_open + place.n_accepted <= place.overlap
        if place.role == ItemRole.CHECK:
            assert (place.overlap, place.n_accepted) == (0, 0)
    for person in study.enrollments.all():
        assert person.n_accepted == by_person[person.annotator_id]


def figures_check(study: Study) -> None:
    """Whoever counts labels counts each that counts, once. Figures of the cache are those of the moment."""
    labels = counting_labels(study)
    exported = [row["label_id"] for row in label_rows(Label.objects.filter(study=study))]
    assert sorted(exported) == sorted(label.pk for label in labels)
    everything = [row["label_id"] for row in label_rows(Label.objects.filter(study=study), history=True)]
    assert sorted(everything) == sorted(Label.objects.filter(study=study).values_list("pk", flat=True))
    known, people = agreement_so_far(study), annotators_of(study)
    cache.clear()
    assert repr(agreement_so_far(study)) == repr(known)
    assert repr(annotators_of(study)) == repr(people)
    assert known.labels == len(labels)
    assert {row.annotator: row.labels for row in known.by_annotator} == Counter(
        label.annotator_id for label in labels
    )
    assert sum(row.figures.labels for row in people.rows) == people.everybody.labels == len(labels)
    progress = study_progress(study)
    assert progress.labels == len(labels)
    listed = study_list_for(study.owner or user_make(role="administrator")).get(pk=study.pk)
    assert (listed.labels_accepted, listed.labels_wanted) == (progress.labels, progress.wanted)
    answers = Label.objects.filter(study=study, supersedes=None).count()
    assert pay_report(study).total.answers == answers
