"""How states look on pages."""

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
