"""Judges, sweeps and judgments for programs: what the admin does. Each view calls the service that the page calls."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ValidationError

import judges.api.errors  # noqa: F401  (teaches the API the exceptions of this app)
from annotation.api.access import HasScope, IsAdministrator, IsResearcher, MayReadOrAdministrates
from annotation.api.base import ApiView, Listing, deleted, said
from annotation.api.rows import rows_on_disk
from annotation.selectors.datasets import (
    datasets_editable_by,
    datasets_hidden_from,
    datasets_visible_to,
)
from judges.api.serializers import (
    JUDGE_BODY,
    JUDGE_DOCUMENT,
    PLAN_BODY,
    EndpointSerializer,
    EndpointWriteSerializer,
    JudgeSerializer,
    JudgmentSerializer,
    JudgmentsImportedSerializer,
    JudgmentsWriteSerializer,
    ResumeSerializer,
    StrategySerializer,
    SweepDetailSerializer,
    SweepMovedSerializer,
    SweepPlannedSerializer,
    SweepSerializer,
    strategy_json,
)
from judges.exports.targets import TARGETS
from judges.models import Endpoint, Judge, Judgment, ParseStatus, Sweep, SweepState
from judges.selectors.estimate import budget_warnings, sweep_estimate
from judges.selectors.reading import judge_get_for, judges_visible_to, sweep_read_for, sweeps_visible_to
from judges.services.endpoints import endpoint_put
from judges.services.judge_imports import judge_document, judge_import
from judges.services.judge_tools import judge_for_tool
from judges.services.judges import judge_delete
from judges.services.judgments import judgments_import
from judges.services.plans import PlanError, judge_carry_out, plan_carry_out
from judges.services.sweeps import (
    SweepError,
    sweep_cancel,
    sweep_delete,
    sweep_pause,
    sweep_resume,
    sweep_start,
)
from judges.services.verdict_files import verdicts_read
from judges.strategies.errors import SpecError
from judges.strategies.registry import STRATEGIES
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

MAY_READ = [MayReadOrAdministrates, HasScope]


class StrategiesView(ApiView):
    """Every way of judging."""

    resource = "judges"
    permission_classes = MAY_READ

    @extend_schema(responses=StrategySerializer(many=True), filters=False)
    def get(self, request: Request) -> Response:
        """List every way of judging, with its settings. One page has them all."""
        return Response([strategy_json(info) for info in STRATEGIES.values()])


class EndpointsView(Listing):
    """List where models answer. Of a key, the name of its variable."""

    resource = "judges"
    permission_classes = [IsAdministrator, HasScope]
    serializer_class = EndpointSerializer
    narrows = {
        "name": Narrow("name", "Only the one of this name."),
        "kind": Narrow("kind", "Only of this kind."),
    }

    def rows(self) -> QuerySet[Endpoint]:
        return Endpoint.objects.all()

    @extend_schema(
        request=EndpointWriteSerializer, responses={200: EndpointSerializer, 201: EndpointSerializer}
    )
    def post(self, request: Request) -> Response:
        """Add an endpoint, or change the one of this name: 201 if it is new. A key is named by its variable."""
        try:
            endpoint, is_new = endpoint_put(**said(EndpointWriteSerializer, request))
        except DjangoValidationError as error:
            field, messages = next(iter(getattr(error, "message_dict", {"": error.messages}).items()))
            raise RefusalProblem(400, " ".join(messages), field="" if field == "__all__" else field) from None
        return Response(EndpointSerializer(endpoint).data, status=201 if is_new else 200)


class JudgesView(Listing):
    """List judges; create one."""

    resource = "judges"
    permission_classes = MAY_READ
    serializer_class = JudgeSerializer
    narrows = {
        "name": Narrow("name", "Only the one of this name."),
        "strategy": Narrow("strategy", "Only of this strategy."),
        "model": Narrow("model", "Only of this model."),
    }

    def rows(self) -> QuerySet[Judge]:
        return judges_visible_to(self.user)

    @extend_schema(
        request={"application/json": {"oneOf": [JUDGE_BODY, JUDGE_DOCUMENT]}},
        responses={200: JudgeSerializer, 201: JudgeSerializer},
        examples=[
            OpenApiExample(
                "A baseline", {"strategy": "longest", "name": "Longer response"}, request_only=True
            ),
            OpenApiExample(
                "A model at an endpoint",
                {
                    "name": "Rules at home",
                    "strategy": "rules",
                    "endpoint": "local",
                    "model": "small",
                    "decoding": {"temperature": 0},
                },
                request_only=True,
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """Create a judge: 201 if it is new, 200 with the one that would answer exactly the same.

        Its fields, or a judge as the API or a `judge.json` has it. An exported one keeps its fingerprint where this
        site has an endpoint of the same address and settings; `ask_at` names another one, and then it is another judge.
        """
        values = _object(request)
        if "spec" not in values:
            judge, is_new = judge_carry_out(values=values, user=self.user)
        else:
            ask_at = values.pop("ask_at", "")
            if not isinstance(ask_at, str):
                raise PlanError("ask_at", "expected the name of an endpoint.")
            imported = judge_import(values=values, user=self.user, endpoint=ask_at)
            judge, is_new = imported.judge, imported.is_new
        return Response(JudgeSerializer(judge).data, status=201 if is_new else 200)


class JudgeView(ApiView):
    """One judge."""

    resource = "judges"
    permission_classes = MAY_READ

    @extend_schema(responses=JudgeSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a judge with its whole specification."""
        return Response(JudgeSerializer(judge_get_for(self.user, pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a judge that has judged nothing and isn't part of another."""
        return deleted(judge_delete(judge=judge_get_for(self.user, pk)))


class JudgeDocumentView(ApiView):
    """One judge, to be taken along."""

    resource = "judges"
    permission_classes = MAY_READ

    @extend_schema(
        responses=OpenApiTypes.OBJECT,
        parameters=[
            OpenApiParameter("to", str, enum=list(TARGETS), description="As files of this tool."),
            OpenApiParameter("accept", str, description="What may be lost: names with commas between them."),
            OpenApiParameter("dataset", str, description="Of a rubric: the dataset whose criteria it has."),
        ],
    )
    def get(self, request: Request, pk: int) -> Response:
        """Read a judge as a `judge.json`: with the texts of its prompts, to run it elsewhere.

        With `to`, as the `files` of another tool, and what of the judge is `carried` and `lost`. What the tool can't
        carry is refused until `accept` names it.
        """
        judge = judge_get_for(self.user, pk)
        try:
            document = judge_document(judge)
        except SpecError as error:
            raise RefusalProblem(409, f"Nobody can ask this judge: {error}") from None
        asked = request.query_params
        if not (to := asked.get("to", "")):
            return Response(document)
        dataset_id = None
        if name := asked.get("dataset", ""):
            dataset = datasets_visible_to(self.user).filter(name=name).first()
            if dataset is None:
                raise RefusalProblem(400, "There is no such dataset.", field="dataset")
            dataset_id = dataset.pk
        accept = [each for each in asked.get("accept", "").split(",") if each]
        try:
            exported = judge_for_tool(document, to=to, accept=accept, dataset_id=dataset_id)
        except SpecError as error:
            raise RefusalProblem(400, error.problem, field=error.field) from None
        return Response({"files": exported.files, "carried": exported.carried, "lost": exported.lost})


class SweepsView(Listing):
    """List sweeps; plan one."""

    resource = "sweeps"
    permission_classes = MAY_READ
    serializer_class = SweepSerializer
    narrows = {
        "state": Narrow("state", "Only in this state.", tuple(SweepState.values)),
        "since": Narrow("created_at__gte", "Only those created from this time on.", kind=datetime),
    }

    def rows(self) -> QuerySet[Sweep]:
        return _sweeps(self)

    @extend_schema(
        request={"application/json": PLAN_BODY},
        responses={201: SweepPlannedSerializer},
        examples=[
            OpenApiExample(
                "A plan",
                {
                    "name": "Which prompt?",
                    "datasets": ["llmbar-natural"],
                    "orders": "both",
                    "judges": ["Longer response"],
                    "grid": {"strategy": ["vanilla", "cot"], "endpoint": "local", "model": "small"},
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Create the draft of a sweep from a plan, with the judges that are missing."""
        planned = plan_carry_out(plan=_object(request), user=self.user)
        sweep = _sweeps(self).get(pk=planned.sweep.pk)
        made = [judge.name for judge in planned.made]
        return Response(SweepSerializer(sweep).data | {"judges_made": made}, status=201)


class SweepResource(ApiView):
    """One sweep."""

    resource = "sweeps"
    permission_classes = MAY_READ

    @extend_schema(responses=SweepDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a sweep and how far it is."""
        row = get_object_or_404(_sweeps(self), pk=pk)
        progress = sweep_read_for(self.user, pk).progress
        # Of a sweep over private datasets too, the message may be about these.
        return Response(
            SweepSerializer(row).data | {"message": progress.message, "progress": asdict(progress)}
        )

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a sweep that isn't at work. Its judgments stay: they belong to their judges."""
        return deleted(sweep_delete(sweep=get_object_or_404(Sweep, pk=pk)))


class SweepEstimateView(ApiView):
    """What a sweep will ask and cost."""

    resource = "sweeps"
    permission_classes = MAY_READ

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, pk: int) -> Response:
        """Estimate a sweep; nothing is asked. For those who may see all of its datasets."""
        if not self.user.is_administrator:
            hidden = datasets_hidden_from(self.user)
            get_object_or_404(_sweeps(self).exclude(datasets__in=hidden), pk=pk)
        row = get_object_or_404(Sweep, pk=pk)
        found = sweep_estimate(row)
        return Response(asdict(found) | {"warnings": budget_warnings(row, found)})


class SweepMove(ApiView):
    """A change of a sweep's state."""

    resource = "sweeps"
    permission_classes = MAY_READ

    def move(self, sweep: Sweep, request: Request) -> list[str]:
        """Do it; returns the warnings."""
        raise NotImplementedError

    @extend_schema(request=None, responses=SweepMovedSerializer)
    def post(self, request: Request, pk: int) -> Response:
        row = get_object_or_404(Sweep, pk=pk)
        warnings = self.move(row, request)
        row.refresh_from_db()
        return Response(SweepSerializer(row).data | {"warnings": warnings})


class SweepStart(SweepMove):
    """Start a draft."""

    def move(self, sweep: Sweep, request: Request) -> list[str]:
        return list(sweep_start(sweep=sweep).warnings)


class SweepPause(SweepMove):
    """Pause a sweep; what was asked is kept."""

    def move(self, sweep: Sweep, request: Request) -> list[str]:
        return _ended(sweep, sweep_pause(sweep=sweep))


class SweepCancel(SweepMove):
    """Stop a sweep; what was asked is kept."""

    def move(self, sweep: Sweep, request: Request) -> list[str]:
        return _ended(sweep, sweep_cancel(sweep=sweep))


class SweepResume(SweepMove):
    """Resume a sweep, with larger budgets if they are given."""

    def move(self, sweep: Sweep, request: Request) -> list[str]:
        return list(sweep_resume(sweep=sweep, **said(ResumeSerializer, request)).warnings)

    @extend_schema(request=ResumeSerializer, responses=SweepMovedSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Resume a sweep where it stopped, with larger budgets if they are given."""
        return super().post(request, pk)


def _ended(sweep: Sweep, changed: bool) -> list[str]:
    if not changed:
        raise SweepError([f"'{sweep}' isn't running."])
    return []


class JudgmentsListing(Listing):
    """Judgments in pages."""

    resource = "judgments"
    permission_classes = MAY_READ
    serializer_class = JudgmentSerializer
    narrows = {
        "judge": Narrow("judge__name", "Only of the judge with this name."),
        "status": Narrow("status", "Only with this status.", tuple(ParseStatus.values)),
        "order": Narrow("order", "Only in this presentation order.", kind=int),
        "item": Narrow("item__external_id", "Only on items with this id."),
    }


class SweepJudgmentsView(JudgmentsListing):
    """List the judgments of a sweep's judges on its datasets."""

    def rows(self) -> QuerySet[Judgment]:
        sweep = get_object_or_404(_sweeps(self), pk=self.kwargs["pk"])
        datasets = datasets_visible_to(self.user).filter(sweeps=sweep)
        return Judgment.objects.filter(
            judge__in=sweep.judges.values("pk"), item__dataset__in=datasets.values("pk")
        ).select_related("judge", "item__dataset")


class JudgmentsView(JudgmentsListing):
    """List judgments; import some."""

    permission_classes = [IsResearcher, HasScope]
    narrows = JudgmentsListing.narrows | {
        "dataset": Narrow("item__dataset__name", "Only on this dataset."),
        "since": Narrow("created_at__gte", "Only from this time on.", kind=datetime),
    }

    def rows(self) -> QuerySet[Judgment]:
        return _judgments(self)

    @extend_schema(request=JudgmentsWriteSerializer, responses=JudgmentsImportedSerializer)
    def post(self, request: Request) -> Response:
        """Import verdicts that judges gave elsewhere, all or none. Those that are stored already are left alone.

        Lines that `touchstone judge` wrote and exported judgments are taken as they are: their judge is the site's of
        the same fingerprint."""
        values = said(JudgmentsWriteSerializer, request)
        dataset = datasets_editable_by(self.user).filter(name=values["dataset"]).first()
        if dataset is None:
            raise RefusalProblem(400, "There is no such dataset, or it isn't yours.", field="dataset")
        notes: list[str] = []
        with rows_on_disk("judgments", values["judgments"]) as path:
            verdicts = verdicts_read(form="generic", path=path, dataset=dataset, note=notes.append)
            result = judgments_import(dataset=dataset, verdicts=verdicts, source="generic")
        return Response(
            {
                "dataset": dataset.name,
                "judges": result.judges,
                "judges_created": result.judges_created,
                "judgments": result.judgments,
                "judgments_created": result.created,
                "unparsed": result.unparsed,
                "notes": notes,
            }
        )


class JudgmentView(ApiView):
    """One judgment."""

    resource = "judgments"
    permission_classes = MAY_READ

    @extend_schema(responses=JudgmentSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a judgment with the raw text of the answer."""
        return Response(JudgmentSerializer(get_object_or_404(_judgments(self), pk=pk)).data)


def _judgments(view: ApiView) -> QuerySet[Judgment]:
    visible = datasets_visible_to(view.user)
    return Judgment.objects.filter(item__dataset__in=visible).select_related("judge", "item__dataset")


def _sweeps(view: ApiView) -> QuerySet[Sweep]:
    """Return the sweeps that the user may see, each with those of its datasets that they may see."""
    user = view.user
    return sweeps_visible_to(user).prefetch_related("judges", Prefetch("datasets", datasets_visible_to(user)))


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise ValidationError({"detail": "Expected a JSON object."})
    return dict(request.data)
