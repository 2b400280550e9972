"""Rows of the API as typed dictionaries, in the words of its schema."""

from typing import Any, NotRequired, TypedDict


class Dataset(TypedDict):
    name: str
    title: str
    description: str
    source: str
    licence: str
    split: str
    version: int
    owner: str | None
    created_at: str
    documentation: NotRequired[dict[str, str]]


class Imported(TypedDict):
    """What an import did: how much was sent, and how much of it was new."""

    dataset: Dataset
    items: int
    items_created: int
    labels: int
    labels_created: int
    items_changed: int
    items_removed: int
    left_out: list[dict[str, Any]]


class Item(TypedDict):
    id: int
    dataset: str
    item: str
    kind: str
    position: int
    instruction: str
    context: str
    conversation: list[dict[str, Any]]
    reference: str | None
    category: str
    subset: str
    responses: list[dict[str, Any]]
    gold: dict[str, Any] | None
    explanation: str
    metadata: dict[str, Any]
    since_version: int
    until_version: int | None


class Label(TypedDict):
    id: int
    dataset: str
    item: str
    item_version: int
    replaced_in: int | None
    study: str | None
    annotator: str
    is_simulated: bool
    role: str
    kind: str
    value: dict[str, Any]
    shown_order: list[int] | None
    counts: bool
    supersedes: int | None
    evidence: list[dict[str, Any]] | None
    comment: str
    guidelines_version: int | None
    probability: float
    active_ms: int | None
    wall_ms: int | None
    created_at: str


class LabelRow(TypedDict):
    """A label to import; the value in canonical order."""

    item: str
    annotator: str
    value: Any
    simulated: NotRequired[bool]
    evidence: NotRequired[list[dict[str, Any]]]


class Study(TypedDict):
    """A study; its other rules are in the schema."""

    slug: str
    title: str
    dataset: str
    owner: str | None
    kind: str
    state: str
    overlap: int
    guidelines: str
    guidelines_version: int
    closes_at: str | None
    created_at: str


class Invitation(TypedDict):
    id: int
    study: str
    url: str
    note: str
    max_annotators: int | None
    expires_at: str | None
    revoked_at: str | None
    created_at: str


class Judge(TypedDict):
    id: int
    name: str
    strategy: str
    model: str
    backend: str
    fingerprint: str
    spec: dict[str, Any]
    notes: str
    created_at: str


class Sweep(TypedDict):
    id: int
    name: str
    state: str
    message: str
    judges: list[str]
    datasets: list[str]
    created_at: str
    started_at: str | None
    finished_at: str | None
    progress: NotRequired[dict[str, Any]]
    warnings: NotRequired[list[str]]
    judges_made: NotRequired[list[str]]


class Judgment(TypedDict):
    id: int
    judge: str
    dataset: str
    item: str
    order: int
    sample: int
    status: str
    choice: int | None
    probability: float | None
    value: dict[str, Any] | None
    raw_text: str
    thought: str
    requests: int
    cost: float
    latency_ms: float
    answered_by: list[dict[str, str]]
    created_at: str


class JudgmentRow(TypedDict):
    """A verdict to import; in canonical order, None where the answer could not be read.

    A line of `touchstone judge` can be sent as it is.
    """

    item: str
    judge: str
    verdict: NotRequired[Any]
    order: NotRequired[int]
    raw: NotRequired[str]
    model: NotRequired[str]
    strategy: NotRequired[str]


class Report(TypedDict):
    id: int
    name: str
    dataset: str
    study: str | None
    sweep: int | None
    inputs_hash: str
    options: dict[str, Any]
    created_by: str | None
    created_at: str
    content: NotRequired[dict[str, Any]]


class Job(TypedDict):
    """Figures that a worker makes."""

    id: int
    url: str
    page: str
    dataset: str
    study: str | None
    kind: str
    state: str
    step: str
    n_done: int
    n_total: int
    error: str
    report: int | None
    content: dict[str, Any] | None
    created_at: str
    finished_at: str | None


class Decision(TypedDict):
    id: int
    dataset: str
    kind: str
    judge: str
    fingerprint: str
    sweep: int | None
    reason: str
    inputs_hash: str
    decided_by: str
    created_at: str
    replaced_by: int | None
    evidence: NotRequired[dict[str, Any]]
    together: NotRequired[list["Decision"]]


class Preregistration(TypedDict):
    """A plan that was frozen."""

    id: int
    title: str
    dataset: str
    sha256: str
    created_by: str
    created_at: str
    content: NotRequired[dict[str, Any]]


class Note(TypedDict):
    id: int
    item: int
    author: str
    text: str
    created_at: str
    edited_at: str | None


class Progress(TypedDict):
    """How far a study is; its other counts are in the schema."""

    state: str
    items: int
    wanted: int
    labels: int
    complete: int
    pace: dict[str, Any] | None
    people: dict[str, Any]


class Enrollment(TypedDict):
    """An annotator in a study."""

    id: int
    annotator: str
    is_simulated: bool
    stage: str
    labels: int
    qualification_score: int | None
    suspended_at: str | None
    left_at: str | None
    finished_at: str | None
    created_at: str


class ReasonToLook(TypedDict):
    """What stands out in how answers were given; no verdict."""

    signal: str
    name: str
    evidence: str
    adjusted_p: float | None
    explanations: str


class AnnotatorReasons(TypedDict):
    """An annotator who stands out."""

    annotator: str
    reasons: list[ReasonToLook]


class ReasonsToLook(TypedDict):
    """Who stands out in a study."""

    answers: int
    with_signals: int
    tests: int
    annotators: list[AnnotatorReasons]


class Anchors(TypedDict):
    """Frozen items of a judge; with `checks` where one set is read."""

    id: int
    judge: str
    dataset: str
    seed: int
    repeats: int
    tolerance: float
    budget: str | None
    every_days: int | None
    created_by: str | None
    created_at: str
    retired_at: str | None
    n_items: NotRequired[int]
    moved: NotRequired[bool | None]
    p_value: NotRequired[float | None]
    checks: NotRequired[list[dict[str, Any]]]


class Export(TypedDict):
    """A file that a worker makes."""

    id: int
    dataset: str
    study: str | None
    what: str
    format: str
    options: dict[str, Any]
    state: str
    step: str
    n_done: int
    n_total: int
    error: str
    notes: list[str]
    size: int
    url: str | None
    created_at: str
    finished_at: str | None
    expires_at: str | None


class Webhook(TypedDict):
    id: int
    name: str
    url: str
    events: list[str]
    is_enabled: bool
    failing_since: str | None
    disabled_at: str | None
    created_at: str
    secret: NotRequired[str]


class Delivery(TypedDict):
    """An event that a webhook was told of."""

    id: int
    event: str
    message_id: str
    payload: dict[str, Any]
    state: str
    next_at: str | None
    created_at: str
    attempts: list[dict[str, Any]]


class Token(TypedDict):
    """A token, without its secret."""

    name: str
    prefix: str
    user: str
    role: str
    scopes: list[str]
    created_at: str
    expires_at: str | None


class Access(TypedDict):
    """What one person, or one team, may do with a study or a dataset of another."""

    id: int
    user: str | None
    team: int | None
    team_name: str
    role: str
    granted_by: str | None
    created_at: str


class Member(TypedDict):
    id: int
    user: str
    is_admin: bool
    created_at: str


class Team(TypedDict):
    id: int
    name: str
    created_at: str
    members: NotRequired[list[Member]]
