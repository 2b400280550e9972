"""Sharing a study or a dataset, giving it away, and teams."""

from typing import Any

from django import forms

from annotation.models import AccessRole, Team, User
from annotation.selectors.sharing import teams_visible_to
from annotation.selectors.users import user_find

ROLES = [
    (AccessRole.VIEWER.value, "Viewer: reads and exports"),
    (AccessRole.EDITOR.value, "Editor: changes it, too"),
]


class PersonField(forms.CharField):
    """A person by their username."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=150, **options)
        self.widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> User | None:
        name = super().clean(value)
        if not name:
            return None
        person = user_find(name)
        if person is None:
            raise forms.ValidationError(f"No one here has the username {name!r}.")
        return person


class ShareForm(forms.Form):
    """Who gets access, and which."""

    person = PersonField(label="Username", required=False)
    team = forms.ModelChoiceField(
        queryset=Team.objects.none(), label="or team", required=False, empty_label="No team"
    )
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=AccessRole.VIEWER, widget=forms.RadioSelect)

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        teams = teams_visible_to(user)
        if teams.exists():
            self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        else:
            del self.fields["team"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        chosen = [one for one in (given.get("person"), given.get("team")) if one is not None]
        if not self.errors and len(chosen) != 1:
            teams = " or choose a team, not both" if "team" in self.fields else ""
            self.add_error("person", f"Enter a username{teams}.")
        return given

    @property
    def holder(self) -> User | Team:
        """Who was chosen."""
        found: User | Team = self.cleaned_data["person"] or self.cleaned_data["team"]
        return found


class TransferForm(forms.Form):
    """Who owns it from now on."""

    to = PersonField(label="Username of the new owner")


class TeamForm(forms.Form):
    """What a team is called."""

    name = forms.CharField(max_length=100, label="Name")


class MemberForm(forms.Form):
    """Who joins a team."""

    user = PersonField(label="Username")
    is_admin = forms.BooleanField(label="Admin of the team: chooses its members", required=False)
