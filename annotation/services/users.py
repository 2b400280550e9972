"""Accounts of people who sign in."""

from annotation.models import Role, User


def user_ensure(*, username: str, password: str, role: Role) -> User:
    """Return the account, made with this password if there is none; an existing one is left as it is."""
    user, created = User.objects.get_or_create(username=username, defaults={"role": role})
    if created:
        user.set_password(password)
        user.save(update_fields=["password"])
    return user


def user_lock(user: User) -> None:
    """Wait until nobody else acts for this person; held until the end of the transaction."""
    User.objects.select_for_update().get(pk=user.pk)
