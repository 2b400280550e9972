"""The resources of the API as methods."""

from typing import Any

from touchstone_client.collecting import Collecting
from touchstone_client.deciding import Deciding
from touchstone_client.http import Connection
from touchstone_client.judging import Judging
from touchstone_client.sharing import Sharing


class Touchstone(Collecting, Sharing, Judging, Deciding):
    """A site, as the user of a token.

    Parameters
    ----------
    url : str
        Of the site, such as ``"http://127.0.0.1:8000"``.
    token : str
        Made under *Account > API tokens*, or with ``manage.py api_token``.
    **options
        ``timeout`` of a request in seconds, ``retries`` of what passes.

    Every method raises `ApiProblem` where the API refuses. Lists are iterators: pages are read as they are needed.
    """

    def __init__(self, url: str, token: str, **options: Any) -> None:
        self._api = Connection(url, token, **options)

    def __enter__(self) -> "Touchstone":
        return self

    def __exit__(self, *_: object) -> None:
        self._api.close()
