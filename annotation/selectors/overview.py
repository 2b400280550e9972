"""What a researcher sees of studies: which ones, how far they are, and where their people are.

Permission lives in the fetch: `study_get_for` and `datasets_visible_to` are the only ways from a page to these rows.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import (
    BooleanField,
    Case,
    Count,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import (
    WITHOUT_A_PLACE,
    Dataset,
    Enrollment,
    Invitation,
    Item,
    Label,
    StagedImport,
    Study,
    StudyItem,
    StudyState,
    User,
)
from annotation.models.work import LabelQuerySet
from annotation.selectors.datasets import (
    datasets_offered_by,
    datasets_visible_to,
    is_visible_to,
)
from annotation.selectors.judging import ItemSlice
from annotation.selectors.rights import rights_on, role_granted, shared_with


def studies_visible_to(user: User) -> QuerySet[Study]:
    """Their own studies, those of nobody and those that were shared with them, as far as the dataset is theirs to see;
    administrators: all.
    """
    return _studies(user, Q(owner=user) | Q(owner=None) | shared_with(user, "study"))


def studies_editable_by(user: User) -> QuerySet[Study]:
    """Studies that this person may change: of those that they see their own, nobody's, and those that they are an
    editor of; administrators: all.
    """
    return _studies(user, Q(owner=user) | Q(owner=None) | shared_with(user, "study", editor=True))


def studies_owned_by(user: User) -> QuerySet[Study]:
    """Studies of which this person may do what an editor may not: pay, and let people in from a platform. Of those
    that they see their own and nobody's; administrators: all.
    """
    return _studies(user, Q(owner=user) | Q(owner=None))


def studies_settled_by(user: User) -> QuerySet[Study]:
    """Studies that this person may share and give away: of those that they see their own; administrators: all."""
    return _studies(user, Q(owner=user))


def _studies(user: User, condition: Q) -> QuerySet[Study]:
    if user.is_administrator:
        return Study.objects.filter(dataset__is_staged=False)
    if not user.is_researcher:
        return Study.objects.none()
    return Study.objects.filter(is_visible_to(user, "dataset__"), condition, dataset__is_staged=False)


def labels_visible_to(user: User | None) -> LabelQuerySet:
    """Imported labels, and those of the studies that they may see, of the datasets that they may see.

    None is who may see everything: an administrator, the command line.
    """
    if user is None:
        return Label.objects.filter(item__dataset__is_staged=False)
    return Label.objects.filter(
        Q(study=None) | Q(study__in=studies_visible_to(user)), item__dataset__in=datasets_visible_to(user)
    )


def labels_are_hidden(user: User | None, datasets: Collection[Dataset]) -> bool:
    """Whether labels of these datasets are not theirs to see: those of other researchers' studies.

    Asks for studies first, of which there are few, and not label by label.
    """
    if user is None:
        return False
    labels = labels_visible_to(None).current().order_by()
    studies = Study.objects.filter(dataset__in=datasets).exclude(pk__in=studies_visible_to(user).values("pk"))
    if labels.filter(study__in=studies).exists():
        return True
    hidden = Dataset.objects.filter(pk__in=[one.pk for one in datasets])
    hidden = hidden.exclude(pk__in=datasets_visible_to(user).values("pk"))
    return labels.filter(item__dataset__in=hidden).exists()


def reader_of(user: User) -> User | None:
    """Whose right to see labels bounds what is shown; administrators see all."""
    return None if user.is_administrator else user


def study_get_for(user: User, slug: str, among: QuerySet[Study] | None = None) -> Study:
    """The study with its dataset and what this person may do with it, or `Study.DoesNotExist`, also when it is
    somebody else's. One query.

    Parameters
    ----------
    among
        Those of which it has to be one, such as `studies_editable_by`; all that they see if it is left out.
    """
    rows = studies_visible_to(user) if among is None else among
    rows = rows.select_related("dataset", "owner").annotate(granted=role_granted(user, "study"))
    return study_with_rights(user, rows.get(slug=slug))


def study_with_rights(user: User, study: Study) -> Study:
    """A study that has `granted` (see `role_granted`), with what this person may do with it."""
    study.rights = rights_on(user, owner=study.owner_id, granted=study.granted)  # type: ignore[attr-defined]
    return study


def may_copy(user: User, study: Study) -> bool:
    """Whether they may make a study of their own like one that they see: of datasets whose items they may give to
    annotators. Two queries at most.
    """
    named = (
        study.dataset_id,
        study.training_dataset_id,
        study.qualification_dataset_id,
        study.check_dataset_id,
    )
    used = {pk for pk in named if pk is not None}
    if not study.dataset.is_private:
        used.discard(study.dataset_id)
    if used and datasets_offered_by(user).filter(pk__in=used).count() < len(used):
        return False
    test = study.qualification_from_id
    return test is None or studies_visible_to(user).filter(pk=test).exists()


def invitation_get_for(user: User, slug: str, pk: int) -> Invitation:
    """An invitation of a study that they may change, or `Invitation.DoesNotExist`."""
    return Invitation.objects.select_related("study").get(
        pk=pk, study__in=studies_editable_by(user), study__slug=slug
    )


def may_identify(user: User, study: Study) -> bool:
    """Whether they may see who the annotators are where they came from: the owner and administrators."""
    return user.is_administrator or (study.owner_id is not None and study.owner_id == user.pk)


# What was withdrawn wants no more labels than it has, whatever places stand open there.
_WANTED = Case(When(withdrawn_at=None, then=F("overlap")), default=F("n_accepted"))


def _sum(rows: QuerySet[Enrollment] | QuerySet[StudyItem], field: str | Case) -> Coalesce:
    """The sum over those of the rows that are of the study of an outer query."""
    totals = rows.filter(study=OuterRef("pk")).order_by().values("study").annotate(total=Sum(field))
    return Coalesce(Subquery(totals.values("total")), 0)


def study_list_for(user: User, *, state: str = "") -> QuerySet[Study]:
    """Studies for a list, newest first, with `labels`, `wanted` and `people` as columns, and what was `granted` to this
    person: one query.
    """
    people = (
        Enrollment.objects.filter(study=OuterRef("pk"))
        .order_by()
        .values("study")
        .annotate(n=Count("pk"))
        .values("n")
    )
    studies = studies_visible_to(user)
    if state in StudyState.values:
        studies = studies.filter(state=state)
    return (
        studies.select_related("dataset", "owner")
        .annotate(
            granted=role_granted(user, "study"),
            # Whose labels they are adds up to the same as what they are on, with a hundredth of the rows.
            labels_accepted=_sum(Enrollment.objects.all(), "n_accepted"),
            labels_wanted=_sum(StudyItem.objects.all(), _WANTED),
            people=Coalesce(Subquery(people), 0),
        )
        .order_by("-created_at", "-pk")
    )


def state_counts(user: User) -> dict[str, int]:
    """How many studies there are in each state, states without one included."""
    rows = studies_visible_to(user).order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(StudyState.values, 0) | dict(rows)


def invitations_of(study: Study, *, now: datetime | None = None) -> QuerySet[Invitation]:
    """Links of the study, newest first.

    Each with how many `people` came in by it (who did not take part has no place), and whether it `has_expired` or
    `is_full`.
    """
    people = Count("enrollments", filter=~Q(enrollments__stage__in=WITHOUT_A_PLACE))
    return study.invitations.annotate(
        people=people,
        has_expired=_flag(Q(expires_at__isnull=False, expires_at__lte=now or timezone.now())),
        is_full=_flag(Q(max_annotators__isnull=False, people__gte=F("max_annotators"))),
    ).order_by("-created_at", "-pk")


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())


def unfinished_imports_count(user: User) -> int:
    """How many imports of theirs aren't finished, in the browser and on the command line: two queries."""
    staged = StagedImport.objects.filter(dataset__owner=user, job="", is_given_up=False).count()
    # Files are of the application above, by the names of its relations.
    unfinished = {
        "dataset_imports": ~Q(dataset_imports__state="done"),
        "verdict_imports": ~Q(verdict_imports__state="done"),
        "file_uploads": Q(file_uploads__is_taken=False),
    }
    files = {f"n_{name}": Count(name, filter=rows, distinct=True) for name, rows in unfinished.items()}
    counted: dict[str, int] = User.objects.filter(pk=user.pk).aggregate(**files)
    return staged + sum(counted.values())


def items_for_reading(
    dataset: Dataset, *, category: str = "", subset: str = "", search: str = ""
) -> QuerySet[Item]:
    """Items for a page of a dataset, in the order of the source, with instruction and responses prefetched.

    `subset` is a path: `Adversarial` finds `Adversarial/Neighbor` too. `search` looks for words in instructions and
    for identifiers.
    """
    part = ItemSlice((category,) if category else (), (subset,) if subset else ())
    items = Item.objects.current().filter(part.condition("instruction__"), dataset=dataset)
    if search:
        items = items.filter(Q(instruction__text__icontains=search) | Q(external_id__icontains=search))
    return (
        items.select_related("instruction")
        .prefetch_related("item_responses__response")
        .order_by("position", "pk")
    )


def label_tallies(user: User, item_ids: Iterable[int]) -> dict[int, dict[int, int]]:
    """Item id to how often each choice was made, of labels that count and that they may see. One query."""
    tallies: dict[int, dict[int, int]] = {}
    rows = (
        labels_visible_to(user)
        .current()
        .filter(item__in=list(item_ids), choice__isnull=False)
        .order_by()
        .values_list("item", "choice")
        .annotate(n=Count("pk"))
    )
    for item_id, choice, n in rows:
        tallies.setdefault(item_id, {})[choice or 0] = n
    return tallies


def study_find(slug: str) -> Study | None:
    """The study of this slug with its dataset, or None."""
    return Study.objects.select_related("dataset").filter(slug=slug).first()


def study_named(slug: str) -> Study:
    """The study of this slug for a command; `LookupError` says which there are."""
    study = study_find(slug)
    if study is None:
        known = ", ".join(study_slugs()[:10]) or "none yet"
        raise LookupError(f"There is no study {slug!r}; there is: {known}.")
    return study


def study_slugs() -> list[str]:
    """All slugs, for telling which names are near."""
    return list(Study.objects.order_by("slug").values_list("slug", flat=True))
