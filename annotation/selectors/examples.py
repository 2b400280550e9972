"""Worked examples for judges: pairs with a known answer, as a few-shot prompt shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.domain.sampling import seeded_hash
from annotation.kinds import PAIRWISE
from annotation.models import Dataset, Item, QualificationQuestion, Split, Study
from annotation.models.qualification import QuestionPart
from annotation.selectors.datasets import items_for_judging
from annotation.selectors.offered import OfferedRow

KIND = PAIRWISE.name
VERDICTS = {1: "A", 2: "B", 0: "tie"}


def datasets_with_examples() -> list[OfferedRow]:
    """Datasets with pairs of known answer, by name; one query.

    Private datasets are left out: examples travel with every request of a judge, to whatever endpoint.
    """
    rows = (
        Dataset.objects.exclude(split=Split.PRIVATE)
        .annotate(n=Count("items", filter=Q(items__kind=KIND, items__gold__isnull=False)))
        .filter(n__gt=0)
        .order_by("name")
    )
    return [OfferedRow(row.pk, row.title or row.name, row.n) for row in rows]


def studies_with_examples() -> list[OfferedRow]:
    """Studies of pairs with training, by title; one query. Nothing of a private dataset counts."""
    shown = Q(qualification_questions__part=QuestionPart.TRAINING)
    shown &= ~Q(qualification_questions__item__dataset__split=Split.PRIVATE)
    rows = (
        Study.objects.filter(kind=KIND)
        .exclude(dataset__split=Split.PRIVATE)
        .annotate(n=Count("qualification_questions", filter=shown))
        .filter(n__gt=0)
        .order_by("title")
    )
    return [OfferedRow(row.pk, row.title, row.n) for row in rows]


def dataset_examples(dataset_id: int, *, n: int, seed: int = 0) -> list[dict[str, str]]:
    """Return up to `n` pairs with a known answer, drawn with a seed.

    The same seed draws the same pairs everywhere. A and B are right in turn: the responses of a pair without an
    explanation change places where that is needed, so that the examples teach nothing about places. None of a
    private dataset.

    Returns
    -------
    list of dict
        ``{"instruction", "context"?, "output_a", "output_b", "verdict": "A" | "B" | "tie", "reason"?}``
    """
    named = (
        Item.objects.current()
        .filter(dataset_id=dataset_id, kind=KIND, gold__isnull=False)
        .exclude(dataset__split=Split.PRIVATE)
        .values_list("external_id", "pk")
    )
    drawn = sorted(named, key=lambda row: seeded_hash(seed, row[0], "examples"))[:n]
    return _examples(dataset_id, [pk for _, pk in drawn])


def study_examples(study_id: int, *, n: int) -> list[dict[str, str]]:
    """Return the first `n` training examples of a study, in its order and in the form of `dataset_examples`."""
    questions = (
        QualificationQuestion.objects.filter(study_id=study_id, part=QuestionPart.TRAINING)
        .exclude(study__dataset__split=Split.PRIVATE)
        .exclude(
            item__dataset__split=Split.PRIVATE
        )  # training may come from another dataset than the study's
        .order_by("position")
    )
    pairs = list(questions.values_list("item__dataset_id", "item_id")[:n])
    return _examples(pairs[0][0], [item for _, item in pairs]) if pairs else []


def _examples(dataset_id: int, item_ids: Sequence[int]) -> list[dict[str, str]]:
    rows = {row.item_id: row for row in items_for_judging(dataset_id, item_ids)}
    explanations = dict(Item.objects.filter(pk__in=item_ids).values_list("pk", "explanation"))
    found: list[dict[str, str]] = []
    for pk in item_ids:
        row = rows.get(pk)
        if row is None or len(row.responses) != 2 or row.gold_choice not in VERDICTS:
            continue
        first, second = row.responses
        choice = row.gold_choice
        assert choice is not None
        # The right answer stands at A and at B in turn; a reason that names them would then name the wrong one.
        reason = explanations.get(pk, "").strip()
        if choice and choice != 1 + len(found) % 2 and not reason:
            first, second, choice = second, first, 3 - choice
        example = {
            "instruction": row.instruction,
            "context": row.context,
            "output_a": first,
            "output_b": second,
            "verdict": VERDICTS[choice],
            "reason": reason,
        }
        found.append({name: text for name, text in example.items() if text})
    return found


@dataclass(frozen=True, slots=True)
class GuidelinesChoice:
    """The current guidelines of a study."""

    pk: int
    title: str
    version: int
    kind: str
    text: str


def guidelines_offered(kind: str) -> list[GuidelinesChoice]:
    """Studies of a kind that have guidelines, by title; one query.

    Those on private datasets are left out: guidelines travel with every request of a judge, to whatever endpoint,
    also when it judges another dataset.
    """
    rows = (
        Study.objects.filter(kind=kind)
        .exclude(guidelines="")
        .exclude(dataset__split=Split.PRIVATE)
        .order_by("title", "pk")
    )
    return [
        GuidelinesChoice(row.pk, row.title, row.guidelines_version, row.kind, row.guidelines) for row in rows
    ]
