"""Accounts of annotators who sign up by themselves. An account opens studies, nothing else of the site."""

import secrets
import unicodedata
from datetime import datetime

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.domain.errors import AnnotationError
from annotation.models import Account, Annotator, Enrollment, Study
from annotation.services.enrollment import enrollment_start

SOURCE = "account"
MAX_EMAIL = 200  # the width of its column


class AccountRefusedError(AnnotationError):
    """No account can be made with this address. Why is not said: it would tell who has one."""


def email_normal(email: str) -> str:
    """One spelling for an address, so that nobody has two accounts by capitals or look-alike letters."""
    return unicodedata.normalize("NFKC", email).strip().lower()


def account_create(*, email: str, password: str, now: datetime | None = None) -> Account:
    """A new account with a new annotator. Who asks twice with the same password gets the same account.

    Raises `ValidationError` for a weak password, `AccountRefusedError` when the address is taken.
    """
    email = email_normal(email)
    if len(email) > MAX_EMAIL:
        raise AccountRefusedError
    # The validators look at attributes of whomever they are given.
    validate_password(password, Account(email=email))  # type: ignore[arg-type]
    # Hashed before anybody looks whether the address is taken, so that the answer takes as long either way.
    hashed = make_password(password)
    try:
        with transaction.atomic():
            annotator = Annotator.objects.create(source=SOURCE, external_id=secrets.token_hex(8))
            return Account.objects.create(
                annotator=annotator, email=email, password=hashed, last_login=now or timezone.now()
            )
    except IntegrityError:
        known = account_sign_in(email=email, password=password, now=now)
        if known is None:
            raise AccountRefusedError from None
        return known


def account_sign_in(*, email: str, password: str, now: datetime | None = None) -> Account | None:
    """The account with this address and password. As slow for an address that nobody has."""
    account = Account.objects.select_related("annotator").filter(email=email_normal(email)).first()
    if account is None:
        make_password(password)
        return None

    def upgrade(raw: str) -> None:
        account_password_set(account=account, password=raw)

    if not check_password(password, account.password, setter=upgrade):
        return None
    Account.objects.filter(pk=account.pk).update(last_login=now or timezone.now())
    return account


def account_password_set(*, account: Account, password: str) -> Account:
    """Give the account this password, which was looked at before. It ends what is signed in elsewhere."""
    account.password = make_password(password)
    account.save(update_fields=["password"])
    return account


def account_join(
    *, account: Account, study: Study, device: str = "", now: datetime | None = None
) -> Enrollment:
    """Let the person into a study with open sign-up, or back into it. Raises `EntryRefusedError`."""
    return enrollment_start(study=study, annotator=account.annotator, device=device, now=now)
