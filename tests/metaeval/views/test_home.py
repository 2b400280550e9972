"""The home page, its example, and the six stages on the pages of a dataset."""

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Dataset, Label, QualificationQuestion, Role, Study
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.pay import pay_report
from annotation.services.pay import bonus_grant
from annotation.services.quality import item_report
from judges.models import Sweep
from metaeval.demo.example import example_load
from metaeval.models import Decision, Report
from metaeval.selectors.loop import Lane, lanes_of
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of, labels_make
from tests.annotation.factories import annotator_make, dataset_make, study_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, sweep_make, swept
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return Cast.make()


def lane(user, dataset: Dataset) -> Lane:
    (found,) = lanes_of(user, [dataset.pk])
    return found


def states(user, dataset: Dataset) -> str:
    return " ".join(stage.state for stage in lane(user, dataset).stages)


def page_of(user, address: str = "/") -> str:
    response = client_of(user).get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_an_empty_site_has_first_steps_with_one_primary_button(cast):
    page = page_of(cast.alice)
    assert "First steps" in page
    assert re.findall(r'class="[^"]*btn-primary[^"]*"[^>]*>([^<]+)<', page) == ["Import dataset"]
    assert "Load the example" in page


class TestStages:
    def test_a_dataset_without_labels_begins_with_a_study(self, cast):
        dataset = dataset_make(pairs=3, gold=False)
        assert states(cast.alice, dataset) == "done now todo todo todo todo"
        action = lane(cast.alice, dataset).action
        assert action is not None
        assert action.url.endswith(f"?dataset={dataset.name}")

    def test_gold_labels_need_no_study_and_say_so(self, cast):
        dataset = dataset_make(pairs=3)
        found = lane(cast.ann, dataset)
        assert states(cast.ann, dataset) == "done skip now todo todo todo"
        assert (found.stages[1].words, found.stages[1].url) == ("Gold labels", "")
        assert found.action is not None
        assert found.action.button == "Create sweep"
        # A researcher cannot run one, and is offered no button that leads nowhere.
        assert lane(cast.alice, dataset).action is None

    def test_labels_are_counted_while_judges_can_already_run(self, cast):
        study = study_make(pairs=4, owner=cast.alice, overlap=2)
        labels_make(study, [[1, 1], [2, 2]])
        found = lane(cast.alice, study.dataset)
        assert found.stages[1].state == "run"
        assert found.stages[1].words == "4 of 8 labels"
        assert found.stages[2].state == "now"
        # Somebody else's study and its labels are none of theirs.
        assert "labels" not in lane(cast.bob, study.dataset).stages[1].words.replace("Gold labels", "")

    def test_what_comes_after_a_running_sweep_waits_for_it(self, cast):
        dataset = dataset_make(pairs=4)
        sweep_make(judges=[judge_make("J")], datasets=[dataset], state="running").runs.update(n_done=3)
        assert states(cast.alice, dataset) == "done skip run todo todo todo"
        found = lane(cast.alice, dataset)
        assert found.stages[2].words == "3 of 8"
        assert found.action is not None
        assert found.action.button == "View sweep"

    def test_a_sweep_over_two_datasets_counts_each_by_itself(self, cast):
        one, two = dataset_make(pairs=2), dataset_make(pairs=5)
        judges = [judge_make("J"), judge_make("K")]
        for dataset in (one, two):
            for judge in judges:
                judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * dataset.items.count())
        sweep_make(judges=judges, datasets=[one, two])
        assert [lane(cast.alice, each).stages[2].detail for each in (one, two)] == [
            "8 judgments",
            "20 judgments",
        ]
        assert lane(cast.alice, one).stages[2].words == "2 judges"

    def test_imported_judgments_need_no_sweep(self, cast):
        dataset = dataset_make(pairs=2)
        judgments_make(judge=judge_make("J"), dataset=dataset, choices=[(1, 1), (2, 2)])
        found = lane(cast.alice, dataset)
        assert found.stages[2].detail == "imported"
        assert found.action is not None
        assert found.action.url == reverse("metaeval:dataset-comparison", args=[dataset.name])

    def test_what_is_compared_has_judges_that_were_imported_after_the_sweep(self, cast):
        dataset, other = dataset_make(pairs=2), dataset_make(pairs=2)
        ran, imported = judge_make("J"), judge_make("Imported", backend="imported")
        judgments_make(judge=ran, dataset=dataset, choices=[(1, 1), (2, 2)])
        judgments_make(judge=imported, dataset=other, choices=[(1, 1), (2, 2)])
        sweep = sweep_make(judges=[ran], datasets=[dataset])
        assert lane(cast.alice, dataset).stages[3].url.startswith(f"/sweeps/{sweep.pk}/comparison/")
        judgments_make(judge=imported, dataset=dataset, choices=[(1, 1), (2, 2)])
        found = lane(cast.alice, dataset)
        assert found.stages[3].url == reverse("metaeval:dataset-comparison", args=[dataset.name])
        assert found.stages[4].url == reverse("metaeval:dataset-decision", args=[dataset.name])

    def test_what_is_compared_has_the_judges_of_all_sweeps(self, cast):
        dataset = dataset_make(pairs=2)
        judges = [judge_make("J"), judge_make("K")]
        for judge in judges:
            judgments_make(judge=judge, dataset=dataset, choices=[(1, 1), (2, 2)])
            sweep_make(judges=[judge], datasets=[dataset])
        found = lane(cast.alice, dataset)
        assert found.stages[3].url == reverse("metaeval:dataset-comparison", args=[dataset.name])
        whole = sweep_make(judges=judges, datasets=[dataset])
        assert lane(cast.alice, dataset).stages[3].url.startswith(f"/sweeps/{whole.pk}/comparison/")

    def test_a_decision_and_a_report_finish_the_way(self, cast):
        dataset = dataset_make(pairs=3)
        sweep, judge, _ = swept(dataset=dataset)
        assert states(cast.alice, dataset) == "done skip done now todo todo"
        Decision.objects.create(
            sweep=sweep, dataset=dataset, judge=judge, reason="r", evidence={}, decided_by=cast.ann
        )
        assert states(cast.alice, dataset) == "done skip done done done now"
        Report.objects.create(name="r", dataset=dataset, inputs_hash="h", content={}, created_by=cast.alice)
        assert states(cast.alice, dataset) == "done skip done done done done"
        assert lane(cast.alice, dataset).action is None
        assert all(stage.url for stage in lane(cast.alice, dataset).stages if stage.state == "done")

    def test_the_questions_of_a_test_need_nothing(self, cast):
        study, questions = study_make(pairs=2, owner=cast.alice), dataset_make(pairs=2)
        for place, item in enumerate(questions.items.all()):
            QualificationQuestion.objects.create(study=study, item=item, position=place)
        assert states(cast.alice, questions) == "done skip skip skip skip skip"


class TestHome:
    def test_the_first_step_is_the_only_primary_button(self, cast):
        study = study_make(pairs=4, owner=cast.alice, overlap=2)
        labels_make(study, [[1, 2], [1, 1]])
        item_report(assignment=study.enrollments.first().assignments.first(), reason="broken")
        page = page_of(cast.alice)
        assert page.count("btn-primary") == 1
        assert "Adjudicate 1 item" in page
        assert "Review 1 reported item" in page
        assert page.index("Adjudicate 1 item") < page.index("Review 1 reported item")

    def test_private_rows_of_others_are_not_there(self, cast):
        dataset_make(pairs=1, split="private", owner=cast.alice, name="secret")
        assert "secret" in page_of(cast.alice)
        assert "First steps" in page_of(cast.bob)

    def test_queries_do_not_grow_with_datasets_studies_and_sweeps(self, cast):
        counts = []
        for round_ in range(2):
            for k in range(5):  # as many studies as are shown
                study = study_make(pairs=2, owner=cast.alice)
                swept(dataset=study.dataset, good=f"good {round_} {k}", poor=f"poor {round_} {k}")
            client = client_of(cast.alice)
            with CaptureQueriesContext(connection) as queries:
                client.get("/")
            counts.append(len(queries))
        assert counts[0] == counts[1] <= 65, counts

    def test_an_open_study_shows_agreement_pay_and_expected_end(self, cast):
        study = study_make(pairs=6, owner=cast.alice, overlap=4, pay_per_item="0.50", pay_currency="EUR")
        labels_make(study, [[1, 1], [2, 2], [1, 1], [2, 1]])
        study.refresh_from_db()
        page = page_of(cast.alice)
        agreement = agreement_so_far(study).of_everyone
        assert f"{100 * agreement['value']:.1f}%" in page
        assert f"{pay_report(study).total.total:.2f} EUR" in page
        assert "Too early to estimate the end." in page
        assert "Pay so far" not in page_of(cast.bob)
        bonus_grant(
            enrollment=study.enrollments.first(), amount=Decimal(3), reason="r", by=cast.alice, nonce="n" * 8
        )
        assert f"{pay_report(study).total.total:.2f} EUR" in page_of(cast.alice)

    def test_the_lane_names_who_leads_in_the_newest_report(self, cast):
        dataset = dataset_make(name="teas", pairs=30)
        swept(dataset=dataset, good="The good one")
        assert "The good one" not in page_of(cast.alice)
        report_request(user=cast.alice, dataset="teas")
        compare = lane(cast.alice, dataset).stages[3]
        assert (compare.words, compare.detail) == ("The good one", "leads")
        assert "The good one" in page_of(cast.alice)
        # A report that somebody may not read names nobody to them.
        Label.objects.create(
            item=dataset.items.first(), annotator=annotator_make(), kind="pairwise", value={"choice": 1}, choice=1,
            probability=1.0, study=study_make(dataset=dataset, owner=cast.ann), created_at=timezone.now(),
        )  # fmt: skip
        report_request(user=cast.ann, dataset="teas")
        assert lane(cast.bob, dataset).stages[3].words in ("The good one", "Comparison")

    def test_its_queries_are_bounded(self, cast):
        """With as many open studies as are shown, each with labels and pay, and reports on their datasets."""
        for k in range(6):
            study = study_make(pairs=2, owner=cast.alice, overlap=2, pay_per_item="0.50")
            labels_make(study, [[1, 1], [2, 2]])
            swept(dataset=study.dataset, good=f"good {k}", poor=f"poor {k}")
            report_request(user=cast.alice, dataset=study.dataset.name)
        client = client_of(cast.alice)
        for most in (110, 50):  # the second time agreement and pay are known
            with CaptureQueriesContext(connection) as queries:
                client.get("/")
            assert len(queries) <= most, len(queries)


class TestStrip:
    def test_it_stands_on_the_pages_of_a_dataset(self, cast):
        study = study_make(pairs=3, owner=cast.alice)
        sweep, *_ = swept(dataset=study.dataset)
        report = Report.objects.create(name="r", dataset=study.dataset, inputs_hash="h", content={})
        part = reverse("metaeval:loop", args=[study.dataset.name])
        pages = {
            reverse("annotation:dataset-detail", args=[study.dataset.name]): "import",
            reverse("annotation:study-detail", args=[study.slug]): "annotate",
            reverse("annotation:study-people", args=[study.slug]): "annotate",
            reverse("judges:sweep-detail", args=[sweep.pk]): "judge",
            reverse("judges:judgment-list", args=[study.dataset.name]): "judge",
            reverse("metaeval:comparison", args=[sweep.pk]): "compare",
            reverse("metaeval:decision", args=[sweep.pk]): "decide",
        }
        assert report
        for address, at in pages.items():
            assert f'hx-get="{part}?at={at}"' in page_of(cast.alice, address), address
        strip = page_of(cast.alice, f"{part}?at=judge")
        assert strip.count('aria-current="step"') == 1
        assert "Choose judge" in strip


class TestExample:
    address = "/example/"

    def post(self, user) -> str:
        return client_of(user).post(self.address).url

    def test_one_click_makes_it_and_starts_its_sweep(self, cast):
        assert self.post(cast.alice) == reverse("judges:sweep-detail", args=[Sweep.objects.get().pk])
        dataset = Dataset.objects.get(name="demo")
        assert dataset.items.count() == 80
        assert Study.objects.get().labels.filter(annotator__is_simulated=True).count() == 304
        assert Sweep.objects.get().state != "draft"
        page = page_of(cast.alice)
        assert "304 of 320 labels" in page
        assert "Test questions" in page

    def test_twice_is_once(self, cast):
        assert self.post(cast.alice) == self.post(cast.alice) == self.post(cast.bob)
        assert (Sweep.objects.count(), Study.objects.count(), Label.objects.count()) == (1, 1, 304)

    def test_a_private_dataset_of_its_name_is_left_alone(self, cast):
        hers = dataset_make(pairs=1, name="demo", split="private", owner=cast.alice)
        for user in (cast.bob, cast.alice):  # hers is no example either
            assert self.post(user) == "/"
        assert hers.items.count() == 1
        assert not Study.objects.exists()

    def test_who_is_no_researcher_gets_nothing(self, cast):
        assert client_of(None).post(self.address).url.startswith(reverse("login"))
        assert client_of(cast.carl).post(self.address).status_code == 403
        assert client_of(cast.alice).get(self.address).status_code == 405
        assert not Dataset.objects.exists()


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_who_load_the_example_at_once_make_one():
    users = [user_make(username=name, role=Role.RESEARCHER) for name in ("eve", "fay")]
    found = all_at_once(lambda user: example_load(user).pk, users)
    assert len(set(found)) == 1
    assert (Sweep.objects.count(), Study.objects.count(), Label.objects.count()) == (1, 1, 304)
