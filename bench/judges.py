"""What the judge engine makes of a server, of memory and of what strategies share; and models in the worker.

On SQLite in a file, against a server in a process of its own:

- `http_ratio`: throughput of a whole sweep (requests claimed, answers and judgments stored) over that of a bare
  asynchronous client that sends the same requests at the same concurrency and keeps nothing. Both in turns in one
  process (`bench.turns`): the median of the blocks, and the lowest and the highest of them beside it. The server takes
  200 ms an answer, which is quick for a model, and little of the processor (`bench.slow_server`). The number to reach:
  0.97.
- `cli_ratio`: the same of the command `touchstone judge` over a file, which keeps its answers and verdicts in files;
  both are processes of their own, their start included, and ask the same server. The number to reach: 0.95.
- `peak_mb_100k`: peak resident memory, in MB, of a process that judges 50,000 pairs in both orders: 100,000 requests;
  `seconds_100k` is what it takes for them. The number to reach: below 500.
- `resent`: requests that are sent when the finished sweep runs again, also after its judgments were deleted: 0.
- `shared_saving`: share of the requests that eight strategies over both orders need not send when they run together,
  over each alone with an empty cache. The number to reach: 0.25; 0.30 is what sharing allows.

And `vllm_offline_ratio`, `loglikelihood_max_diff` and `loglikelihood_ratio` of `bench.judges_local`, which needs an
environment with vLLM and says so where it cannot make one.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench.slow_server import serving, slow_server
from bench.turns import Spent, in_turns, spent

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = 4
CONCURRENCY = 32
MODEL = "slow"
PAIRS = 400
MANY_PAIRS = 50_000
FILE_PAIRS = 1_000
SHARING_PAIRS = 25
STRATEGIES = ("vanilla", "rules", "cot", "swap", "swap_cot", "metrics", "reference_self", "metrics_reference")


def run(*, quick: bool = False) -> dict[str, float]:
    """Measure; each part in a process and a database of its own."""
    figures: dict[str, float] = {}
    for part, server in (("http", slow_server), ("sharing", mock_server), ("memory", mock_server)):
        with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder, server() as url:
            figures |= _measured(part, url, folder, quick=quick)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder, slow_server() as url:
        figures |= _cli(url, Path(folder), quick=quick)
    try:
        from bench import judges_local

        figures |= judges_local.run()
    except (ImportError, OSError, subprocess.CalledProcessError) as error:
        print(f"  models in the worker were not measured: {error}", file=sys.stderr)
    return figures


def mock_server() -> AbstractContextManager[str]:
    """Run the mock server in a process of its own; gives its base URL."""
    return serving("judges.backends.mock_server")


def _measured(part: str, url: str, folder: str, *, quick: bool) -> dict[str, float]:
    environment = os.environ | {
        "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        "TOUCHSTONE_VAR": folder,
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.judges", part, url, "quick" if quick else ""],
        env=environment,
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


# --- HTTP: as quick as a bare client ----------------------------------------------------------------------------


def _http(url: str, *, quick: bool) -> dict[str, float]:
    from bench.engine import dataset_make

    dataset = dataset_make(PAIRS // 5 if quick else PAIRS)
    endpoint = _endpoint(url, max_concurrency=CONCURRENCY)
    judges = [
        _judge(f"round {number}", endpoint, MODEL, decoding={"seed": number})
        for number in range(2 * (1 if quick else BLOCKS))
    ]
    left = iter(judges)
    # The same length as ours, and another seed: the server has not seen them.
    bodies = _bodies(judges[0], dataset, seed=len(judges))
    ratio = in_turns(
        "http_ratio",
        lambda: _sweep_spent([next(left)], dataset),
        lambda: _bare_spent(url, bodies),
        blocks=len(judges) // 2,
    )
    judge = judges[-1]
    before = _sent(url)
    _sweep_spent([judge], dataset)
    judge.judgments.all().delete()
    _sweep_spent([judge], dataset)
    return ratio.figures("http_ratio") | {"resent": float(_sent(url) - before)}


def _cli(url: str, folder: Path, *, quick: bool) -> dict[str, float]:
    """Compare the command with a bare client, each a process over the same questions in a file."""
    from judges.backends.openai_protocol import build_body
    from judges.backends.wire import build_wire
    from judges.standalone.items import items_of_file
    from judges.strategies.presentation import view_presented
    from judges.strategies.spec import JudgeSpec, build_strategy
    from judges.strategies.types import Decoding

    items, bodies = folder / "pairs.jsonl", folder / "bodies.jsonl"
    text = "The quick brown fox jumps over the lazy dog, and nobody in the yard minds it very much. "
    rows = [
        {"id": f"p{k}", "instruction": f"Number {k}: {text * 3}", "responses": [f"{k} " + text * 4, text * 5]}
        for k in range(FILE_PAIRS // 5 if quick else FILE_PAIRS)
    ]
    items.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    spec = {"strategy": "vanilla", "backend": "openai", "endpoint": url, "model": MODEL}
    start = build_strategy(JudgeSpec.from_dict(spec))
    with bodies.open("w") as file:
        for view in items_of_file(items, "pairwise")[0]:
            for order in (0, 1):
                asked: Any = next(start(view_presented(view, order)))
                wire = build_wire(asked, model=MODEL, decoding=Decoding(seed=99))
                body = build_body(wire, structured="none", max_tokens_field="max_tokens", extra={})
                file.write(f"{json.dumps(body)}\n")
    numbers = iter(range(1_000))

    def command() -> Spent:
        number = next(numbers)
        given = [
            "--strategy",
            "vanilla",
            "--base-url",
            url,
            "--model",
            MODEL,
            "--concurrency",
            str(CONCURRENCY),
        ]
        given += [
            "--set",
            f"decoding.seed={number}",
            "--quiet",
            "--out",
            str(folder / f"verdicts-{number}.jsonl"),
        ]
        return _process_spent(["-m", "judges", "judge", str(items), *given])

    ratio = in_turns(
        "cli_ratio",
        command,
        lambda: _process_spent(["-m", "bench.judges", "bare", url, str(bodies)]),
        blocks=1 if quick else 3,
    )
    return ratio.figures("cli_ratio")


def _process_spent(arguments: list[str]) -> Spent:
    with spent() as took:
        subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True)
    return took


def _bare_spent(url: str, bodies: list[bytes]) -> Spent:
    with spent() as took:
        asyncio.run(_ask_all(url, bodies))
    return took


def _bodies(judge: Any, dataset: Any, *, seed: int) -> list[bytes]:
    """Return what the judge asks, with another seed, as the bodies that are sent."""
    from judges.backends.openai_protocol import build_body
    from judges.backends.wire import build_wire
    from judges.selectors.items import item_views
    from judges.strategies.presentation import view_presented
    from judges.strategies.spec import JudgeSpec, build_strategy
    from judges.strategies.types import Decoding

    start = build_strategy(JudgeSpec.from_dict(judge.spec))
    bodies = []
    for view in item_views(dataset_id=dataset.pk):
        for order in (0, 1):
            asked: Any = next(start(view_presented(view, order)))
            wire = build_wire(asked, model=MODEL, decoding=Decoding(seed=seed))
            body = build_body(wire, structured="none", max_tokens_field="max_tokens", extra={})
            bodies.append(json.dumps(body).encode())
    return bodies


async def _ask_all(url: str, bodies: list[bytes]) -> None:
    """Send all bodies, so many at a time, read the texts, and forget them."""
    import httpx

    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx.AsyncClient(limits=limits, timeout=60.0, trust_env=False) as client:

        async def work() -> None:
            for body in waiting:
                reply = await client.post(
                    f"{url}/chat/completions", content=body, headers={"Content-Type": "application/json"}
                )
                reply.raise_for_status()
                assert reply.json()["choices"][0]["message"]["content"]

        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))


# --- memory -----------------------------------------------------------------------------------------------------


def _memory(url: str, *, quick: bool) -> dict[str, float]:
    from bench.engine import dataset_make

    n_pairs = MANY_PAIRS // 20 if quick else MANY_PAIRS
    dataset = dataset_make(n_pairs)
    # Making the dataset took memory too; what counts is the process that judges.
    done = subprocess.run(
        [sys.executable, "-m", "bench.judges", "judge-all", url, str(dataset.pk)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if (sent := _sent(url)) != 2 * n_pairs:
        raise AssertionError(f"{sent} requests were sent instead of {2 * n_pairs}")
    return figures


def _judge_all(url: str, dataset_pk: int) -> dict[str, float]:
    from annotation.models import Dataset

    judge = _judge("all", _endpoint(url, max_concurrency=64), "mock-longer")
    seconds = _sweep_spent([judge], Dataset.objects.get(pk=dataset_pk)).seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak {peak:.0f} MB, {seconds:.0f} s", file=sys.stderr)
    return {"peak_mb_100k": peak, "seconds_100k": seconds}


# --- sharing ----------------------------------------------------------------------------------------------------


def _sharing(url: str, *, quick: bool) -> dict[str, float]:
    from bench.engine import dataset_make
    from judges.models import Judgment, ModelRequest

    dataset = dataset_make(SHARING_PAIRS // 5 if quick else SHARING_PAIRS)
    endpoint = _endpoint(url, max_concurrency=CONCURRENCY)
    judges = [_judge(name, endpoint, "mock-longer", strategy=name) for name in STRATEGIES]
    alone = 0
    for judge in judges:
        before = _sent(url)
        _sweep_spent([judge], dataset)
        alone += (sent := _sent(url) - before)
        print(f"  {judge.strategy}: {sent}", file=sys.stderr)
        Judgment.objects.all().delete()
        ModelRequest.objects.all().delete()
    before = _sent(url)
    _sweep_spent(judges, dataset)
    together = _sent(url) - before
    print(f"  alone {alone}, together {together}", file=sys.stderr)
    return {"shared_saving": 1 - together / alone}


# --- parts of all of them ---------------------------------------------------------------------------------------


def _endpoint(url: str, **fields: Any) -> Any:
    from judges.services.endpoints import endpoint_create

    return endpoint_create(name="mock", base_url=url, is_local=True, **fields)


def _judge(name: str, endpoint: Any, model: str, **content: Any) -> Any:
    from judges.services.judges import judge_create

    return judge_create(name=name, endpoint=endpoint, model=model, **({"strategy": "vanilla"} | content))


def _sweep_spent(judges: list[Any], dataset: Any) -> Spent:
    """Run a sweep; returns what the session took."""
    from judges.engine.runner import run_pending
    from judges.selectors.sweeps import sweep_progress
    from judges.services.sweeps import sweep_create, sweep_start

    sweep = sweep_create(name="bench", judges=judges, datasets=[dataset], stop_unparsed=None)
    sweep_start(sweep=sweep)
    with spent() as took:
        run_pending()
    progress = sweep_progress(sweep.pk)
    if (progress.state, progress.n_done, progress.n_failed) != ("finished", progress.n_total, 0):
        raise AssertionError(f"{progress.state}, {progress.n_done} of {progress.n_total}: {progress.message}")
    return took


def _sent(url: str) -> int:
    """Return how many requests the server has had."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats") as reply:
        return int(json.load(reply)["requests"])


def _main(part: str, url: str, argument: str) -> None:
    if part == "bare":
        asyncio.run(_ask_all(url, [line.encode() for line in Path(argument).read_text().splitlines()]))
        return
    import django

    django.setup()
    from django.core.management import call_command

    if part == "judge-all":
        figures = _judge_all(url, int(argument))
    else:
        call_command("migrate", verbosity=0)
        measure = {"http": _http, "sharing": _sharing, "memory": _memory}[part]
        figures = measure(url, quick=bool(argument))
    print(json.dumps(figures))


if __name__ == "__main__":
    _main(*sys.argv[1:])
