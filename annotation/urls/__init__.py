"""URLs of the annotation half: the annotator's pages and the researcher's."""

from annotation.urls import annotator, researcher

app_name = "annotation"
urlpatterns = [*annotator.urlpatterns, *researcher.urlpatterns]
