"""Columns of Arrow from plain Python values.

`pyarrow.array` looks whether it was given something of pandas, and imports pandas to find out: a second, and 40 MB that
an export in bounded memory has better uses for. Buffers need none of it.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import index
from typing import Any

import numpy as np


def arrow_array(values: Sequence[Any], type_: Any) -> Any:
    """Values as an Arrow array of a type: text, whole numbers, numbers, booleans, lists of these, or times and decimals
    as text. None is null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_array(["one", None, "zwölf"], pa.string()).to_pylist()
    ['one', None, 'zwölf']
    """
    import pyarrow as pa

    n, nulls = len(values), values.count(None)
    if nulls == n:
        return pa.nulls(n, type_)
    if pa.types.is_timestamp(type_) or pa.types.is_decimal(type_):
        return arrow_array(values, pa.string()).cast(type_)
    present = _bits([value is not None for value in values]) if nulls else None
    if pa.types.is_list(type_):
        lists = [() if value is None else value for value in values]
        inner = arrow_array(list(chain.from_iterable(lists)), type_.value_type)
        return pa.Array.from_buffers(type_, n, [present, _ends(map(len, lists))], children=[inner])
    if pa.types.is_string(type_):
        texts = ["" if value is None else value for value in values] if nulls else values
        whole = "".join(texts)
        data = whole.encode()
        sizes = map(len, texts if len(data) == len(whole) else [text.encode() for text in texts])
        return pa.Array.from_buffers(type_, n, [present, _ends(sizes), pa.py_buffer(data)])
    filled = [0 if value is None else value for value in values] if nulls else values
    if pa.types.is_boolean(type_):
        numbers = _bits(filled)
    elif pa.types.is_int64(type_):
        numbers = pa.py_buffer(np.fromiter(map(index, filled), dtype=np.int64, count=n))
    else:
        numbers = pa.py_buffer(np.array(filled, dtype=np.float64))
    return pa.Array.from_buffers(type_, n, [present, numbers])


def _bits(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(np.array(values, dtype=np.bool_), bitorder="little"))


def _ends(sizes: Iterable[int]) -> Any:
    """Where each of the parts begins, and where the last one ends."""
    import pyarrow as pa

    return pa.py_buffer(np.fromiter(accumulate(sizes, initial=0), dtype=np.int32))
