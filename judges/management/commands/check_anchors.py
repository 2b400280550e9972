"""Start the checks of anchors that are due."""

from typing import Any

from django.core.management.base import BaseCommand

from judges.services.anchors import anchors_check_due


class Command(BaseCommand):
    help = (
        "Start the anchor checks that are due. Workers do this themselves; use the command in a cron job where workers "
        "run only when there is work."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        started = anchors_check_due()
        for sweep in started:
            self.stdout.write(f"Started: {sweep.name} (sweep {sweep.pk}).")
        if not started:
            self.stdout.write("No check of anchors is due.")
