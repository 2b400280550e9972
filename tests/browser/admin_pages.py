"""Every page of ours in the admin, with something on it: what the test of accessibility visits."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import URLResolver, reverse
from django.utils import timezone

from annotation.models import Item
from annotation.services.studies import study_update
from judges.backends.mock_server import running_mock_server
from judges.models import Endpoint, Judgment, Sweep, SweepState
from judges.services.judges import heuristic_judges_ensure, judge_create
from judges.services.prompts import prompt_save
from judges.services.worker_heartbeats import worker_started
from judges.strategies.prompts import load_prompt
from tests.annotation.factories import dataset_make, study_make
from tests.browser.every_page import Stop
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

# Addresses that show nothing of their own, and why.
NO_PAGES = {
    "judges_endpoint_try": "takes, leads back",
    "judges_judge_heuristics": "takes, leads back",
    "judges_sweep_start": "takes, leads back",
    "judges_sweep_pause": "takes, leads back",
    "judges_sweep_cancel": "takes, leads back",
    "judges_sweep_resume": "takes, leads back",
    "judges_prompttext_preview": "a part of `prompttext_prompt`: in `test_sweep_admin`",
    "judges_prompttext_change": "leads to `prompttext_prompt`",
    "judges_prompttext_delete": "refused: a prompt stays",
    "judges_prompttext_history": "Django's; a version has no history",
    **dict.fromkeys(
        (
            *("judges_judgment_changelist", "judges_judgment_change", "judges_generation_changelist"),
            *("judges_generation_change", "judges_generation_pairs"),
        ),
        "with judgments of every sort: `test_judgments`",
    ),
    "judges_judgment_add": "refused",
    "judges_judgment_delete": "refused",
    "judges_judgment_history": "Django's; judgments do not change",
    "judges_generation_add": "refused",
    "judges_generation_delete": "refused",
    "judges_generation_history": "Django's; generations do not change",
    "judges_judge_history": "Django's own page, as `sweep_history`",
    "judges_endpoint_history": "Django's own page, as `sweep_history`",
}


def own_names() -> set[str]:
    """Names of the addresses that the judging application has in the admin."""

    def names(patterns: Any) -> Iterator[str]:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from names(pattern.url_patterns)
            elif pattern.name and pattern.name.startswith("judges_"):
                yield pattern.name

    return set(names(admin.site.get_urls()))


def stop(name: str, *args: object, query: str = "", what: str = "") -> Stop:
    return Stop(what or f"admin-{name}", reverse(f"admin:judges_{name}", args=args) + query)


def admin_stops() -> Iterator[Stop]:
    dataset, private = dataset_make(pairs=6, name="small-set"), dataset_make(pairs=2, split="private")
    for number, item in enumerate(Item.objects.filter(dataset=dataset).select_related("instruction")):
        item.instruction.subset = ("Natural", "Adversarial/Neighbor")[number % 2]
        item.instruction.save()
    study = study_make(pairs=1, title="Pilot")
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, name="local-server", prices={"mock-first": [1, 2]})
        one = judge_make(endpoint, model="mock-first", name="First")
        contestant = judge_make(endpoint, model="mock-first", name="Writes", strategy="generate")
        jury = judge_create(
            name="Jury", strategy="jury", members={"a": one, "b": heuristic_judges_ensure()[0]}
        )
        done = sweep_make([one, jury, contestant], dataset)
        run()
    engine = Endpoint.objects.create(name="engine", kind="vllm", queue="gpu", options={"dtype": "bfloat16"})
    unused = judge_make(endpoint_make(is_local=False), model="m", name="Unused")
    draft = sweep_make([unused], private, start=False, categories=["Brainstorm"])
    failed = sweep_make([heuristic_judges_ensure()[1]], dataset, budget=3, budget_tokens=10)
    Sweep.objects.filter(pk=failed.pk).update(
        state=SweepState.FAILED, message="HTTP 401.", finished_at=timezone.now()
    )
    at_work = sweep_make([heuristic_judges_ensure()[3]], dataset)
    Judgment.objects.filter(judge=jury, order=1).update(status="failed", choice=None, raw_text="HTTP 500")
    done.runs.filter(judge=jury).update(n_failed=6, last_error="4 of its 5 answers could not be read.")
    text = load_prompt("vanilla.v1").source.replace("better", "preferable", 1)
    prompt = prompt_save(kind="pairwise", name="vanilla", source=text, based_on="vanilla.v1", notes="Why.")
    worker_started(name="celery@host-1", queues=["http", "gpu"], n_processes=2)
    yield Stop("status", reverse("status"))
    yield Stop("privacy-record", reverse("privacy-record"))
    for model in ("sweep", "judge", "endpoint", "prompttext"):
        yield stop(f"{model}_changelist")
        yield stop(f"{model}_add")
    for sweep, what in ((done, "done"), (draft, "draft"), (failed, "failed"), (at_work, "at-work")):
        yield stop("sweep_progress", sweep.pk, what=f"admin-sweep-{what}")
    yield stop("sweep_change", draft.pk)
    yield stop("sweep_delete", draft.pk)
    yield stop("sweep_history", draft.pk)
    for judge, what in ((one, "judged"), (jury, "jury"), (unused, "unused")):
        yield stop("judge_change", judge.pk, what=f"admin-judge-{what}")
    yield stop("judge_add", query=f"?copy={jury.pk}", what="admin-judge-copy")
    yield stop("judge_delete", unused.pk)
    yield stop("endpoint_change", endpoint.pk)
    yield stop("endpoint_change", engine.pk, what="admin-endpoint-engine")
    yield stop("endpoint_delete", engine.pk)
    yield stop("prompttext_prompt", "pairwise", str(prompt))
    yield stop("prompttext_add", query=f"?kind=pairwise&base={prompt}", what="admin-prompt-new")
    study_update(study=study, overlap=3)
    yield Stop("admin-audit-log", reverse("annotation:audit"))
