"""`judges.Judge`: a judge in a notebook or a service.

>>> from judges import Judge
>>> judge = Judge.define("longest")
>>> found = judge.compare("Say hello.", "Hello.", "Hi.")
>>> found.choice, found.orders
(1, (1, 1))
>>> judge.close()
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from annotation.importers.errors import ImportFileError
from annotation.importers.images import ImageAttaching
from judges.engine.codec import FAILED, PARSED, Result
from judges.engine.options import EngineOptions
from judges.engine.works import Work
from judges.services.judge_files import judge_of_file
from judges.standalone.images import CallImages, OneCall, images_given, why_unseen
from judges.standalone.item_files import view_has_images
from judges.standalone.items import item_of_call
from judges.standalone.service import Done, JudgeService
from judges.standalone.sessions import BackendMaker, ModelAccess, spec_at
from judges.standalone.telemetry import ApplicationEvents, Sender
from judges.strategies.documents import JudgeDocument, document_make, document_read
from judges.strategies.presentation import orders_of, view_presented
from judges.strategies.types import ItemView

_QUESTIONS = {"rubric": "rate", "checklist": "check", "answer_ranking": "rank", "importance": "weigh"}
KIND_ASKED = {question: kind for kind, question in _QUESTIONS.items()}
"""The kind of items that a question is about; pairs are those of the judge itself."""
_CERTAIN = {1: 1.0, 0: 0.5, 2: 0.0}


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What a judge says of an item, in the order in which it was given.

    Attributes
    ----------
    status : {"parsed", "unparsed", "failed"}
    choice : int or None
        Of a pair: 1 or 2 for the response that is better, 0 for a tie; None where there is no verdict.
    probability : float or None
        Of a pair: that the first response is better. Asked in both orders without probabilities of its own: the mean of
        the two verdicts, a tie counted half, as on the comparison page.
    value : mapping
        The verdict in the form of a label of the item's kind, beside what else the judge found out.
    orders : tuple
        Of a pair: the choice in each presentation order that was asked.
    raw, thought, reason : str
        What the judge said, what it thought before, and why a verdict is missing.
    abstains : bool or None
        Its certainty is below the threshold of its promotion, so that people are to decide; None without a threshold.
    cost : float
        US dollars, at the prices that were given.
    """

    status: str
    choice: int | None = None
    probability: float | None = None
    value: Mapping[str, Any] = field(default_factory=dict)
    orders: tuple[int | None, ...] = ()
    raw: str = ""
    thought: str = ""
    reason: str = ""
    abstains: bool | None = None
    cost: float = 0.0
    requests: int = 0
    latency_ms: float = 0.0


class StandaloneJudge:
    """A judge, ready to be asked. Safe between threads; to be closed, or used in a ``with``.

    Built by `load` or `define`. Every question has an asynchronous form of the same name with an ``a`` before it.

    Parameters
    ----------
    document : JudgeDocument
    access : ModelAccess
        How its models are reached.
    takes_images : bool
        The judge's models take images: items that show one are sent with it. Without it they are refused.
    image_folder : str or Path, optional
        Where the names of images in texts are looked up.
    telemetry : bool or opentelemetry.sdk._logs.LoggerProvider, optional
        Send each answer as an event ``gen_ai.evaluation.result``; True: through the provider of logs that the
        application has set up. A span that is current where the judge is asked is the event's.
    """

    def __init__(
        self,
        document: JudgeDocument,
        *,
        access: ModelAccess = ModelAccess(),  # noqa: B008 (immutable)
        takes_images: bool = False,
        image_folder: str | Path | None = None,
        telemetry: Any = None,
        options: EngineOptions | None = None,
        backends: BackendMaker | None = None,
    ) -> None:
        self.document = document
        self.name, self.spec, self.kind = document.name, document.spec, document.spec.kind
        self.fingerprint = document.spec.fingerprint()
        self._images, self._takes_images = CallImages(), takes_images
        self._image_folder = None if image_folder is None else Path(image_folder)
        if takes_images:
            access = replace(access, images=self._images.read)
        self._events: Sender | None = None
        if telemetry not in (None, False):
            self._events = ApplicationEvents(document, None if telemetry is True else telemetry)
        self._service = JudgeService(document.spec, access=access, options=options, backends=backends)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        evaluator: str = "",
        base_url: str = "",
        model: str = "",
        revision: str = "",
        takes_images: bool = False,
        image_folder: str | Path | None = None,
        telemetry: Any = None,
        **access: Any,
    ) -> StandaloneJudge:
        """Read a ``judge.json`` of a site, a YAML of one's own, or a published evaluator from its authors' files.

        Parameters
        ----------
        evaluator : str
            Which one, where the authors' files have several.
        base_url, model, revision : str
            Ask there instead: it is then another judge, with another fingerprint.
        takes_images : bool
            The judge's models take images.
        image_folder : str or Path, optional
            Where the names of images in texts are looked up, as in a folder of items with their images.
        telemetry : bool or opentelemetry.sdk._logs.LoggerProvider, optional
            Send each answer as an OpenTelemetry event.
        **access
            As in `ModelAccess`: ``api_key_env``, ``concurrency``, ``timeout`` and prices.

        Raises
        ------
        SpecError
            Names the file and the field; also where the file is not the judge that was exported.
        BackendError
            A model cannot be asked.
        """
        document = judge_of_file(Path(path), evaluator=evaluator, model=model).document
        spec = spec_at(document.spec, base_url=base_url, model=model, revision=revision)
        return cls(
            replace(document, spec=spec),
            access=ModelAccess(**access),
            takes_images=takes_images,
            image_folder=image_folder,
            telemetry=telemetry,
        )

    @classmethod
    def define(
        cls,
        strategy: str,
        *,
        model: str = "",
        base_url: str = "",
        access: ModelAccess | None = None,
        takes_images: bool = False,
        image_folder: str | Path | None = None,
        telemetry: Any = None,
        **fields: Any,
    ) -> StandaloneJudge:
        """Build a judge from the fields of a `JudgeSpec`.

        Raises
        ------
        SpecError, BackendError
        """
        values = {"strategy": strategy, "model": model, "endpoint": base_url, **fields}
        return cls(
            document_read(values),
            access=access or ModelAccess(),
            takes_images=takes_images,
            image_folder=image_folder,
            telemetry=telemetry,
        )

    def save(self, path: str | Path) -> None:
        """Write it as a ``judge.json``."""
        text = json.dumps(
            document_make(self.name, self.spec, self.document.decision), indent=2, ensure_ascii=False
        )
        Path(path).write_text(f"{text}\n", encoding="utf-8")

    # --- questions ----------------------------------------------------------------------------------------

    def compare(self, instruction: str, a: str, b: str, *, orders: str = "both", **about: Any) -> JudgeAnswer:
        """Say which of two responses is better.

        Parameters
        ----------
        orders : {"both", "original", "random"}
            In which presentation orders it is asked. Of both, the mean of the probabilities decides; without
            probabilities, contradicting verdicts are a tie.
        **about
            Further fields of an item: ``context``, ``reference``, ``category``, ``conversation``, ``id``; and
            ``images``, by the name that a text has for each (``![A chart](chart)``) its bytes or the path of its file.
        """
        return self.judge({"responses": [a, b], "instruction": instruction, **about}, orders=orders)

    async def acompare(
        self, instruction: str, a: str, b: str, *, orders: str = "both", **about: Any
    ) -> JudgeAnswer:
        """Say which of two responses is better, as `compare`."""
        return await self.ajudge({"responses": [a, b], "instruction": instruction, **about}, orders=orders)

    def rate(
        self, instruction: str, response: str, criteria: Sequence[Mapping[str, Any]], **about: Any
    ) -> JudgeAnswer:
        """Rate a response on criteria: ``{"key", "question", "options": {"1": ..., "5": ...}}`` each."""
        return self.judge(_rubric(instruction, response, criteria, about))

    async def arate(
        self, instruction: str, response: str, criteria: Sequence[Mapping[str, Any]], **about: Any
    ) -> JudgeAnswer:
        """Rate a response on criteria, as `rate`."""
        return await self.ajudge(_rubric(instruction, response, criteria, about))

    def check(self, instruction: str, response: str, aspects: Iterable[Any], **about: Any) -> JudgeAnswer:
        """Say which aspects of the instruction a response follows; an aspect is a text, or ``{"key", "text"}``."""
        return self.judge(_parts(KIND_ASKED["check"], instruction, [response], aspects, about))

    async def acheck(
        self, instruction: str, response: str, aspects: Iterable[Any], **about: Any
    ) -> JudgeAnswer:
        """Say which aspects of the instruction a response follows, as `check`."""
        return await self.ajudge(_parts(KIND_ASKED["check"], instruction, [response], aspects, about))

    def rank(self, instruction: str, responses: Sequence[str], **about: Any) -> JudgeAnswer:
        """Order several responses from best to worst."""
        return self.judge(_parts(KIND_ASKED["rank"], instruction, list(responses), (), about))

    async def arank(self, instruction: str, responses: Sequence[str], **about: Any) -> JudgeAnswer:
        """Order several responses from best to worst, as `rank`."""
        return await self.ajudge(_parts(KIND_ASKED["rank"], instruction, list(responses), (), about))

    def weigh(self, instruction: str, aspects: Iterable[Any], **about: Any) -> JudgeAnswer:
        """Order the aspects of an instruction by importance."""
        return self.judge(_parts(KIND_ASKED["weigh"], instruction, [], aspects, about))

    async def aweigh(self, instruction: str, aspects: Iterable[Any], **about: Any) -> JudgeAnswer:
        """Order the aspects of an instruction by importance, as `weigh`."""
        return await self.ajudge(_parts(KIND_ASKED["weigh"], instruction, [], aspects, about))

    def judge(self, item: Mapping[str, Any], *, orders: str = "both") -> JudgeAnswer:
        """Judge an item that is given as a row of an import file, whatever its kind; it may have ``images``.

        Raises
        ------
        ImportFileError
            Names the field of the item that is wrong, or says why the judge can't see an image that it shows.
        JudgeUnavailableError
            A model cannot be asked any more.
        """
        return self._answer([done.result() for done in self._submit(item, orders)])

    async def ajudge(self, item: Mapping[str, Any], *, orders: str = "both") -> JudgeAnswer:
        """Judge an item, as `judge`."""
        # To encode an image may take a second, in which others go on.
        asked = (
            await asyncio.to_thread(self._submit, item, orders)
            if self._takes_images
            else self._submit(item, orders)
        )
        return self._answer(await asyncio.gather(*map(asyncio.wrap_future, asked)))

    def judge_all(self, items: Iterable[Mapping[str, Any]], *, orders: str = "both") -> list[JudgeAnswer]:
        """Judge several items, as many at a time as the models take, and return the answers in their order."""
        asked = [self._submit(item, orders) for item in items]
        return [self._answer([done.result() for done in each]) for each in asked]

    def _submit(self, item: Mapping[str, Any], orders: str) -> list[Done]:
        call = OneCall(self._images)
        try:
            view = self._view(item, call)
            wanted = orders_of(orders, view.kind, 0, view.external_id) if self.spec.order_matters else (0,)
            asked = [self._service.submit(_presented(view, order)) for order in wanted]
        except BaseException:
            call.release()
            raise
        if call.digests:
            call.release_after(asked)
        return asked

    def _view(self, item: Mapping[str, Any], call: OneCall) -> ItemView:
        """Return an item with its images stored; raises ImportFileError."""
        given = images_given(item["images"]) if item.get("images") is not None else {}
        row = {name: value for name, value in item.items() if name != "images"}
        attaching = ImageAttaching(call, self._image_folder, given)
        view = item_of_call(row if row.get("kind") else {"kind": self.kind, **row}, images=attaching)
        if view.kind != self.kind:
            raise ImportFileError(
                "item", None, "kind", f"expected '{self.kind}', which this judge judges, found '{view.kind}'."
            )
        if unused := sorted(given.keys() - attaching.used):
            raise ImportFileError(
                "item",
                None,
                f"images.{unused[0][:60]}",
                "expected a text that shows it, as ![...](NAME), found none.",
            )
        if view_has_images(view) and (
            why := why_unseen(self.spec, takes_images=self._takes_images, otherwise="say takes_images=True")
        ):
            raise ImportFileError("item", None, "images", f"'{view.external_id}' {why}")
        return view

    def _answer(self, found: Sequence[tuple[Work, Result]]) -> JudgeAnswer:
        answer = _joined(found)
        threshold = self.document.threshold
        if threshold is not None and answer.probability is not None:
            certainty = max(answer.probability, 1.0 - answer.probability)
            answer = replace(answer, abstains=certainty < threshold)
        if self._events is not None:
            self._events.send([_row(found[0][0].item, answer)])
        return answer

    def close(self) -> None:
        """End its threads. May be called twice."""
        self._service.close()

    def __enter__(self) -> StandaloneJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _row(item: ItemView, answer: JudgeAnswer) -> dict[str, Any]:
    """Return an answer with the names of a row of verdicts."""
    return {
        "item": item.external_id,
        "status": answer.status,
        "choice": answer.choice,
        "probability": answer.probability,
        "value": answer.value,
        "reason": answer.reason,
        "raw_text": answer.raw,
        "abstains": answer.abstains,
    }


def _presented(view: ItemView, order: int) -> ItemView:
    # A copy of its own in any case: the service knows an item by its identity.
    return replace(view) if order == 0 else view_presented(view, order)


def _rubric(
    instruction: str, response: str, criteria: Sequence[Mapping[str, Any]], about: Mapping[str, Any]
) -> dict[str, Any]:
    given = {"criteria": list(map(dict, criteria)), "responses": [response], "instruction": instruction}
    return {"kind": KIND_ASKED["rate"], **given, **about}


def _parts(
    kind: str, instruction: str, responses: list[str], aspects: Iterable[Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    named = [
        {"key": f"a{place}", "text": each} if isinstance(each, str) else dict(each)
        for place, each in enumerate(aspects, start=1)
    ]
    values: dict[str, Any] = {"kind": kind, "instruction": instruction, **about}
    return values | ({"responses": responses} if responses else {}) | ({"aspects": named} if named else {})


def _one(work: Work, result: Result) -> JudgeAnswer:
    status, choice, probability, value_text, thought, raw = result
    value = {} if value_text is None else json.loads(value_text)
    reason = value.get("reason", "") if status != PARSED else ""
    return JudgeAnswer(
        status=status,
        choice=choice,
        probability=probability,
        value=value,
        orders=() if choice is None else (choice,),
        raw=raw,
        thought=thought,
        reason=str(reason or (raw if status == FAILED else "")),
        cost=work.cost,
        requests=work.requests,
        latency_ms=work.latency,
    )


def _joined(found: Sequence[tuple[Work, Result]]) -> JudgeAnswer:
    """Return one answer for those in the presentation orders that were asked."""
    answers = [_one(*each) for each in found]
    first = answers[0]
    if len(answers) == 1:
        return first
    spent: dict[str, Any] = {
        "orders": tuple(each.choice for each in answers),
        "cost": math.fsum(each.cost for each in answers),
        "requests": sum(each.requests for each in answers),
        "latency_ms": math.fsum(each.latency_ms for each in answers),
        "raw": "\n\n".join(each.raw for each in answers),
        "thought": "\n\n".join(each.thought for each in answers if each.thought),
    }
    if bad := [each for each in answers if each.status != PARSED]:
        worst = next((each for each in bad if each.status == FAILED), bad[0])
        return JudgeAnswer(status=worst.status, reason=worst.reason, **spent)
    if all(each.probability is not None for each in answers):
        mean = math.fsum(each.probability or 0.0 for each in answers) / len(answers)
        choice = first.choice if len({each.choice for each in answers}) == 1 else _by_mean(mean)
        return JudgeAnswer(PARSED, choice, mean, {"choice": choice}, **spent)
    agreed = len({each.choice for each in answers}) == 1
    choice = first.choice if agreed else 0
    mean = math.fsum(_CERTAIN[each.choice or 0] for each in answers) / len(answers)
    value = dict(first.value) if agreed else {"choice": 0}
    return JudgeAnswer(PARSED, choice, mean, value, **spent)


def _by_mean(mean: float) -> int:
    return 0 if mean == 0.5 else 1 if mean > 0.5 else 2
