"""Frozen results as JSON values, and back."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from metaeval.figures.estimates import plain
from metaeval.stats import Estimate

T = TypeVar("T")


def json_of(value: Any) -> Any:
    """Any result as JSON values, field by field: what is undefined is null, with a reason."""
    if isinstance(value, Estimate):
        return plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: json_of(getattr(value, each.name)) for each in fields(value) if each.init}
    if isinstance(value, Mapping):
        return {str(key): json_of(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return json_of(value.tolist())
    if isinstance(value, list | tuple):
        return [json_of(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") + 0.0 if math.isfinite(value) else None
    return value


def read_as(cls: type[T], content: Mapping[str, Any]) -> T:
    """A dataclass from JSON values; what it does not know is left out."""
    hints = get_type_hints(cls)
    return cls(**{name: _value(hints[name], content[name]) for name in hints if name in content})


def _value(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    if value is None:
        return None
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], one) for one in value)
    return read_as(hint, value) if is_dataclass(hint) and isinstance(hint, type) else value
