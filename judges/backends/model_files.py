"""Models by name: a folder, or a repository of the Hugging Face hub that is in the cache or can be fetched."""

import os
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path

from judges.backends.errors import BackendUnavailableError, EndpointError

# Settings, tokenizer and weights of a model's folder.
_TELLING = (".json", ".safetensors", ".bin", ".gguf", ".jinja", ".model")
_TRUE = frozenset({"1", "true", "yes", "on"})


def require_package(package: str, *, backend: str, extra: str) -> None:
    """Raise BackendUnavailableError if a package is not installed; looks without importing it."""
    if find_spec(package) is None:
        raise BackendUnavailableError.missing(package, backend=backend, extra=extra)


def trusts_remote_code() -> bool:
    """Whether code that comes with a model may run.

    Only who runs the worker can say so, by its environment: an option in the database would let everybody who may edit
    an endpoint run code.
    """
    return os.environ.get("TOUCHSTONE_TRUST_REMOTE_CODE", "").lower() in _TRUE


def is_offline() -> bool:
    """Whether the hub must not be asked."""
    return any(
        os.environ.get(name, "").lower() in _TRUE for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def local_path(model: str) -> Path | None:
    """Return the folder that the model's name means; None if it is a name on the hub.

    Raises
    ------
    EndpointError
        It can only be a folder, and there is no model in it.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise EndpointError(f"The folder '{model}' holds no model: it has no config.json.")
        return folder
    if folder.exists():
        raise EndpointError(f"'{model}' is a file; name the folder with config.json and the weights.")
    if model.startswith(("/", "~", ".")) or model.count("/") > 1:
        raise EndpointError(f"There is no folder '{model}' on this machine.")
    return None


def check_model(model: str, revision: str = "") -> None:
    """Raise EndpointError if the model is neither here nor to be had; asks the network for nothing."""
    if local_path(model) is None and is_offline() and not _is_cached(model, revision):
        raise not_found(model, revision)


def answerer_of(model: str, revision: str = "") -> dict[str, str]:
    """Return which model answers under a name: that a hub's branch or a folder's files moved shows in it.

    Of the hub the name with the commit, which stands for the files; of a folder a hash of its settings and weights.
    """
    folder = local_path(model)
    if folder is None:
        return {"model": f"{model}@{found}" if (found := _commit(model, revision) or revision) else model}
    whole = sha256()
    for path in sorted(each for each in folder.iterdir() if each.name.endswith(_TELLING)):
        with path.open("rb") as file:
            whole.update(f"{path.name}:{file_digest(file, 'sha256').hexdigest()}\n".encode())
    return {"model": model, "system_fingerprint": f"sha256:{whole.hexdigest()[:16]}"}


def not_found(model: str, revision: str = "") -> EndpointError:
    """Return the error for a model that is nowhere, which says how to fetch it."""
    version = f" --revision {revision}" if revision else ""
    return EndpointError(
        f"The model '{model}' is neither a folder here nor in the cache; fetch it with "
        f"`hf download {model}{version}` on this machine (with HF_HUB_OFFLINE unset), or copy its "
        "folder here and name that."
    )


def _is_cached(model: str, revision: str) -> bool:
    return bool(_commit(model, revision))


def _commit(model: str, revision: str) -> str:
    """The commit of a model in the cache, where files lie in snapshots/COMMIT; empty where it is not there."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "config.json", revision=revision or None)
    except HFValidationError:
        return ""
    return Path(found).parent.name if isinstance(found, str) else ""
