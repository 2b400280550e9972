"""A judge's anchors, for programs: frozen, asked again, and what the checks say of it."""

import math
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError as ModelError
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.access import HasScope, IsAdministrator
from annotation.api.base import ApiView, Exact, Listing, said
from annotation.selectors.datasets import datasets_visible_to
from judges.models import AnchorSet, SweepState
from judges.selectors.anchors import InTime, in_time
from judges.selectors.reading import judge_get_for
from judges.services.anchors import MOST, anchors_check, anchors_freeze, anchors_retire, anchors_update
from judges.services.sweeps import sweep_resume
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

_BUDGET: dict[str, Any] = {"max_digits": 10, "decimal_places": 2, "min_value": Decimal(0)}


class AnchorsSerializer(serializers.ModelSerializer[AnchorSet]):
    """Items that were frozen with a judge's verdicts on them."""

    judge: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    created_by: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = AnchorSet
        fields: tuple[str, ...] = (
            *("id", "judge", "dataset", "seed", "repeats", "tolerance", "budget", "every_days"),
            *("created_by", "created_at", "retired_at"),
        )
        read_only_fields: tuple[str, ...] = fields


class CheckSerializer(serializers.Serializer[Any]):
    """One time that the judge was asked about its anchors again."""

    sweep = serializers.IntegerField()
    state = serializers.CharField()
    is_repetition = serializers.BooleanField(help_text="One of those at freezing, which measure noise.")
    n = serializers.IntegerField(help_text="Verdicts that were compared.")
    n_changed = serializers.IntegerField(help_text="Verdicts that are other ones than the frozen.")
    cost = serializers.FloatField()
    created_at = serializers.DateTimeField()


class AnchorsDetailSerializer(AnchorsSerializer):
    """The same with its checks, and whether the judge has moved."""

    n_items = serializers.SerializerMethodField()
    checks = serializers.SerializerMethodField()
    moved = serializers.SerializerMethodField(help_text="Null before the first check is finished.")
    p_value = serializers.SerializerMethodField(help_text="Valid at any number of checks.")

    class Meta(AnchorsSerializer.Meta):
        fields = (*AnchorsSerializer.Meta.fields, "n_items", "moved", "p_value", "checks")
        read_only_fields = fields

    @property
    def _found(self) -> InTime:
        found: InTime = self.context["found"]
        return found

    def get_n_items(self, _: AnchorSet) -> int:
        """Return how many items were frozen."""
        return self._found.n_items

    def get_moved(self, _: AnchorSet) -> bool | None:
        """Return whether the judge has moved."""
        return None if self._found.state is None else self._found.moved

    def get_p_value(self, _: AnchorSet) -> float | None:
        """Return how likely such checks are of a judge that has not moved."""
        state = self._found.state
        return None if state is None or math.isnan(state.p_value) else float(state.p_value)

    @extend_schema_field(CheckSerializer(many=True))
    def get_checks(self, _: AnchorSet) -> Any:
        """Return its checks, the oldest first."""
        return [
            {
                "sweep": one.sweep.pk,
                "state": one.sweep.state,
                "is_repetition": one.is_repetition,
                "n": one.n,
                "n_changed": one.n_changed,
                "cost": one.cost,
                "created_at": one.sweep.created_at,
            }
            for one in self._found.checks
        ]


class FreezeSerializer(Exact):
    """Anchors to freeze."""

    dataset = serializers.CharField(help_text="A dataset that the judge has judged.")
    n = serializers.IntegerField(min_value=1, max_value=MOST, default=100, help_text="Items to draw.")
    repeats = serializers.IntegerField(min_value=1, max_value=20, default=3)
    tolerance = serializers.FloatField(
        min_value=0, max_value=0.5, default=0.0, help_text="Share of verdicts that may change."
    )
    budget = serializers.DecimalField(
        **_BUDGET, required=False, allow_null=True, help_text="Of each check, in dollars."
    )
    every_days = serializers.IntegerField(min_value=1, max_value=32_767, required=False, allow_null=True)


class ScheduleSerializer(Exact):
    """When anchors are asked again, and what each check may cost."""

    budget = serializers.DecimalField(**_BUDGET, required=False, allow_null=True)
    every_days = serializers.IntegerField(min_value=1, max_value=32_767, required=False, allow_null=True)


class AnchorsView(Listing):
    """List the anchors of a judge; freeze some."""

    resource = "judges"
    permission_classes = [IsAdministrator, HasScope]
    serializer_class = AnchorsSerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "in_use": Narrow("retired_at__isnull", "`true`: only those in use.", kind=bool),
    }

    def rows(self) -> QuerySet[AnchorSet]:
        judge = judge_get_for(self.user, self.kwargs["pk"])
        return (
            AnchorSet.objects.filter(judge=judge).select_related("judge", "dataset", "created_by").order_by()
        )

    @extend_schema(request=FreezeSerializer, responses={201: AnchorsDetailSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Freeze anchors: items that a judge has judged, about which it is asked again at once.

        Where it has anchors of the dataset in use, these are answered as they are.
        """
        judge, values = judge_get_for(self.user, pk), said(FreezeSerializer, request)
        dataset = datasets_visible_to(self.user).filter(name=values.pop("dataset")).first()
        if dataset is None:
            raise RefusalProblem(400, "There is no such dataset.", field="dataset")
        try:
            made = anchors_freeze(judge=judge, dataset=dataset, created_by=self.user, **values)
        except ModelError as error:
            raise serializers.ValidationError(error.message_dict) from None
        return Response(_shown(made), status=201)


class AnchorsResource(ApiView):
    """Anchors of a judge."""

    resource = "judges"
    permission_classes = [IsAdministrator, HasScope]

    @extend_schema(responses=AnchorsDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read anchors with their checks, and whether the judge has moved."""
        return Response(_shown(_anchors(pk)))

    @extend_schema(request=ScheduleSerializer, responses=AnchorsDetailSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        """Change when anchors are asked again, and what each check may cost."""
        row = _anchors(pk)
        values = {"every_days": row.every_days, "budget": row.budget} | said(ScheduleSerializer, request)
        anchors_update(anchors=row, **values)
        return Response(_shown(_anchors(pk)))


class AnchorsMove(ApiView):
    """Something that is done with anchors."""

    resource = "judges"
    permission_classes = [IsAdministrator, HasScope]

    def move(self, anchors: AnchorSet) -> None:
        """Do it."""
        raise NotImplementedError

    @extend_schema(request=None, responses=AnchorsDetailSerializer)
    def post(self, request: Request, pk: int) -> Response:
        self.move(_anchors(pk))
        return Response(_shown(_anchors(pk)))


class AnchorsCheck(AnchorsMove):
    """Ask a judge about its anchors again. While a check is going on, this starts no other; a stopped one resumes."""

    def move(self, anchors: AnchorSet) -> None:
        sweep = anchors_check(anchors=anchors, user=self.user)
        if sweep.state in (SweepState.PAUSED, SweepState.FAILED):
            sweep_resume(sweep=sweep, budget=anchors.budget, retry_failed=True)


class AnchorsRetire(AnchorsMove):
    """Take anchors out of use; what was found stays. Once more changes nothing."""

    def move(self, anchors: AnchorSet) -> None:
        anchors_retire(anchors=anchors)


def _anchors(pk: int) -> AnchorSet:
    return get_object_or_404(AnchorSet.objects.select_related("judge", "dataset", "created_by"), pk=pk)


def _shown(anchors: AnchorSet) -> dict[str, Any]:
    return dict(AnchorsDetailSerializer(anchors, context={"found": in_time(anchors)}).data)
