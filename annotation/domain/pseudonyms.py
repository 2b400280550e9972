"""What an annotator is called outside the database: another name in each study."""

from hashlib import sha256
from uuid import UUID

SHORT = 8
"""Characters of a pseudonym that a page shows."""


def pseudonym(public_id: UUID, *, study: int | None, dataset: int | None = None) -> UUID:
    """The annotator's name in a study; of labels that came with a dataset, in that dataset.

    The same in every page and export of the study, and in another study unlike it, so that two researchers cannot join
    what they know of one person. It cannot be undone: `public_id` has 122 random bits and never leaves the database.
    """
    scope = f"study:{study}" if study is not None else f"dataset:{dataset}"
    return UUID(bytes=sha256(public_id.bytes + scope.encode()).digest()[:16], version=4)
