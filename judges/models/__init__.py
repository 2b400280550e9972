"""The tables of judging: configurations, judgments with the requests behind them, sweeps."""

from judges.models.configurations import BackendKind, Endpoint, Judge, Structured
from judges.models.judgments import Judgment, ModelRequest, Order, ParseStatus, RequestState
from judges.models.sweeps import Orders, Sweep, SweepRun, SweepState

__all__ = [
    "BackendKind",
    "Endpoint",
    "Judge",
    "Judgment",
    "ModelRequest",
    "Order",
    "Orders",
    "ParseStatus",
    "RequestState",
    "Structured",
    "Sweep",
    "SweepRun",
    "SweepState",
]
