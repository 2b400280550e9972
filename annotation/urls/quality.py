"""The researcher's addresses of people, adjudication and reported items."""

from django.urls import URLPattern, path

from annotation.urls import converters  # noqa: F401  (makes `row` known)
from annotation.views import researcher_adjudication, researcher_people, researcher_reports

urlpatterns: list[URLPattern] = [
    path("studies/<slug:slug>/people/", researcher_people.people, name="study-people"),
    path("studies/<slug:slug>/people/<str:public_id>/", researcher_people.person, name="study-person"),
    path(
        "studies/<slug:slug>/people/<str:public_id>/<slug:action>/",
        researcher_people.person_act,
        name="study-person-act",
    ),
    path("studies/<slug:slug>/adjudicate/", researcher_adjudication.adjudicate_next, name="study-adjudicate"),
    path(
        "studies/<slug:slug>/adjudicate/<row:item_id>/",
        researcher_adjudication.adjudicate_item,
        name="study-adjudicate-item",
    ),
    path(
        "studies/<slug:slug>/adjudicate/<row:item_id>/said/",
        researcher_adjudication.adjudicate_said,
        name="study-adjudicate-said",
    ),
    path("studies/<slug:slug>/reports/", researcher_reports.item_reports, name="study-item-reports"),
    path(
        "studies/<slug:slug>/reports/<row:pk>/", researcher_reports.report_decide, name="study-report-decide"
    ),
]
