"""URLs of the annotation half: the doors of the site, the annotator's pages and the researcher's."""

from django.urls import include, path

from annotation.urls import annotator, entry, quality, researcher, site

pages = [
    *annotator.urlpatterns,
    *entry.urlpatterns,
    *researcher.urlpatterns,
    *quality.urlpatterns,
]

urlpatterns = [
    *site.urlpatterns,
    path("", include((pages, "annotation"))),
]
