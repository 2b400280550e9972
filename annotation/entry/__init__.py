"""Crowdsourcing platforms, each an adapter in a file of its own. Pure: no Django, no database, no settings.

A new platform is one file with a `Platform` in it and one line here.
"""

from annotation.entry.base import Platform
from annotation.entry.connect import CONNECT
from annotation.entry.mturk import MTURK
from annotation.entry.prolific import PROLIFIC

PLATFORMS: dict[str, Platform] = {platform.name: platform for platform in (PROLIFIC, CONNECT, MTURK)}


def platform_find(name: str) -> Platform | None:
    """The adapter of that name, if there is one."""
    return PLATFORMS.get(name)
