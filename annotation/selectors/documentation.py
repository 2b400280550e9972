"""What is known of a dataset and its studies for those who will use it elsewhere: protocol, people, limits."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Avg, Count, Max, Min

from annotation.domain.eligibility import eligibility_read
from annotation.models import Dataset, PlatformLink, Study
from annotation.models.work import LabelQuerySet
from annotation.peers.croissant import DatasetFacts

DOCUMENTED = {
    "data_collection": "dataCollection",
    "biases": "dataBiases",
    "use_cases": "dataUseCases",
    "limitations": "dataLimitations",
    "social_impact": "dataSocialImpact",
    "sensitive": "personalSensitiveInformation",
    "demographics": "annotatorDemographics",
    "maintenance": "dataReleaseMaintenancePlan",
}
"""Fields that people fill in, and the properties of the RAI vocabulary that they become."""


def facts_of_dataset(dataset: Dataset, labels: LabelQuerySet, *, judges: Sequence[str] = ()) -> DatasetFacts:
    """What is known of a dataset, and of the studies that these labels are from."""
    written: dict[str, str] = dataset.documentation
    current = labels.current()
    studies = list(Study.objects.filter(pk__in=current.order_by().values("study").distinct()).order_by("pk"))
    rai: dict[str, list[str]] = {name: [] for name in DOCUMENTED.values()}
    if dataset.source:
        rai["dataCollection"].append(f"The items were imported: {dataset.source}.")
    rai["dataAnnotationProtocol"] = [_protocol(study) for study in studies]
    rai["dataAnnotationPlatform"] = _platforms(studies)
    rai["annotatorDemographics"].extend(_people(current, studies))
    rai["machineAnnotationTools"] = list(judges)
    rai["dataPreprocessingProtocol"] = [
        "Labels and judgments are in the canonical order of the responses; the column shown_order says what each "
        "annotator or judge saw. Annotators have pseudonyms."
    ]
    simulated = current.filter(annotator__is_simulated=True).count()
    if simulated:
        rai["dataLimitations"].append(f"{simulated:,} of the labels are simulated.")
    for field, name in DOCUMENTED.items():
        if said := written.get(field, "").strip():
            rai[name].append(said)
    per_item = _per_item(current)
    span = current.aggregate(first=Min("created_at"), last=Max("created_at"))
    found: dict[str, Any] = {name: said for name, said in rai.items() if said}
    found["dataCollection"] = " ".join(rai["dataCollection"])
    found["dataSocialImpact"] = " ".join(rai["dataSocialImpact"])
    found["dataReleaseMaintenancePlan"] = " ".join(rai["dataReleaseMaintenancePlan"])
    if per_item:
        found["annotationsPerItem"] = per_item
    if studies and span["first"] is not None:
        found["dataCollectionTimeFrame"] = [f"{span[name]:%Y-%m-%d}" for name in ("first", "last")]
    return DatasetFacts(
        name=dataset.name,
        title=dataset.title,
        version=f"{dataset.version}.0.0",
        description=dataset.description,
        licence=dataset.licence,
        citation=written.get("citation", ""),
        url=written.get("url", ""),
        language=written.get("language", ""),
        creators=[line.strip() for line in written.get("creators", "").splitlines() if line.strip()],
        created=f"{dataset.created_at:%Y-%m-%d}",
        rai=found,
    )


def _protocol(study: Study) -> str:
    kind = study.kind_info
    said = [
        f"Study {study.slug} ({kind.label.lower()}): {study.overlap} labels wanted per item. "
        f"Annotators were asked: {kind.question}"
    ]
    if kind.ordered == "responses" or kind.presented:
        said.append("The order of the responses was random for each annotator and item.")
    if study.consent:
        said.append("Annotators gave their consent first.")
    if study.qualification_size:
        said.append(
            f"They passed a qualification test of {study.qualification_size} questions "
            f"({study.qualification_pass} right)."
        )
    if study.check_rate:
        said.append(f"{study.check_rate:.0%} of the items shown were hidden checks with a known answer.")
    if study.guidelines:
        said.append(f"Guidelines, version {study.guidelines_version}:\n\n{study.guidelines}")
    return " ".join(said)


def _platforms(studies: list[Study]) -> list[str]:
    if not studies:
        return []
    links = PlatformLink.objects.filter(study__in=studies).order_by("platform")
    return ["Touchstone", *links.values_list("platform", flat=True).distinct()]


def _people(labels: LabelQuerySet, studies: list[Study]) -> list[str]:
    n = labels.filter(annotator__is_simulated=False).order_by().values("annotator").distinct().count()
    said = [f"{n} annotators."] if n else []
    for study in studies:
        for one in eligibility_read(study.eligibility or []):
            allowed = ", ".join(option.text for option in one.options if option.eligible)
            said.append(f"Admitted to study {study.slug} by the question “{one.question}”: {allowed}.")
    return said


def _per_item(labels: LabelQuerySet) -> str:
    counts = labels.order_by().values("item").annotate(n=Count("pk"))
    found = counts.aggregate(least=Min("n"), most=Max("n"), mean=Avg("n"), items=Count("item"))
    if not found["items"]:
        return ""
    if found["least"] == found["most"]:
        return str(found["most"])
    return (
        f"{found['least']} to {found['most']}, {found['mean']:.1f} on average over {found['items']:,} items"
    )
