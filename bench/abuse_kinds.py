"""Kinds of people and of agents, as the summaries that their answers bring: the assumptions of `bench.abuse`.

A kind draws the answers of one session. `expects` says what a summary of the kind looks like; a real browser shows that
it does (`bench.abuse_sessions`), and a test that what is drawn does. Times are beside a typical time of the item.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from annotation.domain.signals import Signals
from annotation.selectors.signal_reasons import SignalAnswer

Draws: TypeAlias = np.random.Generator
COMMENTS = 0.3  # of people's answers have one
WORDS_TYPED = (20, 120)  # characters of a comment
MANY = 10**9


@dataclass(frozen=True)
class Item:
    """An item: its words, and the seconds that people take on it."""

    number: int
    words: int
    seconds: float


@dataclass(frozen=True)
class Given:
    """One drawn answer; `signals` None where none are sent."""

    seconds: float
    comment: int = 0
    pasted: int = 0
    has_word: bool = False
    signals: dict[str, Any] | None = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of session: `draw` one answer, `person` what the person has of their own for the whole session."""

    name: str
    about: str
    is_agent: bool
    draw: Callable[[Draws, Item, Mapping[str, float]], Given]
    expects: Mapping[str, tuple[int, int]]
    weight: float = 1.0
    """Of kinds of people: how common it is."""

    def answers(self, rng: Draws, annotator: int, items: list[Item]) -> list[SignalAnswer]:
        """A session, an answer an item."""
        own = {
            "pace": float(np.exp(rng.normal(0, 0.3))),
            "away": float(rng.beta(1, 9)),
            "gap": float(rng.uniform(110, 230)),
        }
        found = []
        for item in items:
            one = self.draw(rng, item, own)
            signals = None if one.signals is None else Signals(**_whole(one.signals))
            found.append(
                SignalAnswer(
                    annotator,
                    item.number,
                    one.seconds,
                    item.words,
                    one.comment,
                    one.pasted,
                    one.has_word,
                    signals,
                )
            )
        return found


def _whole(given: Mapping[str, Any]) -> dict[str, Any]:
    """A summary in which nothing happened but what is given."""
    nothing = dict.fromkeys(
        (
            "hidden",
            "hidden_ms",
            "pointer",
            "touch",
            "keys",
            "pastes",
            "pasted",
            "gaps",
            "typed",
            "keyless",
            "untrusted",
        ),
        0,
    )
    return {"first_ms": 2000, "scrolled": 100, **nothing, **given}


def _time(rng: Draws, item: Item, own: Mapping[str, float], factor: float = 1.0) -> float:
    return item.seconds * own["pace"] * factor * float(np.exp(rng.normal(0, 0.45)))


def _typing(rng: Draws, own: Mapping[str, float]) -> dict[str, Any]:
    """A comment that is typed, if there is one this time."""
    if rng.random() > COMMENTS:
        return {}
    n = int(rng.integers(*WORDS_TYPED))
    gap = own["gap"] * float(np.exp(rng.normal(0, 0.1)))
    return {
        "typed": n,
        "keys": n + 3,
        "gaps": n - 3,
        "gap_ms": int(gap),
        "gap_spread_ms": int(gap * rng.uniform(0.4, 1.1)),
    }


def _away(rng: Draws, own: Mapping[str, float]) -> dict[str, Any]:
    away = rng.random() < own["away"]
    return {"hidden": int(away), "hidden_ms": int(away * rng.integers(2_000, 60_000))}


def _mouse(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    typing = _typing(rng, own)
    signals = {"pointer": int(rng.integers(30, 400)), **_away(rng, own), **typing}
    return Given(_time(rng, item, own), typing.get("typed", 0), signals=signals)


def _keyboard(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    typing = _typing(rng, own)
    keys = int(rng.integers(2, 30)) + typing.pop("keys", 0)
    signals = {"keys": keys, "pointer": int(rng.integers(0, 6)), **_away(rng, own), **typing}
    return Given(_time(rng, item, own), typing.get("typed", 0), signals=signals)


def _phone(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """A keyboard that predicts words sends characters without keys."""
    n = int(rng.integers(*WORDS_TYPED)) if rng.random() < COMMENTS / 2 else 0
    signals = {
        "touch": int(rng.integers(10, 150)),
        "typed": n,
        "keyless": int(n * rng.uniform(0.3, 1.0)),
        **_away(rng, own),
    }
    return Given(_time(rng, item, own), n, signals=signals)


def _screen_reader(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """Presses buttons from the keyboard, some of them without a key that the page gets; reads without scrolling."""
    typing = _typing(rng, own)
    keys = int(rng.integers(0, 8)) + typing.pop("keys", 0)
    signals = {"keys": keys, "scrolled": int(rng.integers(30, 101)), **_away(rng, own), **typing}
    return Given(_time(rng, item, own, 1.8), typing.get("typed", 0), signals=signals)


def _dictation(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    n = int(rng.integers(*WORDS_TYPED)) if rng.random() < COMMENTS else 0
    signals = {"pointer": int(rng.integers(30, 300)), "typed": n, "keyless": n, **_away(rng, own)}
    return Given(_time(rng, item, own), n, signals=signals)


def _notes(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """Writes in an editor of their own, and pastes."""
    n = int(rng.integers(*WORDS_TYPED)) if rng.random() < COMMENTS else 0
    signals = {
        "pointer": int(rng.integers(30, 300)),
        "keys": 2 * (n > 0),
        "typed": n,
        "pastes": int(n > 0),
        "pasted": n,
    }
    signals |= {"hidden": 1, "hidden_ms": 20_000} if n else _away(rng, own)
    return Given(_time(rng, item, own, 1.2), n, pasted=n, signals=signals)


def _expert(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    return Given(_time(rng, item, own, 0.45), signals={"keys": int(rng.integers(2, 12)), **_away(rng, own)})


def _lunch(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """Leaves for an hour, now and then."""
    gone = rng.random() < 0.1
    found = _mouse(rng, item, own)
    return Given(
        found.seconds,
        found.comment,
        signals={**(found.signals or {}), **({"hidden": 1, "hidden_ms": 3_600_000} if gone else {})},
    )


def _http(rng: Draws, _item: Item, _own: Mapping[str, float]) -> Given:
    """No browser: no summary, and the server's clock alone. It waits two seconds or so."""
    return Given(float(rng.uniform(1.5, 3.0)), signals=None)


def _fixed(rng: Draws, _item: Item, _own: Mapping[str, float]) -> Given:
    return Given(8.0 + float(rng.normal(0, 0.15)), signals={"pointer": 4, "scrolled": 60, "automated": True})


def _human_delays(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """Waits as people do, moves the mouse, and hides that it drives the browser."""
    return Given(_time(rng, item, own, 0.8), signals={"pointer": int(rng.integers(30, 200))})


FOLLOWS = 0.5
"""How often a model does as the hidden text asks: unknown, and never of one that is trained to ignore such texts."""
SELECTS_ALL = 0.3
"""How often a person who copies an item copies the whole page."""


def _reads_dom(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """A language model that gets all text of the page, and fills in fields by the browser's own means."""
    n = int(rng.integers(60, 200))
    follows = rng.random() < FOLLOWS
    signals = {"pointer": 4, "typed": n, "keyless": n, "decoy": bool(follows), "scrolled": 60}
    return Given(_time(rng, item, own, 0.5), n, has_word=bool(follows), signals=signals)


def _reads_tree(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """The same from the accessibility tree, in which the hidden text isn't."""
    n = int(rng.integers(60, 200))
    return Given(
        _time(rng, item, own, 0.5), n, signals={"pointer": 4, "typed": n, "keyless": n, "scrolled": 60}
    )


def _copies(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """A person who copies the item into a chatbot, and pastes its comment."""
    n = int(rng.integers(60, 200))
    word = rng.random() < SELECTS_ALL * FOLLOWS
    signals = {"pointer": int(rng.integers(30, 200)), "keys": 6, "hidden": 1, "hidden_ms": 15_000}
    signals |= {"typed": n, "pastes": 1, "pasted": n}
    return Given(_time(rng, item, own), n, pasted=n, has_word=bool(word), signals=signals)


def _careful(rng: Draws, item: Item, own: Mapping[str, float]) -> Given:
    """Drives a usual browser as a person would, scrolls, types with varying pauses, and ignores the hidden text."""
    return _mouse(rng, item, own)


QUIET = {"untrusted": (0, 0), "decoy": (0, 0)}
ANY = (0, MANY)
KINDS = [
    Kind(
        "mouse",
        "mouse",
        False,
        _mouse,
        {**QUIET, "pointer": (10, MANY), "touch": (0, 0), "pastes": (0, 0)},
        9,
    ),
    Kind(
        "keyboard",
        "keyboard",
        False,
        _keyboard,
        {**QUIET, "keys": (2, MANY), "pointer": (0, 5), "pastes": (0, 0)},
        6,
    ),
    Kind(
        "phone", "phone, predicted words", False, _phone, {**QUIET, "touch": (1, MANY), "pointer": (0, 0)}, 7
    ),
    Kind(
        "screen_reader",
        "screen reader",
        False,
        _screen_reader,
        {**QUIET, "pointer": (0, 0), "touch": (0, 0)},
        1,
    ),
    Kind("dictation", "dictation", False, _dictation, {**QUIET, "pastes": (0, 0), "pointer": (1, MANY)}, 2),
    Kind("notes", "pastes own notes", False, _notes, {**QUIET, "keyless": (0, 0)}, 2),
    Kind("expert", "fast expert", False, _expert, {**QUIET, "keys": (2, MANY), "pointer": (0, 0)}, 3),
    Kind("lunch", "leaves for lunch", False, _lunch, {**QUIET, "pointer": (10, MANY)}, 3),
    Kind("http_script", "script without a browser", True, _http, {}),
    Kind(
        "fixed_script",
        "driven browser, fixed delays",
        True,
        _fixed,
        {"automated": (1, 1), "keys": (0, 0), "typed": (0, 0)},
    ),
    Kind(
        "human_delays",
        "driven browser, delays of people",
        True,
        _human_delays,
        {**QUIET, "automated": (0, 0), "pointer": (10, MANY)},
    ),
    Kind(
        "reads_dom",
        "language model, text of the page",
        True,
        _reads_dom,
        {"typed": (20, MANY), "pastes": (0, 0)},
    ),
    Kind(
        "reads_tree",
        "language model, accessibility tree",
        True,
        _reads_tree,
        {**QUIET, "typed": (20, MANY), "pastes": (0, 0)},
    ),
    Kind(
        "copies",
        "person with a chatbot",
        True,
        _copies,
        {**QUIET, "hidden": (1, 5), "pastes": (1, 1), "keyless": (0, 0)},
    ),
    Kind(
        "careful",
        "careful agent",
        True,
        _careful,
        {**QUIET, "automated": (0, 0), "pointer": (10, MANY), "pastes": (0, 0), "keyless": (0, 0)},
    ),
]
BY_NAME = {kind.name: kind for kind in KINDS}
PEOPLE = [kind for kind in KINDS if not kind.is_agent]
AGENTS = [kind for kind in KINDS if kind.is_agent]


def unlike(kind: Kind, signals: Mapping[str, Any]) -> list[str]:
    """What in a summary isn't as the kind's are: the names of the numbers."""
    return [
        name for name, (low, high) in kind.expects.items() if not low <= int(signals.get(name) or 0) <= high
    ]
