"""What a study's page says of judges: the words and figures of a report on the study, never computed for minutes."""

from html import unescape

import pytest
from django.core.cache import cache
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Kind, Label, Study, StudyState, User
from annotation.selectors.agreement import agreement_so_far
from metaeval.models import Report, ReportJob
from metaeval.reports.figures import alike_of, range_text
from metaeval.reports.report import report_of
from metaeval.reports.words import verdict_of
from metaeval.selectors.sweeps import dataset_view_get_for
from metaeval.services import study_judges
from metaeval.services.comparisons import comparison_get
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import figures_set, kind_judgments, value_of
from tests.metaeval.rows import judge_make, judgments_make, labels_make

pytestmark = pytest.mark.django_db


def part(study: Study) -> str:
    return reverse("metaeval:study-judges", args=[study.slug])


def studied(owner: User, kind: str = Kind.PAIRWISE, *, items: int = 12) -> Study:
    """A study of six annotators, and two judges of its dataset: one of them is nearer."""
    dataset = kind_dataset_make(kind, items=items)
    study = study_make(dataset=dataset, kind=kind, owner=owner, overlap=6)
    near, far = judge_make(f"Near {kind} {items}"), judge_make(f"Far {kind} {items}")
    if kind == Kind.PAIRWISE:
        truth = [k % 2 + 1 for k in range(items)]
        said = [
            [3 - one if (k + place) % 6 == 0 else one for place in range(6)] for k, one in enumerate(truth)
        ]
        labels_make(dataset=dataset, choices=said, study=study)
        judgments_make(judge=near, dataset=dataset, choices=[(one, one) for one in truth])
        judgments_make(judge=far, dataset=dataset, choices=[(one, 3 - one) for one in truth])
        return study
    for shift in (0, 0, 1, 1, 2, 0):
        person = annotator_make()
        for k, item in enumerate(dataset.items.order_by("position")):
            value = value_of(kind, k, shift if k % 2 else 0)
            Label.objects.create(item=item, annotator=person, kind=kind, value=value, study=study)
    kind_judgments(near, dataset, kind)
    kind_judgments(far, dataset, kind, shift=1)
    return study


@pytest.mark.parametrize("kind", Kind.values)
def test_page_report_and_comparison_say_the_same(cast: Cast, kind: str) -> None:
    study = studied(cast.alice, kind)
    response = client_of(cast.alice).get(part(study))
    shown = unescape(text_of(response))
    made = report_request(user=cast.alice, study=study.slug)
    assert isinstance(made, Report)
    report = report_of(made.content)
    verdict = verdict_of(report)
    compared = comparison_get(
        sweep=dataset_view_get_for(cast.alice, study.dataset.name), dataset=study.dataset, kind=kind
    )
    assert verdict == verdict_of(compared) == response.context["verdict"]
    assert verdict.kind not in ("none", "people", "scores")
    assert verdict.headline in shown
    assert verdict.label in shown
    assert " ".join(verdict.sentences) in shown
    table = response.context["table"]
    assert [row.name for row in table.rows if row.status != "people"] == [
        judge.name for _, judge in report.ranked() if not judge.baseline
    ]
    by_name = {judge.name: judge for judge in report.judges}
    assert [one.name for one in table.figures] == [report.primary, "minus_people"]
    for row in (row for row in table.rows if row.status != "people"):
        for cell in row.cells:
            assert cell.estimate == by_name[row.name].overall(cell.figure.name)
            # Over both populations, so that nobody reads the first for the second.
            assert range_text(cell.estimate, cell.figure.unit) in shown
            alike = range_text(alike_of(cell.estimate), cell.figure.unit)
            assert f"like these {alike}" in shown
            assert alike or cell.figure.name != "minus_people"
    assert "Based on 72 labels of 6 annotators on 12 items" in shown
    assert "valid for one look" in shown
    assert f"{reverse('metaeval:report-list')}?study={study.slug}" in response.content.decode()


def test_the_study_page_loads_it(cast: Cast) -> None:
    study = studied(cast.alice)
    address = reverse("annotation:study-detail", args=[study.slug])
    browser = client_of(cast.alice)
    assert f'hx-get="{part(study)}"' in browser.get(address).content.decode()
    live = browser.get(reverse("annotation:study-live", args=[study.slug])).content.decode()
    assert part(study) not in live  # what is asked for every ten seconds doesn't ask for it again
    Study.objects.filter(pk=study.pk).update(state=StudyState.DRAFT)
    assert part(study) not in browser.get(address).content.decode()


def test_who_may_see_it(cast: Cast) -> None:
    study = studied(cast.alice)
    assert client_of(None).get(part(study))["Location"].startswith("/login/")
    assert client_of(cast.carl).get(part(study)).status_code == 403
    assert client_of(cast.bob).get(part(study)).status_code == 404
    assert client_of(cast.ann).get(part(study)).status_code == 200
    assert client_of(cast.alice).post(part(study)).status_code == 405
    assert client_of(cast.alice).get(reverse("metaeval:study-judges", args=["nowhere"])).status_code == 404


def test_nothing_without_judgments_or_labels_of_this_study(cast: Cast) -> None:
    browser = client_of(cast.alice)

    def nothing(study: Study) -> bool:
        response = browser.get(part(study))
        return (response.status_code, response.content) == (204, b"")

    unjudged = study_make(dataset=dataset_make(pairs=4), owner=cast.alice)
    labels_make(dataset=unjudged.dataset, choices=[[1, 1]] * 4, study=unjudged)
    assert nothing(unjudged)
    other = studied(cast.alice)
    assert nothing(study_make(dataset=other.dataset, owner=cast.alice))
    # Judgments of other kinds of items of the dataset are none of this study's.
    judgments_make(judge=judge_make("Other"), dataset=unjudged.dataset, choices=[(1, 1)] * 4)
    rubrics = study_make(dataset=unjudged.dataset, kind=Kind.RUBRIC, owner=cast.alice)
    assert nothing(rubrics)


def test_agreement_is_shown_where_the_report_ranks_by_gold(cast: Cast) -> None:
    study = study_make(pairs=8, owner=cast.alice)
    labels_make(dataset=study.dataset, choices=[[1, 1, 2]] * 4, study=study)
    judgments_make(judge=judge_make("Sure"), dataset=study.dataset, choices=[(1, 1)] * 8)
    table = client_of(cast.alice).get(part(study)).context["table"]
    assert [one.name for one in table.figures] == ["accuracy", "agreement", "minus_people"]


def test_the_ten_best_of_many_judges(cast: Cast) -> None:
    study = studied(cast.alice)
    for place in range(12):
        right = [(k % 2 + 1 if k < place else 2 - k % 2,) * 2 for k in range(12)]
        judgments_make(judge=judge_make(f"Judge {place}"), dataset=study.dataset, choices=right)
    response = client_of(cast.alice).get(part(study))
    names = [row.name for row in response.context["table"].rows]
    assert len(names) == 11  # below human annotators
    assert "Judge 11" in names
    assert "Judge 0" not in names
    assert "the best 10 of 14 judges" in unescape(text_of(response))


class TestLarge:
    @pytest.fixture
    def study(self, cast: Cast) -> Study:
        return studied(cast.alice)

    @pytest.fixture
    def no_computing(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        figures_set(monkeypatch, "pairwise", quick_rows=1)
        monkeypatch.delattr(study_judges, "content_get")
        cache.clear()

    def test_it_offers_a_report(self, cast: Cast, study: Study, no_computing: None) -> None:
        shown = text_of(client_of(cast.alice).get(part(study)))
        assert "too many labels or judgments to compare judges while you wait" in shown
        assert "Create a report" in shown
        assert not ReportJob.objects.exists()

    def test_it_quotes_the_latest_report(
        self, cast: Cast, study: Study, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
    ) -> None:
        report_request(user=cast.alice, dataset=study.dataset.name)  # not about the study
        report_request(user=cast.alice, study=study.slug)
        late = report_request(user=cast.alice, study=study.slug, margin=0.9)
        assert isinstance(late, Report)
        request.getfixturevalue("no_computing")
        response = client_of(cast.alice).get(part(study))
        words = verdict_of(report_of(late.content))
        assert " ".join((words.headline, *words.sentences)) in unescape(text_of(response))
        assert reverse("metaeval:report-detail", args=[late.pk]) in unescape(response.content.decode())
        assert client_of(cast.bob).get(part(study)).status_code == 404


def test_what_it_asks_of_the_database(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = client_of(cast.alice)
    for items in (12, 24):
        study = studied(cast.alice, items=items)
        with django_assert_num_queries(17):
            assert browser.get(part(study)).status_code == 200
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    with django_assert_num_queries(7):
        assert browser.get(part(study)).status_code == 200


def test_agreement_over_time_is_a_picture_of_the_study_page(cast: Cast) -> None:
    study, empty = studied(cast.alice), study_make(owner=cast.alice)
    alice, bob = client_of(cast.alice), client_of(cast.bob)
    shown = alice.get(reverse("metaeval:study-pictures", args=[study.slug]), headers={"hx-request": "true"})
    assert "<noscript" not in shown.content.decode()  # a script that parses it would fetch the image in it
    looks = agreement_so_far(study).over_time

    assert f"After {looks[-1].n_instructions:,}: " in text_of(shown)
    file = reverse("metaeval:study-picture", args=[study.slug, "over-time", "csv"])
    lines = alice.get(file).content.decode().strip().split("\r\n")
    assert len(lines) == 1 + len(looks)
    assert lines[-1].startswith(f"{looks[-1].n_instructions},{looks[-1].estimate.value:g}"[:6])
    assert alice.get(file.replace(".csv", ".html")).content.startswith(b"<svg ")
    assert alice.get(reverse("metaeval:study-pictures", args=[empty.slug])).status_code == 204
    assert {bob.get(url).status_code for url in (shown.request["PATH_INFO"], file)} == {404}
