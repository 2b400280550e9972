"""Codes and passkeys, as a person sends them."""

from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms

LONGEST_CODE = 32
CODE_LABEL = "Code"


class _CodeMixin:
    """A field for digits, as browsers and password managers know it."""

    hint = "The six digits that your authenticator app shows, or a recovery code."

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["code"]  # type: ignore[attr-defined]
        field.label, field.help_text, field.max_length = CODE_LABEL, self.hint, LONGEST_CODE
        field.widget = forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}
        )


def hint_recovery_codes(form: forms.Form | None) -> None:
    """Say that a recovery code is asked for, of a person without an authenticator app."""
    if form is not None:
        form.fields["code"].help_text = "One of your recovery codes."


class SignInCodeForm(_CodeMixin, AuthenticateForm):
    """The second step of signing in."""


class ConfirmCodeForm(_CodeMixin, ReauthenticateForm):
    """The same by a person who is signed in."""


class SetUpCodeForm(_CodeMixin, ActivateTOTPForm):
    """The first code of an authenticator app."""

    hint = "The six digits that the app shows now."


class _CredentialMixin:
    """What a browser says of a passkey. Anything else than that is refused in a sentence."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["credential"].error_messages = {  # type: ignore[attr-defined]
            "required": "Your browser sent no passkey. Try again.",
            "invalid": "Your browser sent no passkey. Try again.",
        }


def _refuse() -> forms.ValidationError:
    error: forms.ValidationError = get_adapter().validation_error("incorrect_code")
    return forms.ValidationError(
        "This passkey wasn't accepted. Try again, or use another one.", code=error.code
    )


MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What the library meets in a credential that no browser made."""


class AddPasskeyForm(_CredentialMixin, AddWebAuthnForm):
    """A new passkey, by which a person can sign in without a password."""

    name = forms.CharField(
        label="Name", required=False, max_length=60, help_text="Such as the device that has it."
    )
    field_order = ("name", "credential")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.fields["passwordless"]

    def clean(self) -> dict[str, Any]:
        """Check the credential; it has to be verified by the person, as by a PIN or a fingerprint."""
        try:
            return super().clean()
        except forms.ValidationError:
            raise _refuse() from None
        except MALFORMED:
            raise _refuse() from None


class _AnswerMixin(_CredentialMixin):
    def clean_credential(self) -> Any:
        try:
            return super().clean_credential()  # type: ignore[misc]
        except forms.ValidationError:
            raise _refuse() from None
        except MALFORMED:
            raise _refuse() from None


class SignInPasskeyForm(_AnswerMixin, LoginWebAuthnForm):
    """A passkey in place of name and password."""


class SecondStepPasskeyForm(_AnswerMixin, AuthenticateWebAuthnForm):
    """A passkey as the second step of signing in."""


class ConfirmPasskeyForm(_AnswerMixin, ReauthenticateWebAuthnForm):
    """A passkey of a person who is signed in."""


class ConfirmPasswordForm(forms.Form):
    """One's own password once more."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user

    def clean_password(self) -> str:
        """Refuse people who don't know it."""
        password = str(self.cleaned_data["password"])
        if not self._user.check_password(password):
            raise forms.ValidationError("This isn't your current password.")
        return password
