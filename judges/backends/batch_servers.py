"""Which backends have batches, and whose."""

from judges.backends.anthropic import AnthropicBackend
from judges.backends.anthropic_batches import AnthropicBatches
from judges.backends.batches import BatchServer
from judges.backends.errors import EndpointError
from judges.backends.openai import OpenAIBackend
from judges.backends.openai_batches import OpenAIBatches


def batch_server(backend: object) -> BatchServer:
    """Return the batches of a backend's vendor; raises EndpointError where it has none."""
    if isinstance(backend, AnthropicBackend):
        return AnthropicBatches(backend)
    if isinstance(backend, OpenAIBackend):
        return OpenAIBatches(backend)
    raise EndpointError("Only endpoints with OpenAI's or Anthropic's API have batches.")
