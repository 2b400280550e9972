"""The form of an endpoint: what is common to all, and what each kind of server or engine needs."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms

from judges.backends.errors import EndpointError
from judges.backends.settings import POOLINGS
from judges.backends.transformers import DTYPES
from judges.backends.vllm_options import VLLMOptions
from judges.forms.redrawn import RedrawnMixin, rows_wanted
from judges.models import (
    ENDPOINT_KINDS,
    IN_WORKER,
    WITH_BATCHES,
    WITH_IMAGES,
    BackendKind,
    Endpoint,
    Queue,
    Structured,
)
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import checked_options
from judges.strategies.thinking import FORMS, OFFERED

ABOUT_KINDS: Mapping[str, str] = {
    BackendKind.OPENAI: "Any server with the OpenAI API: vllm serve, a gateway, many vendors.",
    BackendKind.ANTHROPIC: "Anthropic's Messages API, with or without batches.",
    BackendKind.LITELLM: "A vendor with another API, through LiteLLM.",
    BackendKind.VLLM: "The model runs inside the worker, which keeps it loaded.",
    BackendKind.VLLM_SERVER: "The worker starts vllm serve for a model and stops it afterwards.",
    BackendKind.TRANSFORMERS: "Small models, encoders and reward models, on processors or accelerators.",
}
VLLM_KINDS = (BackendKind.VLLM, BackendKind.VLLM_SERVER)
OPTION_KINDS: Mapping[str, tuple[str, ...]] = {
    "dtype": IN_WORKER,
    "quantization": VLLM_KINDS,
    "tensor_parallel_size": VLLM_KINDS,
    "max_model_len": IN_WORKER,
    "pooling": IN_WORKER,
    "device": (BackendKind.TRANSFORMERS,),
    "batch_size": (BackendKind.TRANSFORMERS,),
    "reasoning_parser": VLLM_KINDS,
    "thinking_form": (BackendKind.OPENAI,),
}
"""The options that have a field of their own, and the kinds that know them."""
NAME_PROBLEM = (
    "Expected letters, digits, hyphens and underscores alone: no spaces, so that files of judges can name it."
)
WHERE_EMPTY: Mapping[str, Any] = {
    "kind": BackendKind.OPENAI.value,
    "structured": Structured.NONE.value,
    "price_input": 0,
    "price_output": 0,
}
"""What stands for fields that were left empty."""


class EndpointForm(RedrawnMixin, forms.ModelForm[Endpoint]):
    """An endpoint of any kind. What its kind does not know is hidden by the page and not looked at here."""

    kind = forms.ChoiceField(
        required=False,
        choices=[(kind.value, kind.label) for kind in ENDPOINT_KINDS],
        widget=forms.RadioSelect,
    )
    queue = forms.ChoiceField(
        required=False,
        choices=[(Queue.CPU.value, "Processors (cpu)"), (Queue.GPU.value, "Accelerators (gpu)")],
        label="Workers",
        help_text="Which workers run it. You name a worker's queues when you start it.",
    )
    dtype = forms.ChoiceField(
        required=False,
        choices=[("", "The engine's default"), *((name, name) for name in DTYPES)],
        label="Number format",
    )
    quantization = forms.CharField(
        required=False, max_length=40, help_text="Such as awq, gptq or fp8. If empty, that of the model."
    )
    tensor_parallel_size = forms.IntegerField(
        required=False, min_value=1, label="Accelerators per model", help_text="Tensor parallelism."
    )
    max_model_len = forms.IntegerField(
        required=False,
        min_value=16,
        label="Longest context",
        help_text="In tokens. If empty, that of the model.",
    )
    pooling = forms.ChoiceField(
        required=False,
        choices=[("", "That of the model"), *((name, name) for name in POOLINGS if name)],
        help_text="Of encoders: how tokens become one vector.",
    )
    device = forms.CharField(
        required=False, max_length=40, help_text="Such as cpu or cuda:0. If empty, what is available."
    )
    batch_size = forms.IntegerField(
        required=False, min_value=1, label="Batch size (texts)", help_text="In one batch."
    )
    reasoning_parser = forms.CharField(
        required=False,
        max_length=40,
        help_text="Of thinking models, such as qwen3 or deepseek_r1: vLLM then sends thoughts apart from the answer.",
    )
    thinking_form = forms.ChoiceField(
        required=False,
        choices=[
            ("", f"As {FORMS[OFFERED[0]].title} does"),
            *((name, FORMS[name].title) for name in OFFERED[1:]),
        ],
        label="Thinking settings",
        help_text="How the server is told how much to think. A judge sets its reasoning effort or thinking budget.",
    )
    other_options = forms.CharField(
        required=False,
        label="Other options",
        help_text='JSON, such as {"enforce_eager": true}. Never a key: it belongs in an environment variable.',
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "mono"}),
    )

    addresses = forms.CharField(
        required=False,
        label="Asked at",
        help_text="Where the server is asked, if not at its address: one address a line. Copies of a server share the "
        "requests, and one that fails is left out until it answers again. Judges and stored answers keep the address "
        "above as the server's name, so you can change these at any time.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "mono"}),
    )

    class Meta:
        model = Endpoint
        fields = (
            "name",
            "kind",
            "base_url",
            "queue",
            "api_key_env",
            "is_local",
            "open_weights",
            "structured",
            "in_batches",
            "takes_images",
            "max_concurrency",
            "timeout_seconds",
            "requests_per_minute",
            "tokens_per_minute",
            "price_input",
            "price_output",
        )
        labels = {
            "base_url": "Address",
            "is_local": "Under our own control",
            "open_weights": "Open weights",
            "structured": "Constrained decoding",
            "in_batches": "Send requests in batches",
            "takes_images": "Models take images",
            "max_concurrency": "Concurrent requests",
            "timeout_seconds": "Request timeout (s)",
            "requests_per_minute": "Requests per minute",
            "tokens_per_minute": "Tokens per minute",
            "price_input": "Price of prompt tokens",
            "price_output": "Price of completion tokens",
        }
        help_texts = {
            "name": "Letters, digits, hyphens and underscores, such as gpu-server. Judges' files name it so.",
            "base_url": "Including /v1, such as http://127.0.0.1:8001/v1.",
            "api_key_env": "Name of the environment variable that holds the key. The key itself is never stored or "
            "shown. If empty, no key is sent.",
            "is_local": "Items of private datasets may be sent there.",
            "in_batches": "The vendor answers within 24 hours at half the price. Enter its full prices below.",
            "takes_images": "Judges see the images of instructions and responses. Without this, they "
            "can't judge datasets that have images.",
            "timeout_seconds": "Maximum time to wait for one answer.",
            "price_input": "US dollars per million.",
            "price_output": "US dollars per million.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].error_messages["invalid"] = NAME_PROBLEM
        for name in ("structured", "is_local", "price_input", "price_output"):
            self.fields[name].required = False
        for name in ("price_input", "price_output"):
            self.initial[name] = f"{Decimal(getattr(self.instance, name)).normalize():f}"
        options = dict(self.instance.options)
        own = [name for name, kinds in OPTION_KINDS.items() if self.instance.kind in kinds]
        for name in own:
            self.fields[name].initial = options.pop(name, None)
        self.fields["other_options"].initial = json.dumps(options, indent=2) if options else ""
        self.fields["queue"].initial = self.instance.queue
        self.fields["addresses"].initial = "\n".join(self.instance.addresses)
        prices = list(self.instance.prices.items())
        self.price_rows = range(rows_wanted(self.data, "prices", filled=len(prices)))
        for row in self.price_rows:
            model, pair = prices[row] if row < len(prices) else ("", (None, None))
            for name, field in _price_fields(row, model, *pair):
                self.fields[name] = field

    @property
    def kind_choices(self) -> list[tuple[str, str, str, bool]]:
        """The kinds: value, label, what it is, and whether it is chosen."""
        chosen = self["kind"].value() or BackendKind.OPENAI.value
        return [(kind.value, kind.label, ABOUT_KINDS[kind], kind.value == chosen) for kind in ENDPOINT_KINDS]

    @property
    def prices(self) -> list[tuple[int, list[forms.BoundField]]]:
        """The rows of the table of prices, counted from 1."""
        return [
            (row + 1, [self[f"price{row}_{part}"] for part in ("model", "input", "output")])
            for row in self.price_rows
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned |= {name: cleaned.get(name) or default for name, default in WHERE_EMPTY.items()}
        kind = cleaned["kind"]
        if kind in IN_WORKER:
            # Nothing to call, and nothing leaves the worker.
            cleaned |= {"base_url": "", "api_key_env": "", "is_local": True}
            cleaned["queue"] = cleaned.get("queue") or Queue.CPU.value
            for name in ("base_url", "api_key_env"):
                self.errors.pop(name, None)
        else:
            cleaned["queue"] = Queue.HTTP.value
            if kind == BackendKind.OPENAI and not cleaned.get("base_url") and "base_url" not in self.errors:
                self.add_error("base_url", "Enter the address of the server.")
            if (
                kind == BackendKind.ANTHROPIC
                and not cleaned.get("base_url")
                and "base_url" not in self.errors
            ):
                self.add_error("base_url", "Enter the address, such as https://api.anthropic.com/v1.")
        if kind not in WITH_BATCHES:
            cleaned["in_batches"] = False
        if kind not in WITH_IMAGES:
            cleaned["takes_images"] = False
        cleaned["prices"] = self._prices()
        lines = (cleaned.get("addresses") or "").split("\n") if kind == BackendKind.OPENAI else []
        cleaned["addresses"] = [line.strip() for line in lines if line.strip()]
        cleaned["options"] = self._options(kind)
        return cleaned

    def _options(self, kind: str) -> dict[str, Any]:
        text = (self.cleaned_data.get("other_options") or "").strip()
        try:
            others = json.loads(text) if text else {}
            if not isinstance(others, dict):
                raise ValueError('expected an object, such as {"enforce_eager": true}')
            options = dict(checked_options(others))
        except (ValueError, RecursionError, SpecError) as error:
            self.add_error("other_options", f"Can't be used: {error}")
            return {}
        own = {name for name, kinds in OPTION_KINDS.items() if kind in kinds}
        for name in sorted(own & set(options)):
            self.add_error("other_options", f"'{name}' has a field of its own above.")
        values = {name: self.cleaned_data.get(name) for name in own}
        options |= {name: value for name, value in sorted(values.items()) if value not in (None, "")}
        if kind == BackendKind.VLLM and not self.errors:
            try:
                VLLMOptions.taken_from(options)
            except EndpointError as error:
                self.add_error("other_options", str(error))
        return options

    def _prices(self) -> dict[str, list[float]]:
        prices: dict[str, list[float]] = {}
        for row in self.price_rows:
            model, *pair = (
                self.cleaned_data.get(f"price{row}_{part}") for part in ("model", "input", "output")
            )
            where = f"price{row}_model"
            if not model:
                if any(pair):
                    self.add_error(where, f"Row {row + 1}: name the model of these prices.")
            elif model in prices:
                self.add_error(where, f"Row {row + 1}: '{model}' has prices in a row above.")
            elif None in pair and not any(
                f"price{row}_{part}" in self.errors for part in ("input", "output")
            ):
                self.add_error(where, f"Row {row + 1}: '{model}' needs both prices; 0 is allowed.")
            else:
                prices[model] = [float(price or 0) for price in pair]
        return prices

    def fields_saved(self) -> dict[str, Any]:
        """The keyword arguments of `endpoint_create` and `endpoint_update`."""
        return {
            name: self.cleaned_data[name] for name in (*self.Meta.fields, "addresses", "prices", "options")
        }


def _price_fields(
    row: int, model: str, prompt: float | None, completion: float | None
) -> list[tuple[str, forms.Field]]:
    words = f"row {row + 1}"
    number = {"required": False, "min_value": 0, "max_digits": 10, "decimal_places": 4}
    named: list[tuple[str, forms.Field]] = [
        ("model", forms.CharField(required=False, max_length=200, initial=model, label=f"Model, {words}")),
        ("input", forms.DecimalField(initial=prompt, label=f"Prompt tokens, {words}", **number)),  # type: ignore[arg-type]
        ("output", forms.DecimalField(initial=completion, label=f"Completion tokens, {words}", **number)),  # type: ignore[arg-type]
    ]
    return [(f"price{row}_{name}", field) for name, field in named]
