"""Reports, comparisons and decisions for programs. Each write calls the service that the page calls."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

import metaeval.api.errors  # noqa: F401  (teaches the API the exceptions of this app)
from annotation.api.access import HasScope, MayReadOrAdministrates
from annotation.api.base import ApiView, Listing, said
from annotation.kinds import KINDS
from annotation.models import Dataset
from metaeval.api.serializers import (
    ComparisonSerializer,
    DecisionDetailSerializer,
    DecisionSerializer,
    DecisionWriteSerializer,
    JobSerializer,
    ReportDetailSerializer,
    ReportSerializer,
    ReportWriteSerializer,
)
from metaeval.models import Decision, Report, ReportJob
from metaeval.reports.report import report_of
from metaeval.selectors.decisions import decision_get_for, decisions_visible_to, judge_export
from metaeval.selectors.reports import report_get_for, report_list_for
from metaeval.selectors.sweeps import SweepView, dataset_of, source_get_for
from metaeval.services.comparisons import comparison_get
from metaeval.services.page_contents import asked_of
from metaeval.services.promotions import judge_promote
from metaeval.services.report_jobs import (
    is_small,
    page_request,
    report_job_cancel,
    report_job_get_for,
    report_request,
)
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

KIND = tuple(KINDS)


class ReportsView(Listing):
    """List reports; make one."""

    resource = "reports"
    serializer_class = ReportSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "study": Narrow("study__slug", "Only on this study."),
        "sweep": Narrow("sweep", "Only of this sweep.", kind=int),
    }

    def rows(self) -> QuerySet[Report]:
        return report_list_for(self.user)

    @extend_schema(request=ReportWriteSerializer, responses={201: ReportDetailSerializer, 202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Make a report on a dataset or a study: 201 with it, or 202 with the job of a worker where it takes long."""
        made = report_request(user=self.user, **said(ReportWriteSerializer, request))
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


class ComparisonsView(ApiView):
    """A comparison of judges, as its page shows it."""

    resource = "reports"

    @extend_schema(request=ComparisonSerializer, responses={200: OpenApiTypes.OBJECT, 202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Compare judges: 200 with the figures in the schema of reports, or 202 with the job of a worker."""
        values = said(ComparisonSerializer, request)
        sweep, dataset = _source(self, values)
        verdict = (values["margin"], values["annotators"])
        against = values.get("against", "")
        if not is_small([dataset], values["kind"]):
            asked = asked_of(sweep, dataset, values["kind"], against=against, verdict=verdict)
            address = reverse("api:comparisons")
            job = page_request(user=self.user, dataset=dataset, asked=asked, address=address)
            return Response(JobSerializer(job).data, status=202)
        content = comparison_get(
            sweep=sweep, dataset=dataset, kind=values["kind"], against=against, verdict=verdict
        )
        return Response(content.as_json())


class DecisionsView(Listing):
    """List decisions; promote a judge."""

    resource = "decisions"
    permission_classes = [MayReadOrAdministrates, HasScope]
    serializer_class = DecisionSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "kind": Narrow("kind", "Only for items of this kind.", KIND),
        "replaced": Narrow("replaced_by__isnull", "`true`: only decisions in force.", kind=bool),
    }

    def rows(self) -> QuerySet[Decision]:
        return decisions_visible_to(self.user)

    @extend_schema(request=DecisionWriteSerializer, responses={201: DecisionDetailSerializer})
    def post(self, request: Request) -> Response:
        """Promote a judge for a dataset. Sending it twice makes one decision."""
        values = said(DecisionWriteSerializer, request)
        sweep, dataset = _source(self, values)
        (made,) = judge_promote(
            sweep=sweep,
            basis=dataset,
            fingerprint=values["fingerprint"],
            reason=values["reason"],
            user=self.user,
            inputs_hash=values["inputs_hash"],
            seen={dataset.pk: values["replaces"]},
            verdict=(values["margin"], values["annotators"]),
            risk=values["risk"],
        )
        return Response(DecisionDetailSerializer(decision_get_for(self.user, made.pk)).data, status=201)


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

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, pk: int) -> Response:
        """Read the promoted judge as a configuration that can be run elsewhere."""
        return Response(judge_export(decision_get_for(self.user, pk)))


def _source(view: ApiView, values: dict[str, Any]) -> tuple[SweepView, Dataset]:
    """Whose judgments are compared, and on which dataset."""
    try:
        sweep = source_get_for(view.user, values.get("sweep"), values["dataset"])
        return sweep, dataset_of(sweep, values["dataset"])
    except Http404 as error:
        field = "sweep" if "sweep" in values else "dataset"
        raise RefusalProblem(400, str(error) or "There is no such row.", field=field) from None
