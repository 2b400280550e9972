"""Secrets of platforms: read from the environment when they are needed, and kept nowhere."""

import json
import os
from pathlib import Path
from typing import Any


def secret_read(variable: str) -> str:
    """The value of an environment variable; empty when it is not set, or has no name."""
    return os.environ.get(variable, "").strip() if variable else ""


def keys_read(variable: str) -> dict[str, Any] | None:
    """The key set (JWKS) that the variable holds, or the file that it names. None when it is missing or broken."""
    value = secret_read(variable)
    if not value:
        return None
    try:
        text = value if value.startswith("{") else Path(value).read_text(encoding="utf-8")
        keys = json.loads(text)
    except (OSError, ValueError):
        return None
    return keys if isinstance(keys, dict) and isinstance(keys.get("keys"), list) else None
