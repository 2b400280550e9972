"""One study of each kind whose items are long: 3,000 words, several windows high, to be read by scrolling."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.domain.reading import COOKIE, reading_stored
from annotation.importers import read_generic
from annotation.models import Enrollment
from annotation.services.criteria import criteria_set
from annotation.services.datasets import dataset_import
from tests.annotation.factories import enrollment_make, study_make

KINDS = ("pairwise", "rubric", "importance", "checklist", "answer_ranking")
N_WORDS = 3_000
QUESTION = "Which answer follows the instruction better?"


def text_of(words: int) -> str:
    """Words in paragraphs of sixty."""
    return "\n\n".join("The paper is folded along the dotted line. " * 8 for _ in range(words // 64))


def row_of(kind: str, number: int) -> dict[str, object]:
    n_responses = {"pairwise": 2, "answer_ranking": 3, "importance": 0}.get(kind, 1)
    words = N_WORDS // max(n_responses, 1)
    row: dict[str, object] = {
        "id": f"x{number}",
        "kind": kind,
        "instruction": f"Instruction {number}: explain how the crane is folded, in plain words."
        if n_responses
        else text_of(N_WORDS),
    }
    if n_responses:
        row["responses"] = [f"Answer {k}.\n\n{text_of(words)}" for k in range(n_responses)]
    if kind in ("checklist", "importance"):
        row["aspects"] = [{"key": f"a{k}", "text": f"Is requirement {k} met?"} for k in range(4)]
    return row


def long_work(kind: str, **rules: object) -> Enrollment:
    """A person before two long items of this kind."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row_of(kind, number)) + "\n" for number in range(2)))
        criteria = criteria_set("helm-instruct") if kind == "rubric" else ()
        dataset = dataset_import(bundle=read_generic(path, criteria=criteria), name=f"long-{kind}").dataset
    settings = {"question": QUESTION, "guidelines": "# How to choose", "overlap": 1, "consent": ""}
    return enrollment_make(study=study_make(dataset=dataset, kind=kind, **(settings | rules)))


def read_as(page: Page, live_server, **preferences: str) -> None:
    """Let this browser's person prefer to read so: `phone="stacked"`, `size="large"`."""
    stored = reading_stored(preferences)
    page.context.add_cookies([{"name": COOKIE, "value": stored, "url": live_server.url}])


def open_long(page: Page, live_server, person: Enrollment) -> None:
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(page.locator("form[data-annotate]")).to_be_visible()
    page.wait_for_load_state("load")


def answer_of(page: Page) -> dict[str, str]:
    """The answer as it would be sent now: choice, strength, ratings, ranks."""
    return page.evaluate(
        """() => Object.fromEntries([...new FormData(document.querySelector("form[data-annotate]"))]
              .filter(([name]) => /^(choice|strength|rating-|answer-|rank-)/.test(name)))"""
    )
