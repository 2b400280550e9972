"""What our own pages of the admin share: their frame, lists in our own words, forms that call a service."""

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.utils import construct_change_message
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, models, transaction
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.admin import ReadOnlyMixin
from annotation.models import User

Row = TypeVar("Row", bound=models.Model)


class OwnPages(admin.ModelAdmin[Row], Generic[Row]):
    """A model with pages of our own."""

    def own_page(self, request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
        """Draw one of the model's templates, or a part of it (``page.html#part``)."""
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        where = f"admin/{self.opts.app_label}/{self.opts.model_name}/{template}"
        return TemplateResponse(request, where, frame | context)

    def url(self, name: str, *args: object) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def require_reading(self, request: HttpRequest) -> None:
        """Raise PermissionDenied for users who may not view the model's rows."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied


class ReadOnlyAdmin(ReadOnlyMixin, OwnPages[Row], Generic[Row]):
    """A model whose rows are looked at, and neither made, changed nor deleted here."""


class ServiceAdmin(OwnPages[Row], Generic[Row]):
    """A model whose rows are made and changed by services alone.

    Forms collect and show; `save` calls the service, and what the service refuses stands in the form, by field.
    """

    list_per_page = 50
    actions = None
    delete_confirmation_template = "admin/judges/delete_confirmation.html"

    @abstractmethod
    def build_form(self, request: HttpRequest, obj: Row | None) -> ModelForm[Row]:
        """Return the form, bound if the request is a POST."""

    @abstractmethod
    def save(self, form: Any, *, obj: Row | None, user: User) -> Row:
        """Create the row, or change `obj` as it is in the database; raises ValidationError."""

    def after_save(self, request: HttpRequest, obj: Row) -> HttpResponse:
        """Say where to go next."""
        messages.success(request, f"{str(self.opts.verbose_name).capitalize()} '{obj}' is saved.")
        return HttpResponseRedirect(self.url("changelist"))

    def page_context(self, request: HttpRequest, obj: Row | None) -> dict[str, Any]:
        """Return what the template needs beside the form."""
        return {}

    def rows(self, result_list: Any) -> list[Any]:
        """Return what the list's template draws, one entry a row."""
        return list(result_list)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        data = getattr(response, "context_data", None)
        if data and "cl" in data:
            changelist = data["cl"]
            data["title"] = str(self.opts.verbose_name_plural).capitalize()
            data["rows"] = self.rows(changelist.result_list)
            data["filters"] = [
                {"title": spec.title, "choices": list(spec.choices(changelist))}
                for spec in changelist.filter_specs
            ]
        return response

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        extra = {"back_url": self.url("change", object_id), **(extra_context or {})}
        return super().delete_view(request, object_id, extra)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        obj = self.get_object(request, object_id) if object_id is not None else None
        if object_id is not None and obj is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined, no-any-return]
        if request.method == "POST" and not self._may_save(request, obj):
            raise PermissionDenied
        name = str(obj)  # before the form writes into it
        form = self.build_form(request, obj)
        if form.is_bound and form.is_valid() and (saved := self._saved(request, form, obj)):
            return self.after_save(request, saved)
        context = {
            "title": name if obj is not None else f"New {self.opts.verbose_name}",
            "original": obj,
            "form": form,
            "may_save": self._may_save(request, obj),
            "may_delete": obj is not None and self.has_delete_permission(request, obj),
            **self.page_context(request, obj),
            **(extra_context or {}),
        }
        return self.own_page(request, "change_form.html", **context)

    def _may_save(self, request: HttpRequest, obj: Row | None) -> bool:
        if obj is None:
            return self.has_add_permission(request)
        return self.has_change_permission(request, obj)

    def _saved(self, request: HttpRequest, form: Any, obj: Row | None) -> Row | None:
        assert isinstance(request.user, User)
        fresh = None if obj is None else self.model._default_manager.get(pk=obj.pk)
        try:
            with transaction.atomic():
                saved = self.save(form, obj=fresh, user=request.user)
        except IntegrityError:
            form.add_error(
                None, "Someone else saved at the same moment. Check the current version, then save again."
            )
            return None
        except ValidationError as error:
            for field, errors in getattr(error, "error_dict", {None: [error]}).items():
                form.add_error(field if field in form.fields else None, errors)
            return None
        change = obj is not None
        words = construct_change_message(form, [], not change)
        (self.log_change if change else self.log_addition)(request, saved, words)
        return saved
