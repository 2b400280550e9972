"""`/metrics`: who may read it, what it says, and what it costs."""

import ipaddress
from datetime import timedelta

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from annotation.models import Assignment
from annotation.services.assignments import assignment_claim, assignment_submit
from config.observing.metrics import action_observe
from config.observing.operations import operations_read
from judges.models import ExportJob, SweepState
from judges.services.sweeps import sweep_create, sweep_start
from judges.services.worker_heartbeats import worker_started
from tests.annotation.factories import dataset_make, enrollment_make, study_make, user_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make
from web.measuring import observe, observe_no_more

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-the-tests"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def metrics_on(settings):
    settings.METRICS, settings.METRICS_TOKEN = True, TOKEN


@pytest.fixture
def counted(metrics_on):
    observe(action_observe)
    yield
    observe_no_more(action_observe)


def samples(client) -> Samples:
    response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.content.decode())
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


class TestAccess:
    def test_there_are_none_unless_they_are_asked_for(self, client):
        assert client.get("/metrics").status_code == 404
        assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404

    @pytest.mark.parametrize(
        "sent", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü"]
    )
    def test_a_stranger_gets_nothing(self, client, metrics_on, sent):
        response = client.get("/metrics", headers={"Authorization": sent})
        assert response.status_code == 401
        assert response["WWW-Authenticate"].startswith("Bearer")
        assert b"touchstone_" not in response.content

    def test_the_token_opens_it(self, client, metrics_on):
        response = client.get("/metrics", headers={"Authorization": f"bearer {TOKEN}"})
        assert response.status_code == 200
        assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"

    def test_a_network_opens_it_without_a_token(self, client, settings):
        settings.METRICS = True
        settings.METRICS_NETWORKS = [ipaddress.ip_network("10.1.0.0/16")]
        assert client.get("/metrics", REMOTE_ADDR="10.1.2.3").status_code == 200
        assert client.get("/metrics", REMOTE_ADDR="10.2.2.3").status_code == 401
        assert client.get("/metrics", REMOTE_ADDR="").status_code == 401

    def test_an_address_that_a_stranger_claims_is_not_believed(self, client, settings):
        settings.METRICS = True
        settings.METRICS_NETWORKS = [ipaddress.ip_network("10.1.0.0/16")]
        settings.CLIENT_IP_HEADER = "X-Real-IP"
        sent = {"X-Real-IP": "10.1.2.3"}
        assert client.get("/metrics", REMOTE_ADDR="203.0.113.9", headers=sent).status_code == 401
        assert client.get("/metrics", REMOTE_ADDR="127.0.0.1", headers=sent).status_code == 200


class TestWhatProcessesCount:
    def test_claims_and_submits_with_their_latencies(self, client, counted):
        before = samples(client)
        study = study_make(pairs=1, overlap=1)
        person, other = enrollment_make(study=study), enrollment_make(study=study)
        lease = assignment_claim(enrollment=person)
        assert assignment_claim(enrollment=other) is None
        assignment_submit(assignment=lease, shown_value={"choice": 1})
        assignment_submit(assignment=lease, shown_value={"choice": 1})
        with pytest.raises(Exception, match="choice"):
            assignment_submit(assignment=lease, shown_value={"choice": 9})
        found = samples(client)
        for name, outcome in (
            ("touchstone_claims_total", "given"),
            ("touchstone_claims_total", "nothing"),
            ("touchstone_submits_total", "accepted"),
            ("touchstone_submits_total", "repeated"),
            ("touchstone_submits_total", "refused"),
        ):
            key = (name, (("outcome", outcome),))
            assert found[key] - before.get(key, 0) == 1, key
        key = ("touchstone_claim_seconds_count", ())
        assert found[key] - before[key] == 2
        assert found["touchstone_submit_seconds_sum", ()] > before["touchstone_submit_seconds_sum", ()]

    def test_requests_by_route_and_never_by_path(self, client, metrics_on):
        client.get("/login/?next=/secret/")
        client.get("/join/secret-token/")
        client.get("/no/such/page")
        client.generic("BREW", "/login/")
        found = samples(client)
        count = "touchstone_http_requests_total"
        assert value(found, count, route="login", method="GET", status="200") >= 1
        assert value(found, count, route="none", method="GET", status="404") >= 1
        assert value(found, count, route="login", method="other", status="405") >= 1
        assert not [key for key in found if "secret" in str(key) or "BREW" in str(key)]

    def test_nothing_is_counted_where_metrics_are_off(self, client, settings):
        client.get("/password/forgot/")
        settings.METRICS, settings.METRICS_TOKEN = True, TOKEN
        assert not [key for key in samples(client) if "password-forgot" in str(key)]


class TestWhatTheDatabaseKnows:
    def test_leases_sweeps_queues_and_workers(self, client, metrics_on):
        study = study_make(pairs=2, overlap=1)
        for _ in range(2):
            assignment_claim(enrollment=enrollment_make(study=study))
        late = Assignment.objects.first()
        Assignment.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
        endpoint = endpoint_make(queue="gpu")
        sweep = sweep_create(name="waits", judges=[judge_make(endpoint)], datasets=[dataset_make(pairs=3)])
        sweep_start(sweep=sweep)
        type(sweep).objects.update(queued_at=timezone.now() - timedelta(minutes=5))
        worker_started(name="celery@one", queues=["gpu"], n_processes=1)
        found = samples(client)
        assert value(found, "touchstone_leases", state="held") == 1
        assert value(found, "touchstone_leases", state="overdue") == 1
        assert value(found, "touchstone_sweeps", state="queued") == 1
        assert value(found, "touchstone_queue_runs", queue="gpu", state="waiting") == 1
        assert value(found, "touchstone_queue_judgments", queue="gpu") == 6
        assert 299 < value(found, "touchstone_queue_age_seconds", queue="gpu") < 360
        assert value(found, "touchstone_queue_age_seconds", queue="http") == 0
        assert value(found, "touchstone_workers", queue="gpu") == 1
        assert value(found, "touchstone_workers", queue="http") == 0
        assert 0 <= value(found, "touchstone_worker_heartbeat_age_seconds", worker="celery@one") < 30
        assert value(found, "touchstone_database_up") == 1
        assert value(found, "touchstone_database_bytes") > 0

    def test_requests_and_cost_by_endpoint(self, client, metrics_on):
        endpoint = endpoint_make(name="priced", price_input=1, price_output=1)
        sweep = sweep_make([judge_make(endpoint), judge_make()], dataset_make(pairs=3))
        run_instant()
        sweep.refresh_from_db()
        assert sweep.state == SweepState.FINISHED
        found = samples(client)
        assert value(found, "touchstone_judge_requests_total", endpoint="priced", state="sent") == 6
        assert value(found, "touchstone_judgments_total", endpoint="priced", state="parsed") == 6
        assert value(found, "touchstone_judgments_total", endpoint="priced", state="failed") == 0
        assert value(found, "touchstone_judgments_total", endpoint="none", state="parsed") == 6
        assert value(found, "touchstone_judge_cost_dollars_total", endpoint="priced") >= 0
        answered = {
            key: n for key, n in found.items() if key[0] == "touchstone_server_requests_total" and n == 6
        }
        assert len(answered) == 1

    def test_jobs_that_wait(self, client, metrics_on):
        owner = user_make()
        ExportJob.objects.create(
            requested_by=owner, dataset=dataset_make(pairs=1), what="labels", format="csv", key="k"
        )
        ExportJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
        found = samples(client)
        assert value(found, "touchstone_jobs", kind="export", state="queued") == 1
        assert value(found, "touchstone_job_age_seconds", kind="export") > 3599
        assert value(found, "touchstone_jobs", kind="report", state="failed") == 0

    def test_it_takes_as_many_queries_however_much_there_is(self, django_assert_num_queries):
        with django_assert_num_queries(14):
            operations_read()
        for number in range(3):
            endpoint = endpoint_make(f"http://127.0.0.1:{number + 1}/v1")
            sweep_make([judge_make(endpoint)], dataset_make(pairs=2))
            assignment_claim(enrollment=enrollment_make(study=study_make(pairs=2)))
            worker_started(name=f"celery@{number}", queues=["http"], n_processes=1)
        with django_assert_num_queries(14):
            operations_read()

    def test_a_second_scrape_within_seconds_asks_nothing(self, client, metrics_on, django_assert_num_queries):
        samples(client)
        with django_assert_num_queries(0):
            samples(client)
