"""The deployment's files hold together: schema, names, and rules that keep a server safe."""

import configparser
import json
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from config.celery import QUEUES
from config.observing.operations import operations_recent
from config.observing.readiness import CHECKS
from judges.services.worker_heartbeats import worker_started
from tests.annotation.factories import dataset_make
from tests.deploy.files import DEPLOY, ROOT, compose, copied_into, dockerfile, documents, environment_of
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make

SET = {
    "DOMAIN": "touchstone.example",
    "DJANGO_SECRET_KEY": "s" * 64,
    "POSTGRES_PASSWORD": "p",
    "METRICS_TOKEN": "m" * 32,
}
OURS = ("migrate", "web", "worker", "worker-gpu")


class TestCompose:
    @pytest.fixture
    def services(self):
        return compose(**SET)["services"]

    @pytest.mark.service
    def test_it_fits_the_schema_of_compose_files(self):
        words = ("check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(ROOT / "compose.yaml"))
        found = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout + found.stderr

    @pytest.mark.parametrize("missing", SET)
    def test_nothing_starts_without_a_secret(self, missing):
        with pytest.raises(KeyError, match=f"set {missing} in .env"):
            compose(**SET | {missing: ""})

    @pytest.mark.parametrize("name", OURS)
    def test_our_containers_can_write_little_and_gain_nothing(self, services, name):
        service = services[name]
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]

    def test_only_the_proxy_is_open_to_the_world(self, services):
        open_ports = {
            name: ports
            for name, service in services.items()
            if (ports := [port for port in service.get("ports", []) if not port.startswith("127.0.0.1:")])
        }
        assert open_ports == {"caddy": ["80:80", "443:443", "443:443/udp"]}

    def test_what_is_named_is_there(self, services):
        file = compose(**SET)
        for name, service in services.items():
            assert set(service.get("networks", ())) <= set(file["networks"]), name
            assert set(service.get("depends_on", ())) <= set(services), name
            for volume in service.get("volumes", ()):
                source = volume.partition(":")[0]
                assert (ROOT / source).exists() if source.startswith("./") else source in file["volumes"], (
                    volume
                )
            if "build" in service:
                assert service["build"]["target"] in {stage for stage, _, _ in dockerfile()}

    def test_each_queue_has_a_worker(self, services):
        taken = {
            queue
            for service in services.values()
            if "celery" in service.get("command", ())
            for queue in service["command"][service["command"].index("-Q") + 1].split(",")
        }
        assert taken == set(QUEUES)

    def test_what_is_started_again_waits_for_the_migrations(self, services):
        for name in ("web", "worker", "worker-gpu"):
            assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services["migrate"]["restart"] == "no"

    def test_variables_are_those_that_the_site_reads(self, services):
        known = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
        for name in ("migrate", "web", "worker"):
            assert set(services[name]["environment"]) <= known, name

    def test_the_example_has_each_variable(self):
        named = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
        example = (DEPLOY / "env.example").read_text()
        optional = {"TOUCHSTONE_VERSION", "GPU_TARGET", "INSIDE_NETWORK", "VLLM_IMAGE", "VLLM_MODEL"}
        assert {name for name in named if f"\n{name}=" not in f"\n{example}"} == optional

    def test_the_probe_leaves_out_known_checks(self, services):
        asked = services["web"]["healthcheck"]["test"][-1]
        assert set(re.search(r"exclude=([\w,]+)", asked)[1].split(",")) <= set(CHECKS)


class TestImage:
    def test_it_runs_as_a_user_of_its_own(self):
        users = [rest for stage, word, rest in dockerfile() if (stage, word) == ("base", "USER")]
        assert users == ["10001:10001"]
        assert not [stage for stage, word, _ in dockerfile() if word == "USER" and stage != "base"]

    def test_the_default_target_is_the_one_without_models(self):
        stages = [stage for stage, word, _ in dockerfile() if word == "FROM"]
        assert stages[-1] == "app"
        assert {"local", "vllm"} <= set(stages)

    def test_it_has_all_that_the_site_needs_and_the_context_has_it_too(self):
        copied = copied_into("code")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        assert len(packages) == 6
        assert set(packages) <= set(copied)
        assert {"manage.py", "templates", "static", "locale", "fixtures"} <= set(copied)
        shown = (ROOT / ".dockerignore").read_text().splitlines()
        assert "*" in shown
        for name in {*copied, *copied_into("dependencies")}:
            assert f"!{name}" in shown
            assert (ROOT / name).exists()

    def test_static_files_are_read_where_they_were_collected(self):
        for name in ("STATIC_ROOT", "STATIC_MANIFEST", "PYTHONPATH"):
            assert environment_of("code")[name] == environment_of("base")[name]


class TestUnits:
    @pytest.mark.parametrize("name", ["touchstone-web.service", "touchstone-worker@.service"])
    def test_a_unit_starts_what_there_is_and_is_confined(self, name):
        text = (DEPLOY / "systemd" / name).read_text()
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read_string(text)
        service = unit["Service"]
        assert service["User"] == "touchstone"
        for rule in ("NoNewPrivileges", "PrivateTmp", "ProtectHome"):
            assert service[rule] == "true"
        assert service["ProtectSystem"] == "strict"
        assert service["Restart"] == "always"
        commands = re.findall(r"^ExecStart(?:Pre)?=\S+/(\S+)(?: (manage\.py) (\w+))?", text, re.MULTILINE)
        known = {"migrate", "collectstatic", "serve", ""}
        assert commands
        assert {command for _, _, command in commands} <= known

    @pytest.mark.service
    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
    def test_systemd_reads_them(self, tmp_path):
        for file in sorted((DEPLOY / "systemd").iterdir()):
            # The programs are elsewhere here; everything else is read as it is.
            text = re.sub(r"(?<==)/opt/touchstone/\.venv/bin/\w+", "/bin/true", file.read_text())
            (tmp_path / file.name.replace("@.", "@http.")).write_text(text)
        paths = [str(path) for path in tmp_path.iterdir()]
        found = subprocess.run(
            ["systemd-analyze", "verify", "--recursive-errors=no", *paths],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not re.search(r"(?i)unknown|invalid|failed to parse|ignoring", found.stderr), found.stderr


class TestKubernetes:
    def test_what_is_listed_is_there_and_all_is_listed(self):
        listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
        there = {file.name for file in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
        assert sorted(listed) == sorted(there)

    def test_pods_are_confined_and_name_what_there_is(self):
        found = documents("kubernetes")
        names = {(one["kind"], one["metadata"]["name"]) for one in found if "metadata" in one}
        pods = [one for one in found if one["kind"] in ("Deployment", "Job")]
        assert {one["metadata"]["name"] for one in pods} == {"broker", "migrate", "web", "worker"}
        for pod in pods:
            spec = pod["spec"]["template"]["spec"]
            assert spec["securityContext"]["runAsNonRoot"] is True
            for container in spec["containers"]:
                rules = container["securityContext"]
                assert rules["readOnlyRootFilesystem"] is True
                assert rules["allowPrivilegeEscalation"] is False
                assert rules["capabilities"] == {"drop": ["ALL"]}
                for source in container.get("envFrom", ()):
                    if "configMapRef" in source:
                        assert ("ConfigMap", source["configMapRef"]["name"]) in names
                assert {mount["name"] for mount in container["volumeMounts"]} <= {
                    volume["name"] for volume in spec["volumes"]
                }
            for volume in spec["volumes"]:
                if claim := volume.get("persistentVolumeClaim"):
                    assert ("PersistentVolumeClaim", claim["claimName"]) in names

    def test_they_run_what_compose_runs(self):
        services = compose(**SET)["services"]
        for one in documents("kubernetes"):
            if one["kind"] in ("Deployment", "Job") and one["metadata"]["name"] in (
                "worker",
                "migrate",
                "broker",
            ):
                (container,) = one["spec"]["template"]["spec"]["containers"]
                assert container["command"] == services[one["metadata"]["name"]]["command"]

    @pytest.mark.django_db
    def test_probes_ask_addresses_that_there_are(self, client):
        (web,) = [
            one["spec"]["template"]["spec"]["containers"][0]
            for one in documents("kubernetes")
            if one["kind"] == "Deployment" and one["metadata"]["name"] == "web"
        ]
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = web[name]["httpGet"]
            assert client.get(asked["path"]).status_code == 200
        (config,) = [one for one in documents("kubernetes") if one["kind"] == "ConfigMap"]
        assert "localhost" in config["data"]["DJANGO_ALLOWED_HOSTS"].split(",")
        known = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
        assert set(config["data"]) <= known


class TestDashboard:
    @pytest.fixture
    def expressions(self) -> list[str]:
        board = json.loads((DEPLOY / "grafana/dashboards/touchstone.json").read_text())
        asked = [one["expr"] for panel in board["panels"] for one in panel.get("targets", ())]
        rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
        return [*asked, *(rule["expr"] for rule in rules)]

    @pytest.mark.django_db
    def test_every_metric_and_label_that_is_asked_for_is_there(self, client, expressions):
        settings.METRICS, settings.METRICS_TOKEN = True, SET["METRICS_TOKEN"]
        try:
            endpoint = endpoint_make()
            sweep_make([judge_make(endpoint)], dataset_make(pairs=1))
            run_instant()
            worker_started(name="celery@one", queues=["http"], n_processes=1)
            operations_recent.forget()
            client.get("/login/")
            answer = client.get("/metrics", headers={"Authorization": f"Bearer {SET['METRICS_TOKEN']}"})
        finally:
            settings.METRICS, settings.METRICS_TOKEN = False, ""
            operations_recent.forget()
        labels: dict[str, set[str]] = {}
        for family in text_string_to_metric_families(answer.content.decode()):
            labels.setdefault(f"{family.name}_total" if family.type == "counter" else family.name, set())
            for sample in family.samples:
                labels.setdefault(sample.name, set()).update(sample.labels)
        # Counters that nothing was counted by yet have no samples: their labels are those of the code.
        labels["touchstone_claims_total"].add("outcome")
        labels["touchstone_submits_total"].add("outcome")
        assert len(expressions) > 30
        for expression in expressions:
            for name, matched in re.findall(
                r"\b(touchstone_\w+|up)\b(?:\{([^}]*)\})?", re.sub(r'"[^"]*"', '""', expression)
            ):
                if name == "up":
                    continue
                assert name in labels, expression
                assert set(re.findall(r"(\w+)\s*[=!]~?", matched)) <= labels[name], expression
            for grouped in re.findall(r"by \(([\w, ]+)\)", expression):
                known = set().union(*(labels[name] for name in re.findall(r"touchstone_\w+", expression)))
                assert set(re.split(r",\s*", grouped)) <= known, expression

    @pytest.mark.service
    @pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
    def test_prometheus_reads_its_rules(self):
        found = subprocess.run(
            ["promtool", "check", "rules", str(DEPLOY / "prometheus/alerts.yml")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stdout + found.stderr

    def test_each_panel_has_a_title_a_place_and_the_shipped_source(self):
        board = json.loads((DEPLOY / "grafana/dashboards/touchstone.json").read_text())
        source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())
        (shipped,) = source["datasources"]
        places = set()
        for panel in board["panels"]:
            assert panel["title"]
            place = (panel["gridPos"]["x"], panel["gridPos"]["y"])
            assert place not in places
            places.add(place)
            if panel["type"] != "row":
                assert panel["datasource"]["uid"] == shipped["uid"]


class TestUp:
    """`make up`, with a `docker` that only notes how it was called: no daemon is needed for what the script decides."""

    @pytest.fixture
    def checkout(self, tmp_path):
        (tmp_path / "deploy").mkdir()
        for name in ("up.sh", "env.example"):
            shutil.copy(DEPLOY / name, tmp_path / "deploy" / name)
        (tmp_path / "bin").mkdir()
        docker = tmp_path / "bin" / "docker"
        docker.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n')
        docker.chmod(0o755)
        return tmp_path

    def up(self, checkout, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(checkout / "deploy" / "up.sh")],
            env={"PATH": f"{checkout}/bin:/usr/bin:/bin"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @pytest.mark.service
    def test_it_makes_secrets_once_and_starts_all(self, checkout):
        found = self.up(checkout, DOMAIN="judge.example.org")
        assert found.returncode == 0, found.stderr
        first = (checkout / ".env").read_text()
        assert "DOMAIN=judge.example.org\n" in first
        names = "DJANGO_SECRET_KEY|POSTGRES_PASSWORD|METRICS_TOKEN|GRAFANA_PASSWORD"
        secrets = re.findall(rf"^(?:{names})=([0-9a-f]{{64}})$", first, re.MULTILINE)
        assert len(set(secrets)) == 4
        assert (checkout / ".env").stat().st_mode & 0o077 == 0
        assert self.up(checkout).returncode == 0
        assert (checkout / ".env").read_text() == first
        called = (checkout / "called").read_text().splitlines()
        assert called == ["compose --profile watch up --detach --build --wait"] * 2
        assert "https://judge.example.org" in found.stdout

    @pytest.mark.service
    def test_without_a_domain_it_says_what_to_do(self, checkout):
        found = self.up(checkout)
        assert found.returncode == 2
        assert "make up DOMAIN=touchstone.example" in found.stderr
        assert not (checkout / "called").exists()
