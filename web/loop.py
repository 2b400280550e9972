"""The six stages that a dataset goes through, and where a page stands among them."""

from dataclasses import dataclass

STAGES = {
    "import": "Import",
    "annotate": "Annotate",
    "judge": "Judge",
    "compare": "Compare",
    "decide": "Decide",
    "report": "Report",
}


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """A page's dataset, by name, and its stage: what `components/loop.html` shows on top of the page."""

    dataset: str
    at: str

    @property
    def stages(self) -> list[tuple[str, str]]:
        return list(STAGES.items())
