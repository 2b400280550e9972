"""Reports, selections, decisions, exports and webhooks."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from touchstone_client.http import WAIT, Connection, WaitError
from touchstone_client.rows import Decision, Delivery, Export, Job, Preregistration, Report, Token, Webhook

JOB_ENDED = ("done", "failed", "cancelled")


class Deciding:
    """What follows from labels and judgments."""

    _api: Connection

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

    def select(self, *, timeout: float = WAIT, **asked: Any) -> dict[str, Any]:
        """Choose between judges of ``sweep=3`` or ``dataset="teas"`` by criteria: ``parts``, ``constraints`` ..."""
        made = self._api.post("selections/", asked)
        if "state" in made:
            made = self._job_wait(made, timeout)["content"]
        return cast("dict[str, Any]", made)

    def decide(
        self, dataset: str | None = None, *, fingerprint: str, reason: str, inputs_hash: str, **asked: Any
    ) -> Decision:
        """Promote a judge on the figures of a comparison, which its ``inputs_hash`` names.

        With ``by="selection"`` on those of a selection, with the same criteria: for all of its datasets.
        """
        body = {"fingerprint": fingerprint, "reason": reason, "inputs_hash": inputs_hash, **asked}
        return cast(
            "Decision", self._api.post("decisions/", body if dataset is None else {"dataset": dataset} | body)
        )

    def preregistrations(self, **query: Any) -> Iterator[Preregistration]:
        """List your preregistrations, without what was planned."""
        return self._api.pages("preregistrations/", **query)

    def preregistration(self, preregistration: int) -> Preregistration:
        """Read a preregistration with what was planned."""
        return cast("Preregistration", self._api.get(f"preregistrations/{preregistration}/"))

    def decision(self, decision: int) -> Decision:
        """Read a decision with its figures."""
        return cast("Decision", self._api.get(f"decisions/{decision}/"))

    def decision_judge(self, decision: int) -> dict[str, Any]:
        """Read the promoted judge as a configuration that can be run elsewhere."""
        return cast("dict[str, Any]", self._api.get(f"decisions/{decision}/judge/"))

    def report_verify(self, report: int, *, timeout: float = WAIT) -> dict[str, Any]:
        """Compute a report again, and say whether it still holds."""
        made = self._api.post(f"reports/{report}/verification/")
        return cast("dict[str, Any]", self._job_wait(made, timeout)["content"])

    def report_changes(self, report: int, before: int) -> dict[str, Any]:
        """What changed from an earlier report on the same dataset, and why."""
        return cast("dict[str, Any]", self._api.get(f"reports/{report}/changes/", before=before))

    def report_file(self, report: int, type: str) -> bytes:
        """A report as ``"html"``, ``"pdf"``, ``"md"``, ``"tex"``, ``"csv"``, ``"zip"`` ..."""
        return self._api.file(f"reports/{report}/file/", type=type)

    def job_cancel(self, job: int) -> Job:
        """Cancel a job of yours."""
        return cast("Job", self._api.post(f"jobs/{job}/cancel/"))

    def job_resume(self, job: int) -> Job:
        """Make the figures of a job after all."""
        return cast("Job", self._api.post(f"jobs/{job}/resume/"))

    # --- exports -------------------------------------------------------------------------------------------------

    def exports(self, **query: Any) -> Iterator[Export]:
        """List your exports."""
        return self._api.pages("exports/", **query)

    def export_make(self, what: str, format: str, *, timeout: float = WAIT, **of: Any) -> Export:
        """Export ``what`` of ``dataset="teas"`` or ``study="which-tea"``, and wait for it; ``url`` is the file."""
        made = self._api.post("exports/", {"what": what, "format": format, **of})
        path = f"exports/{made['id']}/"
        ended = self._api.wait(lambda: self._api.get(path), lambda row: row["state"] in JOB_ENDED, timeout)
        if ended["state"] != "done":
            raise WaitError(f"The export has {ended['state']}. {ended['error']}".strip())
        return cast("Export", ended)

    def export_delete(self, export: int) -> None:
        """Delete an export and its file."""
        self._api.delete(f"exports/{export}/")

    # --- webhooks and the token ----------------------------------------------------------------------------------

    def webhooks(self) -> Iterator[Webhook]:
        """List your webhooks."""
        return self._api.pages("webhooks/")

    def webhook(self, webhook: int) -> Webhook:
        """Read a webhook."""
        return cast("Webhook", self._api.get(f"webhooks/{webhook}/"))

    def webhook_register(self, name: str, url: str, events: Sequence[str]) -> Webhook:
        """Register a webhook; ``secret`` is what its messages are signed with."""
        return cast(
            "Webhook", self._api.post("webhooks/", {"name": name, "url": url, "events": list(events)})
        )

    def webhook_change(self, webhook: int, **changes: Any) -> Webhook:
        """Change ``name``, ``events`` or ``is_enabled``."""
        return cast("Webhook", self._api.patch(f"webhooks/{webhook}/", changes))

    def webhook_delete(self, webhook: int) -> None:
        """Delete a webhook with its deliveries."""
        self._api.delete(f"webhooks/{webhook}/")

    def webhook_test(self, webhook: int) -> Delivery:
        """Send a test message."""
        return cast("Delivery", self._api.post(f"webhooks/{webhook}/test/"))

    def deliveries(self, webhook: int, **query: Any) -> Iterator[Delivery]:
        """List what a webhook was sent."""
        return self._api.pages(f"webhooks/{webhook}/deliveries/", **query)

    def delivery_replay(self, delivery: int) -> Delivery:
        """Send a delivery again."""
        return cast("Delivery", self._api.post(f"deliveries/{delivery}/replay/"))

    def token(self) -> Token:
        """Read whose token this is, its scopes, and when it expires."""
        return cast("Token", self._api.get("token/"))

    def token_revoke(self) -> None:
        """Revoke this token."""
        self._api.delete("token/")
