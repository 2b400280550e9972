"""Addresses without a namespace: the doors of the site."""

from django.urls import path

from annotation.urls import converters  # noqa: F401  (makes `row` known)
from annotation.views import passwords, site, tokens

urlpatterns = [
    path("", site.home, name="home"),
    path("login/", site.Login.as_view(), name="login"),
    path("me/", passwords.me, name="me"),
    path("me/password/", passwords.password_change, name="password-change"),
    path("me/tokens/", tokens.tokens, name="tokens"),
    path("me/tokens/<row:pk>/revoke/", tokens.token_end, name="token-revoke"),
    path("password/forgot/", passwords.Forgot.as_view(), name="password-forgot"),
    path("password/sent/", passwords.Sent.as_view(), name="password-sent"),
    path("password/set/<str:uidb64>/<str:token>/", passwords.SetNew.as_view(), name="password-set"),
    path("password/done/", passwords.Done.as_view(), name="password-done"),
]
