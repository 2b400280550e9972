"""What a list of a dataset's items is asked for, and what its words are."""

from dataclasses import dataclass

from annotation.models import Study, User

CASES = {
    "disagrees": "Judge disagrees with human annotators",
    "orders_differ": "Verdicts differ between presentation orders",
    "unparsed": "Unparsed or failed",
    "split": "Human annotators disagree",
    "wrong": "Judge disagrees with gold",
}
COMPARED = ("disagrees", "split", "wrong")
"""The cases that what people and judges said decides."""
SHORT = {
    "disagrees": "Judge disagrees",
    "orders_differ": "Orders differ",
    "unparsed": "Unparsed",
    "split": "Annotators disagree",
    "wrong": "Not gold",
}
"""The cases in a word or two, for where each is a tab."""
SORTS = {
    "number": "Item number",
    "disagreement": "Disagreement, highest first",
    "wrong": "Not gold first",
    "orders_differ": "Orders that differ first",
    "unparsed": "Unparsed first",
    "split": "Annotators who disagree first",
}
"""The order of a list; from the third on the items of a case come before the others."""
VERDICTS = {
    "right": "Verdict correct",
    "wrong": "Verdict incorrect",
    "read": "Verdict parsed",
    "positive": "Verdict",
    "either": "Verdict or answer",
}
OF_POSITIVE = ("positive", "either")
"""Those that ask whether the verdict, or the verdict or the right answer, is the positive side."""
TRUTHS = {"people": "Majority of human annotators", "gold": "Gold answer"}
HAS = {
    "gold": "With a gold answer",
    "label": "With a label",
    "labels": "With labels of two annotators or more",
    "set": "With a response set",
    "sets": "With response sets of two annotators or more",
    "judgment": "With a judgment",
    "verdict": "With a parsed verdict",
    "all_judges": "Judged by each of these judges",
    "both_orders": "Judged in both orders",
    "tested": "In the alternative annotator test",
    "named": "Responses of two named systems",
    "lengths": "Responses of different lengths",
    "category": "In a category",
    "subset": "In a subset",
    "adversarial": "In an adversarial subset",
    "other_subset": "In another subset",
    "asked": "Asked about by the study",
    "complete": "With all labels that the study asks for",
}
"""What an item may be asked to have; ``asked`` and ``complete`` in a study."""


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items of a dataset are wanted; what is empty does not matter.

    Attributes
    ----------
    judge_ids : tuple of int
        Of these judges' verdicts the cases and the disagreement speak; empty: of all.
    study : Study or None
        Only items of this study; what people said is then of its labels alone.
    truth, answer, verdict : str, int or None, str
        A cell of a confusion table, or what a rate counts: the right answer by ``people`` or ``gold`` is `answer`, None
        for any, and a verdict is one of `VERDICTS`. Of kinds with parts, that holds of one of them, and the answer is 1
        for yes and 2 for no.
    mark : float or None
        Of ratings, from where on a part is a yes.
    has : tuple of str
        Each of these, of `HAS`.
    judged_by : tuple of int
        Only items that each of these judges judged, whatever they said.
    system, against : str
        Only items with a response of this system, and of this other one.
    certainty_from, certainty_below : float or None
        Only items on which the one judge of the filter is at least, or less, certain (`judges.selectors.certainty`).
    annotator_id, annotator : int or None, str
        Only items with a label of this annotator, and their pseudonym.
    reader : User or None
        Whose right to see labels bounds what people said; None: all labels count.
    """

    dataset_id: int
    kind: str
    judge_ids: tuple[int, ...] = ()
    category: str = ""
    subset: str = ""
    study: Study | None = None
    case: str = ""
    text: str = ""
    sort: str = "number"
    truth: str = ""
    answer: int | None = None
    verdict: str = ""
    mark: float | None = None
    has: tuple[str, ...] = ()
    judged_by: tuple[int, ...] = ()
    system: str = ""
    against: str = ""
    certainty_from: float | None = None
    certainty_below: float | None = None
    annotator_id: int | None = None
    annotator: str = ""
    reader: User | None = None

    @property
    def study_id(self) -> int | None:
        return None if self.study is None else self.study.pk

    @property
    def is_compared(self) -> bool:
        """Whether what people and judges said decides which items fit, or their order."""
        return self.sort == "disagreement" or self.case in COMPARED or bool(self.truth)

    @property
    def is_by_number(self) -> bool:
        """Whether it lists the items in the order of their source, and the rows themselves say which fit."""
        return not self.is_compared and self.sort == "number"

    @property
    def is_by_certainty(self) -> bool:
        """Whether it asks how certain a judge is."""
        return self.certainty_from is not None or self.certainty_below is not None

    @property
    def is_counted(self) -> bool:
        """Whether the list is of what a figure counts, which is made of the first sample of a judge's requests."""
        return bool(self.truth or self.has or self.judged_by or self.system or self.is_by_certainty)
