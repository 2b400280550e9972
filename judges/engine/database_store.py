"""The store of the site's engine: the database that all workers share."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeAlias

from django.db import transaction
from django.db.models import F

from judges.backends.wire import SHOWN, WireRequest, canonical_hash, plain_json
from judges.engine import store
from judges.engine.codec import answer_to_json
from judges.engine.leases import counts_write
from judges.engine.request_store import Answered, Claim, StoredRequest
from judges.engine.sinks import SINKS
from judges.engine.works import ActiveRun, Row, Sink
from judges.models import RequestForm
from judges.strategies.types import Answer

_frame_of = attrgetter(*(each.name for each in fields(WireRequest) if each.name not in SHOWN))
_Key: TypeAlias = tuple[Any, ...]

MOST_FORMS = 10_000
"""Forms that a session remembers the keys of."""
MOST_TEXTS = 50_000
"""Texts of which a session remembers that they are stored: the next judge is often asked the same."""


class DatabaseStore:
    """`RequestStore` in the database of the site."""

    def __init__(self) -> None:
        self._forms: dict[_Key, int] = {}
        self._took: dict[int, list[float]] = {}
        self._form_of: dict[str, int] = {}
        self._texts: set[bytes] = set()

    def atomic(self) -> AbstractContextManager[object]:
        return transaction.atomic()

    def claim(self, rows: Sequence[Claim], *, owner: str) -> int:
        texts: dict[bytes, bytes] = {}
        wanted = []
        for key, identity, wire, shown in rows:
            digest = sha256(shown).digest()[:16]
            if digest not in self._texts:
                texts[digest] = shown
            form = self._form_of[key] = self._form(identity, wire)
            wanted.append((key, form, digest))
        claimed = store.requests_claim(wanted, owner=owner)
        if claimed and texts:
            store.texts_save(texts)
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            self._texts.update(texts.keys())
        return claimed

    def save_answers(self, rows: Sequence[Answered]) -> int:
        for key, _, answer, wire in rows:
            form = self._form_of.pop(key, None)
            if form is not None:
                self._count(form, answer, wire)
        return store.answers_save(
            [(answer_to_json(answer), attempts, key) for key, attempts, answer, _ in rows]
        )

    def save_refusals(self, rows: Iterable[tuple[str, str, int]]) -> None:
        store.refusals_save(rows)

    def save_results(self, results: Sequence[tuple[Sink, Row]]) -> None:
        for sink in SINKS:
            if rows := [row for each, row in results if each is sink]:
                sink.save(rows)

    def save_counts(self, runs: Iterable[ActiveRun]) -> None:
        counts_write(runs)

    def look_up(self, hashes: Iterable[str]) -> Mapping[str, StoredRequest]:
        return store.requests_look_up(hashes)

    def take_over(self, hashes: Iterable[str], *, owner: str) -> None:
        store.requests_take_over(hashes, owner=owner)

    def release(self, hashes: Iterable[tuple[str, int]], *, owner: str) -> None:
        store.requests_release(hashes, owner=owner)

    def save_lengths(self) -> None:
        """Add what answers took to their forms: now and then, since only estimates read it."""
        took, self._took = self._took, {}
        names = (
            "n_answers",
            "latency_ms",
            "characters",
            "prompt_tokens",
            "n_completions",
            "completion_tokens",
        )
        for form, sums in sorted(took.items()):
            changes = {name: F(name) + each for name, each in zip(names, sums, strict=True)}
            RequestForm.objects.filter(pk=form).update(**changes)

    def _count(self, form: int, answer: Answer, wire: WireRequest) -> None:
        sums = self._took.setdefault(form, [0, 0.0, 0, 0, 0, 0])
        sums[0] += 1
        sums[1] += answer.latency_ms
        if answer.prompt_tokens:
            sums[2] += wire.characters()
            sums[3] += answer.prompt_tokens
        if wire.kind == "chat" and answer.completion_tokens:
            sums[4] += 1
            sums[5] += answer.completion_tokens

    def _form(self, identity: str, wire: WireRequest) -> int:
        key = (identity, bool(wire.choices), _frame_of(wire))
        form = self._forms.get(key)
        if form is None:
            content = wire.frame()
            row, _ = RequestForm.objects.get_or_create(
                digest=canonical_hash(plain_json([content, bool(wire.choices)]), identity),
                defaults={
                    "endpoint": identity[:300],
                    "kind": wire.kind,
                    "model": wire.model,
                    "has_choices": bool(wire.choices),
                    "content": content,
                },
            )
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            form = self._forms[key] = row.pk
        return form
