"""Which account of an annotator is signed in: a key of the session, apart from the login of staff."""

from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import Account, Annotator, Enrollment, Study
from annotation.selectors.entry import account_get, enrollment_in_study

SESSION_KEY = "account"
SESSION_PROOF = "account-proof"
"""A mark of the password at the time of signing in: a new password ends what is signed in elsewhere."""


def account_of(request: HttpRequest) -> Account | None:
    """Who is signed in, if anybody."""
    # A visitor without a session is not made one by asking.
    pk = request.session.get(SESSION_KEY)
    if not isinstance(pk, int):
        return None
    try:
        account = account_get(pk)
    except Account.DoesNotExist:
        return None
    same = constant_time_compare(str(request.session.get(SESSION_PROOF, "")), _proof(account))
    return account if same else None


def _proof(account: Account) -> str:
    return salted_hmac("annotation.account", account.password, algorithm="sha256").hexdigest()[:32]


def account_annotator(request: HttpRequest) -> Annotator | None:
    """Whom the person takes part as, by whatever entry point, while they are signed in."""
    account = account_of(request)
    return None if account is None else account.annotator


def account_enrollment(request: HttpRequest, study: Study) -> Enrollment | None:
    """The place in this study of who is signed in."""
    account = account_of(request)
    return None if account is None else enrollment_in_study(account, study)


def account_hold(request: HttpRequest, account: Account) -> None:
    """Sign in: whoever planted a session before shares nothing with it afterwards."""
    request.session.cycle_key()
    request.session[SESSION_KEY] = account.pk
    request.session[SESSION_PROOF] = _proof(account)


def account_drop(request: HttpRequest) -> None:
    """Sign out."""
    del request.session[SESSION_KEY], request.session[SESSION_PROOF]
    request.session.cycle_key()
