"""Where the files of the site are: beside the packages in a checkout, inside this package when it is installed.

A wheel holds `templates`, `static`, `locale` and `fixtures` under `config/site` (`hatch_build.py`).
What the site writes never goes beside installed code: that folder may belong to an administrator, and an upgrade
replaces it.
"""

import os
import sys
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent
"""The folder that has the packages: a checkout, or `site-packages`."""
INSTALLED = PACKAGES / "config" / "site"


def is_installed() -> bool:
    """Whether this is an installed distribution, not a checkout."""
    return INSTALLED.is_dir()


def base_folder() -> Path:
    """The folder with `templates`, `static`, `locale` and `fixtures`."""
    return INSTALLED if is_installed() else PACKAGES


def user_folder() -> Path:
    """Where an installed site keeps its data and its `.env`: `XDG_DATA_HOME`, or what the system has in its place."""
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "touchstone"


def environment_file() -> Path:
    """The file with variables of the environment; it need not exist."""
    return (user_folder() if is_installed() else PACKAGES) / ".env"


def written_folder() -> Path:
    """Where the site writes unless `TOUCHSTONE_VAR` names a folder."""
    return user_folder() if is_installed() else PACKAGES / "var"


def manage_command() -> list[str]:
    """The command line of `manage.py`, which an installed site has as `python -m config`."""
    # -P: the working folder, which may have a `config` of its own, is not searched for modules.
    words = ["-P", "-m", "config"] if is_installed() else [str(PACKAGES / "manage.py")]
    return [sys.executable, *words]
