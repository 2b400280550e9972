"""Potato, started beside us: its own server, on items like ours, with as many labels an item as ours.

It is installed from PyPI into an environment of its own (.venv-peers/potato). The limits are those that keep its
overlap: `max_annotations_per_user: -1`, in fixed order.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from bench import load
from tests.live_study import ANSWER_WORDS, PROMPT_WORDS, WORDS
from tests.services import free_port

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / ".venv-peers" / "potato"
VERSION = "2.12.1"
READY_WITHIN = 120
CONFIG = """
port: {port}
server_name: localhost
annotation_task_name: pairwise-bench
task_dir: .
output_annotation_dir: annotation_output/
output_annotation_format: jsonl
data_files: [data/items.jsonl]
item_properties: {{id_key: id, text_key: text}}
require_password: false
authentication: {{method: in_memory}}
user_config: {{allow_all_users: true, users: []}}
alert_time_each_instance: 10000000
num_annotators_per_item: {overlap}
max_annotations_per_user: -1
assignment_strategy: fixed_order
instance_display:
  layout: {{direction: vertical}}
  fields:
    - {{key: text, type: text, label: Prompt}}
    - {{key: responses, type: pairwise, label: Responses}}
annotation_schemes:
  - annotation_type: pairwise
    name: pref
    description: Which response is better?
    mode: binary
    items_key: responses
    allow_tie: true
    label_requirement: {{required: true}}
site_dir: default
"""


def measure(*, items: int, people: int, seconds: float, overlap: int) -> load.Log:
    """What so many people get done there in so many seconds, after a short warm-up."""
    _install()
    print(f"  Potato {VERSION}: {people} people, {items:,} items", flush=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-potato-", ignore_cleanup_errors=True) as name:
        folder, port = Path(name), free_port()
        _write(folder, port, items, overlap)
        process = _start(folder, port)
        try:
            warm, log = load.Log(), load.Log()
            there = [load.PotatoAnnotator(port, f"u{seed:03d}", warm, seed) for seed in range(people)]
            load.run(there, warm, seconds=2)
            for person in there:
                person.log = log
            load.run(there, log, seconds=seconds)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    print(f"  what people saw there beside answers: {dict(log.failures)}", flush=True)
    return log


def _install() -> None:
    python = PEER / "bin" / "python"
    if not python.is_file():
        print(f"  installing potato-annotation {VERSION} into {PEER.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True)
    # pip is quick when it is there already, and finishes what an interrupted run began.
    quiet = ("-qq", "--disable-pip-version-check")
    subprocess.run([str(python), "-m", "pip", "install", *quiet, f"potato-annotation=={VERSION}"], check=True)


def _write(folder: Path, port: int, items: int, overlap: int) -> None:
    words = random.Random(7)
    text = lambda n: " ".join(words.choices(WORDS, k=n))  # noqa: E731
    (folder / "data").mkdir()
    with (folder / "data" / "items.jsonl").open("w", encoding="utf-8") as file:
        for k in range(items):
            responses = [text(ANSWER_WORDS), text(ANSWER_WORDS)]
            row = {"id": f"i{k}", "text": f"#{k} {text(PROMPT_WORDS)}", "responses": responses}
            file.write(json.dumps(row) + "\n")
    (folder / "config.yaml").write_text(CONFIG.format(port=port, overlap=overlap), encoding="utf-8")


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [str(PEER / "bin" / "potato"), "start", "config.yaml", "-p", str(port), "--host", "127.0.0.1"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--require-password", "false"],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ
            | {"PYTHONDONTWRITEBYTECODE": "1", "DO_NOT_TRACK": "1", "POTATO_ADMIN_API_KEY": "bench"},
        )
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        except urllib.error.HTTPError:
            return process
        except OSError:
            time.sleep(0.1)
        else:
            return process
    process.kill()
    raise RuntimeError("Potato did not start:\n" + (folder / "server.log").read_text()[-2000:])
