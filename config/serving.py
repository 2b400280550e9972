"""The command line of the web server: the one definition for `manage.py serve`, the demonstration and the tests."""

import sys


def server_command(*, host: str, port: int, workers: int = 1, log_level: str = "info") -> list[str]:
    """Return the command that starts the web server, in the folder `settings.WORKING_DIR`.

    HTTP/1 only, since proxies speak it and no browser speaks HTTP/2 without TLS; as many connections as a process may
    have files, since slow clients cost no more than that; a worker that dies is started again.
    """
    return [
        *(sys.executable, "-m", "granian", "--interface", "rsgi", "--http", "1", "--no-ws"),
        *("--host", host, "--port", str(port), "--workers", str(workers)),
        *("--backlog", "4096", "--backpressure", "4096", "--http1-buffer-size", "65536"),
        *("--http1-header-read-timeout", "15000", "--workers-kill-timeout", "30"),
        *("--respawn-failed-workers", "--respawn-interval", "0.5", "--log-level", log_level),
        "config.rsgi:application",
    ]
