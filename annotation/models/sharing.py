"""Who else may read or change a study or a dataset: grants to a person or to a team."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.datasets import Dataset
from annotation.models.names import NameField
from annotation.models.studies import Study


class Team(models.Model):
    """People who are granted access together."""

    name = NameField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A person in a team. An admin of a team chooses its members."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="team_memberships"
    )
    is_admin = models.BooleanField(
        default=False, help_text="Chooses the members, renames and deletes the team."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="team_member_once")]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """What the audit log calls it."""
        return f"{self.user.get_username()} in {self.team.name}"


class AccessRole(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"


class AccessGrant(models.Model):
    """What one person, or one team, may do with one study, or one dataset, of another person."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, null=True, blank=True, related_name="access_grants"
    )
    dataset = models.ForeignKey(
        Dataset, on_delete=models.CASCADE, null=True, blank=True, related_name="access_grants"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="access_grants",
    )
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, null=True, blank=True, related_name="access_grants"
    )
    role = models.CharField(max_length=6, choices=AccessRole.choices, default=AccessRole.VIEWER)
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(role__in=AccessRole.values), name="access_grant_role_known"),
            models.CheckConstraint(
                condition=Q(study__isnull=False, dataset__isnull=True)
                | Q(study__isnull=True, dataset__isnull=False),
                name="access_grant_of_one",
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False, team__isnull=True) | Q(user__isnull=True, team__isnull=False),
                name="access_grant_to_one",
            ),
            # In the order of the lookup: what has this person, or this team, been granted?
            models.UniqueConstraint(
                fields=["user", "study"],
                condition=Q(user__isnull=False, study__isnull=False),
                name="access_grant_user_study",
            ),
            models.UniqueConstraint(
                fields=["team", "study"],
                condition=Q(team__isnull=False, study__isnull=False),
                name="access_grant_team_study",
            ),
            models.UniqueConstraint(
                fields=["user", "dataset"],
                condition=Q(user__isnull=False, dataset__isnull=False),
                name="access_grant_user_dataset",
            ),
            models.UniqueConstraint(
                fields=["team", "dataset"],
                condition=Q(team__isnull=False, dataset__isnull=False),
                name="access_grant_team_dataset",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def subject(self) -> Study | Dataset:
        """The study or the dataset."""
        found = self.study or self.dataset
        assert found is not None, "the database has one of the two"
        return found

    @property
    def holder(self) -> str:
        """The name of the person or of the team."""
        return f"team {self.team.name}" if self.team else self.user.get_username() if self.user else ""

    @property
    def title(self) -> str:
        """What the audit log calls it."""
        about = f"study {self.study.slug}" if self.study else f"dataset {self.dataset}"
        return f"{about}: {self.holder}"
