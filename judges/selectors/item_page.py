"""All that is known of one item: its texts, what people said, what every judge said in both orders, and notes."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Value
from django.db.models.functions import Left, Length

from annotation.kinds.evidence import marks_for_script
from annotation.kinds.shown import ShownResponse
from annotation.models import ItemNote, User
from annotation.selectors.item_notes import item_notes
from annotation.selectors.judged_items import ItemTexts, item_texts
from annotation.selectors.judging_labels import PeopleSaid, PersonSaid, item_labels, people_said
from judges.models import Judgment
from judges.selectors.item_list import JudgeSaid, judge_said

MOST_JUDGMENTS = 400
MOST_RAW = 4_000
"""Characters of what a judge wrote that the page shows; the page of the judgment has all."""


@dataclass(frozen=True, slots=True)
class MeasuredResponse:
    """A response at its place in canonical order, from 1, with its length."""

    number: int
    response: ShownResponse
    system: str
    n_chars: int
    n_words: int


@dataclass(frozen=True, slots=True)
class ItemDetail:
    """One item with all that was said of it. `is_cut`: there are more judgments than are shown."""

    item: ItemTexts
    responses: tuple[MeasuredResponse, ...]
    people: PeopleSaid | None
    labels: tuple[PersonSaid, ...]
    judges: tuple[JudgeSaid, ...]
    is_cut: bool
    notes: tuple[ItemNote, ...]

    @property
    def marks(self) -> str:
        """The passages that annotators marked, for the script that shows them; empty without any."""
        return marks_for_script(label.marks for label in self.labels)

    @property
    def longer(self) -> int | None:
        """The number of the longer response of two; None where they are equally long, or not two."""
        if len(self.responses) != 2 or self.responses[0].n_chars == self.responses[1].n_chars:
            return None
        return 1 if self.responses[0].n_chars > self.responses[1].n_chars else 2


def item_detail(item_id: int, *, reader: User | None = None) -> ItemDetail:
    """Read one item; eight queries, however many judges there are. `reader` bounds the labels that are shown.

    Raises Item.DoesNotExist.
    """
    item = item_texts(item_id)
    people = people_said([item_id], reader=reader).get(item_id)
    rows = (
        Judgment.objects.filter(item_id=item_id)
        .select_related("judge", "item")
        .defer("raw_text", "thought", "answered_by")
        .annotate(raw=Left("raw_text", Value(MOST_RAW)), n_raw=Length("raw_text"))
        .order_by("judge__name", "judge_id", "order", "sample")
    )
    said: dict[int, list[Judgment]] = defaultdict(list)
    read = list(rows[: MOST_JUDGMENTS + 1])
    for judgment in read[:MOST_JUDGMENTS]:
        said[judgment.judge_id].append(judgment)
    texts = zip(item.responses, item.systems, strict=True)
    return ItemDetail(
        item=item,
        responses=tuple(
            MeasuredResponse(number, response, system, len(response.text), len(response.text.split()))
            for number, (response, system) in enumerate(texts, 1)
        ),
        people=people,
        labels=tuple(item_labels(item_id, reader=reader)),
        judges=tuple(judge_said(item.kind, each, people, item.gold) for each in said.values()),
        is_cut=len(read) > MOST_JUDGMENTS,
        notes=tuple(item_notes(item_id)),
    )
