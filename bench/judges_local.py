"""Models in the worker: what the judge engine and its backends cost beside the models.

On tiny models with random weights (`tests/local_models/tiny.py`), where every cost beside the model shows most, on
processors, on SQLite:

- `vllm_offline_ratio`: throughput of a whole sweep (requests claimed, answers and judgments stored) with vLLM's engine
  in the worker, over that of vLLM's own class `LLM` with the same prompts all at once. Both are driven by one process,
  each engine computes in a process of its own (vLLM's default), and they take turns (`bench.turns`): the median of
  the blocks, and beside it the lowest and the highest of them. The number to reach: 0.95.
- `vllm_offline_ratio_processor`: the same of processor time, engines included, which hardly depends on what else the
  machine does.
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
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.turns import Spent, in_turns, spent

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-vllm"
PEERS = ("lm_eval==0.4.13", "accelerate==1.15.0")
ITEMS = 300
ROUNDS = 6
BLOCKS = 12
PAIRS = 400
BATCH = 16
LONGEST_WORD = 15
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
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
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
    figures: dict[str, float] = {}
    for name, per_instruction in (("vllm_offline_ratio", 1), ("vllm_offline_ratio_prefixes", 10)):
        dataset = _dataset_make(name, per_instruction)
        # The first round of each warms it up.
        _sweep_spent(judge, dataset)
        asked = _asked()
        _direct_spent(direct, asked)
        ratio = in_turns(
            name,
            partial(_sweep_spent, judge, dataset),
            partial(_direct_spent, direct, asked),
            blocks=BLOCKS,
        )
        figures |= ratio.figures(name) | {
            f"{name}_processor": ratio.processor,
            f"{name}_requests_per_second": 2 * ITEMS / ratio.seconds,
        }
    return figures


def _dataset_make(name: str, per_instruction: int) -> Any:
    from annotation.models import Dataset, Instruction, Item, ItemResponse, Response

    rng = random.Random(len(name))
    text = _words()

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


def _words() -> list[str]:
    """Return the words of this project's own documentation; without links and formulas, which are too long."""
    words = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").split()
    return [word for word in words if len(word) <= LONGEST_WORD]


def _sweep_spent(judge: Any, dataset: Any) -> Spent:
    """Run a sweep of which nothing is known yet; returns what it took."""
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
    with spent() as took:
        run_pending()
    sweep.refresh_from_db()
    judged = Judgment.objects.filter(judge=judge, status="parsed").count()
    if (sweep.state, judged) != ("finished", 2 * ITEMS):
        raise AssertionError(f"{sweep.state}: {judged} judgments of {2 * ITEMS}; {sweep.message}")
    return took


def _asked() -> list[dict[str, Any]]:
    """Return the requests of the last sweep, in the order in which they were asked."""
    from judges.models import ModelRequest
    from judges.selectors.requests import requests_asked

    rows = ModelRequest.objects.select_related("form").order_by("created_at", "hash")
    return [wire.payload() for wire in requests_asked(rows).values()]


def _direct_spent(direct: Any, asked: list[dict[str, Any]]) -> Spent:
    """Give vLLM's own class the same prompts with the same constraint, all at once."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    conversations = [[{"role": role, "content": text} for role, text in each["messages"]] for each in asked]
    direct.reset_prefix_cache()
    with spent() as took:
        parameters = [
            SamplingParams(
                temperature=each["decoding"]["temperature"],
                max_tokens=each["decoding"]["max_tokens"],
                structured_outputs=StructuredOutputsParams(choice=each["choices"]),
            )
            for each in asked
        ]
        outputs = direct.chat(conversations, parameters, use_tqdm=False)
    if not all(
        output.outputs[0].text in each["choices"] for output, each in zip(outputs, asked, strict=True)
    ):
        raise AssertionError("vLLM did not keep to the choices")
    return took


# --- log-likelihoods ------------------------------------------------------------------------------------------


def _likelihoods(model: str) -> dict[str, float]:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from judges.backends.registry import create_backend

    texts = _texts()
    # With its cache, two texts that are the same but for the last token are one to it, wherever their contexts end.
    theirs = HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=BATCH, logits_cache=False)
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
    words = _words()
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
    try:
        figures = _likelihoods(model) | _offline(model)
    finally:
        shutdown_all()  # their threads would keep the process alive
    print(json.dumps(figures))


if __name__ == "__main__":
    _main(sys.argv[1])
