"""What one person may do with one study or dataset."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rights:
    """What a person may do with a row that they see; `docs/running-a-study.md` has the table.

    Parameters
    ----------
    may_edit : bool
        Change its rules, its state and what belongs to it.
    may_own : bool
        What only its owner may: pay and platforms of a study, split and license of a dataset.
    may_settle : bool
        Share it, give it away, and learn who its annotators are. Of a row without an owner, administrators alone.
    role : str
        ``"owner"``, ``"administrator"``, ``"editor"`` or ``"viewer"``; empty for a row without an owner, and for a
        dataset that all researchers see.
    """

    may_edit: bool = False
    may_own: bool = False
    may_settle: bool = False
    role: str = ""
