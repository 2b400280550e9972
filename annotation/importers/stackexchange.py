"""Stack Exchange: questions whose answers people ranked by their votes, from a data dump.

The criteria are those of HumanRankEval (Gritta, Lampouras and Iacobacci, NAACL 2024), all of them options. Dumps:
https://archive.org/details/stackexchange (CC BY-SA). Where the published criteria leave something open:

- Votes are a post's score, up less down.
- The answers kept are the best by votes of all. If one of them is too long, empty or has too few votes, the question is
  left out; it does not move up another. It is left out too if two of them have equal votes, or the last kept and the
  first not kept: then nobody knows which of them is among the best.
- Lengths are of the text after the conversion to Markdown; that of a question counts its title, a blank line, its body.
- Two texts are duplicates if they are equal once case, white space and compatible forms of characters are folded. Of
  questions that are duplicates, or share an answer, that with the lowest id stays.

The file is read three times, so that what is in memory is a few numbers a candidate and the texts of what is chosen:
for the votes, for the lengths and duplicates, and for the texts.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.html_text import html_to_text
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_CATEGORY, Progress, Row
from annotation.importers.stack_posts import ANSWER, QUESTION, posts_file, read_posts, tags, whole_number
from annotation.kinds.answer_ranking import AnswerRanking

MARKUP = 10
"""HTML of more than this many times the characters allowed is not even converted: it is too long."""


@dataclass(frozen=True, slots=True)
class StackExchangeCriteria:
    """Which questions are taken.

    Attributes
    ----------
    min_answers : int
        Fewest answers of a question, of whatever quality.
    keep : int
        How many of them are kept, the best by votes; >= 2.
    min_votes, min_total_votes : int
        Fewest votes of each answer kept, and of all of them together.
    max_characters : int
        Longest question, and longest answer.
    """

    min_answers: int = 4
    keep: int = 4
    min_votes: int = 5
    min_total_votes: int = 40
    max_characters: int = 4000


HUMAN_RANK_EVAL = StackExchangeCriteria()


@dataclass(slots=True)
class _Candidate:
    """A question whose votes are right. `answers` maps the ids of its best answers to their votes."""

    answers: Mapping[int, int]
    topic: str = ""
    digest: bytes = b""
    answer_digests: dict[int, bytes] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return bool(self.digest) and len(self.answer_digests) == len(self.answers)


def read_stackexchange(
    path: str | Path,
    *,
    site: str | None = None,
    topics: Sequence[str] = (),
    per_topic: int | None = None,
    seed: int = 0,
    criteria: StackExchangeCriteria = HUMAN_RANK_EVAL,
    progress: Progress | None = None,
) -> DatasetBundle:
    """Read a dump's `Posts.xml` (or `Posts.xml.gz`, or the folder with it) into items of answer ranking.

    An item's id is the site and the question's id, ``physics/4711``. Gold is the order by votes; the votes and the
    answers' ids are in the item's metadata, in the order of the responses, which says nothing of their votes.

    Parameters
    ----------
    site : str, optional
        Name of the site; that of the folder where left out.
    topics : sequence of str
        Tags. Only questions with one of them are taken, and the first one that fits is the category. Without, the
        category is the site.
    per_topic : int, optional
        How many questions of a category are taken at most, chosen by `seed`; with a larger number the same and more.
    progress : callable, optional
        Called with words and the number of rows so far.

    Raises
    ------
    ImportFileError
    """
    file = posts_file(Path(path))
    site = file.resolve().parent.name if site is None else site
    for name, value in (("site", site), *(("topics", topic) for topic in topics)):
        _check_name(file, name, value)
    dump = _Dump(file, progress)
    candidates = _with_votes(dump, criteria)
    n_candidates = len(candidates)
    _read_lengths(dump, candidates, topics or (site,), criteria, by_tag=bool(topics))
    chosen = _chosen(_without_duplicates(candidates), site, per_topic, seed)
    if not chosen:
        raise ImportFileError(
            file,
            None,
            None,
            f"there is nothing to rank: of {dump.n_questions:,} questions {n_candidates:,} have the answers and votes "
            "that are asked for, and none of these fits in topic and length.",
        )
    return _bundle(dump, chosen, site)


class _Dump:
    """The file, to be read several times."""

    def __init__(self, file: Path, progress: Progress | None) -> None:
        self.file = file
        self.n_questions = 0
        self.faults = Faults()
        self._progress = progress
        self._pass = 0

    def read(self, add: Callable[[Row], None]) -> None:
        """Read the file once; wrong rows are listed together, those of the first pass that has any."""
        self._pass += 1
        tell = None if self._progress is None else partial(self._progress, f"rows in pass {self._pass} of 3")
        self.faults.each(read_posts(self.file, tell), add)
        self.faults.check()


def _check_name(file: Path, field: str, name: str) -> None:
    if name != name.strip() or not name or not name.isprintable() or "/" in name or len(name) > MAX_CATEGORY:
        raise ImportFileError(
            file,
            None,
            field,
            f"expected a name of at most {MAX_CATEGORY} characters without a slash, found {quoted(name)}.",
        )


def _with_votes(dump: _Dump, criteria: StackExchangeCriteria) -> dict[int, _Candidate]:
    """Read the votes: the questions with enough of them, in the order of their ids."""
    parents, ids, votes, everybody = array("q"), array("q"), array("q"), array("q")

    def add(row: Row) -> None:
        kind = whole_number(row, "PostTypeId")
        if kind == QUESTION:
            dump.n_questions += 1
        elif kind == ANSWER:
            parent, score = whole_number(row, "ParentId"), whole_number(row, "Score")
            if criteria.min_answers > criteria.keep:
                everybody.append(parent)
            if score >= criteria.min_votes:
                parents.append(parent)
                ids.append(whole_number(row, "Id"))
                votes.append(score)

    dump.read(add)
    if not dump.n_questions:
        raise ImportFileError(
            dump.file, None, None, "there are no questions in it; expected a dump's Posts.xml."
        )
    enough = _with_enough_answers(everybody, criteria)
    return {
        question: _Candidate(best)
        for question, best in _best_answers(parents, ids, votes, criteria)
        if enough is None or question in enough
    }


def _with_enough_answers(parents: array[int], criteria: StackExchangeCriteria) -> set[int] | None:
    """Return the questions with enough answers; None where those that are kept are enough."""
    if criteria.min_answers <= criteria.keep:
        return None
    questions, counts = np.unique(np.array(parents, dtype=np.int64), return_counts=True)
    return set(questions[counts >= criteria.min_answers].tolist())


def _best_answers(
    parents: array[int], ids: array[int], votes: array[int], criteria: StackExchangeCriteria
) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield (question, votes by answer) of those whose best answers have enough votes, all of them different."""
    of, answer, score = (np.array(column, dtype=np.int64) for column in (parents, ids, votes))
    order = np.lexsort((answer, -score, of))
    of, answer, score = of[order], answer[order], score[order]
    questions, starts, counts = np.unique(of, return_index=True, return_counts=True)
    for question, start, count in zip(questions.tolist(), starts.tolist(), counts.tolist(), strict=True):
        if count < criteria.keep:
            continue
        end = start + criteria.keep
        best = score[start:end].tolist()
        # One more, where there is one: it must not equal the last.
        compared = score[start : min(end + 1, start + count)].tolist()
        if len(set(compared)) == len(compared) and sum(best) >= criteria.min_total_votes:
            yield question, dict(zip(answer[start:end].tolist(), best, strict=True))


def _read_lengths(
    dump: _Dump,
    candidates: dict[int, _Candidate],
    topics: Sequence[str],
    criteria: StackExchangeCriteria,
    *,
    by_tag: bool,
) -> None:
    """Read topics, lengths and digests; candidates that do not fit are taken out."""
    owners = {answer: question for question, found in candidates.items() for answer in found.answers}

    def add(row: Row) -> None:
        post = whole_number(row, "Id")
        question = post if post in candidates else owners.get(post)
        if question is None or question not in candidates:
            return
        found = candidates[question]
        is_question = post == question
        if is_question != (whole_number(row, "PostTypeId") == QUESTION):
            row.fail("PostTypeId", f"expected {QUESTION}, a question, where others have ParentId {question}.")
        text = _fitting_text(row, criteria.max_characters)
        topic = _topic(row, topics, by_tag=by_tag) if is_question else found.topic
        if text is None or topic is None:
            del candidates[question]
        elif is_question:
            found.topic, found.digest = topic, _digest(text)
        else:
            found.answer_digests[post] = _digest(text)

    dump.read(add)


def _topic(row: Row, topics: Sequence[str], *, by_tag: bool) -> str | None:
    if not by_tag:
        return topics[0]
    own = tags(row)
    return next((topic for topic in topics if topic in own), None)


def _fitting_text(row: Row, limit: int) -> str | None:
    """Return a post as Markdown; None if it is empty or too long."""
    if len(row.require("Body")) > MARKUP * limit:
        return None
    text = _text(row)
    return text if text and len(text) <= limit else None


def _text(row: Row) -> str:
    """Return a post as Markdown, that of a question below its title; empty if there is nothing in it."""
    text = html_to_text(row.require("Body"))
    if not text.strip() or whole_number(row, "PostTypeId") != QUESTION:
        return text.strip()
    return f"{row.text('Title', required=True).strip()}\n\n{text}"


def _digest(text: str) -> bytes:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return blake2b(folded.encode(), digest_size=16).digest()


def _without_duplicates(candidates: Mapping[int, _Candidate]) -> dict[int, _Candidate]:
    """Return the complete candidates of which no text was in an earlier one."""
    seen: set[bytes] = set()
    kept = {}
    for question, found in sorted(candidates.items()):
        digests = {found.digest, *found.answer_digests.values()}
        if found.is_complete and len(digests) == len(found.answers) + 1 and not digests & seen:
            seen |= digests
            kept[question] = found
    return kept


def _chosen(
    candidates: Mapping[int, _Candidate], site: str, per_topic: int | None, seed: int
) -> dict[int, _Candidate]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for question in sorted(candidates, key=lambda question: _hashed(seed, site, question)):
        by_topic[candidates[question].topic].append(question)
    taken = {question for questions in by_topic.values() for question in questions[:per_topic]}
    return {question: found for question, found in candidates.items() if question in taken}


def _hashed(*parts: object) -> bytes:
    return sha256("\x00".join(map(str, parts)).encode()).digest()


def _bundle(dump: _Dump, chosen: Mapping[int, _Candidate], site: str) -> DatasetBundle:
    """Read the texts of what was chosen."""
    wanted = set(chosen).union(*(found.answers for found in chosen.values()))
    rows: dict[int, Row] = {}
    texts: dict[int, str] = {}

    def add(row: Row) -> None:
        post = whole_number(row, "Id")
        if post in wanted:
            if post in rows:
                row.fail("Id", f"expected a unique id; {post} is also in row {rows[post].origin.row}.")
            rows[post] = Row(row.origin, {})
            texts[post] = _text(row)

    dump.read(add)
    builder = BundleBuilder(f"stackexchange: {dump.file.name} of {site}")
    for question, found in chosen.items():
        # Neither by votes nor by age, which goes with them; and the same whatever the seed.
        order = sorted(found.answers, key=lambda answer: _hashed(site, answer))
        votes = [found.answers[answer] for answer in order]
        ranks = {str(place): 1 + sum(other > own for other in votes) for place, own in enumerate(votes)}
        key = builder.instruction(rows[question], text=texts[question], category=found.topic)
        builder.item(
            rows[question],
            external_id=f"{site}/{question}",
            kind=AnswerRanking.name,
            instruction=key,
            responses=[builder.response(key, system="", text=texts[answer]) for answer in order],
            gold={"ranks": ranks},
            metadata={"votes": votes, "question": question, "answers": order},
        )
    return builder.finish(dump.file)
