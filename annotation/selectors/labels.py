"""Reading labels, as arrays for the statistics."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.kinds import PAIRWISE
from annotation.models import User
from annotation.selectors.overview import labels_visible_to


@dataclass(frozen=True, slots=True)
class PairwiseLabels:
    """Pairwise labels in long format: equal-length arrays, ordered by (position of the item, label id).

    Attributes
    ----------
    label_id, item_id, annotator_id : ndarray of int64
    choice : ndarray of int64
        1 = first response better, 2 = second better, 0 = tie; canonical order.
    probability : ndarray of float64
        The chance with which the item was picked for labelling.
    """

    label_id: NDArray[np.int64]
    item_id: NDArray[np.int64]
    annotator_id: NDArray[np.int64]
    choice: NDArray[np.int64]
    probability: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.label_id)


def pairwise_labels(
    dataset_id: int | None = None, study_id: int | None = None, reader: User | None = None
) -> PairwiseLabels:
    """The current pairwise labels of a dataset (imported ones included), of a study, or of both at once.

    One query. Labels that a later one supersedes are left out, and those that `reader` may not see.
    """
    if dataset_id is None and study_id is None:
        raise ValueError("pairwise_labels needs a dataset or a study")
    labels = labels_visible_to(reader).current().filter(kind=PAIRWISE.name)
    if dataset_id is not None:
        labels = labels.filter(item__dataset_id=dataset_id)
    if study_id is not None:
        labels = labels.filter(study_id=study_id)
    rows = labels.order_by("item__position", "item_id", "pk").values_list(
        "pk", "item_id", "annotator_id", "choice", "probability"
    )
    table = np.fromiter(
        rows.iterator(chunk_size=10_000),
        dtype=[
            ("label_id", np.int64),
            ("item_id", np.int64),
            ("annotator_id", np.int64),
            ("choice", np.int64),
            ("probability", np.float64),
        ],
    )
    return PairwiseLabels(*(np.ascontiguousarray(table[name]) for name in table.dtype.names or ()))
