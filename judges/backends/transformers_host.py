"""The thread that owns a model of transformers: gathers what waits into batches of similar length.

A batch that fails is halved, down to the one request that is to blame: it fails alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from judges.backends.errors import BackendError, EndpointError, PermanentBackendError
from judges.backends.local import Job, ModelHost, error_line
from judges.backends.model_files import answerer_of, is_offline, local_path, not_found, trusts_remote_code
from judges.backends.tokenising import Prompter
from judges.backends.transformers_generate import answer_by_choice, answer_by_generating
from judges.backends.transformers_passes import Loaded, Waiting, classify, embed, match, score
from judges.strategies.thinking import thinks
from judges.strategies.types import Answer

_CAUSAL = "AutoModelForCausalLM"
_ENCODER, _CLASSIFIER = "AutoModel", "AutoModelForSequenceClassification"
_USES = {
    _CAUSAL: "generating and scoring text",
    _ENCODER: "embedding text",
    _CLASSIFIER: "classifying text",
}
_COMPUTED = {
    "choose": (answer_by_choice, _CAUSAL),
    "generate": (answer_by_generating, _CAUSAL),
    "score": (score, _CAUSAL),
    "embed": (embed, _ENCODER),
    "classify": (classify, _CLASSIFIER),
    "match": (match, _ENCODER),
}
"""By kind of request: the function that answers a batch, and as which class of transformers it needs the model."""
_UNLIMITED = 1 << 20


class TransformersHost(ModelHost):
    """A model with its thread. See `TransformersBackend` for what it offers."""

    def __init__(self, model: str, revision: str, options: Mapping[str, Any]) -> None:
        self._model = model
        self._revision = revision
        self._options = options
        self._waiting: list[Waiting] = []
        self._loaded_parts: Loaded | None = None
        super().__init__(model)

    # --- loading ------------------------------------------------------------------------------------------

    def answers_as(self) -> Mapping[str, Any]:
        return answerer_of(self._model, self._revision)

    def load(self) -> None:
        """Load the tokenizer; the weights follow with the first request, which says as what."""
        folder = local_path(self._model)
        import torch
        from transformers import AutoConfig, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        where = self._where(folder)
        try:
            config = AutoConfig.from_pretrained(**where)
            tokenizer = AutoTokenizer.from_pretrained(**where)
        except Exception as error:
            if folder is None and isinstance(error, OSError) and is_offline():
                raise not_found(self._model, self._revision) from error
            raise EndpointError(f"The model '{self._model}' cannot be loaded: {error_line(error)}") from error
        limits = [
            int(each)
            for each in (
                getattr(config.get_text_config(), "max_position_embeddings", 0),
                tokenizer.model_max_length,
            )
            if each and 0 < each < _UNLIMITED
        ]
        self._loaded_parts = Loaded(
            torch=torch,
            tokenizer=tokenizer,
            prompter=Prompter(
                tokenizer,
                max_length=self._options["max_model_len"] or min(limits, default=_UNLIMITED),
                template_options=self._options["chat_template_kwargs"],
            ),
            device=self._device(torch),
            pooling=self._options["pooling"] or self._pooling_of_files(folder),
            normalize=self._options["normalize"],
        )

    def unload(self) -> None:
        """Free the weights."""
        self._waiting = []
        parts, self._loaded_parts = self._loaded_parts, None
        if parts is not None:
            parts.models.clear()
            if parts.device.type == "cuda":
                parts.torch.cuda.empty_cache()

    def open_jobs(self) -> Iterable[Job]:
        """Return what waits."""
        return [each.job for each in self._waiting]

    def _where(self, folder: Path | None) -> dict[str, Any]:
        return {
            "pretrained_model_name_or_path": str(folder or self._model),
            "revision": self._revision or None if folder is None else None,
            "trust_remote_code": trusts_remote_code(),
        }

    def _device(self, torch: Any) -> Any:
        name = self._options["device"]
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            device = torch.device(name)
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError, ValueError) as error:
            raise EndpointError(f"device: '{name}' cannot be used here: {error_line(error)}") from error
        return device

    def _pooling_of_files(self, folder: Path | None) -> str:
        """Return how sentence-transformers would make one vector of the tokens'; the mean where it is not said."""
        from transformers.utils import cached_file

        found = cached_file(
            str(folder or self._model),
            "1_Pooling/config.json",
            revision=self._revision or None if folder is None else None,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        if found is None:
            return "mean"
        told = json.loads(Path(found).read_text(encoding="utf-8"))
        if told.get("pooling_mode_cls_token") or told.get("pooling_mode") == "cls":
            return "cls"
        if told.get("pooling_mode_lasttoken") or told.get("pooling_mode") == "lasttoken":
            return "last"
        return "mean"

    def _weights(self, parts: Loaded, name: str) -> Any:
        """Return the model as one of transformers' classes; raises a BackendError if it is none of that kind."""
        if name not in parts.models:
            try:
                parts.models[name] = self._load_weights(parts, name)
            except PermanentBackendError as error:
                parts.models[name] = error
        if isinstance(parts.models[name], BackendError):
            raise parts.models[name]
        return parts.models[name]

    def _load_weights(self, parts: Loaded, name: str) -> Any:
        import transformers

        try:
            model, report = getattr(transformers, name).from_pretrained(
                **self._where(local_path(self._model)),
                dtype=self._options["dtype"],
                output_loading_info=True,
            )
        except ValueError as error:
            if "Unrecognized configuration class" in str(error):
                raise PermanentBackendError(
                    f"The model '{self._model}' is none for {_USES[name]}."
                ) from error
            raise EndpointError(f"The model '{self._model}' cannot be loaded: {error_line(error)}") from error
        except Exception as error:  # a broken file fails in as many ways as there are formats
            raise EndpointError(f"The model '{self._model}' cannot be loaded: {error_line(error)}") from error
        # An encoder's own pooler is not used. Any other layer without weights would answer at random.
        missing = sorted(key for key in report["missing_keys"] if "pooler" not in key or name != _ENCODER)
        if missing or (name == _CAUSAL and _fills_gaps(model.config)):
            what = f": its files have no weights for {missing[0]}" if missing else ", but for filling gaps"
            raise PermanentBackendError(f"The model '{self._model}' is none for {_USES[name]}{what}.")
        return model.to(parts.device).eval()

    # --- batches ------------------------------------------------------------------------------------------

    def work(self, jobs: list[Job]) -> bool:
        """Compute one batch: of what waits, those most similar to the one that has waited longest."""
        parts = self._loaded_parts
        assert parts is not None
        for job in jobs:
            try:
                self._waiting.append(_prepared(job, parts.prompter))
            except BackendError as error:
                job.finish(error)
        self._waiting = [each for each in self._waiting if not each.job.mailbox.closed]
        if not self._waiting:
            return False
        oldest = self._waiting[0]
        alike = sorted((each for each in self._waiting if each.kind == oldest.kind), key=Waiting.weight)
        size = self._options["batch_size"]
        start = alike.index(oldest) // size * size
        batch = alike[start : start + size]
        taken = set(map(id, batch))
        self._waiting = [each for each in self._waiting if id(each) not in taken]
        self._compute(parts, batch)
        return bool(self._waiting)

    def _compute(self, parts: Loaded, batch: list[Waiting]) -> None:
        compute, name = _COMPUTED[batch[0].kind]
        outcomes: list[Answer] | BackendError
        try:
            model = self._weights(parts, name)
            with parts.torch.inference_mode():
                outcomes = compute(parts, model, batch)
        except BackendError as error:
            outcomes = error
        except Exception as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                self._compute(parts, batch[:middle])
                self._compute(parts, batch[middle:])
                return
            outcomes = PermanentBackendError(
                f"The model '{self._model}' fails on this request: {error_line(error)}"
            )
        for place, each in enumerate(batch):
            each.job.finish(outcomes if isinstance(outcomes, BackendError) else outcomes[place])


def _fills_gaps(config: Any) -> bool:
    """Whether the model was trained to fill gaps: transformers would let it generate, which it cannot."""
    return any("MaskedLM" in each for each in config.architectures or ())


def _prepared(job: Job, prompter: Prompter) -> Waiting:
    request = job.request
    encoded = prompter.encode(request)
    if request.kind != "chat":
        return Waiting(job, encoded, request.kind)
    # What is told to think first writes its thought, and is read from its text.
    free = request.json_schema is not None or request.regex is not None or thinks(request.decoding)
    if request.choices and not free:
        return Waiting(job, encoded, "choose")
    room = prompter.max_length - len(encoded.ids)
    wanted = request.decoding.limit
    return Waiting(job, encoded, "generate", room if wanted is None else min(wanted, room))
