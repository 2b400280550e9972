"""The in-process worker: a thread that runs the Celery tasks where no broker is configured."""


def start_in_process_worker() -> None:
    return None
