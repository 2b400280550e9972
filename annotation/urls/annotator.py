"""The annotator's addresses."""

from django.urls import URLPattern, path

from annotation.urls import converters  # noqa: F401  (makes `row` known)
from annotation.views.annotator import entry, link, steps, work

urlpatterns: list[URLPattern] = [
    path("join/<str:token>/", entry.join, name="join"),
    path("resume/<str:token>/", entry.resume, name="resume"),
    path("s/<slug:slug>/", steps.place, name="place"),
    path("s/<slug:slug>/consent/", steps.consent, name="consent"),
    path("s/<slug:slug>/eligibility/", steps.eligibility, name="eligibility"),
    path("s/<slug:slug>/guidelines/", steps.guidelines, name="guidelines"),
    path("s/<slug:slug>/training/", steps.training, name="training"),
    path("s/<slug:slug>/training/<row:pk>/", steps.training_feedback, name="training-feedback"),
    path("s/<slug:slug>/test/", steps.qualification, name="qualification"),
    path("s/<slug:slug>/test/again/", steps.retry, name="retry"),
    path("s/<slug:slug>/work/", work.work, name="work"),
    path("s/<slug:slug>/work/<row:pk>/", work.assignment, name="assignment"),
    path("s/<slug:slug>/work/<row:pk>/draft/", work.draft, name="draft"),
    path("s/<slug:slug>/work/<row:pk>/skip/", work.skip, name="skip"),
    path("s/<slug:slug>/work/<row:pk>/report/", work.report, name="report"),
    path("s/<slug:slug>/answers/", work.answers, name="answers"),
    path("s/<slug:slug>/break/", work.rest, name="rest"),
    path("s/<slug:slug>/messages/<row:pk>/", work.message, name="message"),
    path("s/<slug:slug>/guidelines/changes/", work.changes, name="changes"),
    path("s/<slug:slug>/link/", link.link, name="link"),
    path("s/<slug:slug>/finish/", steps.finish, name="finish"),
    path("s/<slug:slug>/done/", steps.done, name="done"),
]
