"""Doors of a study beside invitations: platforms, accounts, and the researcher's page about them."""

from django.urls import URLPattern, path

from annotation.views import passwords, researcher_entry
from annotation.views.annotator import accounts, platforms

urlpatterns: list[URLPattern] = [
    path("enter/<str:platform>/<str:token>/", platforms.enter, name="enter"),
    path("hooks/<str:platform>/<str:token>/", platforms.hook, name="hook"),
    path("account/", accounts.my_studies, name="account"),
    path("account/sign-up/", accounts.sign_up, name="account-sign-up"),
    path("account/sign-in/", accounts.sign_in, name="account-sign-in"),
    path("account/sign-out/", accounts.sign_out, name="account-sign-out"),
    path("account/password/forgot/", passwords.AccountForgot.as_view(), name="account-forgot"),
    path("account/password/sent/", passwords.AccountSent.as_view(), name="account-sent"),
    path(
        "account/password/set/<str:uidb64>/<str:token>/",
        passwords.AccountSetNew.as_view(),
        name="account-set",
    ),
    path("account/password/done/", passwords.AccountDone.as_view(), name="account-done"),
    path("account/join/<slug:slug>/", accounts.join, name="account-join"),
    path("studies/<slug:slug>/entry/", researcher_entry.entry, name="study-entry"),
    path("studies/<slug:slug>/entry/<slug:platform>/", researcher_entry.link_save, name="entry-link"),
    path("studies/<slug:slug>/entry/<slug:platform>/door/", researcher_entry.link_door, name="entry-door"),
    path(
        "studies/<slug:slug>/entry/<slug:platform>/reconcile/",
        researcher_entry.reconcile,
        name="entry-reconcile",
    ),
]
