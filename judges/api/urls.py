"""URLs of the API of judging."""

from django.urls import path

from judges.api import views

app_name = "api"
urlpatterns = [
    path("", views.index, name="index"),
    path("strategies/", views.strategies, name="strategies"),
    path("endpoints/", views.endpoints, name="endpoints"),
    path("judges/", views.judges, name="judges"),
    path("judges/<int:pk>/", views.judge, name="judge"),
    path("sweeps/", views.sweeps, name="sweeps"),
    path("sweeps/<int:pk>/", views.sweep, name="sweep"),
    path("sweeps/<int:pk>/estimate/", views.estimate, name="sweep_estimate"),
    path("sweeps/<int:pk>/start/", views.start, name="sweep_start"),
    path("sweeps/<int:pk>/pause/", views.pause, name="sweep_pause"),
    path("sweeps/<int:pk>/resume/", views.resume, name="sweep_resume"),
    path("sweeps/<int:pk>/cancel/", views.cancel, name="sweep_cancel"),
    path("sweeps/<int:pk>/judgments/", views.judgments, name="sweep_judgments"),
]
