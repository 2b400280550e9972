"""What models in the worker are made of, without the models: hosts, mailboxes, the warm pool, options, the supervisor.

The real engines run in tests/local_models, by `make test-vllm`.
"""

import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from judges.backends.errors import (
    BackendUnavailableError,
    EndpointError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.local import Job, LocalBackend, ModelHost
from judges.backends.model_files import answerer_of, check_model, local_path
from judges.backends.registry import create_backend, endpoint_identity
from judges.backends.server_process import COMMAND_VARIABLE, ServerProcess, vllm_command
from judges.backends.tokenising import leaves_out_special
from judges.backends.vllm_options import VLLMOptions
from judges.backends.warm import WARM, WarmPool
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

ROOT = Path(__file__).resolve().parents[3]


class Echo(ModelHost):
    """A host whose model repeats the question; some questions break it."""

    loads = 0

    def __init__(self, name: str = "echo") -> None:
        self.waiting: list[Job] = []
        self.threads: set[str] = set()
        super().__init__(name)

    def load(self):
        type(self).loads += 1
        if self.name == "broken":
            raise EndpointError("broken file")
        if self.name == "odd":
            raise RuntimeError("what\nis this")

    def answers_as(self):
        return {"model": f"{self.name}@1f2e", "system_fingerprint": "sha256:00\nff"}

    def work(self, jobs):
        self.waiting += jobs
        job = self.waiting.pop(0)
        text = job.request.messages[0][1]
        if text == "crash":
            self.waiting.insert(0, job)
            raise RuntimeError("segments overlap")
        job.finish(Answer(text=text, cost=job.cost(1_000_000, 0)))
        job.finish(PermanentBackendError("a second outcome, which nobody is to see"))
        return bool(self.waiting)

    def unload(self):
        self.waiting = []

    def open_jobs(self):
        return list(self.waiting)


def backend_make(model: str = "echo", **fields) -> LocalBackend:
    rules = {"name": "vllm", "revision": "", "capacity": 4, "options": {}, "build": lambda: Echo(model)}
    return LocalBackend(**(rules | fields | {"model": model}))


def question(text: str, model: str = "echo") -> WireRequest:
    return WireRequest("chat", model, (("user", text),))


def drained(backend, n: int) -> dict:
    found: dict = {}
    deadline = time.monotonic() + 90
    while len(found) < n and time.monotonic() < deadline:
        found |= dict(backend.drain(0.2))
    assert len(found) == n
    return found


@pytest.fixture(autouse=True)
def _cold():
    WARM.shutdown_all()
    yield
    WARM.shutdown_all()


def test_each_request_has_one_outcome_and_its_price():
    backend = backend_make(price_prompt=2.0, prices={"other": (9.0, 9.0)})
    for token in range(20):
        backend.submit(token, question(str(token)))
    found = drained(backend, 20)
    assert [found[token].text for token in range(20)] == [str(token) for token in range(20)]
    assert found[0].cost == pytest.approx(2.0)
    # As a server says which model answered, on one line each.
    assert {(one.model, one.system_fingerprint) for one in found.values()} == {("echo@1f2e", "sha256:00 ff")}
    assert backend.drain(5.0) == []  # at once, for nothing is under way
    backend.close()


def test_a_crash_fails_what_was_in_hand_and_the_next_request_starts_afresh():
    Echo.loads = 0
    backend = backend_make()
    backend.submit(1, question("crash"))
    lost = drained(backend, 1)[1]
    assert isinstance(lost, TransientBackendError)
    assert (lost.status, "segments overlap" in str(lost)) == (500, True)
    backend.submit(2, question("fine"))
    assert drained(backend, 1)[2].text == "fine"
    assert Echo.loads == 2
    backend.close()


@pytest.mark.parametrize(
    ("model", "words"), [("broken", "broken file"), ("odd", "RuntimeError: what is this")]
)
def test_a_model_that_cannot_be_loaded_is_every_requests_outcome(model, words):
    backend = backend_make(model)
    for token in range(3):
        backend.submit(token, question("Hi", model))
    found = drained(backend, 3)
    assert all(isinstance(each, EndpointError) and words in str(each) for each in found.values())
    backend.close()


def test_sessions_share_a_warm_model_and_another_one_replaces_it():
    first, second = backend_make(), backend_make()
    assert first._host is second._host
    host = first._host
    first.close()
    first.close()
    with pytest.raises(RuntimeError):
        first.submit(1, question("Hi"))
    assert first.drain(1.0) == []
    other = backend_make("another")
    assert host.is_alive()  # the second session still has it
    second.close()
    other.close()
    third = backend_make("third")
    assert not host.is_alive()
    assert len(WARM.names()) == 1
    third.close()


def test_a_backend_whose_model_was_shut_down_says_so():
    backend = backend_make()
    WARM.shutdown_all()
    backend.submit(1, question("Hi"))
    assert "shut down" in str(drained(backend, 1)[1])
    again = backend_make()
    again.submit(1, question("Hi"))
    assert drained(again, 1)[1].text == "Hi"
    again.close()
    backend.close()


def test_another_models_requests_are_refused():
    backend = backend_make()
    backend.submit(1, question("Hi", "somebody else"))
    assert isinstance(drained(backend, 1)[1], PermanentBackendError)
    backend.close()


def test_the_pool_rebuilds_what_is_of_no_use():
    class Thing:
        def __init__(self):
            self.alive = True

        def is_alive(self):
            return self.alive

        def shutdown(self):
            self.alive = False

    pool = WarmPool()
    first = pool.lease("a", Thing)
    first.alive = False
    assert pool.lease("a", Thing) is not first
    pool.release("unknown")


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
@pytest.mark.parametrize(
    ("kind", "extra"), [("vllm", "vllm"), ("vllm_server", "vllm"), ("transformers", "local")]
)
def test_a_missing_package_says_what_to_install(kind, extra):
    with pytest.raises(BackendUnavailableError, match=rf'pip install "touchstone-judge\[{extra}\]"'):
        create_backend(kind, options={"model": "some/model", "revision": ""})


def test_a_folder_without_a_model_is_named(tmp_path):
    (tmp_path / "file").touch()
    for name, words in (
        (str(tmp_path), "no config.json"),
        (str(tmp_path / "file"), "is a file"),
        (str(tmp_path / "gone"), "no folder"),
        ("./gone", "no folder"),
        ("a/b/c", "no folder"),
    ):
        with pytest.raises(EndpointError, match=words):
            check_model(name)
    (tmp_path / "config.json").touch()
    assert local_path(str(tmp_path)) == tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": 3},
        {"max_num_seqs": 0},
        {"max_num_seqs": True},
        {"gpu_memory_utilization": 1.5},
        {"tensor_parallel_size": 0},
        {"runner": "walk"},
        {"chat_template_kwargs": []},
        {"trust_remote_code": True},
        {"command": "rm"},
    ],
)
def test_options_that_cannot_be_right(options):
    with pytest.raises(EndpointError):
        VLLMOptions.taken_from(options)


def test_options_become_arguments_and_flags(monkeypatch):
    options = VLLMOptions.taken_from(
        {"dtype": "float32", "tensor_parallel_size": 2, "enforce_eager": True, "gpu_memory_utilization": 1}
    )
    assert options.engine_arguments() == {
        "dtype": "float32",
        "tensor_parallel_size": 2,
        "enforce_eager": True,
        "gpu_memory_utilization": 1.0,
        "max_num_seqs": 256,
        "seed": 0,
    }
    flags = options.server_arguments()
    assert flags[flags.index("--tensor-parallel-size") + 1] == "2"
    assert "--enforce-eager" in flags
    assert "True" not in flags
    monkeypatch.setenv("TOUCHSTONE_TRUST_REMOTE_CODE", "1")
    assert "--trust-remote-code" in VLLMOptions().server_arguments()


def test_copies_and_several_machines_are_passed_to_vllm():
    spread = {
        "tensor_parallel_size": 8,
        "data_parallel_size": 4,
        "data_parallel_backend": "ray",
        "distributed_executor_backend": "ray",
    }
    options = VLLMOptions.taken_from(spread)
    assert options.engine_arguments() == spread | {"max_num_seqs": 256, "seed": 0}
    flags = options.server_arguments()
    for flag, value in (("--data-parallel-size", "4"), ("--data-parallel-backend", "ray")):
        assert flags[flags.index(flag) + 1] == value
    assert flags[flags.index("--distributed-executor-backend") + 1] == "ray"
    assert endpoint_identity("vllm", options=options.to_dict()) == "vllm||"
    for wrong in ({"data_parallel_size": 0}, {"distributed_executor_backend": "slurm"}):
        with pytest.raises(EndpointError):
            VLLMOptions.taken_from(wrong)


def test_what_cannot_change_an_answer_is_not_in_the_identity():
    bare = endpoint_identity("vllm", options=VLLMOptions().to_dict())
    assert bare == endpoint_identity("vllm") == "vllm||"
    spread = {
        "tensor_parallel_size": 4,
        "max_num_seqs": 8,
        "gpu_memory_utilization": 0.5,
        "enforce_eager": True,
    }
    assert endpoint_identity("vllm", options=VLLMOptions.taken_from(spread).to_dict()) == bare
    given = {"dtype": "float16", "max_model_len": 4096}
    whole = VLLMOptions.taken_from(given | spread).to_dict()
    assert endpoint_identity("vllm", options=whole) == endpoint_identity("vllm", options=given) != bare


def test_the_servers_command_is_the_operators(monkeypatch):
    monkeypatch.setenv(COMMAND_VARIABLE, "/opt/vllm/bin/vllm serve")
    assert vllm_command("m") == ["/opt/vllm/bin/vllm", "serve", "m"]
    monkeypatch.setenv(COMMAND_VARIABLE, "python3 -m server")
    assert vllm_command("m") == ["python3", "-m", "server", "--model", "m"]
    monkeypatch.delenv(COMMAND_VARIABLE)
    assert vllm_command("m")[0].startswith(str(Path(sys.executable).parent))


SERVER = """
import http.server, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def server_make(script: str = SERVER, seconds: float = 120.0) -> ServerProcess:
    return ServerProcess(
        name="test",
        command=lambda port: [sys.executable, "-c", script, str(port)],
        environment={},
        startup_timeout=seconds,
    )


def is_gone(pid: int, seconds: float = 90.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.service
def test_a_server_ends_with_all_its_processes_and_is_started_again():
    server = server_make()
    server.start()
    server.start()
    below = psutil.Process(server._process.pid).children(recursive=True)
    assert len(below) == 2
    below[0].send_signal(signal.SIGKILL)
    assert all(is_gone(each.pid) for each in below)  # the child too, which nobody killed
    # Shown as a zombie, it may still have a thread that ends: then it cannot be waited for yet.
    server._process.wait(timeout=90)
    assert not server.is_running()
    assert server.is_alive()
    server.start()
    again = psutil.Process(server._process.pid).children(recursive=True)
    server.shutdown()
    server.shutdown()
    assert all(is_gone(each.pid) for each in again)
    with pytest.raises(EndpointError, match="shut down"):
        server.start()


@pytest.mark.service
def test_a_server_ends_with_the_process_that_started_it():
    script = (
        "import time\n"
        "from tests.judges.backends.test_local_parts import server_make\n"
        "server = server_make()\n"
        "server.start()\n"
        "print(server._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    supervisor = psutil.Process(int(process.stdout.readline()))
    below = [supervisor, *supervisor.children(recursive=True)]
    assert len(below) == 3
    process.kill()
    process.wait()
    process.stdout.close()
    assert all(is_gone(each.pid) for each in below)


@pytest.mark.service
def test_a_server_that_dies_or_is_late_shows_its_log():
    server = server_make("raise SystemExit('RuntimeError: no memory left')")
    with pytest.raises(EndpointError, match="ended before it was ready: RuntimeError: no memory left"):
        server.start()
    server.shutdown()
    late = server_make("import time; print('loading', flush=True); time.sleep(600)", seconds=6.0)
    with pytest.raises(EndpointError, match="not ready within 6 s: loading"):
        late.start()
    assert not late.is_running()
    late.shutdown()


@pytest.mark.parametrize(
    ("special", "left_out"),
    [
        (["<s>", "</s>", "<|im_end|>"], True),
        (["<s>", "</s>", "[INST]", "[THINK]", "[/THINK]"], False),
        (["<|START_THINKING|>", "<|END_THINKING|>"], False),
        (["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"], False),
        ([], True),
    ],
)
def test_special_tokens_that_mark_a_thought_stay_in_the_text(special, left_out):
    assert leaves_out_special(SimpleNamespace(all_special_tokens=special)) is left_out


def test_which_model_answers_is_told_by_its_files(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for name, text in (("config.json", "{}"), ("model.safetensors", "one"), ("README.md", "x")):
        (folder / name).write_text(text)
    before = answerer_of(str(folder))
    assert before["model"] == str(folder)
    assert before["system_fingerprint"].startswith("sha256:")
    (folder / "README.md").write_text("y")
    assert answerer_of(str(folder)) == before
    (folder / "model.safetensors").write_text("two")
    assert answerer_of(str(folder))["system_fingerprint"] != before["system_fingerprint"]


def test_which_model_of_the_hub_answers_is_told_by_its_commit(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub")
    commit = "0123456789abcdef0123456789abcdef01234567"
    snapshot = tmp_path / "hub" / "models--org--tiny" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (tmp_path / "hub" / "models--org--tiny" / "refs").mkdir()
    (tmp_path / "hub" / "models--org--tiny" / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert answerer_of("org/tiny") == {"model": f"org/tiny@{commit}"}
    assert answerer_of("org/tiny", commit) == {"model": f"org/tiny@{commit}"}
    assert answerer_of("org/other", "v2") == {"model": "org/other@v2"}
