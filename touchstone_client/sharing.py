"""Who has access to studies and datasets, and teams."""

from collections.abc import Iterator
from typing import Any, cast

from touchstone_client.http import Connection
from touchstone_client.rows import Access, Member, Team


class Sharing:
    """Who may read and change what you own."""

    _api: Connection

    def study_access(self, slug: str, **query: Any) -> Iterator[Access]:
        """List who has access to a study of yours."""
        return self._api.pages(f"studies/{slug}/access/", **query)

    def study_share(self, slug: str, role: str, **holder: Any) -> Access:
        """Share a study of yours as ``"viewer"`` or ``"editor"``: with a ``user`` by name or a ``team`` by number."""
        return cast("Access", self._api.post(f"studies/{slug}/access/", {"role": role, **holder}))

    def study_access_change(self, slug: str, access: int, role: str) -> Access:
        """Change the role of a person or a team that a study is shared with."""
        return cast("Access", self._api.patch(f"studies/{slug}/access/{access}/", {"role": role}))

    def study_access_remove(self, slug: str, access: int) -> None:
        """End the access of a person or a team to a study."""
        self._api.delete(f"studies/{slug}/access/{access}/")

    def study_transfer(self, slug: str, to: str) -> None:
        """Give a study of yours to another owner."""
        self._api.post(f"studies/{slug}/transfer/", {"to": to})

    def dataset_access(self, name: str, **query: Any) -> Iterator[Access]:
        """List who has access to a dataset of yours."""
        return self._api.pages(f"datasets/{name}/access/", **query)

    def dataset_share(self, name: str, role: str, **holder: Any) -> Access:
        """Share a dataset of yours as ``"viewer"`` or ``"editor"``: with a ``user`` by name or a ``team`` by number."""
        return cast("Access", self._api.post(f"datasets/{name}/access/", {"role": role, **holder}))

    def dataset_access_change(self, name: str, access: int, role: str) -> Access:
        """Change the role of a person or a team that a dataset is shared with."""
        return cast("Access", self._api.patch(f"datasets/{name}/access/{access}/", {"role": role}))

    def dataset_access_remove(self, name: str, access: int) -> None:
        """End the access of a person or a team to a dataset."""
        self._api.delete(f"datasets/{name}/access/{access}/")

    def dataset_transfer(self, name: str, to: str) -> None:
        """Give a dataset of yours to another owner."""
        self._api.post(f"datasets/{name}/transfer/", {"to": to})

    def teams(self, **query: Any) -> Iterator[Team]:
        """List the teams that you're in."""
        return self._api.pages("teams/", **query)

    def team(self, team: int) -> Team:
        """Read a team with its members."""
        return cast("Team", self._api.get(f"teams/{team}/"))

    def team_create(self, name: str) -> Team:
        """Create a team; you're its admin."""
        return cast("Team", self._api.post("teams/", {"name": name}))

    def team_rename(self, team: int, name: str) -> Team:
        """Rename a team."""
        return cast("Team", self._api.patch(f"teams/{team}/", {"name": name}))

    def team_delete(self, team: int) -> None:
        """Delete a team; its members lose what is shared with it."""
        self._api.delete(f"teams/{team}/")

    def member_add(self, team: int, user: str, *, is_admin: bool = False) -> Member:
        """Put a person into a team."""
        body = {"user": user, "is_admin": is_admin}
        return cast("Member", self._api.post(f"teams/{team}/members/", body))

    def member_change(self, team: int, member: int, *, is_admin: bool) -> Member:
        """Make a member an admin of the team, or no longer."""
        return cast("Member", self._api.patch(f"teams/{team}/members/{member}/", {"is_admin": is_admin}))

    def member_remove(self, team: int, member: int) -> None:
        """Remove a member from a team, or leave it."""
        self._api.delete(f"teams/{team}/members/{member}/")
