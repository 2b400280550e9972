"""Reasons to look at a person's work, from how their answers were given: arithmetic of arrays and lists alone.

Each signal is compared with what is usual among the people of the study. A reason is evidence with its counts and with
what else explains it. Nothing here adds reasons up to a score, and nothing follows from one by itself.

Tests are of one person against the others (`metaeval.stats.screening`). Their p-values are adjusted together, over all
people and signals of the study, by Benjamini and Hochberg: of the reasons that come from tests, at most 5% are expected
to be about people who work as the others do. What is no test (a word that only a program reads) is said as it is.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from annotation.domain.signal_kinds import KINDS, SignalKind
from annotation.domain.signals import Signals
from metaeval.stats import StatisticsWarning, adjust_p_values, excess_p_values, outlier_p_values

LEVEL = 0.05
READING_WPM = 1_500  # silent reading is at about 240 words a minute, skimming at 450 to 700
READ_FROM = 50  # words: shorter texts say nothing of reading
SCROLL_FROM = 300
TEXT_FROM = 20  # characters
TIMES_OF_AN_ITEM = 3
FEWEST = {"pace": 5, "regular": 8, "rhythm": 3}  # answers
GAPS_FROM = 15


@dataclass(frozen=True, slots=True)
class SignalAnswer:
    """One answer. `seconds` (active, or by the server's clock) and `words` of the item are NaN and 0 where unknown;
    `comment` and `pasted` are characters; `signals` is None where the browser sent none.
    """

    annotator: int
    item: int
    seconds: float
    words: int
    comment: int
    pasted: int
    has_word: bool
    signals: Signals | None


@dataclass(frozen=True, slots=True)
class ReasonToLook:
    """One reason to look. `adjusted` is the adjusted p-value; None of what is no test."""

    kind: SignalKind
    evidence: str
    adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class PersonSignals:
    """A person's counts, for tables and files."""

    answers: int
    with_signals: int
    hidden: int
    hidden_seconds: float
    pastes: int
    pasted: int
    typed: int
    keyless: int
    still: int
    untrusted: int
    automated: int
    reading: int
    reader_word: int
    decoy: int
    gap_ms: float | None


@dataclass(frozen=True, slots=True)
class StudySignals:
    """The counts and reasons of each person by primary key, and how many tests were made."""

    people: Mapping[int, PersonSignals]
    reasons: Mapping[int, tuple[ReasonToLook, ...]]
    tests: int
    with_signals: int
    answers: int


Event = Callable[[SignalAnswer], bool | None]


def _reading(answer: SignalAnswer) -> bool | None:
    if answer.words < READ_FROM or math.isnan(answer.seconds):
        return None
    return answer.seconds < 60 * answer.words / READING_WPM


def _of_signals(read: Callable[[Signals], bool | None]) -> Event:
    return lambda answer: None if answer.signals is None else read(answer.signals)


def _pasted(answer: SignalAnswer) -> bool | None:
    return None if answer.comment < TEXT_FROM else 2 * answer.pasted >= answer.comment


def _hidden(signals: Signals) -> bool | None:
    return None if signals.hidden is None else signals.hidden > 0


def _keyless(signals: Signals) -> bool | None:
    # A phone's keyboard predicts words, which come without keys: of text on a touch screen this says nothing.
    if signals.keyless is None or (signals.typed or 0) < TEXT_FROM or signals.touch:
        return None
    return signals.keyless >= 0.8 * (signals.typed or 0)


def _still(signals: Signals) -> bool | None:
    counts = (signals.pointer, signals.touch, signals.keys)
    return None if None in counts else not any(counts)


def _untrusted(signals: Signals) -> bool | None:
    return None if signals.untrusted is None else signals.untrusted > 0


def _unseen(answer: SignalAnswer) -> bool | None:
    if answer.words < SCROLL_FROM or answer.signals is None or answer.signals.scrolled is None:
        return None
    # Screen readers read what isn't in view: without a pointer this says nothing.
    if not answer.signals.pointer and not answer.signals.touch:
        return None
    return answer.signals.scrolled < 50


EVENTS: Mapping[str, tuple[Event, str]] = {
    "reading": (_reading, "came faster than their item can be read at 1,500 words a minute"),
    "hidden": (_of_signals(_hidden), "were given with the page hidden for a while"),
    "pasted": (_pasted, "with a comment have at least half of it pasted"),
    "keyless": (_of_signals(_keyless), "with text have at least 80% of it without a key or a paste"),
    "still": (_of_signals(_still), "came without any event of a mouse, a finger or a key"),
    "unseen": (_unseen, "to long items came before half of the text had been in view"),
    "untrusted": (_of_signals(_untrusted), "have events that a script made"),
}


class _Person:
    """What is computed of one person's answers; `ratios` are logarithms of time over what is usual of the item."""

    def __init__(self, answers: Sequence[SignalAnswer], usual: Callable[[SignalAnswer], float]) -> None:
        self.answers = answers
        self._usual = usual

    def events(self, key: str) -> tuple[int, int]:
        """How many answers have it, of how many that could."""
        found = [seen for answer in self.answers if (seen := EVENTS[key][0](answer)) is not None]
        return sum(found), len(found)

    @cached_property
    def ratios(self) -> np.ndarray:
        found = [
            math.log(max(answer.seconds, 0.1)) - self._usual(answer)
            for answer in self.answers
            if not math.isnan(answer.seconds)
        ]
        return np.array([each for each in found if not math.isnan(each)])

    @cached_property
    def times(self) -> np.ndarray:
        return np.log([max(answer.seconds, 0.1) for answer in self.answers if not math.isnan(answer.seconds)])

    @cached_property
    def rhythms(self) -> np.ndarray:
        """Of answers with enough keys: the spread of the pauses beside their median, as logarithm."""
        sent = [answer.signals for answer in self.answers if answer.signals is not None]
        return np.array(
            [
                math.log((each.gap_spread_ms + 1) / (each.gap_ms + 1))
                for each in sent
                if (each.gaps or 0) >= GAPS_FROM
                and each.gap_ms is not None
                and each.gap_spread_ms is not None
            ]
        )

    def value(self, key: str) -> float:
        """The number that is compared with the others'; NaN with too few answers."""
        numbers = {"rhythm": self.rhythms, "pace": self.ratios, "regular": self.times}[key]
        if len(numbers) < FEWEST[key]:
            return math.nan
        if key == "regular":
            low, high = np.quantile(numbers, [0.25, 0.75])
            return math.log(max(high - low, 1e-3))
        return float(np.median(numbers))

    def seconds(self) -> float:
        known = [answer.seconds for answer in self.answers if not math.isnan(answer.seconds)]
        return float(np.median(known)) if known else math.nan

    def counts(self) -> PersonSignals:
        sent = [answer.signals for answer in self.answers if answer.signals is not None]
        gaps = [each.gap_ms for each in sent if each.gap_ms is not None]
        return PersonSignals(
            answers=len(self.answers),
            with_signals=sum(each != Signals(decoy=each.decoy) for each in sent),
            hidden=self.events("hidden")[0],
            hidden_seconds=sum(each.hidden_ms or 0 for each in sent) / 1000,
            pastes=sum((each.pastes or 0) > 0 for each in sent),
            pasted=sum(
                max(answer.pasted, (answer.signals and answer.signals.pasted) or 0) for answer in self.answers
            ),
            typed=sum(each.typed or 0 for each in sent),
            keyless=sum(each.keyless or 0 for each in sent),
            still=self.events("still")[0],
            untrusted=self.events("untrusted")[0],
            automated=sum(each.automated for each in sent),
            reading=self.events("reading")[0],
            reader_word=sum(answer.has_word for answer in self.answers),
            decoy=sum(each.decoy for each in sent),
            gap_ms=float(np.median(gaps)) if gaps else None,
        )


def signals_compute(answers: Sequence[SignalAnswer]) -> StudySignals:
    """The counts of each person, and the reasons to look at some of them."""
    mine: dict[int, list[SignalAnswer]] = defaultdict(list)
    for answer in answers:
        mine[answer.annotator].append(answer)
    usual = _usual_times(answers)
    people = {annotator: _Person(given, usual) for annotator, given in mine.items()}
    counts = {annotator: person.counts() for annotator, person in people.items()}
    found: dict[int, list[ReasonToLook]] = {annotator: _facts(each) for annotator, each in counts.items()}
    tests = _tests(people)
    everything = np.array([p for row in tests.values() for p in row])
    adjusted = adjust_p_values(everything, method="benjamini_hochberg") if len(everything) else everything
    for row, key in zip(adjusted.reshape(len(tests), -1), tests, strict=True):
        for annotator, p_value in zip(people, row, strict=True):
            if p_value <= LEVEL:
                evidence = _evidence_of(key, annotator, people)
                found[annotator].append(ReasonToLook(KINDS[key], evidence, float(p_value)))
    return StudySignals(
        people=counts,
        reasons={annotator: tuple(each) for annotator, each in found.items() if each},
        tests=int(np.isfinite(everything).sum()),
        with_signals=sum(each.with_signals for each in counts.values()),
        answers=len(answers),
    )


def _usual_times(answers: Sequence[SignalAnswer]) -> Callable[[SignalAnswer], float]:
    """The logarithm of the others' median time on an item; of the study's where few others have a time on it."""
    times: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for answer in answers:
        if not math.isnan(answer.seconds):
            times[answer.item].append((answer.annotator, math.log(max(answer.seconds, 0.1))))
    everywhere = [each for one in times.values() for _, each in one]
    study = float(np.median(everywhere)) if everywhere else math.nan

    def usual(answer: SignalAnswer) -> float:
        others = sorted(each for annotator, each in times[answer.item] if annotator != answer.annotator)
        if len(others) < TIMES_OF_AN_ITEM:
            return study
        half = len(others) // 2
        return others[half] if len(others) % 2 else (others[half - 1] + others[half]) / 2

    return usual


def _tests(people: Mapping[int, _Person]) -> dict[str, np.ndarray]:
    """The p-values of each signal, a person each; NaN of who takes no part."""
    found = {}
    with warnings.catch_warnings():
        # Too few people for a test is no fault: the page says how many tests there were.
        warnings.simplefilter("ignore", StatisticsWarning)
        for key in EVENTS:
            events = np.array([person.events(key) for person in people.values()], dtype=np.float64).reshape(
                -1, 2
            )
            found[key] = excess_p_values(events[:, 0], events[:, 1])
        for key in FEWEST:
            values = np.array([person.value(key) for person in people.values()])
            found[key] = outlier_p_values(values, alternative="less")
    return found


def _facts(counts: PersonSignals) -> list[ReasonToLook]:
    """What is no test: there is nothing to compare."""
    said = {
        "reader_word": (
            counts.reader_word,
            "have the word in the comment that only the hidden text asks for",
        ),
        "decoy": (counts.decoy, "have the hidden field filled in"),
        "automated": (counts.automated, "come from a browser that says it’s driven by a program"),
    }
    return [
        ReasonToLook(
            KINDS[key],
            f"{n:,} of {counts.answers:,} {'answer' if counts.answers == 1 else 'answers'} {words}.",
        )
        for key, (n, words) in said.items()
        if n
    ]


def _evidence_of(key: str, annotator: int, people: Mapping[int, _Person]) -> str:
    person = people[annotator]
    others = [each for one, each in people.items() if one != annotator]
    if key in EVENTS:
        n, whole = person.events(key)
        rest = np.array([each.events(key) for each in others]).sum(axis=0)
        evidence = (
            f"{n:,} of {whole:,} answers ({_percent(n, whole)}) {EVENTS[key][1]}; of the other annotators’ answers, "
            f"{rest[0]:,} of {rest[1]:,} ({_percent(rest[0], rest[1])})."
        )
        return evidence + (_fastest(person, others) if key == "reading" else "")
    usual = float(np.median([value for each in others if not math.isnan(value := each.value(key))]))
    own = person.value(key)
    if key == "pace":
        return (
            f"Takes {math.exp(own):.2f} of the time that others take on the same items (median of "
            f"{len(person.ratios):,} answers; {person.seconds():.1f} s each). Usual among the others: "
            f"{math.exp(usual):.2f}."
        )
    if key == "regular":
        return (
            f"The middle half of the times lies within a factor of {math.exp(math.exp(own)):.2f} "
            f"({len(person.times):,} answers). Usual among the others: {math.exp(math.exp(usual)):.2f}."
        )
    return (
        f"The quartiles of the pauses between keys are {_percent(math.exp(own), 1)} of their median apart (median of "
        f"{len(person.rhythms):,} answers with text). Usual among the others: {_percent(math.exp(usual), 1)}."
    )


def _fastest(person: _Person, others: Sequence[_Person]) -> str:
    """The answer that is the furthest below reading, beside what others take on its item."""
    fast = [answer for answer in person.answers if _reading(answer)]
    one = max(fast, key=lambda answer: answer.words / max(answer.seconds, 0.1))
    times = [
        answer.seconds
        for each in others
        for answer in each.answers
        if answer.item == one.item and not math.isnan(answer.seconds)
    ]
    beside = f", where others take {np.median(times):.1f} s (median of {len(times)})" if times else ""
    return f" The fastest: {one.seconds:.1f} s on {one.words:,} words{beside}."


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "–"
