"""The annotation half in the admin: people and roles, datasets, studies, and what was said, which is only read.

Labels, assignments and answers to the qualification test are evidence: nobody adds, changes or deletes them here.
Studies change state on their own pages, where the rules are; here an administrator sets owner and title.
"""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db.models import CharField, Count, QuerySet, TextField, Value
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.domain.errors import StudyRuleError
from annotation.models import (
    Adjudication,
    Annotator,
    Bonus,
    Dataset,
    Enrollment,
    Intervention,
    Invitation,
    ItemReport,
    Label,
    QualificationAnswer,
    Study,
    User,
    WorkRole,
)
from annotation.services.factors import factors_reset
from annotation.services.sessions import sessions_end
from annotation.services.studies import study_delete
from web.deleting import InUseError, row_delete


class ReadOnlyMixin:
    """Rows that are looked at and left alone."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OwnerSelect(AutocompleteSelect):
    """A search field for a row, which shows nothing for what cannot be the key of one; Django's own fails on it."""

    def optgroups(self, name: str, value: Sequence[str], attrs: dict[str, Any] | None = None) -> list[Any]:
        known = [one for one in value if not one or (one.isascii() and one.isdecimal() and len(one) < 19)]
        return super().optgroups(name, known, attrs)


class TypedMixin:
    """Rows whose texts are other people's: what is typed runs in the direction of its script."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **given: Any) -> Any:
        found = super().formfield_for_dbfield(db_field, request, **given)  # type: ignore[misc]
        if isinstance(db_field, CharField | TextField) and isinstance(found, forms.CharField):
            found.widget.attrs["dir"] = "auto"
        return found


class DeletingMixin:
    """Rows that a service deletes, by its own rule; what it refuses is said on the row's page."""

    def remove(self, obj: Any) -> object:
        """Delete the row; raises InUseError or StudyRuleError."""
        return row_delete(obj)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.remove(obj)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        try:
            page: HttpResponse = super().delete_view(request, object_id, extra_context)  # type: ignore[misc]
            return page
        except (InUseError, StudyRuleError) as error:
            messages.error(request, str(error))
            opts = self.opts  # type: ignore[attr-defined]
            return redirect(f"admin:{opts.app_label}_{opts.model_name}_change", object_id)


class OwnedMixin(TypedMixin):
    """Rows with an owner, who is searched for."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **given: Any) -> Any:
        if db_field.name == "owner":
            given["widget"] = OwnerSelect(db_field, self.admin_site)  # type: ignore[attr-defined]
        return super().formfield_for_foreignkey(db_field, request, **given)  # type: ignore[misc]


@admin.register(User)
class UserAdmin(TypedMixin, DjangoUserAdmin[User]):
    """The role says what a person may do; Django's staff and superuser flags are not asked."""

    list_display = ("username", "email", "role", "is_active", "last_login")
    list_filter = ("role", "is_active")
    fieldsets = (
        (None, {"fields": ("username", "password", "role")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Access", {"fields": ("is_active",), "classes": ("collapse",)}),
        ("Dates", {"fields": ("last_login", "date_joined"), "classes": ("collapse",)}),
    )
    add_fieldsets = (
        (
            None,
            {
                "classes": ("wide",),
                "fields": ("username", "role", "usable_password", "password1", "password2"),
            },
        ),
    )
    readonly_fields = ("last_login", "date_joined")
    actions = ("second_factors_reset", "all_sessions_end")

    @admin.action(description="Reset the second factor of selected people")
    def second_factors_reset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        people = list(queryset)
        n = sum(factors_reset(user) for user in people)
        messages.success(
            request, f"Removed {n} second factors of {len(people)} people, and ended their sessions."
        )

    @admin.action(description="End all sessions of selected people")
    def all_sessions_end(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        people = list(queryset)
        n = sum(sessions_end(user) for user in people)
        messages.success(request, f"Ended {n} sessions of {len(people)} people.")


@admin.register(Dataset)
class DatasetAdmin(DeletingMixin, OwnedMixin, admin.ModelAdmin[Dataset]):
    """Datasets come from imports; here they get an owner, a title and a split."""

    list_display = ("name", "title", "split", "licence", "owner", "n_items", "version", "created_at")
    list_filter = ("split", "licence")
    list_select_related = ("owner",)
    search_fields = ("name", "title", "description", "source")
    readonly_fields = ("name", "version", "source", "created_at", "page")
    fields = (
        "name",
        "page",
        "title",
        "description",
        "split",
        "licence",
        "owner",
        "source",
        "version",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        return super().get_queryset(request).annotate(n_items=Count("items"))

    @admin.display(description="Items", ordering="n_items")
    def n_items(self, dataset: Dataset) -> int:
        return dataset.n_items  # type: ignore[attr-defined,no-any-return]  # annotated above

    @admin.display(description="Page")
    def page(self, dataset: Dataset) -> SafeString:
        url = reverse("annotation:dataset-detail", args=[dataset.name])
        return format_html('<a href="{}">Items and labels</a>', url)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Study)
class StudyAdmin(DeletingMixin, OwnedMixin, admin.ModelAdmin[Study]):
    list_display = ("title", "state", "kind", "dataset", "owner", "overlap", "is_simulated", "created_at")
    list_filter = ("state", "kind", "is_simulated", ("dataset", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("dataset", "owner")
    search_fields = ("title", "slug")
    fields = (
        "title",
        "page",
        "owner",
        "slug",
        "dataset",
        "kind",
        "state",
        "overlap",
        "tie_policy",
        "qualification_size",
        "qualification_pass",
        "guidelines_version",
        "is_simulated",
        "created_at",
    )
    readonly_fields = tuple(name for name in fields if name not in ("title", "owner"))

    @admin.display(description="Page")
    def page(self, study: Study) -> SafeString:
        url = reverse("annotation:study-detail", args=[study.slug])
        return format_html('<a href="{}">Progress, rules and links</a>', url)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        """A draft may go; what was opened stays with its people and labels."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.state == "draft")

    def remove(self, obj: Study) -> object:
        return study_delete(study=obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        # Deleting in bulk does not ask about each study.
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyMixin, admin.ModelAdmin[Invitation]):
    """Links are made and revoked on the page of their study; the token stays there."""

    list_display = (
        "__str__",
        "study",
        "max_annotators",
        "n_people",
        "expires_at",
        "revoked_at",
        "created_at",
    )
    list_filter = (("study", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("study",)
    search_fields = ("note", "study__title")
    fields = ("study", "note", "max_annotators", "expires_at", "revoked_at", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invitation]:
        return super().get_queryset(request).annotate(n_people=Count("enrollments"))

    @admin.display(description="People", ordering="n_people")
    def n_people(self, invitation: Invitation) -> int:
        return invitation.n_people  # type: ignore[attr-defined,no-any-return]  # annotated above


@admin.register(Annotator)
class AnnotatorAdmin(ReadOnlyMixin, admin.ModelAdmin[Annotator]):
    list_display = ("__str__", "source", "external_id", "is_simulated", "n_enrollments", "created_at")
    list_filter = ("is_simulated", "source")
    search_fields = ("public_id__startswith", "external_id")
    fields = ("public_id", "source", "external_id", "is_simulated", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Annotator]:
        # Those of an import that isn't finished are no annotators yet.
        staged = Dataset.with_staged.filter(is_staged=True).annotate(
            of=Concat(Value("import:"), "name", output_field=CharField())
        )
        rows = super().get_queryset(request).exclude(source__in=staged.values("of"))
        return rows.annotate(n_enrollments=Count("enrollments"))

    @admin.display(description="Studies", ordering="n_enrollments")
    def n_enrollments(self, annotator: Annotator) -> int:
        return annotator.n_enrollments  # type: ignore[attr-defined,no-any-return]  # annotated above


class QualificationAnswerInline(ReadOnlyMixin, admin.TabularInline[QualificationAnswer, Enrollment]):
    model = QualificationAnswer
    fields = ("question", "value", "shown_order", "is_correct", "created_at")
    readonly_fields = fields
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[QualificationAnswer]:
        return super().get_queryset(request).select_related("question")


@admin.register(Enrollment)
class EnrollmentAdmin(ReadOnlyMixin, admin.ModelAdmin[Enrollment]):
    """The way of a person through a study. Their own link is a secret of theirs and is not shown."""

    list_display = (
        "__str__",
        "study",
        "stage",
        "qualification_score",
        "n_accepted",
        "created_at",
        "finished_at",
    )
    list_filter = ("stage", ("study", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("study", "annotator")
    search_fields = ("completion_code", "annotator__external_id", "annotator__public_id__startswith")
    fields = (
        "study",
        "annotator",
        "invitation",
        "stage",
        "consented_at",
        "consent_sha256",
        "guidelines_read_at",
        "qualification_score",
        "completion_code",
        "finished_at",
        "n_accepted",
        "created_at",
    )
    inlines = (QualificationAnswerInline,)


@admin.register(Label)
class LabelAdmin(ReadOnlyMixin, admin.ModelAdmin[Label]):
    """Append-only: the database refuses a change, and so does this page."""

    list_display = ("id", "item", "annotator", "study", "role", "value", "counts", "created_at")
    list_filter = ("kind", "role", "is_surplus", "is_set_aside", ("study", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("item", "annotator", "study")
    search_fields = ("item__external_id", "annotator__external_id", "source")
    # A million labels are not counted twice for each page, nor sorted by anything but their number.
    show_full_result_count = False
    ordering = ("-pk",)
    fields = (
        "item",
        "annotator",
        "study",
        "assignment",
        "supersedes",
        "role",
        "kind",
        "value",
        "choice",
        "shown_order",
        "is_surplus",
        "is_set_aside",
        "check_score",
        "evidence",
        "comment",
        "pasted_chars",
        "source",
        "guidelines_version",
        "probability",
        "active_ms",
        "wall_ms",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Label]:
        return super().get_queryset(request).filter(item__dataset__is_staged=False)

    @admin.display(description="Counts unless superseded", boolean=True)
    def counts(self, label: Label) -> bool:
        return label.role == WorkRole.WORK and not label.is_surplus and not label.is_set_aside


@admin.register(Intervention)
class InterventionAdmin(ReadOnlyMixin, admin.ModelAdmin[Intervention]):
    """What was done about people, by whom; it is done on the page of the person in their study."""

    list_display = ("id", "enrollment", "action", "by", "reason", "n_labels", "read_at", "created_at")
    list_filter = ("action", ("enrollment__study", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("enrollment__annotator", "by")
    search_fields = ("reason", "enrollment__annotator__public_id__startswith")
    ordering = ("-pk",)
    fields = ("enrollment", "action", "by", "reason", "text", "n_labels", "read_at", "created_at")


@admin.register(ItemReport)
class ItemReportAdmin(ReadOnlyMixin, admin.ModelAdmin[ItemReport]):
    """Items that people called broken; decided on the page of the study."""

    list_display = ("id", "study_item", "enrollment", "reason", "resolution", "created_at", "resolved_at")
    list_filter = ("reason", "resolution", ("study_item__study", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("study_item", "enrollment__annotator")
    search_fields = ("note", "study_item__item__external_id")
    ordering = ("-pk",)
    fields = ("study_item", "enrollment", "reason", "note", "resolution", "created_at", "resolved_at")


@admin.register(Adjudication)
class AdjudicationAdmin(ReadOnlyMixin, admin.ModelAdmin[Adjudication]):
    """Experts' words; the latest of a study and item stands."""

    list_display = ("id", "study", "item", "expert", "value", "supersedes", "created_at")
    list_filter = (("study", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("study", "item", "expert", "supersedes")
    search_fields = ("item__external_id", "note")
    ordering = ("-pk",)
    fields = ("study", "item", "expert", "value", "shown_order", "note", "supersedes", "created_at")


@admin.register(Bonus)
class BonusAdmin(ReadOnlyMixin, admin.ModelAdmin[Bonus]):
    """Money beside the pay for the work; granted on the page of pay of the study."""

    list_display = ("id", "enrollment", "amount", "reason", "by", "created_at")
    list_filter = (("enrollment__study", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("enrollment__annotator", "by")
    search_fields = ("reason", "enrollment__annotator__public_id__startswith")
    ordering = ("-pk",)
    fields = ("enrollment", "amount", "reason", "by", "created_at")
