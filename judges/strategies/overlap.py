"""Overlap of a text with a reference: ROUGE-L and n-grams, as exact fractions in [0, 1].

Tokens are those of the `rouge-score` package without stemming: lower case, runs of a-z and 0-9.
"""

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

_TOKEN = re.compile(r"[a-z0-9]+")
_ZERO = Fraction(0)


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words of a-z and 0-9; all else separates.

    >>> tokens("Don't panic: 42!")
    ['don', 't', 'panic', '42']
    """
    return _TOKEN.findall(text.lower())


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    Bit-parallel: a row of the dynamic programme is one big integer, so the time is
    O(len(b) * len(a) / word size). Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.

    >>> lcs_length("a b c d".split(), "b x d".split())
    2
    """
    places: dict[str, int] = {}
    for index, word in enumerate(a):
        places[word] = places.get(word, 0) | (1 << index)
    full = (1 << len(a)) - 1
    row = full
    for word in b:
        hits = row & places.get(word, 0)
        if hits:
            row = ((row + hits) | (row - hits)) & full
    return len(a) - row.bit_count()


def rouge_l_f(candidate: Sequence[str], reference: Sequence[str]) -> Fraction:
    """Return the ROUGE-L F-measure: 2 LCS / (number of words in both); 0 if either is empty."""
    if not candidate or not reference:
        return _ZERO
    return Fraction(2 * lcs_length(candidate, reference), len(candidate) + len(reference))


def ngram_f(candidate: Sequence[str], reference: Sequence[str]) -> Fraction:
    """Return the mean of the F-measures of shared words and of shared word pairs (ROUGE-1 and ROUGE-2)."""
    return (_shared_f(candidate, reference) + _shared_f(_pairs(candidate), _pairs(reference))) / 2


def _pairs(words: Sequence[str]) -> list[str]:
    # A space is in no token, so a joined pair is as good as a tuple.
    return [f"{first} {second}" for first, second in pairwise(words)]


def _shared_f(candidate: Sequence[str], reference: Sequence[str]) -> Fraction:
    total = len(candidate) + len(reference)
    if not total:
        return _ZERO
    return Fraction(2 * (Counter(candidate) & Counter(reference)).total(), total)
