"""The demonstration is built through the real services, once."""

import pytest
from django.db.models import F

from annotation.models import Annotator, Item, Kind, Label, Study, StudyItem, User
from annotation.selectors.agreement import agreement_so_far
from judges.models import Judgment, Sweep, SweepState
from metaeval.demo.build import Demo, demo_build
from metaeval.models import Report
from tests.metaeval.reports.test_content import validate

pytestmark = pytest.mark.django_db(transaction=True)

MOCK = "http://127.0.0.1:8011/v1"


def counts() -> dict[str, int]:
    models = (User, Item, Study, Annotator, Label, Sweep, Judgment, Report)
    return {model.__name__: model.objects.count() for model in models}


def test_it_has_studies_of_every_kind_a_sweep_and_reports_and_building_it_again_changes_nothing():
    demo = demo_build(mock_url=MOCK)
    pairs_check(demo)
    kinds_check(demo)
    for report in (demo.report, *demo.kind_reports):
        validate(report.content)
    before = counts()
    again = demo_build(mock_url=MOCK)
    assert counts() == before
    assert again.invitation.token == demo.invitation.token
    assert again.report.pk == demo.report.pk


def pairs_check(demo: Demo) -> None:
    assert demo.study.state == "open"
    assert demo.sweep.state == SweepState.FINISHED
    labels = Label.objects.filter(study=demo.study)
    # 80 items times 4, less the 16 places left for a visitor.
    assert labels.count() == 80 * 4 - 16
    assert not labels.filter(annotator__is_simulated=False).exists()
    assert labels.values("item", "annotator").distinct().count() == labels.count()
    assert Item.objects.values("instruction__category").distinct().count() >= 6
    for row in StudyItem.objects.filter(study=demo.study):
        assert row.n_accepted == labels.filter(item=row.item).count()
    names = {judge["name"] for judge in demo.report.content["judges"]}
    assert {"Longer response", "Random choice", "ROUGE-L with the reference"} <= names


def kinds_check(demo: Demo) -> None:
    kinds = {kind.study.kind: kind.study for kind in demo.kinds} | {demo.study.kind: demo.study}
    assert set(kinds) == set(Kind.values)
    for study in kinds.values():
        assert study.state == "open"
        work = StudyItem.objects.filter(study=study, role="work")
        assert work.count() >= 8
        assert work.filter(overlap__gt=F("n_accepted")).exists(), "a place for a visitor"
        agreement = agreement_so_far(study)
        assert agreement.items_with_two >= 8
        assert agreement.simulated == agreement.annotators > 2
    reported = {report.study: report.content["people"]["n_labels"] for report in demo.kind_reports}
    assert reported == {kind.study: kind.study.labels.count() for kind in demo.kinds}
    judged = {kind.study.slug: kind for kind in demo.kinds if kind.sweep}
    for slug, figure, names in (
        ("demo-categories", "agreement", ("Mock, categories", "Mock, categories at random")),
        ("demo-scales", "closeness", ("Mock, several scales", "Mock, several scales at random")),
    ):
        kind = judged.pop(slug)
        assert kind.sweep.state == SweepState.FINISHED
        said = Judgment.objects.filter(judge__in=kind.sweep.judges.all())
        assert not said.exclude(status="parsed").exists()
        (report,) = (report for report in demo.kind_reports if report.study == kind.study)
        found = {
            judge["name"]: judge["measures"][figure]["overall"]["value"] for judge in report.content["judges"]
        }
        assert found[names[0]] > found[names[1]] > 0
        if slug == "demo-categories":
            sets = [
                judge["measures"]["set_coverage"]["overall"]["value"] for judge in report.content["judges"]
            ]
            assert max(sets) > 0
            assert report.content["people"]["measures"]["set_size"]["overall"]["value"] > 1
    assert not judged
    scales = [one.get("low", 1) for one in report.content["scales"]]
    assert scales == [1, 0, -2, 0]
