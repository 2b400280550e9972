"""URLs of the annotation half: the doors of the site, the annotator's pages and the researcher's."""

from django.urls import include, path

from annotation.urls import annotator, entry, researcher, site

urlpatterns = [
    *site.urlpatterns,
    path(
        "",
        include(([*annotator.urlpatterns, *entry.urlpatterns, *researcher.urlpatterns], "annotation")),
    ),
]
