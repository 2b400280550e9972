from django.urls import URLPattern, URLResolver

app_name = "metaeval"
urlpatterns: list[URLPattern | URLResolver] = []
