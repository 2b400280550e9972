"""Models in the worker: what the judge engine and its backends cost beside the models.

On tiny models with random weights (`tests/local_models/tiny.py`), where every cost beside the model shows most, on
processors, on SQLite:

- `vllm_offline_ratio`: throughput of a whole sweep (requests claimed, answers and judgments stored) with vLLM's engine
  in the worker, over that of vLLM's own class `LLM` with the same prompts all at once. Both are driven by one process,
  each engine computes in processes of its own (vLLM's default), and they take turns; each counts its best round.
  The number to reach: 0.95.
- `vllm_offline_ratio_prefixes`: the same where ten items each share a long instruction.
- `loglikelihood_max_diff`: largest difference of the log-likelihoods of `transformers` here from those of
  lm-evaluation-harness, which runs the same library, on the same model and texts. The number to reach: 1e-4.
- `loglikelihood_max_diff_vllm`: the same of `vllm`, whose kernels add in another order: on sums of several hundred the
  last digit of a float32 is 3e-5.
- `loglikelihood_ratio`: speed of `transformers` here over lm-evaluation-harness's, with the same batch size. The number
  to reach: 1.

They need vLLM, so they run in the environment of `make test-vllm`, which is made when it is not there. Without that:
`python3.11 tests/local_models/environment.py .venv-vllm`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-vllm"
PEERS = ("lm_eval==0.4.13", "accelerate==1.15.0")
ITEMS = 300
ROUNDS = 6
PAIRS = 400
BATCH = 16
OPTIONS = {"dtype": "float32", "enforce_eager": True, "cpu_kv_cache_gib": 1, "max_num_seqs": 128}


def run() -> dict[str, float]:
    """Measure in the environment that has vLLM."""
    python = sys.executable
    if find_spec("vllm") is None:
        python = str(ENVIRONMENT / "bin" / "python")
        script = str(ROOT / "tests" / "local_models" / "environment.py")
        subprocess.run([sys.executable, script, str(ENVIRONMENT)], check=True)
    if subprocess.run(
        [python, "-c", "import lm_eval, accelerate"], capture_output=True, check=False
    ).returncode:
        # Their other requirements are for tasks and metrics, which are not used.
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            *PEERS,
        ]
        subprocess.run(command, check=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder:
        environment = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "TOUCHSTONE_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HF_HUB_OFFLINE": "1",
            "VLLM_LOGGING_LEVEL": "ERROR",
            # One core computes and one is left for all else, as vLLM has it on processors in its own processes. Two
            # threads that wait for each other measure what else the machine does.
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(
            [python, "-m", "bench.judges_local", folder],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"bench.judges_local failed:\n{done.stderr[-4000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


# --- vLLM -----------------------------------------------------------------------------------------------------


def _offline(model: str) -> dict[str, float]:
    from vllm import LLM

    from judges.models import Endpoint
    from judges.services.judges import judge_create

    direct = LLM(
        model=model,
        dtype="float32",
        enforce_eager=True,
        max_num_seqs=OPTIONS["max_num_seqs"],
        kv_cache_memory_bytes=1 << 30,
    )
    endpoint = Endpoint.objects.create(name="here", kind="vllm", queue="cpu", options=OPTIONS)
    judge = judge_create(name="bench", strategy="vanilla", endpoint=endpoint, model=model)
    figures = {}
    for name, per_instruction in (("vllm_offline_ratio", 1), ("vllm_offline_ratio_prefixes", 10)):
        dataset = _dataset_make(name, per_instruction)
        seconds: dict[str, list[float]] = {"ours": [], "direct": []}
        for _ in range(ROUNDS + 1):
            seconds["ours"].append(_sweep_seconds(judge, dataset))
            seconds["direct"].append(_direct_seconds(direct, _asked()))
        # The first round warms both up. The least of several: what else the machine does only ever adds.
        figures[name] = min(seconds["direct"][1:]) / min(seconds["ours"][1:])
        figures[f"{name}_requests_per_second"] = 2 * ITEMS / min(seconds["ours"][1:])
    return figures


def _dataset_make(name: str, per_instruction: int) -> Any:
    from annotation.models import Dataset, Instruction, Item, ItemResponse, Response

    rng = random.Random(len(name))
    text = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").split()

    def words(n: int) -> str:
        start = rng.randrange(len(text) - n)
        return " ".join(text[start : start + n])

    dataset = Dataset.objects.create(name=name, title=name)
    long = 70 if per_instruction > 1 else 15
    instructions = Instruction.objects.bulk_create(
        Instruction(dataset=dataset, external_id=str(k), text=words(long))
        for k in range(ITEMS // per_instruction)
    )
    items = Item.objects.bulk_create(
        Item(
            dataset=dataset,
            instruction=instructions[k // per_instruction],
            external_id=str(k),
            kind="pairwise",
            position=k,
        )
        for k in range(ITEMS)
    )
    responses = Response.objects.bulk_create(
        Response(instruction=item.instruction, external_id=f"{item.external_id}-{side}", text=words(20))
        for item in items
        for side in range(2)
    )
    ItemResponse.objects.bulk_create(
        ItemResponse(item=items[k // 2], response=each, position=k % 2) for k, each in enumerate(responses)
    )
    return dataset


def _sweep_seconds(judge: Any, dataset: Any) -> float:
    """Run a sweep of which nothing is known yet; returns its wall time."""
    from judges.backends.warm import WARM
    from judges.engine.runner import run_pending
    from judges.models import Judgment, ModelRequest
    from judges.services.sweeps import sweep_create, sweep_start

    Judgment.objects.all().delete()
    ModelRequest.objects.all().delete()
    for kept in WARM._kept.values():
        kept.resource._engine.reset_prefix_cache()
    number = time.time_ns()
    sweep = sweep_create(name=f"bench {number}", judges=[judge], datasets=[dataset])
    sweep_start(sweep=sweep)
    started = time.perf_counter()
    run_pending()
    seconds = time.perf_counter() - started
    sweep.refresh_from_db()
    judged = Judgment.objects.filter(judge=judge, status="parsed").count()
    if (sweep.state, judged) != ("finished", 2 * ITEMS):
        raise AssertionError(f"{sweep.state}: {judged} judgments of {2 * ITEMS}; {sweep.message}")
    return seconds


def _asked() -> list[dict[str, Any]]:
    """Return the requests of the last sweep, in the order in which they were asked."""
    from judges.models import ModelRequest

    return list(ModelRequest.objects.order_by("created_at", "hash").values_list("payload", flat=True))


def _direct_seconds(direct: Any, asked: list[dict[str, Any]]) -> float:
    """Give vLLM's own class the same prompts with the same constraint, all at once."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    conversations = [[{"role": role, "content": text} for role, text in each["messages"]] for each in asked]
    direct.reset_prefix_cache()
    started = time.perf_counter()
    parameters = [
        SamplingParams(
            temperature=each["decoding"]["temperature"],
            max_tokens=each["decoding"]["max_tokens"],
            structured_outputs=StructuredOutputsParams(choice=each["choices"]),
        )
        for each in asked
    ]
    outputs = direct.chat(conversations, parameters, use_tqdm=False)
    seconds = time.perf_counter() - started
    if not all(
        output.outputs[0].text in each["choices"] for output, each in zip(outputs, asked, strict=True)
    ):
        raise AssertionError("vLLM did not keep to the choices")
    return seconds


# --- log-likelihoods ------------------------------------------------------------------------------------------


def _likelihoods(model: str) -> dict[str, float]:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from judges.backends.registry import create_backend

    texts = _texts()
    theirs = HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=BATCH)
    asked = [Instance("loglikelihood", {}, pair, place) for place, pair in enumerate(texts)]
    ours = create_backend(
        "transformers", options={"model": model, "dtype": "float32", "batch_size": BATCH, "capacity": PAIRS}
    )
    their_seconds, our_seconds = [], []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        expected = [each[0] for each in theirs.loglikelihood(asked, disable_tqdm=True)]
        their_seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        found = _scores(ours, model, texts)
        our_seconds.append(time.perf_counter() - started)
    ours.close()
    engine = create_backend("vllm", options={"model": model, **OPTIONS})
    by_vllm = _scores(engine, model, texts)
    engine.close()
    differences = [
        max(abs(one - other) for one, other in zip(each, expected, strict=True)) for each in (found, by_vllm)
    ]
    return {
        "loglikelihood_max_diff": differences[0],
        "loglikelihood_max_diff_vllm": differences[1],
        "loglikelihood_ratio": min(their_seconds[1:]) / min(our_seconds[1:]),
        "loglikelihoods_per_second": PAIRS / min(our_seconds[1:]),
    }


def _texts() -> list[tuple[str, str]]:
    """Return contexts and continuations of many lengths, from this project's own documentation."""
    rng = random.Random(11)
    words = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").split()
    pairs = []
    for _ in range(PAIRS):
        start, n, rest = rng.randrange(len(words) - 120), rng.randint(3, 80), rng.randint(1, 8)
        pairs.append(
            (" ".join(words[start : start + n]), " " + " ".join(words[start + n : start + n + rest]))
        )
    return pairs


def _scores(backend: Any, model: str, texts: list[tuple[str, str]]) -> list[float]:
    from judges.backends.wire import WireRequest
    from judges.strategies.types import Answer

    for place, (context, continuation) in enumerate(texts):
        backend.submit(place, WireRequest("score", model, (), prefix=context, text=continuation))
    found: dict[int, float] = {}
    while len(found) < len(texts):
        for place, outcome in backend.drain(1.0):
            if not isinstance(outcome, Answer):
                raise outcome
            found[place] = outcome.logprob or 0.0
    return [found[place] for place in range(len(texts))]


def _main(folder: str) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from judges.backends.warm import shutdown_all
    from tests.local_models.tiny import build_all

    call_command("migrate", verbosity=0)
    model = str(build_all(Path(folder) / "models")["chat"])
    figures = _likelihoods(model) | _offline(model)
    shutdown_all()
    print(json.dumps(figures))


if __name__ == "__main__":
    _main(sys.argv[1])
