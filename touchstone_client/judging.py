"""Judges, sweeps and judgments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from touchstone_client.http import WAIT, Connection, parts_of
from touchstone_client.rows import Anchors, Judge, Judgment, JudgmentRow, Sweep

ENDED = ("finished", "failed", "cancelled", "paused")


class Judging:
    """Who judges, and what was said."""

    _api: Connection

    def judges(self, **query: Any) -> Iterator[Judge]:
        """List judges."""
        return self._api.pages("judges/", **query)

    def judge_delete(self, judge: int) -> None:
        """Delete a judge that has judged nothing."""
        self._api.delete(f"judges/{judge}/")

    def judge_create(self, strategy: str, **fields: Any) -> Judge:
        """Create a judge, or get the one that would answer exactly the same."""
        return cast("Judge", self._api.post("judges/", {"strategy": strategy, **fields}))

    def judge_document(self, judge: int) -> dict[str, Any]:
        """Read a judge as a ``judge.json``, with the texts of its prompts."""
        return cast("dict[str, Any]", self._api.get(f"judges/{judge}/document/"))

    def judge_for_tool(
        self, judge: int, to: str, *, accept: Sequence[str] = (), **query: Any
    ) -> dict[str, Any]:
        """Read a judge as the files of another tool, without what ``accept`` names."""
        query |= {"to": to, "accept": ",".join(accept)}
        return cast("dict[str, Any]", self._api.get(f"judges/{judge}/document/", **query))

    def judge_import(self, document: Mapping[str, Any], *, ask_at: str = "") -> Judge:
        """Create the judge of a ``judge.json``; ``ask_at`` names an endpoint in place of the exported one."""
        body = {**document, **({"ask_at": ask_at} if ask_at else {})}
        return cast("Judge", self._api.post("judges/", body))

    def judge_uploads(self, **query: Any) -> Iterator[dict[str, Any]]:
        """List the files of judges that you sent."""
        return self._api.pages("judge-uploads/", **query)

    def judge_upload(self, files: Mapping[str, str], *, name: str = "") -> dict[str, Any]:
        """Send the files of a judge, texts by path; returns the upload and the judges that it holds."""
        body = {"files": dict(files), **({"name": name} if name else {})}
        return cast("dict[str, Any]", self._api.post("judge-uploads/", body))

    def judge_upload_read(self, upload: int, **choice: Any) -> dict[str, Any]:
        """Read what files would become; ``choice``: ``evaluator``, ``endpoint``, ``model``, ``name`` ..."""
        return cast("dict[str, Any]", self._api.get(f"judge-uploads/{upload}/", **choice))

    def judge_upload_define(self, upload: int, **choice: Any) -> Judge:
        """Define the judge of an upload, or get the one that would answer exactly the same."""
        return cast("Judge", self._api.post(f"judge-uploads/{upload}/define/", choice))

    def judge_upload_delete(self, upload: int) -> None:
        """Remove files. Judges that they defined stay."""
        self._api.delete(f"judge-uploads/{upload}/")

    def endpoint_put(self, name: str, **fields: Any) -> dict[str, Any]:
        """Add an endpoint, or change the one of this name; a key is named by the variable that holds it."""
        return cast("dict[str, Any]", self._api.post("endpoints/", {"name": name, **fields}))

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

    def sweep_delete(self, sweep: int) -> None:
        """Delete a sweep that isn't at work; its judgments stay."""
        self._api.delete(f"sweeps/{sweep}/")

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
            for part in parts_of(judgments)
        ]
        return sum(one["judgments_created"] for one in sent)

    def strategies(self) -> list[dict[str, Any]]:
        """Every way of judging, with its settings."""
        return cast("list[dict[str, Any]]", self._api.get("strategies/"))

    def endpoints(self, **query: Any) -> Iterator[dict[str, Any]]:
        """List where models answer."""
        return self._api.pages("endpoints/", **query)

    def judge(self, judge: int) -> Judge:
        """Read a judge with its specification."""
        return cast("Judge", self._api.get(f"judges/{judge}/"))

    def sweep_judgments(self, sweep: int, **query: Any) -> Iterator[Judgment]:
        """List the judgments of a sweep's judges on its datasets."""
        return self._api.pages(f"sweeps/{sweep}/judgments/", **query)

    def judgment(self, judgment: int) -> Judgment:
        """Read a judgment."""
        return cast("Judgment", self._api.get(f"judgments/{judgment}/"))

    def anchors(self, judge: int) -> Iterator[Anchors]:
        """List the anchors of a judge, without their checks."""
        return self._api.pages(f"judges/{judge}/anchors/")

    def anchors_freeze(self, judge: int, dataset: str, **options: Any) -> Anchors:
        """Freeze anchors of a judge on a dataset: ``n``, ``repeats``, ``tolerance`` ..."""
        return cast("Anchors", self._api.post(f"judges/{judge}/anchors/", {"dataset": dataset, **options}))

    def anchors_read(self, anchors: int) -> Anchors:
        """Read anchors with their checks, and whether the judge has moved."""
        return cast("Anchors", self._api.get(f"anchors/{anchors}/"))

    def anchors_change(self, anchors: int, **schedule: Any) -> Anchors:
        """Change ``every_days`` and ``budget``."""
        return cast("Anchors", self._api.patch(f"anchors/{anchors}/", schedule))

    def anchors_check(self, anchors: int) -> Anchors:
        """Ask a judge about its anchors again."""
        return cast("Anchors", self._api.post(f"anchors/{anchors}/check/"))

    def anchors_retire(self, anchors: int) -> Anchors:
        """Take anchors out of use."""
        return cast("Anchors", self._api.post(f"anchors/{anchors}/retire/"))
