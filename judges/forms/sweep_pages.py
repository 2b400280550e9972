"""What pages of sweeps have in common: how states look, and where the pages above are."""

from django.urls import NoReverseMatch, reverse

from judges.models import SweepState

STATE_CHIPS = {
    SweepState.DRAFT: "",
    SweepState.QUEUED: "chip-accent chip-live",
    SweepState.RUNNING: "chip-accent chip-live",
    SweepState.PAUSED: "chip-warn",
    SweepState.CANCELLED: "chip-warn",
    SweepState.FAILED: "chip-bad",
    SweepState.FINISHED: "chip-good",
}


def pages_above(pk: int) -> dict[str, str]:
    """Addresses of pages of the application above about a sweep, by name; empty where there are none."""
    found = {}
    for name in ("comparison", "decision", "decision-summary"):
        try:
            found[name.replace("-", "_")] = reverse(f"metaeval:{name}", args=[pk])
        except NoReverseMatch:
            found[name.replace("-", "_")] = ""
    return found
