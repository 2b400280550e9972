"""The answer to what is put in order: an instruction's aspects by importance, or several answers from best to worst."""

from collections import Counter
from string import ascii_uppercase

from annotation.domain.values import Value, dense
from annotation.forms.base import AnswerError, WorkForm
from annotation.models import Kind


def letter_of(index: int) -> str:
    """The name of an answer in the order shown: A to Z, then 27 and on."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else str(index + 1)


class RankingForm(WorkForm):
    """A rank of every part, 1 being the best. Gaps are closed; equal ranks are ties, where the study has them.

    Parts have no rank until the person gives them one, so an untouched order is never an answer.
    """

    def read(self) -> Value:
        fields = {key: f"rank-{key}" for key in self._keys()}
        known = {str(rank): rank for rank in range(1, len(fields) + 1)}
        ranks = {key: known.get(self.text(field).strip()) for key, field in fields.items()}
        missing = [key for key, rank in ranks.items() if rank is None]
        if missing:
            first = fields[missing[0]]
            raise AnswerError(self._words_missing(len(missing), len(fields)), field=first, anchor=first)
        given = {key: rank for key, rank in ranks.items() if rank is not None}
        if not self.rules.ties:
            self._check_once(given)
        return {"ranks": dense(given)}

    def _keys(self) -> tuple[str, ...]:
        if self.rules.kind == Kind.IMPORTANCE:
            return self.rules.aspects
        return tuple(str(index) for index in range(self.rules.n_responses))

    def _words_missing(self, missing: int, total: int) -> str:
        things = "requirement" if self.rules.kind == Kind.IMPORTANCE else "answer"
        if missing == total:
            return f"Give every {things} a rank first."
        return (
            f"Give every {things} a rank: {missing} of {total} {'has' if missing == 1 else 'have'} none yet."
        )

    def _check_once(self, ranks: dict[str, int]) -> None:
        twice = [rank for rank, times in Counter(ranks.values()).items() if times > 1]
        if not twice:
            return
        rank = min(twice)
        first, second = [key for key, given in ranks.items() if given == rank][:2]
        words = f"Give each a rank of its own: {self._name(first)} and {self._name(second)} both have {rank}."
        raise AnswerError(words, field=f"rank-{second}", anchor=f"rank-{second}")

    def _name(self, key: str) -> str:
        """How a part is called in a sentence; the page marks the two cards, with their words."""
        if self.rules.kind == Kind.IMPORTANCE:
            return f"“{key.replace('_', ' ').replace('-', ' ')}”"
        return f"answer {letter_of(int(key))}"
