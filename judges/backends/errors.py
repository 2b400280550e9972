"""Every way in which asking a model can fail.

::

    BackendError
    |-- TransientBackendError      the same request may succeed later: refused connection, time-out,
    |   |                          408, 409, 425, 429, 5xx; `retry_after` when the server asked for a pause
    |   `-- MisbehavingServerError HTTP 200 with something that is not an answer; retried, but counted
    |-- NotSentError               it waited, and was given back unsent: others failed, or it is not wanted
    |-- PermanentBackendError      this request will never succeed (400, 413, 422); others may
    `-- EndpointError              no request to this endpoint will succeed (401, 403, 404, no key)
        `-- BackendUnavailableError the backend cannot be built here: unknown name or missing package

Retrying is the engine's business. Messages name the endpoint, the status and a short piece of the body,
and never a key.
"""

from __future__ import annotations


class BackendError(Exception):
    """The request got no usable answer.

    Attributes
    ----------
    status : int or None
        The HTTP status, where there was one.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TransientBackendError(BackendError):
    """The same request may succeed later.

    Attributes
    ----------
    retry_after : float or None
        Seconds that the server asked to wait, >= 0.
    was_sent : bool
        The server had the request and did not say that it refused it, so the work may be on the bill.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        was_sent: bool = False,
    ) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after
        self.was_sent = was_sent or status == 200


class MisbehavingServerError(TransientBackendError):
    """The server said all is well and sent something that is not an answer."""


class NotSentError(BackendError):
    """The request waited for a free place, and comes back as if it had never been submitted."""

    def __init__(self) -> None:
        super().__init__("The request was not sent.")


class PermanentBackendError(BackendError):
    """This request will never succeed, e.g. the prompt is too long; others may."""


class EndpointError(BackendError):
    """No request to this endpoint will succeed until its configuration changes."""


class BackendUnavailableError(EndpointError):
    """The backend cannot be used on this machine; the message says what to install."""

    @classmethod
    def missing(cls, package: str, *, backend: str, extra: str) -> BackendUnavailableError:
        """Return the error for a package that is not installed, which an extra of the distribution brings."""
        return cls(
            f"The backend '{backend}' needs the package '{package}', which is not installed: "
            f'pip install "touchstone-judge[{extra}]".'
        )
