"""Datasets, items, labels and studies."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from touchstone_client.http import Connection, parts_of
from touchstone_client.rows import (
    Dataset,
    Enrollment,
    Imported,
    Invitation,
    Item,
    Label,
    LabelRow,
    Note,
    Progress,
    ReasonsToLook,
    Study,
)


class Collecting:
    """What is labelled, and by whom."""

    _api: Connection

    def datasets(self, **query: Any) -> Iterator[Dataset]:
        """List datasets."""
        return self._api.pages("datasets/", **query)

    def dataset(self, name: str) -> Dataset:
        """Read a dataset."""
        return cast("Dataset", self._api.get(f"datasets/{name}/"))

    def dataset_delete(self, name: str) -> None:
        """Delete a dataset without labels, judgments and studies."""
        self._api.delete(f"datasets/{name}/")

    def dataset_import(self, name: str, items: Sequence[dict[str, Any]], **about: Any) -> Imported:
        """Import a dataset, in several requests where it is large; what is there already is left alone."""
        first, *others = parts_of(items)
        if others and about.get("new_version"):
            raise ValueError("A new version has to fit into one request: send it as a file in the browser.")
        found = cast("Imported", self._api.post("datasets/", {"name": name, "items": first, **about}))
        for part in others:
            more = self._api.post(f"datasets/{name}/items/", {"items": part})
            found["dataset"] = more["dataset"]
            found["items"] += more["items"]
            found["items_created"] += more["items_created"]
            found["labels"] += more["labels"]
            found["labels_created"] += more["labels_created"]
        return found

    def dataset_versions(self, name: str, **query: Any) -> Iterator[dict[str, Any]]:
        """List the versions of a dataset."""
        return self._api.pages(f"datasets/{name}/versions/", **query)

    def dataset_changes(self, name: str, before: int, now: int) -> dict[str, Any]:
        """Compare two versions of a dataset: items added, removed and changed, the first 200 field by field."""
        return cast("dict[str, Any]", self._api.get(f"datasets/{name}/versions/{before}/{now}/"))

    def items(self, dataset: str, **query: Any) -> Iterator[Item]:
        """List the items of a dataset."""
        return self._api.pages(f"datasets/{dataset}/items/", **query)

    def labels(self, **query: Any) -> Iterator[Label]:
        """List labels: ``dataset="teas"``, ``study="which-tea"``."""
        return self._api.pages("labels/", **query)

    def labels_import(self, dataset: str, labels: Sequence[LabelRow]) -> int:
        """Import labels that were collected elsewhere; returns how many were new."""
        sent = [self._api.post("labels/", {"dataset": dataset, "labels": part}) for part in parts_of(labels)]
        return sum(one["labels_created"] for one in sent)

    # --- studies -------------------------------------------------------------------------------------------------

    def studies(self, **query: Any) -> Iterator[Study]:
        """List studies."""
        return self._api.pages("studies/", **query)

    def study(self, slug: str) -> Study:
        """Read a study."""
        return cast("Study", self._api.get(f"studies/{slug}/"))

    def study_create(self, dataset: str, title: str, **rules: Any) -> Study:
        """Create a study in draft."""
        return cast("Study", self._api.post("studies/", {"dataset": dataset, "title": title, **rules}))

    def study_change(self, slug: str, **rules: Any) -> Study:
        """Change rules of a study."""
        return cast("Study", self._api.patch(f"studies/{slug}/", rules))

    def study_update_version(self, slug: str) -> Study:
        """Move a study on to the latest version of its dataset."""
        return cast("Study", self._api.post(f"studies/{slug}/version/"))

    def study_open(self, slug: str) -> Study:
        """Open a study."""
        return cast("Study", self._api.post(f"studies/{slug}/open/"))

    def study_pause(self, slug: str) -> Study:
        """Pause a study."""
        return cast("Study", self._api.post(f"studies/{slug}/pause/"))

    def study_close(self, slug: str) -> Study:
        """Close a study for good."""
        return cast("Study", self._api.post(f"studies/{slug}/close/"))

    def invitations(self, slug: str) -> Iterator[Invitation]:
        """List the invitations of a study."""
        return self._api.pages(f"studies/{slug}/invitations/")

    def invite(self, slug: str, **options: Any) -> Invitation:
        """Create a link into a study: ``note``, ``max_annotators``, ``expires_at``."""
        return cast("Invitation", self._api.post(f"studies/{slug}/invitations/", options))

    def study_delete(self, slug: str) -> None:
        """Delete a draft."""
        self._api.delete(f"studies/{slug}/")

    def invitation_revoke(self, invitation: int) -> Invitation:
        """Revoke a link."""
        return cast("Invitation", self._api.post(f"invitations/{invitation}/revoke/"))

    def dataset_change(self, name: str, **changes: Any) -> Dataset:
        """Change ``title``, ``split``, ``licence`` or ``documentation``; add a set of ``criteria``."""
        return cast("Dataset", self._api.patch(f"datasets/{name}/", changes))

    def item(self, item: int) -> Item:
        """Read an item, by its number."""
        return cast("Item", self._api.get(f"items/{item}/"))

    def notes(self, item: int) -> Iterator[Note]:
        """List the notes of an item."""
        return self._api.pages(f"items/{item}/notes/")

    def note_add(self, item: int, text: str) -> Note:
        """Write a note on an item."""
        return cast("Note", self._api.post(f"items/{item}/notes/", {"text": text}))

    def note_change(self, note: int, text: str) -> Note:
        """Change a note of yours."""
        return cast("Note", self._api.patch(f"notes/{note}/", {"text": text}))

    def note_delete(self, note: int) -> None:
        """Delete a note of yours."""
        self._api.delete(f"notes/{note}/")

    def label(self, label: int) -> Label:
        """Read a label."""
        return cast("Label", self._api.get(f"labels/{label}/"))

    def study_copy(self, slug: str, **options: Any) -> Study:
        """Make a draft with the same rules; ``slug`` is its address."""
        return cast("Study", self._api.post(f"studies/{slug}/copy/", options))

    def study_items_choose(self, slug: str, items: Sequence[dict[str, Any]]) -> dict[str, int]:
        """Choose what a study offers: ``{"item": ..., "priority": ...}``."""
        return cast("dict[str, int]", self._api.post(f"studies/{slug}/items/", {"items": list(items)}))

    def study_progress(self, slug: str) -> Progress:
        """Read how far a study is."""
        return cast("Progress", self._api.get(f"studies/{slug}/progress/"))

    def study_reasons_to_look(self, slug: str) -> ReasonsToLook:
        """Read which annotators stand out by how their answers were given; no verdicts."""
        return cast("ReasonsToLook", self._api.get(f"studies/{slug}/reasons-to-look/"))

    def study_annotators(self, slug: str, **query: Any) -> Iterator[Enrollment]:
        """List the annotators of a study, by pseudonym."""
        return self._api.pages(f"studies/{slug}/annotators/", **query)

    def annotator_erase(self, slug: str, annotator: str, **options: Any) -> dict[str, Any]:
        """Anonymize an annotator, or delete them where their labels may not stay: ``with_labels``, ``texts_kept``.

        It can't be undone. ``annotator`` is the pseudonym of exports.
        """
        return cast(
            "dict[str, Any]", self._api.post(f"studies/{slug}/annotators/{annotator}/erase/", options)
        )
