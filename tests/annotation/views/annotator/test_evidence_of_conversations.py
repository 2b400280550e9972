"""Evidence in responses that are conversations: which messages can be marked, what is stored, experts, exports."""

import csv
import io
import json
import re

import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse

from annotation.forms.evidence import marks_written
from annotation.importers.labels import read_label_rows
from annotation.kinds.evidence import Mark
from annotation.models import Enrollment, Kind, Label
from annotation.selectors.datasets import item_value_rules, markable_texts
from annotation.selectors.own_data import own_data
from annotation.services.assignments import assignment_claim
from annotation.services.exports import labels_table
from tests.annotation.cast import client_of as staff_of
from tests.annotation.cast import label_make, text_of
from tests.annotation.cast import url as staff_url
from tests.annotation.conversations import ARABIC, LONG, MESSAGES, responses_become_conversations
from tests.annotation.factories import enrollment_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.views.annotator.test_evidence import ANSWERS, N_RESPONSES, REASONS
from tests.annotation.visits import client_of, url
from web.tables import table_bytes

pytestmark = pytest.mark.django_db
AT = ARABIC.index("طوي", 5)


def at_work(kind=Kind.PAIRWISE, **rules):
    study = kind_study_make(kind, **({"evidence": "optional"} | rules))
    responses_become_conversations()
    person = Enrollment.objects.select_related("study", "annotator").get(pk=enrollment_make(study=study).pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return study, client_of(person), lease


def page_of(study, lease):
    return url("assignment", study, lease.pk)


def field(*marks):
    return {"evidence": marks_written(marks)}


def in_arabic(kind=Kind.PAIRWISE, response=0):
    return Mark(response, AT, AT + 10, REASONS[kind], 4)


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_a_mark_in_a_message_is_stored_with_its_number_and_quote(kind):
    study, browser, lease = at_work(kind)
    html = browser.get(page_of(study, lease)).content.decode()
    n_responses = N_RESPONSES.get(kind, 1)
    assert re.findall(r'data-response="(\d)" data-message="(\d)"', html) == [
        (str(response), message) for response in range(n_responses) for message in "247"
    ]
    assert html.count("data-source=") == 3 * n_responses
    sent = ANSWERS[kind] | field(in_arabic(kind))
    browser.post(page_of(study, lease), sent, follow=True)
    browser.post(page_of(study, lease), sent, follow=True)  # a double submit is one label
    (stored,) = Label.objects.get().evidence
    assert (stored["message"], stored["start"], stored["end"]) == (4, AT, AT + 10)
    assert stored["quote"] == "طوي الورقة"
    assert stored["response"] == (lease.shown_order[0] + 1 if kind in N_RESPONSES else 1)


def test_a_conversation_before_the_answers_is_not_markable():
    study, browser, lease = at_work()
    lease.study_item.item.instruction.conversation = MESSAGES
    lease.study_item.item.instruction.save()
    html = browser.get(page_of(study, lease)).content.decode()
    assert "Conversation so far" in html
    assert html.count("data-source=") == 6


def test_a_draft_keeps_them_and_a_change_page_has_them():
    study, browser, lease = at_work()
    browser.post(url("draft", study, lease.pk), field(in_arabic()))
    html = browser.get(page_of(study, lease)).content.decode()
    assert f'value="[[0,{AT},{AT + 10},&quot;bad&quot;,4]]"' in html
    assert re.search(r'<q class="marked-quote"[^>]*>طوي الورقة</q>', html)
    browser.post(page_of(study, lease), {"choice": "1"} | field(in_arabic()), follow=True)
    html = browser.get(page_of(study, lease)).content.decode()
    assert f'value="[[0,{AT},{AT + 10},&quot;bad&quot;,4]]"' in html
    browser.post(page_of(study, lease), {"change": "1", "choice": "1"} | field(Mark(0, 0, 4, "bad", 2)))
    first, second = Label.objects.order_by("pk")
    assert (second.supersedes, second.evidence[0]["quote"]) == (first, "Fold")


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (Mark(0, 0, 4, "good"), "from 1 to 7, found None"),
        (Mark(0, 0, 4, "good", 3), "a message in which the assistant says something"),
        (Mark(0, 0, 4, "good", 8), "from 1 to 7, found 8"),
        (Mark(0, 0, 999, "good", 4), "expected a whole number from 1 to"),
    ],
)
def test_a_mark_that_does_not_fit_is_refused_and_nothing_is_stored(mark, words):
    study, browser, lease = at_work()
    page = browser.post(page_of(study, lease), {"choice": "1"} | field(mark))
    assert page.status_code == 422
    assert words in text_of(page)
    assert not Label.objects.exists()


def test_a_required_mark_is_asked_for():
    study, browser, lease = at_work(Kind.RUBRIC, evidence="required")
    page = browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC])
    assert page.status_code == 422
    assert "Mark at least one passage that is a reason." in text_of(page)
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | field(in_arabic(Kind.RUBRIC)), follow=True)
    assert Label.objects.get().evidence


def test_nobody_marks_for_another():
    study, _browser, lease = at_work()
    stranger = client_of(enrollment_make(study=study))
    sent = {"choice": "1"} | field(in_arabic())
    assert stranger.post(page_of(study, lease), sent).status_code == 404
    Client().post(page_of(study, lease), sent)
    assert not Label.objects.exists()


def test_without_a_script_passages_are_found_in_the_messages():
    study, browser, lease = at_work(Kind.RUBRIC)
    copied = {
        "passage-0.part:clear": "paper = fold(paper)\r\nthe paper 👩‍🔬, as in fold():\r\nNoe\u0308l says\r\nأخرى",
        "passage-0.part:helpful": "طوي الورقة",
    }
    page = browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | copied, follow=True)
    assert "“طوي الورقة” occurs 2 times in the answer. The first one is marked." in text_of(page)
    assert [(one["message"], one["quote"], one["part"]) for one in Label.objects.get().evidence] == [
        (2, "the **paper** 👩‍🔬, as in `fold()`:", "clear"),
        (2, "paper = fold(paper)", "clear"),
        (2, "Noe\u0308l says", "clear"),
        (4, "طوي الورقة", "helpful"),
        (4, "أخرى", "clear"),
    ]
    other, browser, lease = at_work(Kind.RUBRIC)
    asked = ANSWERS[Kind.RUBRIC] | {"passage-0.part:clear": "And at length?"}  # the user asks that
    page = browser.post(page_of(other, lease), asked)
    assert page.status_code == 422
    assert "“And at length?” isn’t in the answer" in text_of(page)


def test_long_answers_are_marked_to_their_end():
    study, browser, lease = at_work(Kind.RUBRIC)
    end = len(LONG.rstrip())
    assert len(LONG.split()) >= 1_500
    mark = Mark(0, end - 5, end, "part:clear", 7)
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | field(mark), follow=True)
    assert Label.objects.get().evidence[0]["quote"] == "line."


def test_the_page_takes_no_further_query(django_assert_max_num_queries):
    counts = []
    for rule in ("off", "optional"):
        study, browser, lease = at_work(evidence=rule)
        browser.get(page_of(study, lease))
        with django_assert_max_num_queries(40) as found:
            browser.get(page_of(study, lease))
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_experts_and_researchers_read_in_which_message_it_is(cast):
    study = kind_study_make(Kind.PAIRWISE, evidence="required", owner=cast.alice, overlap=3)
    study.dataset.owner = cast.alice
    study.dataset.save()
    item = study.dataset.items.first()
    responses_become_conversations(item_responses__item=item, item_responses__position=1)
    mark = {"response": 2, "message": 4, "start": AT, "end": AT + 10, "quote": "طوي الورقة", "reason": "bad"}
    first = {"response": 1, "start": 0, "end": 3, "quote": "qqq", "reason": "bad"}
    for choice, evidence in ((1, [mark]), (2, [first]), (2, [])):
        label_make(study=study, item=item, choice=choice, evidence=evidence)
    expert = staff_of(cast.alice)
    page = staff_url("study-adjudicate-item", study.slug, item.pk)
    html = expert.get(f"{page}?said=1").content.decode()
    assert re.search(r"Answer [AB], message 4", html)
    assert html.count("data-message=") == 3
    rows = json.loads(re.search(r'data-marks="([^"]*)"', html)[1].replace("&quot;", '"'))
    assert sorted(map(len, rows)) == [4, 5]
    html = expert.get(reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk])).content.decode()
    assert "Response 2, message 4" in html
    assert re.findall(r'data-response="(\d)" data-message="(\d)"', html) == [
        ("1", "2"),
        ("1", "4"),
        ("1", "7"),
    ]


def test_the_message_is_exported_in_every_format_and_read_back(tmp_path):
    study, browser, lease = at_work(Kind.RUBRIC)
    marks = field(in_arabic(Kind.RUBRIC), Mark(0, 0, 4, "part:helpful", 2))
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | marks, follow=True)
    stored = Label.objects.get().evidence
    assert [one["message"] for one in stored] == [2, 4]
    labels = Label.objects.filter(study=study)
    files = {form: b"".join(table_bytes(labels_table(labels), form)) for form in ("csv", "jsonl", "parquet")}
    (row,) = csv.DictReader(io.StringIO(files["csv"].decode()))
    assert json.loads(row["evidence"]) == stored
    (line,) = files["jsonl"].splitlines()
    assert json.loads(line)["evidence"] == stored
    (row,) = pq.read_table(io.BytesIO(files["parquet"])).to_pylist()
    assert json.loads(row["evidence"]) == stored
    dataset = study.dataset_id
    for form, content in files.items():
        path = tmp_path / f"labels.{form}"
        path.write_bytes(content)
        (read,) = read_label_rows(path, item_value_rules(dataset), texts_of=markable_texts(dataset))
        assert read.evidence == stored


def test_own_data_says_in_which_message_it_is():
    study, browser, lease = at_work(Kind.RUBRIC)
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | field(in_arabic(Kind.RUBRIC)), follow=True)
    text = json.dumps(own_data(Enrollment.objects.get(study=study)), default=str)
    assert '"message": 4' in text
