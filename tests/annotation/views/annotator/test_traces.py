"""Traces on the work page: a timeline with folded tools, steps that are fetched, the first wrong step as the answer."""

import pytest
from django.test import Client

from annotation.models import Assignment, AssignmentState, Enrollment, Label, Role, Study
from annotation.services.assignments import assignment_claim
from tests.annotation.factories import enrollment_make, user_make
from tests.annotation.traces import SYSTEM, messages_of, step_row, trace_study
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db
WORDS = "I read the file and compare what it says with what was asked. " * 8
RESULT = "a line of a file that has many lines\n" * 60


@pytest.fixture
def at(tmp_path):
    """A person with a lease on the first item of a study of these rows."""

    def start(*rows, **fields) -> tuple[Client, Assignment]:
        person = enrollment_make(study=trace_study(tmp_path, *rows, **fields))
        person = Enrollment.objects.select_related("study", "annotator").get(pk=person.pk)
        lease = assignment_claim(enrollment=person)
        assert lease is not None
        return client_of(person), lease

    return start


def page_of(browser: Client, lease: Assignment) -> str:
    answer = browser.get(url("assignment", lease.enrollment.study, lease.pk))
    assert answer.status_code == 200
    return answer.content.decode()


def step_url(lease: Assignment, step: int, response: int = 0) -> str:
    return url("assignment-step", lease.enrollment.study, lease.pk, response, step)


class TestPage:
    def test_steps_are_numbered_and_tools_are_folded(self, at):
        html = page_of(*at(step_row(3)))
        assert html.count("data-step=") == 3
        assert html.count('<details class="tool">') == 2
        assert "<strong>many</strong>" in html
        assert "src/1.py" in html
        assert "It has 2 lines." in html
        assert "Show all of step" not in html

    def test_the_first_wrong_step_is_chosen_in_the_timeline(self, at):
        browser, lease = at(step_row(3))
        html = page_of(browser, lease)
        assert "Which step is the first wrong one?" in html
        assert html.count('name="category"') == 4
        browser.post(url("assignment", lease.enrollment.study, lease.pk), {"category": "2"})
        value = Label.objects.get().value["categories"]
        assert value == {"1": False, "2": True, "3": False, "no wrong step": False}
        again = page_of(browser, lease)
        assert 'value="2" required checked' in again

    @pytest.mark.parametrize("page", ["", "preview/work/1/", "adjudicate/{item}/"])
    def test_pages_of_researchers_ask_the_same(self, at, page):
        browser, lease = at(step_row(3))
        browser.post(url("assignment", lease.enrollment.study, lease.pk), {"category": "2"})
        other = enrollment_make(study=lease.enrollment.study)
        again = assignment_claim(enrollment=other)
        assert again is not None
        client_of(other).post(url("assignment", other.study, again.pk), {"category": "1"})
        admin = Client()
        admin.force_login(user_make(role=Role.ADMINISTRATOR))
        path = page.format(item=lease.study_item.item_id)
        address = url("study-detail", lease.enrollment.study) + path
        html = admin.get(address, follow=True).content.decode()
        assert "Which step is the first wrong one?" in html
        assert "Which category fits?" not in html
        # Its own words stand as they are.
        Study.objects.update(question="Where does it go wrong?")
        html = admin.get(address, follow=True).content.decode()
        assert "Where does it go wrong?" in html
        assert "Which step is the first" not in html

    def test_no_step_is_wrong(self, at):
        browser, lease = at(step_row(3))
        browser.post(url("assignment", lease.enrollment.study, lease.pk), {"category": "no wrong step"})
        assert Label.objects.get().value["categories"]["no wrong step"]

    @pytest.mark.parametrize("wrong", ["", "4", "0", "x"])
    def test_what_is_no_step(self, at, wrong):
        browser, lease = at(step_row(3))
        page = browser.post(url("assignment", lease.enrollment.study, lease.pk), {"category": wrong})
        assert page.status_code == 422
        assert not Label.objects.exists()

    def test_a_trace_as_a_whole_is_judged_as_any_response(self, at):
        whole = {
            "id": "t",
            "kind": "classification",
            "categories": ["done", "failed"],
            "trace": messages_of(3),
        }
        html = page_of(*at(whole))
        assert html.count("data-step=") == 3
        assert 'id="category-2"' in html
        assert "step-pick" not in html

    def test_what_is_hidden_is_nowhere(self, at):
        messages = messages_of(2)
        for message in messages:
            message["hidden"] = message["role"] in ("system", "tool")
        html = page_of(*at(step_row(2, trace=messages)))
        assert SYSTEM not in html
        assert "It has 1 lines." not in html
        assert html.count("(not shown)") == 2

    def test_model_text_is_sanitised(self, at):
        bad = "<script>alert(1)</script><img src=x onerror=alert(2)>"
        html = page_of(*at(step_row(2, trace=messages_of(2, said=bad, result=bad))))
        assert "<script>alert" not in html
        assert "<img" not in html


class TestLong:
    def test_five_hundred_steps_are_a_small_page(self, at):
        browser, lease = at(step_row(500, trace=messages_of(500, said=WORDS, result=RESULT)))
        html = page_of(browser, lease)
        assert html.count("data-step=") == 500
        assert len(html.encode()) < 200_000, len(html.encode())

    def test_all_of_a_step_is_fetched_as_a_part_and_as_a_page(self, at):
        browser, lease = at(step_row(500, trace=messages_of(500, said=WORDS, result=RESULT)))
        assert f'href="{step_url(lease, 3)}"' in page_of(browser, lease)
        part = browser.get(step_url(lease, 3), headers={"HX-Request": "true"}).content.decode()
        assert part.startswith("<li") or "<li" in part[:20]
        assert "<html" not in part
        assert RESULT.strip() in part
        assert 'value="3" required' in part
        page = browser.get(step_url(lease, 3)).content.decode()
        assert "<html" in page
        assert RESULT.strip() in page
        assert 'type="radio"' not in page

    @pytest.mark.parametrize(("response", "step"), [(0, 0), (0, 501), (1, 1)])
    def test_a_step_that_is_not_there(self, at, response, step):
        browser, lease = at(step_row(3))
        assert browser.get(step_url(lease, step, response)).status_code == 404

    def test_a_step_is_the_persons_own(self, at):
        _, lease = at(step_row(3))
        other = enrollment_make(study=lease.enrollment.study)
        assert client_of(other).get(step_url(lease, 1)).status_code == 404
        assert SYSTEM not in Client().get(step_url(lease, 1), follow=True).content.decode()
        assert "read_file" not in Client().get(step_url(lease, 1), follow=True).content.decode()

    @pytest.mark.parametrize("state", [AssignmentState.RELEASED, AssignmentState.EXPIRED])
    def test_a_step_of_an_item_that_went_back(self, at, state):
        browser, lease = at(step_row(3))
        Assignment.objects.filter(pk=lease.pk).update(state=state)
        assert browser.get(step_url(lease, 1)).status_code == 404

    def test_two_traces_share_the_page(self, at):
        long = [
            {"system": name, "messages": _own(messages_of(300, said=WORDS, result=RESULT))}
            for name in ("a", "b")
        ]
        browser, lease = at({"id": "p", "instruction": "Count.", "responses": long})
        html = page_of(browser, lease)
        assert html.count("data-step=") == 600
        assert len(html.encode()) < 210_000, len(html.encode())
        assert f'href="{step_url(lease, 7, 1)}"' in html


def _own(messages):
    """The assistant's turns in our own form."""
    said = [one for one in messages if one["role"] in ("assistant", "tool")]
    step, turns = 0, []
    for one in said:
        step += one["role"] == "assistant"
        turns.append({"role": one["role"], "text": one["content"], "step": step})
    return turns
