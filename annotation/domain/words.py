"""How long a text is, in words."""

import re

# Chinese and Japanese have no spaces between words: as word processors do, each character counts.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]*\w[^\s{_UNSPACED}]*")


def words_count(text: str) -> int:
    """The number of words of a text as it is written. Signs alone, such as those of a list or a heading, are none.

    >>> words_count("# Doses\\n\\n- Take **two** tablets, twice."), words_count("你好 world"), words_count("")
    (5, 3, 0)
    """
    return sum(1 for _ in _WORD.finditer(text))
