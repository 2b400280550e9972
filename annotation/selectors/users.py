"""People who sign in, as the command line names them."""

from annotation.models import Role, User


def user_find(username: str) -> User | None:
    """The account of this name, if there is one."""
    return User.objects.filter(username=username).first()


def administrator_find(username: str) -> User | None:
    """The administrator of this name, if there is one who may sign in."""
    return User.objects.filter(username=username, role=Role.ADMINISTRATOR, is_active=True).first()
