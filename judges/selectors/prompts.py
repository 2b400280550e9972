"""Prompts as the administrators' pages show them: those in files, and those written there."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from annotation.kinds.values import DEFAULT_KIND
from judges.models import Judge, PromptText
from judges.strategies.errors import UnknownStrategyError
from judges.strategies.prompts import PROMPTS, load_prompt, prompt_names
from judges.strategies.registry import STRATEGIES


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """One version of a prompt.

    Attributes
    ----------
    name : str
        With its version, as in a judge's specification: ``"vanilla.v1"``.
    is_file : bool
        It belongs to the project; else it was written in the admin.
    """

    kind: str
    name: str
    source: str = field(repr=False)
    sha: str
    is_file: bool
    based_on: str = ""
    notes: str = ""
    created_at: datetime | None = None
    created_by: str = ""

    @property
    def stem(self) -> str:
        return self.name.rpartition(".v")[0]

    @property
    def version(self) -> int:
        return int(self.name.rpartition(".v")[2])


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """All versions of one prompt, the latest first, and what it is for."""

    kind: str
    stem: str
    versions: tuple[PromptVersion, ...]
    used_by: tuple[str, ...] = ()

    @property
    def latest(self) -> PromptVersion:
        return self.versions[0]


def prompt_kinds() -> list[str]:
    """Return the kinds that have prompts, pairs first."""
    kinds = {path.name for path in PROMPTS.iterdir() if path.is_dir()}
    kinds |= {info.kind for info in STRATEGIES.values() if info.prompt or info.prompts}
    return sorted(kinds, key=lambda kind: (kind != DEFAULT_KIND, kind))


def prompts_listed() -> list[PromptFamily]:
    """Return all prompts by kind and name; one query."""
    versions: dict[tuple[str, str], list[PromptVersion]] = {}
    kinds = prompt_kinds()
    written = [_written(row) for row in PromptText.objects.select_related("created_by")]
    for each in [*(_file(name, kind) for kind in kinds for name in prompt_names(kind)), *written]:
        versions.setdefault((each.kind, each.stem), []).append(each)
    uses = _uses()
    order = {kind: place for place, kind in enumerate(kinds)}
    return [
        PromptFamily(
            kind,
            stem,
            tuple(sorted(found, key=lambda version: -version.version)),
            tuple(uses.get((kind, stem), ())),
        )
        for (kind, stem), found in sorted(
            versions.items(), key=lambda entry: (order.get(entry[0][0], len(order)), entry[0])
        )
    ]


def prompt_choices(kind: str) -> list[str]:
    """Return the names of all prompts of a kind, files and rows, sorted; one query."""
    rows = PromptText.objects.filter(kind=kind).values_list("name", "version")
    return sorted({*prompt_names(kind), *(f"{name}.v{version}" for name, version in rows)})


def prompt_get(kind: str, name: str) -> PromptVersion | None:
    """Return one version of a prompt; None if there is none of that name."""
    stem, _, version = name.rpartition(".v")
    if version.isascii() and version.isdecimal() and len(version) < 10:
        rows = PromptText.objects.filter(kind=kind, name=stem, version=int(version))
        if (row := rows.select_related("created_by").first()) is not None:
            return _written(row)
    try:
        return _file(name, kind) if kind in prompt_kinds() else None
    except UnknownStrategyError:
        return None


def prompt_versions(kind: str, stem: str) -> list[PromptVersion]:
    """Return all versions of a prompt, the latest first; one query."""
    rows = PromptText.objects.filter(kind=kind, name=stem).select_related("created_by")
    names = [name for name in prompt_names(kind) if name.rpartition(".v")[0] == stem]
    found = [*(_file(name, kind) for name in names), *(_written(row) for row in rows)]
    return sorted(found, key=lambda version: -version.version)


def judges_of_prompt(sha: str) -> QuerySet[Judge]:
    """Return the judges that use a prompt's text in any place: their own, a step's, or a member's."""
    return (
        Judge.objects.annotate(spec_text=Cast("spec", TextField()))
        .filter(spec_text__contains=sha)
        .order_by("name")
    )


def strategies_of_prompt(kind: str, stem: str) -> list[tuple[str, str]]:
    """Return the strategies whose default it is: (name, step), the step empty for the main prompt."""
    return [
        (info.name, step)
        for info in STRATEGIES.values()
        if info.kind == kind
        for step, name in [("", info.prompt), *info.all_prompts.items()]
        if name.rpartition(".v")[0] == stem
    ]


def _uses() -> dict[tuple[str, str], list[str]]:
    uses: dict[tuple[str, str], list[str]] = {}
    for info in STRATEGIES.values():
        for name in dict.fromkeys(filter(None, (info.prompt, *info.all_prompts.values()))):
            uses.setdefault((info.kind, name.rpartition(".v")[0]), []).append(info.title)
    return uses


def _file(name: str, kind: str) -> PromptVersion:
    prompt = load_prompt(name, kind)
    return PromptVersion(kind, name, prompt.source, prompt.sha, is_file=True)


def _written(row: PromptText) -> PromptVersion:
    return PromptVersion(
        row.kind,
        str(row),
        row.source,
        row.sha,
        is_file=False,
        based_on=row.based_on,
        notes=row.notes,
        created_at=row.created_at,
        created_by=str(row.created_by or ""),
    )
