"""What becomes of a work's result: a row of one table or another."""

from judges.backends.answerers import answerers_text
from judges.engine import store
from judges.engine.codec import Result
from judges.engine.store import Row
from judges.engine.works import Sink, Work


def _judgment(work: Work, result: Result) -> Row:
    status, choice, probability, value, thought, text = result
    return (
        work.run.judge_id,
        work.item.item_id,
        work.item.order,
        status,
        choice,
        probability,
        value,
        text,
        thought,
        work.requests,
        work.cost,
        work.latency,
        answerers_text(work.answerers),
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
        work.cost,
        work.latency,
        answerers_text(work.answerers),
    )


def _anchor_verdict(work: Work, result: Result) -> Row:
    status, choice, probability, value, _, text = result
    return (
        work.run.sweep_id,
        work.item.item_id,
        work.item.order,
        status,
        choice,
        probability,
        value,
        text,
        work.requests,
        work.cost,
        work.latency,
        answerers_text(work.answerers),
    )


JUDGMENTS = Sink(_judgment, store.judgments_save)
GENERATIONS = Sink(_generation, store.generations_save)
ANCHORS = Sink(_anchor_verdict, store.anchor_verdicts_save)
SINKS = (JUDGMENTS, GENERATIONS, ANCHORS)
