"""The resources of the API as methods."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from touchstone_client.http import Connection, WaitError
from touchstone_client.rows import (
    Dataset,
    Decision,
    Imported,
    Invitation,
    Item,
    Job,
    Judge,
    Judgment,
    JudgmentRow,
    Label,
    LabelRow,
    Report,
    Study,
    Sweep,
)

MOST_BYTES = 800_000
"""Of the rows in one request; the API takes a megabyte."""
WAIT = 3600.0
ENDED = ("finished", "failed", "cancelled", "paused")
JOB_ENDED = ("done", "failed", "cancelled")


class Touchstone:
    """A site, as the user of a token.

    Parameters
    ----------
    url : str
        Of the site, such as ``"http://127.0.0.1:8000"``.
    token : str
        Made under *Account > API tokens*, or with ``manage.py api_token``.
    **options
        ``timeout`` of a request in seconds, ``retries`` of what passes.

    Every method raises `ApiProblem` where the API refuses. Lists are iterators: pages are read as they are needed.
    """

    def __init__(self, url: str, token: str, **options: Any) -> None:
        self._api = Connection(url, token, **options)

    def __enter__(self) -> "Touchstone":
        return self

    def __exit__(self, *_: object) -> None:
        self._api.close()

    # --- datasets, items, labels ---------------------------------------------------------------------------------

    def datasets(self, **query: Any) -> Iterator[Dataset]:
        """List datasets."""
        return self._api.pages("datasets/", **query)

    def dataset(self, name: str) -> Dataset:
        """Read a dataset."""
        return cast("Dataset", self._api.get(f"datasets/{name}/"))

    def dataset_import(self, name: str, items: Sequence[dict[str, Any]], **about: Any) -> Imported:
        """Import a dataset, in several requests where it is large; what is there already is left alone."""
        first, *others = _parts(items)
        found = cast("Imported", self._api.post("datasets/", {"name": name, "items": first, **about}))
        for part in others:
            more = self._api.post(f"datasets/{name}/items/", {"items": part})
            found["dataset"] = more["dataset"]
            found["items"] += more["items"]
            found["items_created"] += more["items_created"]
            found["labels"] += more["labels"]
            found["labels_created"] += more["labels_created"]
        return found

    def items(self, dataset: str, **query: Any) -> Iterator[Item]:
        """List the items of a dataset."""
        return self._api.pages(f"datasets/{dataset}/items/", **query)

    def labels(self, **query: Any) -> Iterator[Label]:
        """List labels: ``dataset="teas"``, ``study="which-tea"``."""
        return self._api.pages("labels/", **query)

    def labels_import(self, dataset: str, labels: Sequence[LabelRow]) -> int:
        """Import labels that were collected elsewhere; returns how many were new."""
        sent = [self._api.post("labels/", {"dataset": dataset, "labels": part}) for part in _parts(labels)]
        return sum(one["labels_created"] for one in sent)

    # --- studies -------------------------------------------------------------------------------------------------

    def studies(self, **query: Any) -> Iterator[Study]:
        """List studies."""
        return self._api.pages("studies/", **query)

    def study(self, slug: str) -> Study:
        """Read a study."""
        return cast("Study", self._api.get(f"studies/{slug}/"))

    def study_create(self, dataset: str, title: str, **rules: Any) -> Study:
        """Create a study in draft."""
        return cast("Study", self._api.post("studies/", {"dataset": dataset, "title": title, **rules}))

    def study_change(self, slug: str, **rules: Any) -> Study:
        """Change rules of a study."""
        return cast("Study", self._api.patch(f"studies/{slug}/", rules))

    def study_open(self, slug: str) -> Study:
        """Open a study."""
        return cast("Study", self._api.post(f"studies/{slug}/open/"))

    def study_pause(self, slug: str) -> Study:
        """Pause a study."""
        return cast("Study", self._api.post(f"studies/{slug}/pause/"))

    def study_close(self, slug: str) -> Study:
        """Close a study for good."""
        return cast("Study", self._api.post(f"studies/{slug}/close/"))

    def invitations(self, slug: str) -> Iterator[Invitation]:
        """List the invitations of a study."""
        return self._api.pages(f"studies/{slug}/invitations/")

    def invite(self, slug: str, **options: Any) -> Invitation:
        """Create a link into a study: ``note``, ``max_annotators``, ``expires_at``."""
        return cast("Invitation", self._api.post(f"studies/{slug}/invitations/", options))

    def invitation_revoke(self, invitation: int) -> Invitation:
        """Revoke a link."""
        return cast("Invitation", self._api.post(f"invitations/{invitation}/revoke/"))

    # --- judges, sweeps, judgments -------------------------------------------------------------------------------

    def judges(self, **query: Any) -> Iterator[Judge]:
        """List judges."""
        return self._api.pages("judges/", **query)

    def judge_create(self, strategy: str, **fields: Any) -> Judge:
        """Create a judge, or get the one that would answer exactly the same."""
        return cast("Judge", self._api.post("judges/", {"strategy": strategy, **fields}))

    def sweeps(self, **query: Any) -> Iterator[Sweep]:
        """List sweeps."""
        return self._api.pages("sweeps/", **query)

    def sweep(self, sweep: int) -> Sweep:
        """Read a sweep and how far it is."""
        return cast("Sweep", self._api.get(f"sweeps/{sweep}/"))

    def sweep_plan(
        self, name: str, datasets: Sequence[str], judges: Sequence[str | dict[str, Any]], **plan: Any
    ) -> Sweep:
        """Create the draft of a sweep; ``plan`` is the rest of it: ``grid``, ``orders``, ``budget`` ..."""
        body = {"name": name, "datasets": list(datasets), "judges": list(judges), **plan}
        return cast("Sweep", self._api.post("sweeps/", body))

    def sweep_estimate(self, sweep: int) -> dict[str, Any]:
        """Estimate what a sweep will ask and cost."""
        return cast("dict[str, Any]", self._api.get(f"sweeps/{sweep}/estimate/"))

    def sweep_start(self, sweep: int) -> Sweep:
        """Start a draft."""
        return cast("Sweep", self._api.post(f"sweeps/{sweep}/start/"))

    def sweep_pause(self, sweep: int) -> Sweep:
        """Pause a sweep."""
        return cast("Sweep", self._api.post(f"sweeps/{sweep}/pause/"))

    def sweep_resume(self, sweep: int, **budgets: Any) -> Sweep:
        """Resume a sweep, with larger budgets if they are given."""
        return cast("Sweep", self._api.post(f"sweeps/{sweep}/resume/", budgets))

    def sweep_cancel(self, sweep: int) -> Sweep:
        """Stop a sweep."""
        return cast("Sweep", self._api.post(f"sweeps/{sweep}/cancel/"))

    def sweep_wait(self, sweep: int, *, timeout: float = WAIT) -> Sweep:
        """Wait until a sweep has ended, or was paused. Raises WaitError."""
        found = self._api.wait(lambda: self.sweep(sweep), lambda row: row["state"] in ENDED, timeout)
        return cast("Sweep", found)

    def judgments(self, **query: Any) -> Iterator[Judgment]:
        """List judgments: ``dataset="teas"``, ``judge="Longer response"``."""
        return self._api.pages("judgments/", **query)

    def judgments_import(self, dataset: str, judgments: Sequence[JudgmentRow]) -> int:
        """Import verdicts that judges gave elsewhere; returns how many were new."""
        sent = [
            self._api.post("judgments/", {"dataset": dataset, "judgments": part})
            for part in _parts(judgments)
        ]
        return sum(one["judgments_created"] for one in sent)

    # --- reports and decisions -----------------------------------------------------------------------------------

    def reports(self, **query: Any) -> Iterator[Report]:
        """List reports, without their content."""
        return self._api.pages("reports/", **query)

    def report(self, report: int) -> Report:
        """Read a report with its content."""
        return cast("Report", self._api.get(f"reports/{report}/"))

    def report_make(self, *, timeout: float = WAIT, **asked: Any) -> Report:
        """Make a report on ``dataset="teas"`` or ``study="which-tea"``, and wait for it."""
        made = self._api.post("reports/", asked)
        return (
            cast("Report", made)
            if "content" in made and "state" not in made
            else self._report_of(made, timeout)
        )

    def _report_of(self, job: Job, timeout: float) -> Report:
        return self.report(cast("int", self._job_wait(job, timeout)["report"]))

    def compare(self, dataset: str, *, timeout: float = WAIT, **asked: Any) -> dict[str, Any]:
        """Compare judges on a dataset, of ``sweep=3`` or all; the content of a report."""
        made = self._api.post("comparisons/", {"dataset": dataset, **asked})
        if "state" in made:
            made = self._job_wait(made, timeout)["content"]
        return cast("dict[str, Any]", made)

    def _job_wait(self, job: Job, timeout: float) -> Job:
        path = f"jobs/{job['id']}/"
        ended = self._api.wait(lambda: self._api.get(path), lambda row: row["state"] in JOB_ENDED, timeout)
        if ended["state"] != "done":
            raise WaitError(f"The job was {ended['state']}. {ended['error']}".strip())
        return cast("Job", ended)

    def decisions(self, **query: Any) -> Iterator[Decision]:
        """List decisions; ``replaced=True``: those in force."""
        return self._api.pages("decisions/", **query)

    def decide(
        self, dataset: str, *, fingerprint: str, reason: str, inputs_hash: str, **asked: Any
    ) -> Decision:
        """Promote a judge on the figures of a comparison, which its ``inputs_hash`` names."""
        body = {"dataset": dataset, "fingerprint": fingerprint, "reason": reason, "inputs_hash": inputs_hash}
        return cast("Decision", self._api.post("decisions/", {**body, **asked}))


def _parts(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Rows in parts that fit a request; one part at least."""
    part: list[Any] = []
    size = 0
    for row in rows:
        length = len(json.dumps(row)) + 2
        if part and size + length > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    yield part
