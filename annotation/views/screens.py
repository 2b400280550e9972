"""Every screen that an annotator may see, in every language, with made-up content: for translators and reviewers.

Nothing of it is in the database. The templates are those of annotators; their forms lead to a study that isn't there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation.domain.conversation import Turn
from annotation.domain.eligibility import EligibilityOption, EligibilityQuestion
from annotation.domain.pay import ZERO, Earned
from annotation.domain.scales import Scale
from annotation.entry import PLATFORMS
from annotation.forms.annotator import (
    REPORT_REASONS,
    EligibilityForm,
    ItemReportForm,
    SkipForm,
)
from annotation.forms.entry import SignInForm, SignUpForm
from annotation.forms.own_answers import OwnAnswersForm
from annotation.forms.passwords import AccountForgotForm, AccountNewPasswordForm
from annotation.kinds import KINDS
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem, ShownResponse
from annotation.models import (
    Account,
    Annotator,
    Enrollment,
    EvidenceRule,
    Stage,
    Study,
    StudyState,
    TiePolicy,
)
from annotation.selectors.own_answers import REPORTED
from annotation.selectors.own_work import WorkDone
from annotation.selectors.shown import question_of
from annotation.selectors.steps import Feedback, Question
from annotation.selectors.work import Progress
from annotation.services.checks import SUSPENSION, WARNING
from annotation.views.annotator.common import money, pay_line, study_context
from annotation.views.passwords import OF_ACCOUNTS
from web.access import ResearcherRequest, researcher_page
from web.languages import NAMES, SOURCE, language_known, language_use

PAGES = "annotation/annotator"
INSTRUCTION = {SOURCE: "Explain why the sky is blue.", "ar": "اشرح لماذا السماء زرقاء."}
RESPONSES = {
    SOURCE: (
        "Sunlight meets air.\n\n- Blue light scatters most.\n- Red light least.",
        "Because the sea is blue.",
    ),
    "ar": ("يلتقي ضوء الشمس بالهواء.\n\n- يتشتت الضوء الأزرق أكثر.\n- والأحمر أقل.", "لأن البحر أزرق."),
}
AT = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
TEST: dict[str, Any] = {"qualification_size": 10, "qualification_pass": 9, "qualification_attempts": 3}
PAID: dict[str, Any] = {"pay_per_item": Decimal("0.10"), "items_per_annotator": 40}
GRADED: dict[str, Any] = {
    "preference_points": 7,
    "tie_policy": TiePolicy.BOTH_BAD,
    "response_sets": True,
    "ask_comment": True,
    "show_word_counts": True,
    "show_differences": True,
}
ATTEMPT = SimpleNamespace(n_right=7, accuracy=0.7)
REFUSED = ("unknown", "revoked", "expired", "full", "device", "paused", "draft", "closed")
ENTRY_REFUSED = ("token", "stale", "study", "session", "elsewhere", "left", "finished")

Context = dict[str, Any]
More = Callable[[str, Study], Context]


@dataclass(frozen=True)
class Screen:
    """One screen: its template, the rules of its study, where its person is, and what it needs beside."""

    name: str
    template: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    person: Mapping[str, Any] = field(default_factory=dict)
    more: More = lambda _code, _study: {}


@researcher_page
def screens(request: ResearcherRequest) -> HttpResponse:
    """All screens in all languages, as a table of links."""
    context = {"section": "studies", "names": list(SCREENS), "languages": list(NAMES.items())}
    return render(request, "annotation/researcher/screens.html", context)


@researcher_page
def screen(request: ResearcherRequest, code: str, shown: str) -> HttpResponse:
    """One screen in one language."""
    if shown not in SCREENS or not language_known(code):
        raise Http404("There is no such screen.")
    language_use(request, code)
    one = SCREENS[shown]
    study = _study(**one.rules)
    person = Enrollment(
        **{
            "pk": 1,
            "study": study,
            "annotator": Annotator(),
            "stage": Stage.WORK,
            "resume_token": "screens",
            "completion_code": "TS-23456-789AB",
            **one.person,
        }
    )
    context = study_context(request, person) | {"pay_for_test": money(study.pay_for_test, study)}
    template = one.template if "/" in one.template or one.template[0].isdigit() else f"{PAGES}/{one.template}"
    response = render(request, f"{template}.html", context | one.more(code, study))
    # Here nothing is asked for by itself: there is no next item.
    response.content = response.content.replace(b'hx-trigger="load, submit"', b'hx-trigger="submit"')
    return response


def _study(**rules: Any) -> Study:
    kind = rules.get("kind", "pairwise")
    usual = {
        "pk": 1,
        "slug": "screens",
        "title": "Blue skies",
        "question": KINDS[kind].question,
        "state": StudyState.OPEN,
        "guidelines": "Read both answers to the end.",
        "consent": "You take part of your own will.",
        "pay_per_item": Decimal(0),
        "pay_for_test": Decimal(0),
        "qualification_size": 0,
        "training_size": 0,
    }
    return Study(**(usual | rules))


def _item(code: str, kind: str) -> ShownItem:
    responses = tuple(map(ShownResponse, RESPONSES.get(code, RESPONSES[SOURCE])))
    aspects = (ShownAspect("clear", "It is clear"), ShownAspect("short", "It is short"))
    words = ((1, "Not at all"), (5, "Very"))
    criteria = (
        ShownCriterion("clarity", "Is it clear?", Scale(words=words, not_applicable=True)),
        ShownCriterion("depth", "How deep is it?", Scale(0, 100, not_applicable=True)),
    )
    fewest = KINDS[kind].responses[0] or (1 if kind == "classification" else 0)
    return ShownItem(
        kind,
        INSTRUCTION.get(code, INSTRUCTION[SOURCE]),
        responses=responses[:fewest],
        criteria=criteria if kind == "rubric" else (),
        aspects=aspects if KINDS[kind].parts == "aspects" else (),
        conversation=(Turn("user", "Hello."), Turn("assistant", "Good day.")) if kind == "rubric" else (),
    )


def _trace(code: str) -> ShownItem:
    """An item in which the first wrong step is chosen."""
    asked = INSTRUCTION.get(code, INSTRUCTION[SOURCE])
    turns = (
        Turn("user", asked),
        Turn("assistant", "I look it up.", step=1, error="Timed out"),
        Turn("assistant", "Because of the air.", step=2),
    )
    names = ("1", "2", "no wrong step")
    aspects = tuple(
        ShownAspect(name, f"Step {name}" if name.isdigit() else "No step is wrong") for name in names
    )
    return ShownItem("classification", asked, responses=(ShownResponse("", turns),), aspects=aspects)


def _work(state: str, item: Callable[[str], ShownItem] | None = None, **more: Any) -> More:
    """The work page in a state; with an item, that of the study's kind unless one is given."""

    def context(code: str, study: Study) -> Context:
        shown = item(code) if item else _item(code, study.kind)
        return {
            "state": state,
            "title": question_of(study, shown),
            "state_template": f"{PAGES}/_{state}.html",
            "here": "/s/screens/work/1/",
            "progress": {"done": 3, "total": 1200},
            "assignment": SimpleNamespace(pk=1),
            "item": shown,
            "fields": {},
            "active_ms": 0,
            "undo_url": "/s/screens/work/2/",
            **more,
        }

    return context


def _asked(code: str, study: Study) -> Context:
    question = _question(code, study.kind)
    return {"question": question, "asker": study, "done": 0, "fields": {}, "error": ""}


def _question(code: str, kind: str) -> Question:
    row: Any = SimpleNamespace(pk=1)
    return Question(row, 1, 3, [0, 1], _item(code, kind), attempt=1)


def _feedback(code: str, study: Study) -> Context:
    of_pairs = study.kind == "pairwise"
    right = {"choice": "1"} if of_pairs else {"rating-clarity": "4", "rating-depth": "50"}
    given = {"choice": "0"} if of_pairs else {"rating-clarity": "not_applicable", "rating-depth": "50"}
    question = _question(code, study.kind)
    return {"feedback": Feedback(question, False, given, right, "The first one explains it.", True)}


def _account(_code: str, study: Study) -> Context:
    person = Enrollment(pk=1, study=study, annotator=Annotator(), stage=Stage.WORK, resume_token="screens")  # noqa: S106
    mine = [
        {"enrollment": person, "study": study, "answers": n, "earned": money(study.pay_per_item * n, study)}
        for n in (1, 3)
    ]
    offered = [{"study": study, "held": held, "pay_line": pay_line(study)} for held in (False, True)]
    return {"account": Account(email="a@example.org"), "mine": mine, "studies": offered}


def _answers(code: str, study: Study) -> Context:
    item = SimpleNamespace(instruction=SimpleNamespace(text=INSTRUCTION.get(code, INSTRUCTION[SOURCE])))
    given = SimpleNamespace(pk=1, submitted_at=AT, study_item=SimpleNamespace(item=item))
    words = study.kind_info.words(_item(code, study.kind), {"choice": "1"})[0].said
    return {
        "form": OwnAnswersForm({}, study=study),
        "found": SimpleNamespace(rows=[given] * 3, total=1200),
        "given": [(given, words)] * 3,
        "newer_url": "?after=1",
        "older_url": "?before=1",
        "is_at_work": True,
    }


def _reported(code: str, study: Study) -> Context:
    item = SimpleNamespace(instruction=SimpleNamespace(text=INSTRUCTION.get(code, INSTRUCTION[SOURCE])))
    report = SimpleNamespace(study_item=SimpleNamespace(item=item), note="", created_at=AT)
    return {
        "form": OwnAnswersForm({"only": REPORTED}, study=study),
        "reports": [(report, words) for _, words in REPORT_REASONS],
        "is_at_work": True,
    }


def _no_answers(_code: str, study: Study) -> Context:
    return {"form": OwnAnswersForm({"q": "blue"}, study=study), "found": SimpleNamespace(rows=[])}


def _own_work(_code: str, study: Study) -> Context:
    earned = Earned(
        answers=1200, active_ms=36_000_000, n_timed=1200, work=Decimal(120), test=ZERO, bonus=ZERO
    )
    return {
        "done": WorkDone(AT, 17, 510_000, Decimal("1.70"), earned, Progress(1200, 1240)),
        "left_minutes": 20,
        "pay_line": pay_line(study),
        "session_earned": money(Decimal("1.70"), study),
        "study_earned": money(Decimal("122.00"), study),
        "test": money(Decimal("0.50"), study),
        "bonus": money(Decimal("1.50"), study),
        "is_at_work": True,
    }


def _waiting(_code: str, study: Study) -> Context:
    standing = SimpleNamespace(retry_at=timezone.now() + timedelta(minutes=45), begun=None)
    return {"standing": standing, "attempts_left": 2, "waits": True, "attempt": ATTEMPT, "test": study}


def _begun(_code: str, study: Study) -> Context:
    return {"standing": SimpleNamespace(begun=SimpleNamespace(enrollment=SimpleNamespace(study=study)))}


def _screened_out(_code: str, study: Study) -> Context:
    return {"attempt": ATTEMPT, "test": study, "earned": money(Decimal("0.50"), study)}


def _own_data(_code: str, study: Study) -> Context:
    text = SimpleNamespace(version=2, text=study.consent)
    consents = [
        SimpleNamespace(event=event, at=AT, text=text) for event in ("declined", "given", "withdrawn")
    ]
    return {"consents": consents, "labels_stay": True}


def _always(**context: Any) -> More:
    return lambda _code, _study: context


def _form(make: Callable[[], Any], **context: Any) -> More:
    return lambda _code, _study: {"form": make(), **context}


def _eligibility() -> EligibilityForm:
    options = (EligibilityOption("Yes", eligible=True), EligibilityOption("No", eligible=False))
    return EligibilityForm([EligibilityQuestion("native", "Is this your first language?", options)], {})


def _before_work() -> Iterator[Screen]:
    yield Screen("join", "join", PAID, more=_always(visit="x"))
    for kind in KINDS:
        yield Screen(f"join-{kind}", "join", {"kind": kind}, more=_always(visit="x"))
    yield Screen(
        "consent", "consent", {**TEST, "training_size": 3}, {"stage": Stage.CONSENT}, _always(fingerprint="")
    )
    yield Screen("eligibility", "eligibility", more=_form(_eligibility))
    reading = {"stage": Stage.GUIDELINES}
    yield Screen("guidelines", "guidelines", PAID | TEST, reading, _always(next_step="qualification"))
    trained = {"training_size": 3, "response_sets": True}
    yield Screen("guidelines-training", "guidelines", trained, reading, _always(next_step="training"))
    tolerant = {
        **TEST,
        "kind": "rubric",
        "qualification_rule": "tolerant",
        "qualification_threshold": 0.85,
        "qualification_tolerance": 1.0,
    }
    yield Screen("guidelines-tolerant", "guidelines", tolerant, reading, _always(next_step="qualification"))
    yield Screen("training", "training", TEST, {"stage": Stage.TRAINING}, _asked)
    yield Screen("feedback", "training_feedback", TEST, {"stage": Stage.TRAINING}, _feedback)
    yield Screen(
        "feedback-rubric", "training_feedback", {"kind": "rubric"}, {"stage": Stage.TRAINING}, _feedback
    )
    yield Screen("test", "qualification", PAID | TEST, {"stage": Stage.QUALIFICATION}, _asked)
    yield Screen("retry", "retry", TEST, {"stage": Stage.QUALIFICATION}, _waiting)
    yield Screen("retry-elsewhere", "retry", TEST, {"stage": Stage.QUALIFICATION}, _begun)


def _at_work() -> Iterator[Screen]:
    for kind in KINDS:
        yield Screen(f"work-{kind}", "work", {"kind": kind, "ask_comment": True}, more=_work("item"))
    told: Any = [SimpleNamespace(pk=1, text=WARNING)]
    yield Screen("work-seven-points", "work", GRADED, more=_work("item", texts=told, guidelines_changed=True))
    marking = {"evidence": EvidenceRule.REQUIRED, "reasons": [{"key": "fact", "words": "Wrong fact"}]}
    yield Screen("work-evidence", "work", marking, more=_work("item", evidence=True, marking=True))
    yield Screen("work-step", "work", {"kind": "classification"}, more=_work("item", _trace))
    given = {"choice": "1"}
    answered = _work(
        "item",
        answered=SimpleNamespace(pk=1),
        can_change=True,
        value_fields=given,
        fields=given,
        saved=KINDS["pairwise"].label,
    )
    yield Screen("answered", "work", more=answered)
    yield Screen("claim", "work", more=_work("claim"))
    yield Screen("nothing-now", "work", more=_work("nothing_now"))
    yield Screen("skip", "skip", more=_form(lambda: SkipForm({})))
    yield Screen("report", "report", more=_form(lambda: ItemReportForm({})))
    yield Screen("offline", "work", more=_work("offline"))
    yield Screen("answers", "answers", more=_answers)
    yield Screen("answers-reported", "answers", more=_reported)
    yield Screen("answers-none", "answers", more=_no_answers)
    yield Screen("own-work", "own_work", PAID, more=_own_work)
    yield Screen(
        "changes", "changes", more=_always(changes=[("+", "Shorter is not better."), ("-", "Be quick.")])
    )
    yield Screen("own-data", "own_data", {"erase_at_once": True}, more=_own_data)
    asked = {"is_asked": True, "labels_stay": False}
    yield Screen("own-data-asked", "own_data", {"collect_signals": True}, more=_always(**asked))
    refused = SimpleNamespace(state="refused", answer="The study has ended.")
    yield Screen("own-data-refused", "own_data", more=_always(asked=refused, labels_stay=True))
    yield Screen("reading", "reading", {"show_differences": True})
    yield Screen("link", "link", more=_always(plan=""))
    yield Screen("break", "rest", more=_always(resting=False))
    yield Screen("resting", "rest", more=_always(resting=True))
    yield Screen("finish", "finish")


def _after_work() -> Iterator[Screen]:
    done = {"stage": Stage.DONE}
    earned = _always(answers=17, earned="1.70 USD")
    yield Screen("done", "done", PAID, done, earned)
    yield Screen(
        "done-nothing",
        "done",
        {"state": StudyState.CLOSED},
        {**done, "completion_code": ""},
        _always(answers=0),
    )
    out = {"stage": Stage.SCREENED_OUT}
    yield Screen("not-eligible", "screened_out", PAID, {**out, "screened_out_by": "eligibility"})
    yield Screen(
        "test-failed", "screened_out", TEST, {**out, "screened_out_by": "qualification"}, _screened_out
    )
    suspended = _always(said=SUSPENSION, answers=17, earned="1.70 USD", contact="r@example.org")
    yield Screen("suspended", "suspended", more=suspended)
    yield Screen("declined", "declined", person={"stage": Stage.DECLINED})
    yield Screen("left", "declined", person={"stage": Stage.LEFT})
    for state in (StudyState.DRAFT, StudyState.PAUSED, StudyState.CLOSED):
        yield Screen(f"study-{state}", "not_open", {"state": state})


def _outside() -> Iterator[Screen]:
    for reason in REFUSED:
        yield Screen(f"refused-{reason}", "refused", more=_always(reason=reason, own="", platform=""))
    platform = PLATFORMS["prolific"]
    yield Screen(
        "refused-platform", "refused", more=_always(reason="paused", own="", platform=platform.label)
    )
    for problem in ("missing", "placeholder", "invalid"):
        error = SimpleNamespace(problem=problem, parameter="PROLIFIC_PID")
        more = _always(platform=platform, reason="parameter", error=error)
        yield Screen(f"entry-{problem}", "platform_refused", more=more)
    for reason in ENTRY_REFUSED:
        yield Screen(f"entry-{reason}", "platform_refused", more=_always(platform=platform, reason=reason))
    yield Screen("data-deleted", "data_deleted")
    yield Screen("unknown", "unknown")
    yield Screen("too-many", "too_many")
    yield Screen("language", "language", more=_always(back="/s/screens/"))
    yield Screen("sign-in", "signin", more=_form(lambda: SignInForm({})))
    yield Screen("sign-up", "signup", more=_form(SignUpForm))
    yield Screen("account", "my_studies", PAID, more=_account)
    of = OF_ACCOUNTS | {"forgot": "annotation:account-forgot"}
    yield Screen(
        "forgot", "registration/password_forgot", more=_form(AccountForgotForm, sends_mail=True, **of)
    )
    yield Screen("forgot-no-mail", "registration/password_forgot", more=_always(sends_mail=False, **of))
    yield Screen("sent", "registration/password_sent", more=_always(**of))
    new = _form(lambda: AccountNewPasswordForm(Account()), validlink=True, **of)
    yield Screen("new-password", "registration/password_set", more=new)
    yield Screen("old-link", "registration/password_set", more=_always(validlink=False, **of))
    yield Screen("password-done", "registration/password_done", more=_always(**of))
    for status in ("403", "403_csrf", "404", "429", "500"):
        yield Screen(status, status)


SCREENS: Mapping[str, Screen] = {
    one.name: one for part in (_before_work, _at_work, _after_work, _outside) for one in part()
}
"""By name, in the order in which a person meets them."""
