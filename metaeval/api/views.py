"""Reports, comparisons and decisions for programs. Each write calls the service that the page calls."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

import metaeval.api.errors  # noqa: F401  (teaches the API the exceptions of this app)
from annotation.api.access import HasScope, MayReadOrAdministrates
from annotation.api.base import ApiView, Listing, said
from annotation.kinds import KINDS
from annotation.models import Dataset
from judges.exports.targets import TARGETS
from judges.services.judge_tools import judge_for_tool
from judges.strategies.errors import SpecError
from metaeval.api.selections import SelectionAsked, criteria_form
from metaeval.api.serializers import (
    ComparisonSerializer,
    DecisionDetailSerializer,
    DecisionMadeSerializer,
    DecisionSerializer,
    DecisionWriteSerializer,
    JobSerializer,
    PreregistrationDetailSerializer,
    PreregistrationSerializer,
    ReportDetailSerializer,
    ReportSerializer,
    ReportWriteSerializer,
)
from metaeval.api.sources import dataset_asked, plan_of, source_of
from metaeval.models import Decision, JobState, Preregistration, Report, ReportJob
from metaeval.reports.changes import changes_of
from metaeval.reports.json_values import json_of
from metaeval.reports.render import FORMATS
from metaeval.reports.render import render as render_report
from metaeval.reports.report import report_of
from metaeval.reports.selection.inputs import Criteria
from metaeval.reports.typesetting import MissingPdfError
from metaeval.selectors.decisions import decision_get_for, decisions_visible_to, judge_export
from metaeval.selectors.inputs import dimension_facts
from metaeval.selectors.preregistrations import preregistration_get_for, preregistrations_visible_to
from metaeval.selectors.reports import report_get_for, report_list_for
from metaeval.selectors.sweeps import SweepView
from metaeval.services.comparisons import comparison_get
from metaeval.services.page_contents import MOST_FIGURES, asked_of
from metaeval.services.promotions import judge_promote
from metaeval.services.report_jobs import (
    is_small,
    page_job_get,
    page_request,
    report_job_cancel,
    report_job_get_for,
    report_job_resume,
    report_request,
    verification_request,
)
from metaeval.services.reports import preset_check, with_plan
from metaeval.services.selections import selection_get, selection_read, selection_with_plan
from web.api.pages import Narrow
from web.api.problems import RefusalProblem
from web.files import attachment

KIND = tuple(KINDS)
SUFFIXES = tuple(suffix.removeprefix(".") for suffix in FORMATS)


class AnyFile(JSONRenderer):
    """Lets a client accept a file of any type; the view answers with it as it is, and with JSON what it refuses."""

    media_type = "*/*"
    format = "file"


class ReportsView(Listing):
    """List reports; make one."""

    resource = "reports"
    serializer_class = ReportSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "study": Narrow("study__slug", "Only on this study."),
        "sweep": Narrow("sweep", "Only of this sweep.", kind=int),
        "since": Narrow("created_at__gte", "Only those made from this time on.", kind=datetime),
    }

    def rows(self) -> QuerySet[Report]:
        return report_list_for(self.user)

    @extend_schema(request=ReportWriteSerializer, responses={201: ReportDetailSerializer, 202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Make a report on a dataset or a study: 201 with it, or 202 with the job of a worker where it takes long."""
        values = said(ReportWriteSerializer, request)
        values["preregistration"] = plan_of(self, values)
        made = report_request(user=self.user, **values)
        if isinstance(made, ReportJob):
            return Response(JobSerializer(made).data, status=202)
        return Response(_report_data(made), status=201)


class ReportView(ApiView):
    """One report."""

    resource = "reports"

    @extend_schema(responses=ReportDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a report with its content, in today's schema."""
        return Response(_report_data(report_get_for(self.user, pk)))


def _report_data(report: Report) -> dict[str, Any]:
    return ReportSerializer(report).data | {"content": report_of(report.content).as_json()}


class ReportVerification(ApiView):
    """A report computed again."""

    resource = "reports"

    @extend_schema(request=None, responses={200: JobSerializer, 202: JobSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Compute a report again and compare: the `content` of the job says whether it still holds.

        200 with the job of a small one, which is done; 202 where a worker makes it.
        """
        report = report_get_for(self.user, pk)
        job = verification_request(user=self.user, report=report, address=reverse("api:report", args=[pk]))
        return Response(JobSerializer(job).data, status=200 if job.state == JobState.DONE else 202)


class ReportChangesView(ApiView):
    """What changed from one report to another."""

    resource = "reports"

    @extend_schema(
        parameters=[
            OpenApiParameter("before", int, required=True, description="The earlier report, by its `id`.")
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, pk: int) -> Response:
        """Read what changed from another report on the same dataset to this one, and why."""
        report = report_get_for(self.user, pk)
        given = Narrow("pk", "", kind=int).read("before", request.query_params.get("before", ""))
        before = report_list_for(self.user).filter(dataset=report.dataset_id, pk=given).first()
        if before is None:
            raise RefusalProblem(400, "There is no such report on this dataset.", field="before")
        first = report_of(report_get_for(self.user, before.pk).content)
        return Response(json_of(changes_of(first, report_of(report.content)).shortened(MOST_FIGURES)))


class ReportFile(ApiView):
    """A report as a file."""

    resource = "reports"
    renderer_classes = [JSONRenderer, AnyFile]

    @extend_schema(
        parameters=[OpenApiParameter("type", str, enum=SUFFIXES, required=True, description="Of the file.")],
        responses={
            (200, kind.partition(";")[0]): OpenApiTypes.OBJECT if "json" in kind else OpenApiTypes.BINARY
            for _, kind in FORMATS.values()
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Download a report as a file, of the type that its format has."""
        report = report_get_for(self.user, pk)
        suffix = request.query_params.get("type", "")
        if suffix not in SUFFIXES:
            raise RefusalProblem(400, f"Expected {', '.join(SUFFIXES)}.", field="type")
        try:
            written = render_report(report_of(report.content), f".{suffix}")
        except MissingPdfError as error:
            raise RefusalProblem(409, str(error), field="type") from None
        name = f"{report.name}-{report.inputs_hash[:8]}.{suffix}"
        return attachment(written, name, FORMATS[f".{suffix}"][1])


class JobView(ApiView):
    """Figures that a worker makes."""

    resource = "reports"

    @extend_schema(responses=JobSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read how far a job of yours is; with `content` or `report` once it is done."""
        return Response(JobSerializer(report_job_get_for(self.user, pk)).data)


class JobCancel(ApiView):
    """Cancel a job of yours."""

    resource = "reports"

    @extend_schema(request=None, responses=JobSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel a job of yours; once more changes nothing."""
        report_job_cancel(job=report_job_get_for(self.user, pk))
        return Response(JobSerializer(report_job_get_for(self.user, pk)).data)


class JobResume(ApiView):
    """A job that was cancelled, or failed."""

    resource = "reports"

    @extend_schema(request=None, responses=JobSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Make the figures after all; where the job is not stopped, this changes nothing."""
        report_job_resume(job=report_job_get_for(self.user, pk))
        return Response(JobSerializer(report_job_get_for(self.user, pk)).data)


class ComparisonsView(ApiView):
    """A comparison of judges, as its page shows it."""

    resource = "reports"

    @extend_schema(request=ComparisonSerializer, responses={200: OpenApiTypes.OBJECT, 202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Compare judges: 200 with the figures in the schema of reports, or 202 with the job of a worker."""
        values = said(ComparisonSerializer, request)
        sweep = source_of(self, values)
        dataset, plan = dataset_asked(sweep, values), plan_of(self, values)
        verdict = (values["margin"], values["annotators"])
        against = values.get("against", "")
        if not is_small([dataset], values["kind"]):
            preset_check(values["kind"], values["preset"])
            if values["dimension"]:
                dimension_facts(dataset, values["kind"], None, sweep.reader, values["dimension"])
            asked = asked_of(
                sweep,
                dataset,
                values["kind"],
                against=against,
                verdict=verdict,
                preset=values["preset"],
                dimension=values["dimension"],
            )
            address = reverse("api:comparisons")
            job = page_request(user=self.user, dataset=dataset, asked=asked, address=address)
            return Response(JobSerializer(job).data, status=202)
        content = comparison_get(
            sweep=sweep,
            dataset=dataset,
            kind=values["kind"],
            against=against,
            verdict=verdict,
            preset=values["preset"],
            dimension=values["dimension"],
        )
        return Response((content if plan is None else with_plan(content, plan)).as_json())


class SelectionsView(ApiView):
    """A choice of a judge by criteria, over several datasets, as the decision page shows it."""

    resource = "reports"

    @extend_schema(request=SelectionAsked, responses={200: OpenApiTypes.OBJECT, 202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Choose between judges by criteria: 200 with the figures, or 202 with the job of a worker.

        It decides nothing: to promote a judge, send its `inputs_hash` and the same criteria as a decision.
        """
        values = said(SelectionAsked, request)
        sweep, plan = source_of(self, values), plan_of(self, values)
        criteria = criteria_form(sweep, values).criteria()
        datasets = _datasets_of(sweep, criteria)
        if not is_small(datasets, criteria.kind):
            asked = asked_of(sweep, datasets[0], criteria.kind, criteria=criteria)
            address = reverse("api:selections")
            job = page_request(user=self.user, dataset=datasets[0], asked=asked, address=address)
            return Response(JobSerializer(job).data, status=202)
        report = selection_get(sweep=sweep, criteria=criteria)
        return Response((report if plan is None else selection_with_plan(report, plan)).as_json())


def _datasets_of(sweep: SweepView, criteria: Criteria) -> list[Dataset]:
    names = {part.dataset for part in criteria.parts}
    return [row for row in sweep.datasets if row.name in names]


class DecisionsView(Listing):
    """List decisions; promote a judge."""

    resource = "decisions"
    permission_classes = [MayReadOrAdministrates, HasScope]
    serializer_class = DecisionSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "kind": Narrow("kind", "Only for items of this kind.", KIND),
        "replaced": Narrow("replaced_by__isnull", "`true`: only current decisions.", kind=bool),
    }

    def rows(self) -> QuerySet[Decision]:
        return decisions_visible_to(self.user)

    @extend_schema(request=DecisionWriteSerializer, responses={201: DecisionMadeSerializer})
    def post(self, request: Request) -> Response:
        """Promote a judge for a dataset, or by a selection for all of its datasets. Sending it twice decides once."""
        values = said(DecisionWriteSerializer, request)
        sweep, plan = source_of(self, values), plan_of(self, values)
        basis, seen = self._basis(sweep, values)
        made = judge_promote(
            sweep=sweep,
            basis=basis,
            fingerprint=values["fingerprint"],
            reason=values["reason"],
            user=self.user,
            inputs_hash=values["inputs_hash"],
            seen=seen,
            although=values["override"],
            verdict=(values["margin"], values["annotators"]),
            preset=values["preset"],
            preregistration=plan,
            risk=values["risk"],
        )
        first = decision_get_for(self.user, made[0].pk)
        together = [decision_get_for(self.user, one.pk) for one in made]
        return Response(DecisionMadeSerializer(first, context={"made": together}).data, status=201)

    def _basis(
        self, sweep: SweepView, values: dict[str, Any]
    ) -> tuple[Dataset | Criteria, dict[int, int | None]]:
        """What the decision rests on, and by dataset the decision that was in force."""
        if values["by"] == "comparison":
            dataset = dataset_asked(sweep, values)
            return dataset, {dataset.pk: values["replaces"]}
        criteria = criteria_form(sweep, values).criteria()
        datasets = _datasets_of(sweep, criteria)
        names = {row.name: row.pk for row in datasets}
        if unknown := sorted(set(values["in_force"]) - set(names)):
            raise RefusalProblem(400, "It isn't a dataset of this selection.", field=f"in_force.{unknown[0]}")
        asked = asked_of(sweep, datasets[0], criteria.kind, criteria=criteria)
        job = page_job_get(user=self.user, asked=asked)
        if job is not None and job.content is not None:
            selection_read(job.content)  # where it took long, no request computes it again
        return criteria, {pk: values["in_force"].get(name) for name, pk in names.items()}


class DecisionView(ApiView):
    """One decision."""

    resource = "decisions"

    @extend_schema(responses=DecisionDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a decision with the figures that it rests on."""
        return Response(DecisionDetailSerializer(decision_get_for(self.user, pk)).data)


class DecisionJudge(ApiView):
    """The judge of a decision, to be run elsewhere."""

    resource = "decisions"

    @extend_schema(
        responses=OpenApiTypes.OBJECT,
        parameters=[
            OpenApiParameter("to", str, enum=list(TARGETS), description="As files of this tool."),
            OpenApiParameter("accept", str, description="What may be lost: names with commas between them."),
        ],
    )
    def get(self, request: Request, pk: int) -> Response:
        """Read the promoted judge as a configuration that can be run elsewhere.

        With `to`, as the `files` of another tool, and what of the judge is `carried` and `lost`. What the tool can't
        carry is refused until `accept` names it.
        """
        decision = decision_get_for(self.user, pk)
        document = judge_export(decision)
        if not (to := request.query_params.get("to", "")):
            return Response(document)
        accept = [name for name in request.query_params.get("accept", "").split(",") if name]
        try:
            exported = judge_for_tool(document, to=to, accept=accept, dataset_id=decision.dataset_id)
        except SpecError as error:
            raise RefusalProblem(400, error.problem, field=error.field) from None
        return Response({"files": exported.files, "carried": exported.carried, "lost": exported.lost})


class PreregistrationsView(Listing):
    """List your preregistrations; administrators: all."""

    resource = "reports"
    serializer_class = PreregistrationSerializer
    narrows = {"dataset": Narrow("dataset__name", "Only of this dataset.")}

    def rows(self) -> QuerySet[Preregistration]:
        rows = preregistrations_visible_to(self.user).order_by()
        return rows.select_related("dataset", "created_by").defer("content")


class PreregistrationView(ApiView):
    """One preregistration."""

    resource = "reports"

    @extend_schema(responses=PreregistrationDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a preregistration: the document that its `sha256` is of."""
        return Response(PreregistrationDetailSerializer(preregistration_get_for(self.user, pk)).data)
