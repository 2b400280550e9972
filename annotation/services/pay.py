"""Bonuses."""

from decimal import Decimal

from django.db import IntegrityError, transaction

from annotation.models import Bonus, Enrollment, User


def bonus_grant(
    *, enrollment: Enrollment, amount: Decimal, reason: str, by: User, nonce: str
) -> tuple[Bonus, bool]:
    """Grant a bonus: (the bonus, whether it is new). The same form sent twice (`nonce`) grants one.

    Raises `ValueError` for an amount that is not positive.
    """
    if amount <= 0:
        raise ValueError(f"amount: expected more than 0, got {amount}")
    try:
        with transaction.atomic():
            return Bonus.objects.create(
                enrollment=enrollment, amount=amount, reason=reason, by=by, nonce=nonce
            ), True
    except IntegrityError:
        return Bonus.objects.get(enrollment=enrollment, nonce=nonce), False
