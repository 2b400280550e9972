"""Files of exports are gone once somebody in them was erased."""

import pytest

from annotation.services.erasure import enrollment_erase
from annotation.services.erasure_log import REQUEST
from judges.models import ExportJob
from judges.services.export_jobs import export_jobs_work, export_path, export_request
from judges.services.exports import ExportOptions, ExportSubject
from tests.annotation.factories import enrollment_make, study_make, user_make

pytestmark = pytest.mark.django_db


def test_files_with_an_erased_person_are_deleted(settings, tmp_path, django_capture_on_commit_callbacks):
    settings.ERASURES_FILE = tmp_path / "erasures.jsonl"
    owner = user_make()
    study, other = study_make(owner=owner), study_make(owner=owner)
    person = enrollment_make(study=study)
    for subject in (
        ExportSubject(study.dataset, study, owner),
        ExportSubject(study.dataset, None, owner),
        ExportSubject(other.dataset, other, owner),
    ):
        export_request(user=owner, subject=subject, what="labels", format="csv", options=ExportOptions())
    assert export_jobs_work() == 3
    files = {job.study_id: export_path(job.file) for job in ExportJob.objects.filter(study__isnull=False)}
    with django_capture_on_commit_callbacks(execute=True):
        enrollment_erase(enrollment=person, why=REQUEST)
    assert ExportJob.objects.get().study == other
    assert not files[study.pk].exists()
    assert files[other.pk].exists()
