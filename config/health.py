"""`/health/`: whether the site can answer, for load balancers and whoever runs it."""

from django.core.cache import caches
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.cache import SharedCache


@require_safe
@never_cache
def health(_request: HttpRequest) -> JsonResponse:
    """Say how database and cache are: 200, or 503 without a database. A cache that is away is no outage."""
    database = "ok" if _database_answers() else "not answering"
    cache = "local memory"
    shared = caches["default"]
    if isinstance(shared, SharedCache):
        shared.get("health")
        cache = "local memory: Redis is not answering" if shared.is_away() else "ok"
    status = "ok"
    if database != "ok":
        status = "unavailable"
    elif "not answering" in cache:
        status = "degraded"
    return JsonResponse(
        {"status": status, "database": database, "cache": cache}, status=200 if database == "ok" else 503
    )


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return False
    return True
