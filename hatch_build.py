"""What a wheel has beside the packages. Hatchling runs this; an editable installation needs none of it."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("templates", "static", "locale", "fixtures")


class SiteFiles(BuildHookInterface[Any]):
    """Put the folders of the site where `config/places.py` looks for them when it is installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"] |= {folder: f"config/site/{folder}" for folder in FOLDERS}
