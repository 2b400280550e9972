"""Items fetched ahead, over HTTP: what the page asks for, what answers bring, what opens without a connection."""

import re
from itertools import pairwise

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import (
    Assignment,
    Enrollment,
    Intervention,
    Label,
    Stage,
    Study,
)
from annotation.services.leases import leases_reap
from tests.annotation.cast import text_of
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def study(db: None) -> Study:
    return study_make(pairs=8, overlap=2, fetch_ahead=2)


def fetch(browser: Client, study: Study, known: str = "") -> dict:
    response = browser.post(url("ahead", study), {"known": known})
    assert response.status_code == 200
    return response.json()


def submit(browser: Client, study: Study, pk: int, **fields):
    given = {"choice": "1", "ahead": "1", "wall_ms": "5000"} | fields
    return browser.post(url("assignment", study, pk), given)


def n_open(study: Study) -> int:
    return sum(study.study_items.values_list("n_open", flat=True))


class TestFetch:
    def test_the_parts_of_the_next_items(self, browser, study):
        found = fetch(browser, study)
        assert len(found["order"]) == 3
        assert set(found["parts"]) == {str(pk) for pk in found["order"]}
        for pk, html in found["parts"].items():
            assert html.count('id="work"') == 1
            assert f'action="{url("assignment", study, int(pk))}"' in html
            assert "<html" not in html
        assert ('name="wall_ms"' in found["parts"][str(found["order"][1])]) is True
        assert ('name="wall_ms"' in found["parts"][str(found["order"][0])]) is False
        assert n_open(study) == 3

    def test_what_the_page_has_is_not_sent_again(self, browser, study):
        order = fetch(browser, study)["order"]
        again = fetch(browser, study, known=f"{order[0]},{order[2]},x,-3,{'9' * 40}")
        assert again["order"] == order
        assert set(again["parts"]) == {str(order[1])}

    def test_a_part_is_the_page_of_the_item(self, browser, study):
        found = fetch(browser, study)

        def plain(html):
            html = re.sub(r'(csrfmiddlewaretoken" value=")[^"]*', r"\1", html[html.index('<div id="work"') :])
            # What an answer changes stands beside the item, and comes with each answer.
            return re.sub(r'(<span class="live" data-live="undo">).*?(</span>)', r"\1\2", html, flags=re.S)

        for pk, html in found["parts"].items():
            page = browser.get(url("assignment", study, int(pk)))
            assert plain(page.content.decode()).startswith(plain(html).strip())

    def test_looking_and_strangers_change_nothing(self, browser, study):
        assert browser.get(url("ahead", study)).status_code == 405
        assert Client().post(url("ahead", study)).status_code == 404
        elsewhere = client_of(enrollment_make(study=study_make(fetch_ahead=2)))
        assert elsewhere.post(url("ahead", study)).status_code == 404
        assert not Assignment.objects.exists()

    @pytest.mark.parametrize(
        ("change", "leads"),
        [({"stage": Stage.CONSENT}, "place"), ({"suspended_at": timezone.now()}, "place")],
    )
    def test_who_may_not_work_is_led_to_where_they_are(self, browser, study, change, leads):
        Enrollment.objects.update(**change)
        assert fetch(browser, study) == {"go": url(leads, study)}

    @pytest.mark.parametrize("state", ["paused", "closed"])
    def test_a_study_that_stops_leads_to_a_page(self, browser, study, state):
        Study.objects.update(state=state)
        assert fetch(browser, study) == {"go": url("work", study)}
        assert not Assignment.objects.exists()

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.both_databases
    def test_two_tabs_at_once_fetch_once(self, person, study):
        found = all_at_once(lambda _: fetch(client_of(person), study)["order"], range(4))
        assert {tuple(order) for order in found} == {tuple(max(found, key=len))} or n_open(study) == 3
        assert n_open(study) == 3


class TestSubmit:
    def test_an_answer_brings_one_more_item_and_what_changed_around_it(self, browser, study):
        order = fetch(browser, study)["order"]
        found = submit(browser, study, order[0]).json()
        assert found["order"][:2] == order[1:]
        assert len(found["order"]) == 3
        assert "1 of 8" in found["live"]
        assert url("assignment", study, order[0]) in found["live"]  # to undo
        assert Label.objects.count() == 1
        known = ",".join(map(str, order))
        second = submit(browser, study, order[1], known=f"{known},{found['order'][2]}").json()
        assert list(second["parts"]) == [str(second["order"][2])], "one answer, one item"
        assert Label.objects.get(assignment=order[1]).wall_ms < 5_000, "no longer than since it was given"

    def test_answers_that_waited_come_alone_and_the_last_one_asks(self, browser, study):
        order = fetch(browser, study)["order"]
        for pk in order[:2]:
            waited = browser.post(url("assignment", study, pk), {"choice": "2", "alone": "1"})
            assert (waited.status_code, waited.content) == (204, b"")
        assert n_open(study) == 1
        found = submit(browser, study, order[2]).json()
        assert len(found["order"]) == 3
        assert not set(found["order"]) & set(order)
        assert Label.objects.current().count() == 3

    def test_twice_is_once(self, browser, study):
        order = fetch(browser, study)["order"]
        first, second = (submit(browser, study, order[0]).json() for _ in range(2))
        assert first["order"] == second["order"]
        assert Label.objects.count() == 1

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.both_databases
    def test_twice_at_once_is_once(self, browser, person, study):
        order = fetch(browser, study)["order"]
        all_at_once(lambda _: submit(client_of(person), study, order[0]).status_code, range(4))
        assert Label.objects.count() == 1
        assert n_open(study) == 3

    def test_what_went_to_others_is_told(self, browser, study):
        order = fetch(browser, study)["order"]
        leases_reap(now=Assignment.objects.latest("expires_at").expires_at + timezone.timedelta(minutes=1))
        place = Assignment.objects.get(pk=order[1]).study_item
        study.study_items.filter(pk=place.pk).update(n_accepted=2)
        found = submit(browser, study, order[1]).json()
        assert "your time on that item ran out" in found["live"]
        assert Label.objects.get().is_surplus

    def test_what_is_written_to_the_person_comes_with_the_next_answer(self, browser, person, study):
        order = fetch(browser, study)["order"]
        Intervention.objects.create(enrollment=person, action="message", text="Take your time.")
        live = submit(browser, study, order[0]).json()["live"]
        assert "Take your time." in live
        assert re.search(r'<form[^>]* id="read-\d+"', live)

    def test_what_was_chosen_is_said(self, browser, study):
        Study.objects.update(submit_on_choice=True)
        order = fetch(browser, study)["order"]
        assert "Saved: A is better." in submit(browser, study, order[0]).json()["live"]

    def test_the_last_answer_leads_on(self, browser, study):
        done = []
        found = fetch(browser, study)
        while not found.get("go"):
            done.append(found["order"][0])
            found = submit(browser, study, done[-1]).json()
        assert found["go"] == url("work", study)
        assert len(done) == Label.objects.count() == 8

    def test_what_is_no_answer_stays_open(self, browser, study):
        order = fetch(browser, study)["order"]
        assert submit(browser, study, order[1], choice="").status_code == 422
        assert fetch(browser, study)["order"] == order

    def test_a_browser_without_scripts_goes_on_with_what_is_leased(self, browser, study):
        order = fetch(browser, study)["order"]
        for pk, following in pairwise(order):
            answered = browser.post(url("assignment", study, pk), {"choice": "1"})
            assert answered.url == url("assignment", study, following)

    def test_a_skipped_item_is_followed_by_what_is_leased(self, browser, study):
        order = fetch(browser, study)["order"]
        part = browser.post(url("skip", study, order[0]), {"reason": "unclear"}, headers=HTMX)
        assert part["HX-Replace-Url"] == url("assignment", study, order[1])
        assert fetch(browser, study)["order"][:2] == order[1:]


class TestStops:
    def test_a_break_gives_all_of_it_back(self, browser, study):
        order = fetch(browser, study)["order"]
        browser.post(url("rest", study))
        assert n_open(study) == 0
        assert "Enjoy your break" in text_of(browser.get(url("rest", study)))
        assert fetch(browser, study)["order"] == order

    def test_signing_out_gives_all_of_it_back(self, study):
        Study.objects.update(open_signup=True, consent="", guidelines="")
        browser = Client()
        browser.post(
            "/account/sign-up/", {"email": "a@example.org", "password": "correct horse battery staple"}
        )
        browser.post(f"/account/join/{study.slug}/")
        person = Enrollment.objects.latest("pk")
        Enrollment.objects.filter(pk=person.pk).update(stage=Stage.WORK)
        assert len(fetch(browser, study)["order"]) == 3
        for _ in range(2):
            browser.post("/account/sign-out/")
        assert n_open(study) == 0
        assert browser.post(url("ahead", study)).status_code == 404


class TestOffline:
    def test_the_page_that_a_browser_keeps_has_no_item(self, browser, study):
        page = browser.get(url("offline", study))
        html = page.content.decode()
        assert page.status_code == 200
        assert 'data-state="offline"' in html
        assert "data-annotate" not in html
        assert not Assignment.objects.exists()
        assert Client().get(url("offline", study)).status_code == 404

    def test_the_service_worker_may_see_the_pages_of_annotators_alone(self):
        response = Client().get("/s/worker.js")
        assert response["Content-Type"].startswith("text/javascript")
        assert response["Cache-Control"] == "no-cache"
        assert "worker-src 'self'" in response["Content-Security-Policy"]
        assert b"offline" in response.content

    def test_a_study_that_fetches_nothing_ahead_has_none_of_it(self, study):
        Study.objects.update(fetch_ahead=0)
        page = client_of(enrollment_make(study=study)).post(url("work", study), follow=True)
        html = page.content.decode()
        assert "ahead.js" not in html
        assert "data-ahead" not in html


class TestQueries:
    def test_an_answer_that_brings_the_next_item(self, browser, study, django_assert_max_num_queries):
        found = fetch(browser, study)
        found = submit(browser, study, found["order"][0]).json()
        with django_assert_max_num_queries(MOST_QUERIES) as asked:
            submit(browser, study, found["order"][0], known=",".join(map(str, found["order"])))
        assert not [query for query in asked.captured_queries if "django_session" in query["sql"]]


MOST_QUERIES = 27
