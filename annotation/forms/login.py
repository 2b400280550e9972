"""The login form: one message, whatever was wrong, so that nobody learns which names exist."""

from django.contrib.auth.forms import AuthenticationForm


class LoginForm(AuthenticationForm):
    error_messages = {
        "invalid_login": "The name or the password is not right. Both are case-sensitive.",
        "inactive": "The name or the password is not right. Both are case-sensitive.",
    }
