"""Second factors: what an administrator does for a person who lost theirs."""

from allauth.mfa.models import Authenticator
from django.db import transaction

from annotation.models import User
from annotation.services.audit import audit
from annotation.services.sessions import sessions_end


def factors_reset(user: User) -> int:
    """Remove all second factors of a person and end their sessions; returns how many factors there were."""
    with transaction.atomic():
        rows = Authenticator.objects.filter(user=user)
        types = sorted(rows.values_list("type", flat=True))
        rows.delete()
        audit("user.second factor reset", user, before={"types": types})
        sessions_end(user)
    return len(types)
