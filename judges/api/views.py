"""The API of judging: what the admin does, for programs. Each view calls the service that the page calls."""

from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.models import User
from annotation.selectors.datasets import datasets_hidden_from, datasets_visible_to
from judges.api.access import HasScope, IsAdministrator
from judges.api.serializers import (
    EndpointSerializer,
    JudgeSerializer,
    JudgmentSerializer,
    SweepSerializer,
    strategy_json,
)
from judges.models import Endpoint, Judgment, Sweep
from judges.selectors.estimate import budget_warnings, sweep_estimate
from judges.selectors.reading import judge_get_for, judges_visible_to, sweep_read_for, sweeps_visible_to
from judges.services.plans import judge_carry_out, plan_carry_out
from judges.services.sweeps import SweepError, sweep_cancel, sweep_pause, sweep_resume, sweep_start
from judges.strategies.registry import STRATEGIES

PAGE_SIZE = 200
"""Rows of a page of a long list."""
MOST_DIGITS = 18
LINKS = ("strategies", "endpoints", "judges", "sweeps")


@api_view(["GET"])
def index(request: Request) -> Response:
    """Where things are."""
    return Response({name: reverse(f"api:{name}", request=request) for name in LINKS})


@api_view(["GET"])
def strategies(request: Request) -> Response:
    """Every way of judging, with its settings."""
    return Response([strategy_json(info) for info in STRATEGIES.values()])


@api_view(["GET"])
@permission_classes([IsAdministrator, HasScope])
def endpoints(request: Request) -> Response:
    """List where models answer; no key is among it."""
    return _page(request, Endpoint.objects.all(), EndpointSerializer)


@api_view(["GET", "POST"])
def judges(request: Request) -> Response:
    """List judges; or define one: 201 if it is new, 200 if there is one that would answer exactly the same."""
    if request.method == "POST":
        judge, is_new = judge_carry_out(values=_object(request), user=_user(request))
        return Response(JudgeSerializer(judge).data, status=201 if is_new else 200)
    return _page(request, judges_visible_to(_user(request)), JudgeSerializer)


@api_view(["GET"])
def judge(request: Request, pk: int) -> Response:
    """One judge with its whole specification."""
    return Response(JudgeSerializer(judge_get_for(_user(request), pk)).data)


@api_view(["GET", "POST"])
def sweeps(request: Request) -> Response:
    """List sweeps; or make the draft of one from a plan, with the judges that are missing."""
    rows = _sweeps(request)
    if request.method == "POST":
        planned = plan_carry_out(plan=_object(request), user=_user(request))
        sweep = rows.get(pk=planned.sweep.pk)
        made = [judge.name for judge in planned.made]
        return Response(SweepSerializer(sweep).data | {"judges_made": made}, status=201)
    return _page(request, rows, SweepSerializer)


@api_view(["GET"])
def sweep(request: Request, pk: int) -> Response:
    """A sweep and how far it is."""
    row = get_object_or_404(_sweeps(request), pk=pk)
    progress = sweep_read_for(_user(request), pk).progress
    # Of a sweep over private datasets too, the message may be about these.
    return Response(SweepSerializer(row).data | {"message": progress.message, "progress": asdict(progress)})


@api_view(["GET"])
def estimate(request: Request, pk: int) -> Response:
    """What a sweep will ask and cost; nothing is asked. For those who may see all of its datasets."""
    if not _user(request).is_administrator:
        hidden = datasets_hidden_from(_user(request))
        get_object_or_404(_sweeps(request).exclude(datasets__in=hidden), pk=pk)
    row = get_object_or_404(Sweep, pk=pk)
    found = sweep_estimate(row)
    return Response(asdict(found) | {"warnings": budget_warnings(row, found)})


@api_view(["POST"])
def start(request: Request, pk: int) -> Response:
    """Launch a draft."""
    return _moved(pk, lambda sweep: list(sweep_start(sweep=sweep).warnings))


@api_view(["POST"])
def pause(request: Request, pk: int) -> Response:
    """Let a sweep rest."""
    return _moved(pk, lambda sweep: _ended(sweep, sweep_pause(sweep=sweep)))


@api_view(["POST"])
def cancel(request: Request, pk: int) -> Response:
    """Stop a sweep."""
    return _moved(pk, lambda sweep: _ended(sweep, sweep_cancel(sweep=sweep)))


def _ended(sweep: Sweep, changed: bool) -> list[str]:
    if not changed:
        raise SweepError([f"'{sweep}' is not at work."])
    return []


class ResumeSerializer(serializers.Serializer[Any]):
    """What a sweep may go on with. The bounds are those of the columns."""

    budget = serializers.DecimalField(max_digits=10, decimal_places=2, min_value=Decimal(0), required=False)
    budget_tokens = serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    budget_minutes = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    retry_failed = serializers.BooleanField(required=False, default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is not known: a budget that is misspelt would be no budget."""
        if unknown := sorted(self.initial_data.keys() - self.fields.keys()):
            raise serializers.ValidationError({unknown[0]: "Unknown field."})
        return attrs


@api_view(["POST"])
def resume(request: Request, pk: int) -> Response:
    """Go on, with larger budgets if they are given."""
    given = ResumeSerializer(data=request.data)
    given.is_valid(raise_exception=True)
    return _moved(pk, lambda sweep: list(sweep_resume(sweep=sweep, **given.validated_data).warnings))


@api_view(["GET"])
def judgments(request: Request, pk: int) -> Response:
    """The judgments of a sweep's judges on its datasets, page by page; ``?judge=`` and ``?status=`` choose."""
    sweep = get_object_or_404(_sweeps(request), pk=pk)
    datasets = datasets_visible_to(_user(request)).filter(sweeps=sweep)
    rows = Judgment.objects.filter(
        judge__in=sweep.judges.values("pk"), item__dataset__in=datasets.values("pk")
    ).select_related("judge", "item__dataset")
    for field, lookup in (("judge", "judge__name"), ("status", "status")):
        if wanted := request.query_params.get(field):
            # PostgreSQL refuses a query with a NUL in it.
            rows = rows.filter(**{lookup: wanted.replace("\x00", "")})
    return _page(request, rows, JudgmentSerializer)


def _sweeps(request: Request) -> QuerySet[Sweep]:
    """Return the sweeps that the user may see, each with those of its datasets that they may see."""
    user = _user(request)
    return sweeps_visible_to(user).prefetch_related("judges", Prefetch("datasets", datasets_visible_to(user)))


def _moved(pk: int, move: Callable[[Sweep], list[str]]) -> Response:
    row = get_object_or_404(Sweep, pk=pk)
    warnings = move(row)
    row.refresh_from_db()
    return Response(SweepSerializer(row).data | {"warnings": warnings})


class Pages(CursorPagination):
    """Pages of a long list in the order of the primary key."""

    ordering = "pk"

    def decode_cursor(self, request: Request) -> Any:
        """Return the place that the address names; one that was made up is not found."""
        cursor = super().decode_cursor(request)
        place = "" if cursor is None else str(cursor.position or "")
        if place and not (place.isascii() and place.isdecimal() and len(place) <= MOST_DIGITS):
            raise NotFound(self.invalid_cursor_message)
        return cursor


def _page(
    request: Request, rows: QuerySet[Any], serializer: type[serializers.ModelSerializer[Any]]
) -> Response:
    paginator = Pages()
    paginator.page_size = PAGE_SIZE
    page = paginator.paginate_queryset(rows, request)
    return paginator.get_paginated_response(serializer(page, many=True).data)


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise serializers.ValidationError({"detail": "Expected a JSON object."})
    return dict(request.data)


def _user(request: Request) -> User:
    assert isinstance(request.user, User), "the permission lets nobody else in"
    return request.user
