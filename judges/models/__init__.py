"""The tables of judging: configurations, judgments with the requests behind them, sweeps."""

from judges.models.anchors import Anchor, AnchorSet, AnchorVerdict
from judges.models.batches import BatchState, RequestBatch
from judges.models.configurations import (
    ENDPOINT_KINDS,
    IN_WORKER,
    WITH_BATCHES,
    WITH_IMAGES,
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
from judges.models.imports import (
    KEPT_IMPORT,
    OPEN_IMPORT,
    WAITING_IMPORT,
    DatasetImport,
    FileImport,
    FileUpload,
    ImportState,
    JudgeUpload,
    VerdictImport,
)
from judges.models.judgments import (
    Generation,
    Judgment,
    ModelRequest,
    Order,
    ParseStatus,
    RequestForm,
    RequestState,
    RequestText,
    TextBlock,
    Worker,
)
from judges.models.sweeps import BudgetReservation, Orders, RunRange, Sweep, SweepRun, SweepState
from judges.models.workers import WorkerHeartbeat
