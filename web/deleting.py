"""Deleting a row that nothing depends on: one rule and the same words for pages and for programs."""

from django.db import IntegrityError, models, transaction
from django.db.models.deletion import ProtectedError

SHOWN = 4


class InUseError(Exception):
    """It is used, so it stays."""


def row_delete(row: models.Model) -> bool:
    """Delete a row with what belongs to it; False if it is gone already.

    Raises
    ------
    InUseError
        Something depends on it, or has since a moment ago.
    """
    rows = type(row)._base_manager
    try:
        with transaction.atomic():
            locked = rows.select_for_update().filter(pk=row.pk).first()
            if locked is not None:
                locked.delete()
            return locked is not None
    except ProtectedError as error:
        names = sorted({str(one._meta.verbose_name_plural) for one in error.protected_objects})
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        words = f"It can't be deleted. These depend on it: {', '.join(names[:SHOWN])}{more}."
        raise InUseError(words) from None
    except IntegrityError:  # what depends on it came at this moment
        raise InUseError("It can't be deleted: something depends on it since a moment ago.") from None
