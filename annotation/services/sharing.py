"""Sharing a study or a dataset: granting access to a person or a team, ending it, and giving the row away.

Callers fetch the row for the person who acts (`studies_settled_by`, `datasets_owned_by`). Nothing of a person's rights
is stored elsewhere or cached, so a grant that ends, ends for pages, tokens, webhooks and jobs at once.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.domain.errors import SharingError
from annotation.models import AccessGrant, AccessRole, Dataset, Role, Study, Team, User
from annotation.selectors.datasets import datasets_owned_by, datasets_visible_to
from annotation.services.audit import audit

Holder = User | Team


def access_grant(
    *, subject: Study | Dataset, holder: Holder, role: str, by: User
) -> tuple[AccessGrant, bool]:
    """Let a person or a team read or change a study or a dataset: the grant, and whether it changed anything.

    A study of a private dataset is seen only by those who see the dataset. Where `by` may share the dataset too, its
    items are shared with the holder as well, for reading.

    Raises
    ------
    SharingError
        Not a role; an owner, or a person who is no active researcher; a holder who can't see the study's dataset.
    """
    if role not in AccessRole.values:
        raise SharingError("role", f"Expected {' or '.join(AccessRole.values)}.")
    if isinstance(holder, User):
        _researcher_check(holder)
        if holder.pk == subject.owner_id:
            raise SharingError("holder", f"{holder.get_username()} is the owner.")
    with transaction.atomic():
        _lock(subject)
        if isinstance(subject, Study):
            _dataset_show(subject, holder, by)
        return _granted(subject, holder, role, by)


def access_change(*, grant: AccessGrant, role: str) -> bool:
    """Change the role of a grant; False where it has it already.

    Raises
    ------
    SharingError
        Not a role.
    """
    if role not in AccessRole.values:
        raise SharingError("role", f"Expected {' or '.join(AccessRole.values)}.")
    with transaction.atomic():
        held = AccessGrant.objects.select_for_update().filter(pk=grant.pk).first()
        if held is None or held.role == role:
            return False
        held.role = role
        held.save(update_fields=["role"])
    return True


def access_remove(*, grant: AccessGrant) -> bool:
    """End a grant; False if it is gone already."""
    with transaction.atomic():
        held = AccessGrant.objects.select_for_update().filter(pk=grant.pk).first()
        if held is not None:
            held.delete()
    return held is not None


def ownership_transfer(*, subject: Study | Dataset, to: User, by: User) -> bool:
    """Make another person the owner; the one before stays as an editor. False where they own it already.

    Raises
    ------
    SharingError
        The new owner is no active researcher, or can't see the study's dataset.
    """
    _researcher_check(to)
    with transaction.atomic():
        locked = _lock(subject)
        before = locked.owner
        if before is not None and before.pk == to.pk:
            return False
        if isinstance(subject, Study):
            _dataset_show(subject, to, by)
        type(subject)._default_manager.filter(pk=subject.pk).update(owner=to)
        for grant in AccessGrant.objects.filter(**_about(subject), user=to):
            grant.delete()
        if before is not None and before.is_active:
            _granted(subject, before, AccessRole.EDITOR, by)
        kind = "study" if isinstance(subject, Study) else "dataset"
        audit(
            f"{kind}.transferred",
            subject,
            before={"owner": before.get_username() if before else None},
            after={"owner": to.get_username()},
        )
    subject.owner = to
    return True


def _lock(subject: Study | Dataset) -> Study | Dataset:
    rows: Any = type(subject)._default_manager
    found: Study | Dataset = rows.select_for_update(no_key=True).get(pk=subject.pk)
    return found


def _about(subject: Study | Dataset) -> Mapping[str, Any]:
    return {"study": subject} if isinstance(subject, Study) else {"dataset": subject}


def _to(holder: Holder) -> Mapping[str, Any]:
    return {"user": holder} if isinstance(holder, User) else {"team": holder}


def _granted(
    subject: Study | Dataset, holder: Holder, role: str, by: User | None
) -> tuple[AccessGrant, bool]:
    """The grant as it is now, and whether that is new; its row's lock is held."""
    grant, created = AccessGrant.objects.get_or_create(
        **_about(subject), **_to(holder), defaults={"role": role, "granted_by": by}
    )
    if not created and grant.role != role:
        grant.role = role
        grant.save(update_fields=["role"])
        return grant, True
    return grant, created


def _researcher_check(person: User) -> None:
    if not person.is_active or person.role == Role.ANNOTATOR:
        raise SharingError("holder", f"{person.get_username()} isn't an active researcher.")


def _dataset_show(study: Study, holder: Holder, by: User) -> None:
    """See to it that the holder sees the items of a study, or refuse: the dataset's owner decides who does."""
    dataset = study.dataset
    if _sees(dataset, holder):
        return
    name = holder.get_username() if isinstance(holder, User) else f"The team {holder.name}"
    if not datasets_owned_by(by).filter(pk=dataset.pk).exists():
        owner = dataset.owner.get_username() if dataset.owner else "an administrator"
        raise SharingError(
            "holder",
            f"{name} can't see the private dataset {dataset.name} of this study. "
            f"Ask its owner, {owner}, to share it first.",
        )
    _granted(dataset, holder, AccessRole.VIEWER, by)


def _sees(dataset: Dataset, holder: Holder) -> bool:
    if isinstance(holder, User):
        return datasets_visible_to(holder).filter(pk=dataset.pk).exists()
    return not dataset.is_private or AccessGrant.objects.filter(dataset=dataset, team=holder).exists()
