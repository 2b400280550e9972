"""What waits here with the labels of people who were erased: files of exports, which are deleted."""

from typing import Any

from django.db.models import Q
from django.dispatch import receiver

from annotation.services.erasure import labels_erased
from judges.models import ExportJob
from judges.services.export_jobs import export_job_delete


@receiver(labels_erased, dispatch_uid="judges.exports_delete")
def exports_delete(study: int | None, datasets: list[int], **_: Any) -> None:
    """Delete exports of the study, and of whole datasets that its labels are of: they have who was erased in them."""
    of_study = Q(study=study) if study is not None else Q(pk__in=[])
    for job in ExportJob.objects.filter(of_study | Q(study=None, dataset__in=datasets)):
        export_job_delete(job=job)
