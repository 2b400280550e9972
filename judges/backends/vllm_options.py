"""The settings of vLLM that an endpoint may have, for the engine in the worker and for the server alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from judges.backends.errors import EndpointError
from judges.backends.model_files import trusts_remote_code
from judges.backends.settings import POOLINGS, check_choice

RUNNERS = ("auto", "generate", "pooling")
EXECUTORS = ("", "mp", "ray")
CONVERSIONS = ("auto", "none", "embed", "classify")


@dataclass(frozen=True, slots=True)
class VLLMOptions:
    """See the documentation of vLLM's engine arguments of the same names.

    Attributes
    ----------
    dtype : str
        "auto", "float32", "bfloat16", "float16".
    quantization : str
        Method for weights that do not say it themselves, such as "awq" or "fp8"; empty: what the model's files say.
    kv_cache_dtype : str
    max_model_len : int
        Longest prompt and answer together, in tokens; 0: what the model allows.
    seed : int
    runner : {"auto", "generate", "pooling"}
        What the model is loaded for: to generate and score, or to embed and classify. "auto" goes by its architecture.
    convert : {"auto", "none", "embed", "classify"}
        Use a generating model for the other.
    pooling : {"", "mean", "cls", "last"}
        How tokens become one vector; empty: as the model's files say.
    chat_template_kwargs : mapping
        Variables of the chat template, such as ``{"enable_thinking": false}``.
    reasoning_parser : str
        Such as "qwen3" or "deepseek_r1": tells thoughts from the answer, so that a constraint holds for the answer
        alone and a thinking budget can be kept. Empty: they are told apart by their marks, once all is generated.
    tensor_parallel_size, pipeline_parallel_size : int
        GPUs that the model is split over.
    data_parallel_size : int
        Copies of the model, each on GPUs of its own, among which vLLM divides the requests.
    data_parallel_backend : {"", "mp", "ray"}
        What starts the copies; empty: vLLM's default.
    distributed_executor_backend : {"", "mp", "ray"}
        What starts the processes of a model that is split; "ray" for GPUs of several machines. Empty: vLLM's default.
    gpu_memory_utilization : float
        Share of a GPU's memory, in (0, 1]; 0: vLLM's default.
    max_num_seqs : int
        Requests that are computed together, >= 1.
    max_num_batched_tokens : int
        Tokens of one step; 0: vLLM's default.
    enforce_eager : bool
        Start sooner, run slower.
    cpu_kv_cache_gib : int
        Memory for the cache of attention where vLLM computes on processors, >= 1.
    """

    dtype: str = "auto"
    quantization: str = ""
    kv_cache_dtype: str = "auto"
    max_model_len: int = 0
    seed: int = 0
    runner: str = "auto"
    convert: str = "auto"
    pooling: str = ""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    reasoning_parser: str = ""
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    data_parallel_backend: str = ""
    distributed_executor_backend: str = ""
    gpu_memory_utilization: float = 0.0
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 0
    enforce_eager: bool = False
    cpu_kv_cache_gib: int = 4

    def __post_init__(self) -> None:
        for each in fields(self):
            default = {} if each.name == "chat_template_kwargs" else each.default
            object.__setattr__(self, each.name, _checked(each.name, getattr(self, each.name), default))
        for name, allowed in (
            ("runner", RUNNERS),
            ("convert", CONVERSIONS),
            ("pooling", POOLINGS),
            ("data_parallel_backend", EXECUTORS),
            ("distributed_executor_backend", EXECUTORS),
        ):
            check_choice(name, getattr(self, name), allowed)
        if self.gpu_memory_utilization > 1 or self.max_num_seqs < 1:
            raise EndpointError(
                "gpu_memory_utilization is a share of at most 1, and max_num_seqs at least 1."
            )

    @classmethod
    def taken_from(cls, options: Mapping[str, Any]) -> VLLMOptions:
        """Build it from keyword arguments; raises EndpointError for one that vLLM is not given here."""
        known = {each.name for each in fields(cls)}
        if unknown := sorted(options.keys() - known):
            raise EndpointError(
                f"Unknown options: {', '.join(unknown)}. There are: {', '.join(sorted(known))}."
            )
        return cls(**options)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, for the backend's identity."""
        return asdict(self) | {"chat_template_kwargs": dict(self.chat_template_kwargs)}

    def engine_arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of vLLM's `EngineArgs`, without those that are at vLLM's default."""
        given = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in _NO_ARGUMENTS and getattr(self, each.name) != each.default
        }
        if trusts_remote_code():
            given["trust_remote_code"] = True
        return given | {"max_num_seqs": self.max_num_seqs, "seed": self.seed}

    def server_arguments(self) -> list[str]:
        """Return the same as flags of the server's command."""
        flags: list[str] = []
        for name, value in self.engine_arguments().items():
            flag = "--" + name.replace("_", "-")
            flags += [flag] if value is True else [flag, str(value)]
        return flags

    def environment(self) -> dict[str, str]:
        """Return variables for vLLM that are to be set where the operator has not set them.

        How much memory its cache gets on processors (`VLLM_CPU_KVCACHE_SPACE`) is not among them: it differs by engine.
        """
        return {
            # Nothing about a study's models is told to anybody.
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_LOGGING_LEVEL": "WARNING",
            # A forked child would share the worker's database connections.
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
            # Its own search for an address goes through the network; several machines need the real one.
            "VLLM_HOST_IP": "127.0.0.1",
        }

    def set_environment(self) -> None:
        """Set those variables in this process."""
        for name, value in self.environment().items():
            os.environ.setdefault(name, value)


def _checked(name: str, value: Any, default: Any) -> Any:
    """Return a value of its default's type and not too small; raises EndpointError."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise EndpointError(f"{name}: expected a value such as {default!r}, found {value!r}.")
    if isinstance(default, int | float) and value < (1 if name in _AT_LEAST_ONE else 0):
        raise EndpointError(f"{name}: {value!r} is too small.")
    return value


_AT_LEAST_ONE = frozenset({"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"})
_NO_ARGUMENTS = frozenset({"chat_template_kwargs", "cpu_kv_cache_gib", "pooling"})
"""Settings that vLLM takes in another way."""
