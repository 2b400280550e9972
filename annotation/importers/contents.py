"""What a file of items has in it, counted part by part, before anything of it is stored."""

from collections import Counter
from typing import Any

from annotation.importers.keys import KeyStore
from annotation.importers.preview import items_shown, shown_document
from annotation.importers.records import DatasetBundle


class FileContents:
    """What is in a file, part by part: how much of what, and its first items as annotators would see them.

    Attributes
    ----------
    is_whole : bool
        All parts were there. A caller that finds that reading stopped says so.
    shown : list
        The first items, as `shown_document` gives them, each with its id.
    """

    def __init__(self, n_shown: int) -> None:
        self._n_shown = n_shown
        self.is_whole = True
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.shown: list[tuple[str, dict[str, Any]]] = []
        self._annotators: set[str] = set()
        self._judges: set[str] = set()
        self._items, self._instructions = KeyStore(), KeyStore()

    def part(self, bundle: DatasetBundle) -> None:
        """Count a part. An item, or an instruction, that comes again counts once."""
        known = self._items.found([item.external_id for item in bundle.items])
        items = [item for item in bundle.items if item.external_id not in known]
        instructions = {one.key for one in bundle.instructions}
        instructions -= self._instructions.found(instructions).keys()
        self._items.add((item.external_id, 1) for item in items)
        self._instructions.add((key, 1) for key in instructions)
        if len(self.shown) < self._n_shown:
            more = items_shown(bundle, self._n_shown - len(self.shown))
            self.shown += [(name, shown_document(item)) for name, item in more]
        self.kinds.update(item.kind for item in items)
        self.counts.update(
            n_items=len(items),
            instructions=len(instructions),
            gold=sum(item.gold is not None for item in items),
            labels=len(bundle.labels),
            verdicts=len(bundle.verdicts),
        )
        self._annotators |= {one.annotator for one in bundle.labels}
        self._judges |= {one.judge for one in bundle.verdicts}

    def document(self) -> dict[str, Any]:
        """The counts, as JSON."""
        return {
            **self.counts,
            "kinds": self.kinds,
            "annotators": len(self._annotators),
            "judges": len(self._judges),
        }
