"""The margin and epsilon of the forms of reports, comparisons and decisions: what they refuse, and that they arrive."""

import re
from html import unescape

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from annotation.models import Kind
from metaeval.models import Report
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import swept

pytestmark = pytest.mark.django_db
# What is typed, and what is said of it.
REFUSED = {
    "x": "Enter a number",
    "2,5 points": "Enter a number",
    "-1": "greater than or equal to 0",
    "100": "less than or equal to 99",
    "1e9": "less than or equal to 99",
    "1e999": "Enter a number",
    "nan": "Enter a number",
}


def margins_shown(client, address, **query):
    """What the page says for each margin that is refused."""
    for given, why in REFUSED.items():
        response = client.get(address, query | {"margin": given})
        assert response.status_code == 200, given
        text = response.content.decode()
        assert why in text, given
        assert f'value="{given}"' in text, given  # to be mended, not typed anew


def test_a_report_refuses_a_margin_and_says_so(client, researcher):
    swept(dataset=dataset_make(pairs=6))
    new = reverse("metaeval:report-new")
    page = client.get(reverse("metaeval:report-list")).content.decode()
    name = page.split('<option value="')[1].split('"')[0]
    for given, why in REFUSED.items():
        response = client.post(new, {"name": name, "margin": given})
        said = " ".join(str(one) for one in get_messages(response.wsgi_request))
        assert why in said, given
        assert "Margin" in said
    assert not Report.objects.exists()
    response = client.post(new, {"name": name, "epsilon": "0.3"})
    assert "0.3" in " ".join(str(one) for one in get_messages(response.wsgi_request))
    for fields, margin in ({"margin": ""}, 0.0), ({"margin": "2.5", "epsilon": "0.2"}, 0.025):
        client.post(new, {"name": name} | fields)
        report = Report.objects.latest("pk").content
        assert report["options"]["margin"] == margin
    assert report["options"]["epsilon"] == 0.2
    client.force_login(user_make())
    hidden = dataset_make(pairs=2, split="private", owner=user_make(), name="hidden")
    response = client.post(new, {"name": f"{hidden.name}/pairwise", "margin": "2"})
    assert "Choose a dataset" in " ".join(str(one) for one in get_messages(response.wsgi_request))


def test_a_comparison_says_what_it_cannot_read_and_asks_for_none(client, researcher):
    sweep, *_ = swept(dataset=dataset_make(pairs=20))
    address = reverse("metaeval:comparison", args=[sweep.pk])
    margins_shown(client, address)
    assert "by more than 2.5 points" in client.get(address, {"margin": "2.5"}).content.decode()
    assert "by more than" not in client.get(address, {"margin": ""}).content.decode()


def test_a_comparison_of_another_kind_has_the_same_form(client, researcher):
    _, sweep = kind_swept(Kind.RUBRIC)
    address = reverse("metaeval:comparison", args=[sweep.pk])
    text = client.get(address).content.decode()
    assert 'name="margin"' in text
    margins_shown(client, address)
    assert "2.5 points" in client.get(address, {"margin": "2.5"}).content.decode()


def test_a_decision_says_what_it_cannot_read_and_makes_no_choice(client, researcher):
    sweep, *_ = swept(dataset=dataset_make(pairs=20))
    address = reverse("metaeval:decision", args=[sweep.pk])
    margins_shown(client, address)
    assert "Expected score on new items" not in client.get(address, {"margin": "x"}).content.decode()
    assert "Select a valid choice" in client.get(address, {"epsilon": "7"}).content.decode()
    text = client.get(address, {"margin": "2.5", "epsilon": "0.2"}).content.decode()
    assert "by more than 2.5 points" in text
    assert "a margin of 2.5 points" in text.lower()


def test_nobody_asks_of_the_dataset_of_another(client):
    owner = user_make()
    sweep, *_ = swept(dataset=dataset_make(pairs=4, split="private", owner=owner))
    client.force_login(user_make())
    for page in ("comparison", "decision"):
        for margin in ("2.5", "x"):
            address = reverse(f"metaeval:{page}", args=[sweep.pk], query={"margin": margin})
            assert client.get(address).status_code == 404


@pytest.mark.parametrize("kind", [Kind.PAIRWISE, Kind.RUBRIC])
def test_downloads_ask_for_what_the_page_shows(client, researcher, kind):
    """Margin and annotators too: the file's verdict is that of the page."""
    if kind == Kind.PAIRWISE:
        sweep = swept(dataset=dataset_make(pairs=6))[0]
    else:
        sweep = kind_swept(kind, items=6)[1]
    address = reverse("metaeval:comparison", args=[sweep.pk])
    page = client.get(address, {"margin": "2.5", "annotators": "these"}).content.decode()
    links = [unescape(link) for link in re.findall(r'href="([^"]*/comparison[-.][^"]*)" download', page)]
    assert len(links) == (3 if kind == Kind.PAIRWISE else 2)
    for link in links:
        assert "margin=2.5" in link
        assert "annotators=these" in link
    stored = client.get(next(link for link in links if ".json" in link)).json()
    assert (stored["options"]["margin"], stored["options"]["annotators"]) == (0.025, "these")
    plain = client.get(address).content.decode()
    assert not re.findall(r'href="[^"]*margin=[^"]*" download', plain)
