"""From rows to what the tables of a paper are made from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Dataset, Study, User
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.instructions import first_instructions, systems_of_items
from annotation.selectors.overview import labels_visible_to
from judges.selectors.reading import judges_of_dataset
from metaeval.inputs import Options
from metaeval.models import OutsideRatings
from metaeval.papers.data import AgreementSet, PaperData
from metaeval.reports.errors import ReportError, UnknownNameError, near_names
from metaeval.reports.systems import OutsideTable
from metaeval.selectors.inputs import inputs_read, kinds_of

_MOST_BASELINES = 2
_PAIR = 2


def paper_data(
    *,
    dataset: Dataset,
    kinds: Collection[str],
    beside: Collection[str] = (),
    options: Options,
    study: Study | None = None,
    judges: Collection[str] | None = None,
    reader: User | None = None,
    baselines: Sequence[str] = (),
    agreement: Dataset | None = None,
) -> PaperData:
    """Read a dataset's items of these kinds, what people and judges said of them, and of which systems they are.

    Those of the kinds `beside` are read too, where the dataset has them.

    Raises
    ------
    ReportError
        The dataset has no items of these kinds, no judge of a name, or no system that is named as a baseline; the
        agreement set has no items of these kinds.
    """
    if agreement is not None and not set(kinds) & set(kinds_of(agreement)):
        raise ReportError(f"Dataset {agreement.name!r} has no items of the kind {' or '.join(kinds)}.")
    there = [kind for kind in kinds_of(dataset) if kind in kinds and (study is None or kind == study.kind)]
    if not there:
        wanted = " or ".join(kinds)
        raise ReportError(
            f"Dataset {dataset.name!r} has no items of the kind {wanted}, which this paper is about."
        )
    there += [kind for kind in kinds_of(dataset) if kind in beside and study is None]
    found = list(judges_of_dataset(dataset))
    known = [judge.name for judge in found]
    for name in judges or ():
        if name not in known:
            raise UnknownNameError(
                f"No judge {name!r} has judged dataset {dataset.name!r}{near_names(name, known)}"
            )
    inputs = {}
    for kind in there:
        of_kind = None
        if judges is not None:
            own = judges_of_dataset(dataset, kind).values_list("name", flat=True)
            of_kind = [name for name in own if name in judges]
        inputs[kind] = inputs_read(dataset=dataset, kind=kind, study=study, judges=of_kind, reader=reader)
    systems = systems_of_items(dataset.pk)
    _check_baselines(baselines, dataset, systems)
    return PaperData(
        name=dataset.name if study is None else study.slug,
        title=dataset.title if study is None else study.title,
        inputs=inputs,
        options=replace(options, n_resamples=0),
        systems=systems,
        examples=first_instructions(dataset.pk, kinds),
        specifications={judge.fingerprint: judge.spec for judge in found},
        outside=tuple(
            OutsideTable(row.name, row.title, row.column, row.source, dict(row.scores))
            for row in OutsideRatings.objects.order_by("name")
        ),
        baselines=tuple(baselines),
        agreement=None
        if agreement is None
        else AgreementSet(agreement.title, inputs_read(dataset=agreement, kind=there[0], reader=reader)),
    )


def agreement_sets_for(user: User, dataset: Dataset, kinds: Collection[str]) -> QuerySet[Dataset]:
    """Other datasets with labels of these kinds that this person may see, by title."""
    labeled = labels_visible_to(user).filter(item__dataset=OuterRef("pk"), kind__in=list(kinds)).order_by()
    found = datasets_visible_to(user).exclude(pk=dataset.pk).filter(Exists(labeled))
    return found.order_by("title", "pk")


def _check_baselines(
    baselines: Sequence[str], dataset: Dataset, systems: Mapping[str, tuple[str, ...]]
) -> None:
    if len(baselines) > _MOST_BASELINES:
        raise ReportError(f"Name two at most: the paper has one or two baselines, not {len(baselines)}.")
    known = sorted({name for pair in systems.values() for name in pair if len(pair) == _PAIR})
    for place, name in enumerate(baselines):
        if name in baselines[:place]:
            raise ReportError(f"The baseline {name!r} is named twice.")
        if name not in known:
            raise UnknownNameError(
                f"No pair of dataset {dataset.name!r} has a response of system {name!r}{near_names(name, known)}"
            )
