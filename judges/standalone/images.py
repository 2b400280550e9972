"""Whether a judge can see the images that items show; on a site, the check before a sweep says the same."""

from judges.backends.registry import backend_info
from judges.standalone.main import CommandRefusedError
from judges.strategies.asked import imageless_requests
from judges.strategies.spec import JudgeSpec


def refuse_unseen(spec: JudgeSpec, shown: str, *, takes_images: bool) -> None:
    """Raise where a judge's models can't see an image; baselines without a model read the text alone.

    Parameters
    ----------
    shown : str
        The item with the image, as messages name it.
    takes_images : bool
        What is said of the models.

    Raises
    ------
    CommandRefusedError
    """
    models = spec.models().values()
    for name in sorted({model.backend for model in models}):
        if not backend_info(name).takes_images:
            raise CommandRefusedError(
                f"{shown} shows an image, which the backend '{name}' can't send: "
                "ask the model through a server with OpenAI's protocol."
            )
    for request in imageless_requests(spec) if models else ():
        raise CommandRefusedError(
            f"{shown} shows an image, and the judge asks for {request}, which can't be of images."
        )
    if models and not takes_images:
        raise CommandRefusedError(
            f"{shown} shows an image, and the judge's models take none as far as you say: "
            "give --takes-images if they do."
        )
