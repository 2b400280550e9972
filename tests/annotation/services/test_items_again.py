"""Items sent back to people, and notes on them, by forms that arrive twice at once."""

import pytest

from annotation.models import AdjudicationRequest, ItemNote, Study
from annotation.services.item_notes import note_add, note_change, note_delete
from annotation.services.relabel import adjudication_request, study_again
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def test_a_form_sent_twice_at_once_makes_one_study_one_request_and_one_note():
    user = user_make()
    dataset = dataset_make(pairs=3, owner=user)
    items = list(dataset.items.values_list("pk", flat=True))
    made = all_at_once(
        lambda _: (
            study_again(dataset=dataset, kind="pairwise", items=items[:2], owner=user, nonce="0" * 16).pk
        ),
        range(4),
    )
    assert len(set(made)) == 1
    assert Study.objects.get().study_items.count() == 2
    study = study_make(dataset=dataset, owner=user)
    all_at_once(lambda _: adjudication_request(study=study, items=items, by=user), range(4))
    assert AdjudicationRequest.objects.count() == 3
    item = dataset.items.first()
    all_at_once(lambda _: note_add(item=item, author=user, text="x", nonce="n"), range(4))
    assert ItemNote.objects.count() == 1


def test_a_note_changed_while_it_is_deleted_stays_deleted():
    user = user_make()
    note = note_add(item=dataset_make(pairs=1, owner=user).items.get(), author=user, text="x", nonce="n")
    all_at_once(
        lambda what: note_delete(note=note) if what == "delete" else note_change(note=note, text=what),
        ["delete", "a", "b"],
    )
    assert not ItemNote.objects.exists()
