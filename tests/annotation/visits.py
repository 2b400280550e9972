"""An annotator's browser, as Django's test client, for the tests of their pages."""

from django.test import Client
from django.urls import reverse

from annotation.models import Enrollment, Study


def url(name: str, study: Study, *args: int) -> str:
    return reverse(f"annotation:{name}", args=[study.slug, *args])


def client_of(enrollment: Enrollment) -> Client:
    """A browser that has opened the personal link."""
    client = Client()
    client.get(reverse("annotation:resume", args=[enrollment.resume_token]))
    return client
