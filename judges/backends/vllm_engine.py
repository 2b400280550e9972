"""The thread that owns a vLLM engine: requests in, steps, outputs out.

The engine is vLLM's `LLMEngine`, the one below its class `LLM`, driven step by step: between two steps whatever has
arrived is added. So it is never emptied for the sake of a batch, and a request that vLLM refuses fails alone.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import threading
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from judges.backends.errors import (
    BackendError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.local import Job, ModelHost, error_line
from judges.backends.model_files import answerer_of, local_path
from judges.backends.tokenising import Encoded, Prompter, leaves_out_special
from judges.backends.vllm_answers import pooled_classes, read_chat, read_score, read_vector, sampling
from judges.backends.vllm_options import VLLMOptions
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

MAX_BATCH = 64
"""Requests that are tokenised between two steps, so that what runs does not wait for a flood of new ones."""

_TASKS = {"chat": "generate", "score": "generate", "embed": "embed", "classify": "classify"}


class VLLMHost(ModelHost):
    """A vLLM engine with its thread. See `VLLMBackend` for what it offers."""

    def __init__(self, model: str, revision: str, options: VLLMOptions) -> None:
        self._model = model
        self._revision = revision
        self._options = options
        self._engine: Any = None
        self._prompter: Prompter | None = None
        self._tasks: frozenset[str] = frozenset()
        self._defaults: dict[str, Any] = {}
        self._parameters_seen: dict[tuple[Any, ...], Any] = {}
        self._waiting: list[Job] = []
        self._running: dict[str, tuple[Job, Encoded]] = {}
        self._numbers = count()
        self._encoding = threading.Lock()
        super().__init__(model)

    def put(self, job: Job) -> None:
        """Hand in a request. Its tokens are made here, in the caller's thread, while the engine computes."""
        if self._prompter is not None:
            try:
                with self._encoding:
                    job.prepared = self._encode(job)
            except BackendError as error:
                job.finish(error)
                return
        super().put(job)

    def answers_as(self) -> Mapping[str, Any]:
        return answerer_of(self._model, self._revision)

    def load(self) -> None:
        """Start the engine."""
        self._options.set_environment()
        if multiprocessing.current_process().daemon:
            # A child of Celery's prefork pool may have no children of its own.
            os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        folder = local_path(self._model)
        arguments = self._options.engine_arguments() | {
            "model": str(folder or self._model),
            "revision": self._revision or None,
            "disable_log_stats": True,
        }
        from vllm.engine.arg_utils import EngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.llm_engine import LLMEngine

        if current_platform.is_cpu():
            arguments["kv_cache_memory_bytes"] = self._options.cpu_kv_cache_gib << 30
        if self._options.pooling:
            from vllm.config import PoolerConfig

            arguments["pooler_config"] = PoolerConfig(seq_pooling_type=self._options.pooling.upper())
        try:
            self._engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
        except Exception as error:
            raise EndpointError(f"vLLM cannot load the model '{self._model}': {root_cause(error)}") from error
        self._tasks = frozenset(self._engine.get_supported_tasks())
        settings = self._engine.model_config
        if "generate" in self._tasks:
            # What the model's files recommend for sampling, as vLLM's server does it.
            self._defaults = dict(settings.get_diff_sampling_param())
            if not leaves_out_special(self._engine.get_tokenizer()):
                self._defaults["skip_special_tokens"] = False
        self._prompter = Prompter(
            # One of its own: the engine's is at work in another thread.
            copy.deepcopy(self._engine.get_tokenizer()),
            max_length=settings.max_model_len,
            template_options=self._options.chat_template_kwargs,
        )

    def unload(self) -> None:
        """End the engine and its processes, and free its memory."""
        engine, self._engine = self._engine, None
        self._prompter = None
        self._parameters_seen = {}
        self._waiting, self._running = [], {}
        if engine is None:
            return
        engine.engine_core.shutdown()
        del engine
        from vllm.distributed import cleanup_dist_env_and_memory

        cleanup_dist_env_and_memory()

    def open_jobs(self) -> Iterable[Job]:
        """Return what is in the engine or waits for it."""
        return [*self._waiting, *(job for job, _ in self._running.values())]

    def work(self, jobs: list[Job]) -> bool:
        """Add what has arrived, then compute one step."""
        self._waiting += jobs
        self._drop_closed()
        self._admit()
        if self._running:
            for output in self._engine.step():
                if output.finished:
                    self._answer(output)
        return bool(self._running or self._waiting)

    def _drop_closed(self) -> None:
        self._waiting = [job for job in self._waiting if not job.mailbox.closed]
        gone = [name for name, (job, _) in self._running.items() if job.mailbox.closed]
        if gone:
            self._engine.abort_request(gone)
            for name in gone:
                del self._running[name]

    def _admit(self) -> None:
        now, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        encoded: list[tuple[Encoded, Job]] = []
        for job in now:
            try:
                with self._encoding:
                    encoded.append((job.prepared or self._encode(job), job))
            except BackendError as error:
                job.finish(error)
        # Prompts that begin alike stand together: the second finds the first one's blocks in the cache.
        encoded.sort(key=lambda pair: pair[0].ids)
        for each, job in encoded:
            self._add(each, job)

    def _encode(self, job: Job) -> Encoded:
        prompter, task = self._prompter, _TASKS.get(job.request.kind)
        if prompter is None:
            raise TransientBackendError(f"The model '{self._model}' is just being shut down.")
        if task not in self._tasks:
            loaded = "to generate and score" if "generate" in self._tasks else "to embed or classify"
            raise PermanentBackendError(
                f"The model '{self._model}' is loaded {loaded}, so it answers no '{job.request.kind}' requests: set "
                "the endpoint's option 'runner' to 'generate' or 'pooling' (and 'convert' to 'embed' or 'classify')."
            )
        return prompter.encode(job.request)

    def _add(self, encoded: Encoded, job: Job) -> None:
        from vllm.inputs.engine import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError

        name = str(next(self._numbers))
        try:
            parameters = self._parameters(encoded, job)
            self._engine.add_request(name, tokens_input(encoded.ids), parameters)
        except EngineDeadError:
            raise
        except Exception as error:  # of many kinds, and of this request alone
            job.finish(PermanentBackendError(f"vLLM refuses the request: {error_line(error)}"))
        else:
            self._running[name] = (job, encoded)

    def _parameters(self, encoded: Encoded, job: Job) -> Any:
        if job.request.kind in {"chat", "score"}:
            return self._sampling(job.request)
        from vllm import PoolingParams

        if job.request.kind == "embed":
            return PoolingParams(task="embed")
        pair = {"compressed_token_type_ids": encoded.second} if encoded.second else None
        return PoolingParams(task="classify", use_activation=False, extra_kwargs=pair)

    def _sampling(self, request: WireRequest) -> Any:
        """Return vLLM's parameters; most requests of a judge have the same, and vLLM copies them for itself."""
        key = (
            request.kind,
            request.decoding,
            request.sample if request.decoding.seed is not None else 0,
            request.logprobs,
            request.choices,
            request.json_schema,
            request.regex,
            request.biases,
        )
        if key not in self._parameters_seen:
            if len(self._parameters_seen) >= MAX_BATCH:
                self._parameters_seen.clear()
            self._parameters_seen[key] = sampling(
                request, self._defaults, self._engine.get_tokenizer() if request.biases else None
            )
        return self._parameters_seen[key]

    def _answer(self, output: Any) -> None:
        found = self._running.pop(output.request_id, None)
        if found is None:
            return
        job, encoded = found
        outcome: Answer | BackendError
        try:
            outcome = _READ[job.request.kind](output, job, encoded)
        except BackendError as error:
            outcome = error
        except (TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
            outcome = MisbehavingServerError(f"vLLM gave an answer that cannot be read: {error_line(error)}")
        job.finish(outcome)


_READ = {"chat": read_chat, "score": read_score, "embed": read_vector, "classify": pooled_classes}


def root_cause(error: BaseException) -> str:
    """Return the message of the error at the bottom of a chain: the top one says no more than that it failed."""
    while (below := error.__cause__ or error.__context__) is not None and below is not error:
        error = below
    return error_line(error)
