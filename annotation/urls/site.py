"""Addresses without a namespace: the doors of the site."""

from django.urls import path

from annotation.views import site

urlpatterns = [
    path("", site.home, name="home"),
    path("login/", site.Login.as_view(), name="login"),
]
