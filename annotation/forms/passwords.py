"""Signing in and forgotten passwords: of staff (Django's users), and of annotators, whose accounts are rows apart."""

from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import (
    AuthenticationForm,
    PasswordChangeForm,
    PasswordResetForm,
    SetPasswordForm,
)
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.utils.translation import get_language, override
from django.utils.translation import gettext_lazy as _

from annotation.models import User
from annotation.selectors.entry import accounts_of_email
from annotation.selectors.factors import is_of_provider_alone
from annotation.services.accounts import account_password_set, email_normal

RULE = _("At least eight characters, and not one that many people use.")


def soon(send: Callable[[], None]) -> None:
    """Send beside the answer: how long it takes must not tell whether there was anything to send."""
    Thread(target=send, name="mail").start()


class LoginForm(AuthenticationForm):
    """One message, whatever was wrong, so that nobody learns which names exist."""

    error_messages = {
        "invalid_login": "The user name or the password is wrong. Both are case-sensitive.",
        "inactive": "The user name or the password is wrong. Both are case-sensitive.",
        "by_provider": "Your account has no password here. Sign in with the button for %(name)s.",
    }

    def confirm_login_allowed(self, user: Any) -> None:
        """Refuse people who sign in by the provider alone; who reads this knew the password."""
        super().confirm_login_allowed(user)
        if is_of_provider_alone(user):
            raise forms.ValidationError(
                self.error_messages["by_provider"], code="by_provider", params={"name": settings.OIDC_NAME}
            )


class ForgotForm(PasswordResetForm):
    """Django's: a link by mail to each active user with this address, who may have a password."""

    def get_users(self, email: str) -> Iterable[Any]:
        """Return the users with this address who don't sign in by the provider alone."""
        return (user for user in super().get_users(email) if not is_of_provider_alone(user))

    def send_mail(self, *args: Any, **options: Any) -> None:
        # Django's logs what goes wrong, and touches no database.
        deliver, language = super().send_mail, get_language() or ""

        def send() -> None:
            with override(language):  # the reader's, which belongs to the thread of their request
                deliver(*args, **options)

        soon(send)


class AccountForgotForm(ForgotForm):
    """The same for the account of an annotator."""

    def get_users(self, email: str) -> Iterable[Any]:
        """Return the account with this address, if there is one."""
        return accounts_of_email(email_normal(email))


class AccountTokens(PasswordResetTokenGenerator):
    """Links of accounts: void once the password, the address or the last time of signing in has changed."""

    key_salt = "annotation.accounts.AccountTokens"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        last = "" if user.last_login is None else user.last_login.replace(microsecond=0, tzinfo=None)
        return f"{user.pk}{user.password}{last}{timestamp}{user.email}"


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """A new password twice; the rule in a sentence where Django has a list."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["new_password1"].help_text = RULE
        self.fields["new_password2"].help_text = ""
        self.fields["new_password2"].label = _("Repeat new password")


class AccountNewPasswordForm(NewPasswordForm):
    """The same for the account of an annotator."""

    def save(self, commit: bool = True) -> Any:  # noqa: ARG002
        """Store it."""
        return account_password_set(account=self.user, password=self.cleaned_data["new_password1"])


class ChangePasswordForm(NewPasswordForm, PasswordChangeForm):
    """One's own password, by who knows the one before."""

    field_order = ("old_password", "new_password1", "new_password2")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # It is the second form of its page.
        del self.fields["old_password"].widget.attrs["autofocus"]


class EmailForm(forms.ModelForm[User]):
    """One's own address. It opens the account, so the password is asked for."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    class Meta:
        model = User
        fields = ("email",)
        labels = {"email": "Email address"}
        help_texts = {
            "email": "We send password reset links here. If empty, only an administrator can reset your password."
        }
        widgets = {"email": forms.EmailInput(attrs={"autocomplete": "email"})}

    def clean_password(self) -> str:
        """Refuse who does not know it."""
        password = str(self.cleaned_data["password"])
        if not self.instance.check_password(password):
            raise forms.ValidationError("This isn't your current password.")
        return password
