"""The tables of judging: configurations, judgments with the requests behind them, sweeps."""

from judges.models.anchors import Anchor, AnchorSet, AnchorVerdict
from judges.models.configurations import (
    ENDPOINT_KINDS,
    IN_WORKER,
    BackendKind,
    Endpoint,
    Judge,
    JudgeMember,
    JudgeModel,
    PromptText,
    Queue,
    Structured,
)
from judges.models.exports import OPEN_EXPORT, ExportJob, ExportState
from judges.models.judgments import Generation, Judgment, ModelRequest, Order, ParseStatus, RequestState
from judges.models.sweeps import BudgetReservation, Orders, Sweep, SweepRun, SweepState
