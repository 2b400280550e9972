"""Forms of the entry points of a study: a link, a platform's link, its file, and people's accounts."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.entry.base import ID, Platform
from annotation.models import PlatformLink

MAX_FILE_BYTES = 5 * 1024 * 1024
CODES = ("completed_code", "screened_out_code", "no_consent_code")


class InvitationForm(forms.Form):
    """A link into a study."""

    note = forms.CharField(
        required=False, max_length=200, help_text="For you: who gets this link. Annotators don't see it."
    )
    max_annotators = forms.IntegerField(
        label="Maximum annotators",
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="If empty, no limit.",
    )
    last_day = forms.DateField(
        required=False,
        help_text="People can join until the end of this day (UTC). If empty, the link doesn't expire.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def clean_last_day(self) -> Any:
        day = self.cleaned_data["last_day"]
        if day is not None and day < timezone.now().date():
            raise forms.ValidationError("This day is in the past.")
        return day

    def expires_at(self) -> datetime | None:
        day = self.cleaned_data["last_day"]
        return None if day is None else datetime.combine(day + timedelta(days=1), time.min, tzinfo=UTC)


class PlatformLinkForm(forms.Form):
    """A study's entry link for one platform."""

    external_study_id = forms.CharField(
        required=False,
        max_length=200,
        label="Study ID on the platform",
        help_text="Participants of another study are refused.",
    )
    completed_code = forms.CharField(required=False, max_length=300, label="Code: completed")
    screened_out_code = forms.CharField(
        required=False,
        max_length=300,
        label="Code: screened out",
        help_text="For people who aren't eligible or fail the test.",
    )
    no_consent_code = forms.CharField(
        required=False,
        max_length=300,
        label="Code: no consent",
        help_text="For people who don't agree to take part.",
    )
    require_signed_token = forms.BooleanField(
        required=False,
        label="Require a signed token",
        help_text="Turn on the platform's secure address first; otherwise nobody can join.",
    )

    def __init__(
        self, *args: Any, platform: Platform, link: PlatformLink | None = None, **kwargs: Any
    ) -> None:
        self.platform = platform
        if link is not None:
            kwargs["initial"] = {name: getattr(link, name) for name in self.base_fields}
        super().__init__(*args, **kwargs)
        self.auto_id = f"id_{platform.name}_%s"  # several of these forms are on one page
        self.fields["completed_code"].help_text = platform.code_help
        if not platform.token_parameter:
            del self.fields["require_signed_token"]

    def clean_external_study_id(self) -> str:
        value = str(self.cleaned_data["external_study_id"]).strip()
        if value and not ID.fullmatch(value):
            raise forms.ValidationError("Expected an ID: letters, digits and dashes.")
        return value

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in CODES:
            code = self.platform.code_of(data.get(name, ""))
            if code and not self.platform.code_is_valid(code):
                self.add_error(name, f"This is no code of {self.platform.label}.")
            data[name] = code
        used = [data[name] for name in CODES if data[name]]
        if len(set(used)) < len(used):
            self.add_error(
                None, "Each outcome needs a code of its own, so that the platform knows which it was."
            )
        return data


class ReconcileForm(forms.Form):
    """The platform's file, and whose labels are set aside."""

    file = forms.FileField(
        label="Export of the platform (CSV)",
        help_text="Nothing is changed before you have seen what would follow.",
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError("The file is larger than 5 MB.")
        return file


class SignInForm(forms.Form):
    email = forms.EmailField(
        max_length=200, label=_("Email"), widget=forms.EmailInput(attrs={"autocomplete": "username"})
    )
    password = forms.CharField(
        max_length=200,
        strip=False,
        label=_("Password"),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class SignUpForm(SignInForm):
    """Making an account. Whether the password is strong enough is for the service to say."""

    password = forms.CharField(
        max_length=200,
        strip=False,
        label=_("Password"),
        help_text=_("At least eight characters, and not one that many people use."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
