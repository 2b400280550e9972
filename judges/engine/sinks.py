"""What becomes of a work's result: a row of one table or another."""

from functools import partial

from judges.backends.answerers import answerers_text
from judges.engine.codec import Result
from judges.engine.store import results_save
from judges.engine.works import Row, Sink, Work
from judges.models import AnchorVerdict, Generation, Judgment

_VERDICT = {
    "item_id": "bigint",
    '"order"': "smallint",
    "status": "text",
    "choice": "smallint",
    "probability": "float8",
    "value": "jsonb",
    "raw_text": "text",
    "requests": "smallint",
}
_SPENT = {"cost": "float8", "latency_ms": "float8", "answered_by": "text"}


def _verdict(work: Work, result: Result) -> Row:
    *said, _, text = result
    return (work.item.item_id, work.item.order, *said, text, work.requests)


def _spent(work: Work) -> Row:
    return (work.cost, work.latency, answerers_text(work.answerers))


def _judgment(work: Work, result: Result) -> Row:
    status, choice, probability, value, thought, text = result
    item = work.item
    # In one piece, since it is made for every judgment. A server that counts no tokens says 0.
    return (
        *(work.run.judge_id, item.item_id, item.order, status, choice, probability, value, text),
        *(work.requests, thought, work.prompt_tokens or None, work.completion_tokens or None),
        work.reasoning_tokens or None,
        *(work.cost, work.latency, answerers_text(work.answerers) if work.answerers else ""),
    )


def _generation(work: Work, result: Result) -> Row:
    last = work.answers[-1] if work.answers else None
    return (
        work.run.judge_id,
        work.item.item_id,
        work.item.sample,
        result[0],
        result[-1],
        result[-2],
        last.finish_reason[:40] if last is not None else "",
        *_spent(work),
    )


def _anchor_verdict(work: Work, result: Result) -> Row:
    return (work.run.sweep_id, *_verdict(work, result), *_spent(work))


_TOKENS = {"prompt_tokens": "int", "completion_tokens": "int", "reasoning_tokens": "int"}
_OF_JUDGMENTS = {"judge_id": "bigint", **_VERDICT, "thought": "text", **_TOKENS, **_SPENT}
_OF_GENERATIONS = {
    "contestant_id": "bigint",
    "instruction_id": "bigint",
    "sample": "smallint",
    "status": "text",
    "text": "text",
    "thought": "text",
    "finish_reason": "text",
    **_SPENT,
}
JUDGMENTS = Sink(_judgment, partial(results_save, Judgment, _OF_JUDGMENTS, sample=0, source=""))
GENERATIONS = Sink(_generation, partial(results_save, Generation, _OF_GENERATIONS))
ANCHORS = Sink(
    _anchor_verdict, partial(results_save, AnchorVerdict, {"sweep_id": "bigint", **_VERDICT, **_SPENT})
)
SINKS = (JUDGMENTS, GENERATIONS, ANCHORS)
