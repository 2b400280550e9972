"""Signals of how the answers of a study were given, read and kept: what the page of its people says of them."""

from django.db.models import F, IntegerField, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Length, Replace

from annotation.domain.machine_text import has_word
from annotation.domain.signals import FLAGS, NUMBERS, Signals
from annotation.models import AnswerSignals, Item, ItemResponse, Label, Study
from annotation.selectors.agreement import label_stamp, seconds_of
from annotation.selectors.costly import counted_once, study_key
from annotation.selectors.signal_reasons import SignalAnswer, StudySignals, signals_compute

VERSION = 2
MOST = 100_000
"""Answers that are looked at, the latest ones."""

_COLUMNS = (*NUMBERS, *FLAGS)


def signals_of(study: Study) -> StudySignals:
    """The signals and reasons of each person. One query where they're known, four where there are new labels."""
    stamp = label_stamp(study)
    key = f"{study_key(study, 'signals')}:{VERSION}:{study.machine_text}:{stamp.changed}"
    return counted_once(key, stamp, lambda: signals_compute(signal_answers(study)), may_lag=stamp.is_of_many)


def signal_answers(study: Study) -> list[SignalAnswer]:
    """The latest answers that no later one of the same person supersedes, in the order of time. Three queries.

    A comment is looked through for the word of the hidden text even after a study has turned the text off.
    """
    word = study.reader_word
    rows = (
        Label.objects.standing()
        .filter(study=study)
        .order_by("-pk")
        .values_list(
            *("annotator_id", "item_id", "active_ms", "wall_ms", "supersedes_id", "comment", "pasted_chars"),
            *(f"assignment__signals__{name}" for name in ("pk", *_COLUMNS)),
        )[:MOST]
    )
    words = _words_of(study)
    answers = []
    for annotator, item, ms, wall, earlier, comment, pasted, signals, *columns in rows.iterator(
        chunk_size=5_000
    ):
        answers.append(
            SignalAnswer(
                annotator=annotator,
                item=item,
                # Without scripts only the server's clock is known: no less than the active time.
                seconds=seconds_of(wall if ms is None else ms, earlier),
                words=words.get(item, 0),
                comment=len(comment),
                pasted=pasted,
                has_word=bool(comment) and has_word(comment, word),
                signals=None if signals is None else Signals(*columns),
            )
        )
    answers.reverse()
    return answers


def _words_of(study: Study) -> dict[int, int]:
    """The words of each labeled item, counted by its spaces: too few of a script without spaces, never too many."""
    labeled = Label.objects.filter(study=study).order_by().values("item").distinct()
    found: dict[int, int] = dict(
        Item.objects.filter(pk__in=labeled)
        .order_by()
        .values_list("pk")
        .annotate(n=_words("instruction__text"))
    )
    responses = (
        ItemResponse.objects.filter(item__in=labeled)
        .order_by()
        .values_list("item")
        .annotate(n=Sum(_words("response__text")))
    )
    for item, n in responses:
        found[item] = found.get(item, 0) + n
    return found


def _words(field: str) -> Combinable:
    spaces = Length(F(field)) - Length(Replace(F(field), Value(" "), Value("")))
    return spaces + Value(1, output_field=IntegerField())


def has_signals(study: Study) -> bool:
    """Whether anything was collected in the study at all. One query."""
    return AnswerSignals.objects.filter(assignment__enrollment__study=study).exists()
