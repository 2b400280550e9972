"""Datasets, studies and labels as the API shows them, and what it takes. What it means is checked by the services."""

from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers

from annotation.api.base import Exact
from annotation.domain.pseudonyms import pseudonym
from annotation.forms.upload import DatasetDocumentationForm
from annotation.models import Dataset, DatasetVersion, Enrollment, Invitation, Item, Label, Split, Study
from annotation.selectors.datasets import datasets_offered_by
from annotation.selectors.overview import studies_editable_by
from annotation.services.study_rules import RULES

Row = dict[str, Any]
DOCUMENTED = tuple(DatasetDocumentationForm.base_fields)


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """A dataset, without its items."""

    owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = Dataset
        fields = (
            *("name", "title", "description", "source", "licence", "split", "version", "owner", "created_at"),
        )


class DatasetDetailSerializer(DatasetSerializer):
    """A dataset with what people say of it for its exports: its card and its Croissant file."""

    documentation: Any = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta(DatasetSerializer.Meta):
        fields = (*DatasetSerializer.Meta.fields, "documentation")  # type: ignore[assignment]


class ItemRowsField(serializers.ListField):
    """Rows of the generic format (`docs/data-format.md`), as JSON objects."""

    child = serializers.DictField(
        help_text="A row of the generic format: `id`, `instruction`, `responses`, `gold`, `labels`, ..."
    )


class DatasetWriteSerializer(Exact):
    """A dataset to import: what is said of it, and its items."""

    name = serializers.RegexField(r"^[A-Za-z0-9_-]{1,64}$", help_text="Letters, digits, - and _.")
    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(required=False)
    split = serializers.ChoiceField(choices=Split.choices, default=Split.PRIVATE)
    licence = serializers.CharField(max_length=100, required=False)
    criteria = serializers.CharField(required=False, help_text="A ready-made set of criteria, for rubrics.")
    mapping = serializers.DictField(
        required=False, help_text="What the fields of the items are, as a document `touchstone.mapping/1`."
    )
    skip_bad_rows = serializers.BooleanField(
        default=False, help_text="Leave out items that cannot be read; the answer lists them in `left_out`."
    )
    new_version = serializers.BooleanField(
        default=False,
        help_text="The items are the dataset from now on: what differs is replaced, what lacks is removed.",
    )
    items = ItemRowsField(min_length=1)

    def validate_name(self, value: str) -> str:
        """Refuse what is the address of a page."""
        if value == "upload":
            raise serializers.ValidationError("This name is reserved. Choose another one.")
        return value


class DatasetChangeSerializer(Exact):
    """What is said of a dataset."""

    title = serializers.CharField(max_length=200, required=False)
    split = serializers.ChoiceField(choices=Split.choices, required=False)
    licence = serializers.CharField(max_length=100, required=False, allow_blank=True)
    documentation = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=10_000),
        required=False,
        help_text="For its exports: "
        + ", ".join(f"`{name}`" for name in DOCUMENTED)
        + ". Others stay as they are.",
    )
    criteria = serializers.CharField(
        max_length=64, required=False, help_text="A ready-made set of criteria to add, for rubrics."
    )


class ItemsWriteSerializer(Exact):
    """Items to add to a dataset."""

    items = ItemRowsField(min_length=1)


class LeftOutSerializer(serializers.Serializer[Any]):
    """A row that could not be read and was left out on request."""

    row = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    reason = serializers.CharField()
    data: Any = serializers.JSONField()


class ImportedSerializer(serializers.Serializer[Any]):
    """What an import did: how much the request held, and how much of it was new."""

    dataset = DatasetSerializer()
    items = serializers.IntegerField()
    items_created = serializers.IntegerField()
    labels = serializers.IntegerField()
    labels_created = serializers.IntegerField()
    items_changed = serializers.IntegerField()
    items_removed = serializers.IntegerField()
    left_out = LeftOutSerializer(many=True)


class DatasetVersionSerializer(serializers.ModelSerializer[DatasetVersion]):
    """What one import made of a dataset."""

    class Meta:
        model = DatasetVersion
        fields = (
            *("number", "source", "created_at", "items_added", "items_changed", "items_removed"),
            *("labels_added", "rows_left_out"),
        )


class ItemFieldChangeSerializer(serializers.Serializer[Any]):
    """A field of an item in two versions."""

    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    now = serializers.JSONField(allow_null=True)


class ItemChangeSerializer(serializers.Serializer[Any]):
    """An item that differs between two versions."""

    item = serializers.CharField(source="external_id")
    change = serializers.ChoiceField(choices=("added", "removed", "changed"), source="kind")
    differences = ItemFieldChangeSerializer(many=True, source="fields")
    labels = serializers.IntegerField(source="n_labels", help_text="Given on the item as it was before.")


class VersionChangesSerializer(serializers.Serializer[Any]):
    """What changed from one version of a dataset to another."""

    before = serializers.IntegerField()
    now = serializers.IntegerField()
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    changed = serializers.IntegerField()
    touched_labels = serializers.IntegerField(help_text="Labels on items that changed or went.")
    items = ItemChangeSerializer(many=True)


class StudyMovedSerializer(serializers.Serializer[Any]):
    """What moving a study on to the current version of its dataset did."""

    dataset_version = serializers.IntegerField()
    replaced = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


class ItemSerializer(serializers.ModelSerializer[Item]):
    """An item with its texts, responses in canonical order."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    item: Any = serializers.CharField(source="external_id", read_only=True)
    instruction: Any = serializers.CharField(source="instruction.text", read_only=True)
    context: Any = serializers.CharField(source="instruction.context", read_only=True)
    conversation = serializers.JSONField(source="instruction.conversation", read_only=True)
    reference = serializers.CharField(source="instruction.reference", read_only=True, allow_null=True)
    category = serializers.CharField(source="instruction.category", read_only=True)
    subset = serializers.CharField(source="instruction.subset", read_only=True)
    responses = serializers.SerializerMethodField()

    class Meta:
        model = Item
        fields = (
            *("id", "dataset", "item", "kind", "position", "instruction", "context", "conversation"),
            *("reference", "category", "subset", "responses", "gold", "explanation", "metadata"),
            *("since_version", "until_version"),
        )

    def get_responses(self, item: Item) -> list[dict[str, str]]:
        """Return the responses in canonical order."""
        return [
            {"system": one.response.system, "text": one.response.text} for one in item.item_responses.all()
        ]


class LabelSerializer(serializers.ModelSerializer[Label]):
    """A label; its annotator by the pseudonym of exports."""

    dataset = serializers.CharField(source="item.dataset.name", read_only=True)
    item: Any = serializers.SlugRelatedField(slug_field="external_id", read_only=True)
    item_version = serializers.IntegerField(
        source="item.since_version",
        read_only=True,
        help_text="The version that brought the item as it was labeled.",
    )
    replaced_in = serializers.IntegerField(
        source="item.until_version",
        read_only=True,
        allow_null=True,
        help_text="The version that changed or removed the item since.",
    )
    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)
    annotator: Any = serializers.SerializerMethodField()
    is_simulated = serializers.BooleanField(source="annotator.is_simulated", read_only=True)
    supersedes: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    counts = serializers.SerializerMethodField(help_text="Whether figures count it.")

    class Meta:
        model = Label
        fields = (
            *(
                "id",
                "dataset",
                "item",
                "item_version",
                "replaced_in",
                "study",
                "annotator",
                "is_simulated",
                "role",
                "kind",
                "value",
            ),
            *(
                "shown_order",
                "counts",
                "supersedes",
                "evidence",
                "comment",
                "guidelines_version",
                "probability",
            ),
            *("active_ms", "wall_ms", "created_at"),
        )

    def get_annotator(self, label: Label) -> str:
        """Return the pseudonym that exports have."""
        return str(pseudonym(label.annotator.public_id, study=label.study_id, dataset=label.item.dataset_id))

    def get_counts(self, label: Label) -> bool:
        """Return whether it is work that nothing supersedes or excludes."""
        superseded = hasattr(label, "superseded_by")
        return not (superseded or label.is_surplus or label.is_set_aside) and label.role == "work"


class LabelRowSerializer(Exact):
    """One label to import."""

    item = serializers.CharField(help_text="The item's id in its dataset.")
    annotator = serializers.CharField(max_length=200)
    value = serializers.JSONField(
        help_text="In canonical order, as `docs/data-format.md` says for each kind."
    )
    simulated = serializers.BooleanField(required=False)
    evidence = serializers.JSONField(
        required=False, help_text="Passages that are reasons, as `docs/data-format.md` says."
    )


class LabelsWriteSerializer(Exact):
    """Labels to import, all or none."""

    dataset = serializers.CharField(help_text="The name of one of your datasets.")
    labels: Any = LabelRowSerializer(many=True, allow_empty=False)


class LabelsImportedSerializer(serializers.Serializer[Any]):
    """How many labels the request held, and how many of them were new."""

    dataset = serializers.CharField()
    labels = serializers.IntegerField()
    labels_created = serializers.IntegerField()


_RULES = tuple(sorted(RULES - {"is_simulated", "title", "consent", "guidelines"}))


class OfferedDatasetField(serializers.SlugRelatedField[Dataset]):
    """A dataset by its name, of those whose items the user may give to annotators."""

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="name", queryset=Dataset.objects.none(), **options)

    def get_queryset(self) -> Any:
        return datasets_offered_by(self.context["request"].user)


class EditableStudyField(serializers.SlugRelatedField[Study]):
    """A study by its slug, of those that the user may change."""

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="slug", queryset=Study.objects.none(), **options)

    def get_queryset(self) -> Any:
        return studies_editable_by(self.context["request"].user)


class StudySerializer(serializers.ModelSerializer[Study]):
    """A study with its rules."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)
    training_dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True, allow_null=True)
    qualification_dataset: Any = serializers.SlugRelatedField(
        slug_field="name", read_only=True, allow_null=True
    )
    check_dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True, allow_null=True)
    qualification_from: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)

    class Meta:
        model = Study
        fields = (
            *("slug", "title", "dataset", "owner", "kind", "state", "consent", "guidelines"),
            *("guidelines_version", "is_simulated", "created_at", *_RULES),
        )
        read_only_fields = fields


class StudyChangeSerializer(Exact, serializers.ModelSerializer[Study]):
    """Rules of a study that can be set; one that is left out stays as it is, or has its default."""

    training_dataset = OfferedDatasetField(required=False, allow_null=True)
    qualification_dataset = OfferedDatasetField(required=False, allow_null=True)
    check_dataset = OfferedDatasetField(required=False, allow_null=True)
    qualification_from = EditableStudyField(required=False, allow_null=True)

    class Meta:
        model = Study
        fields = ("title", "kind", "consent", "guidelines", *_RULES)
        extra_kwargs: dict[str, Row] = {"title": {"required": False}, "kind": {"required": False}}
        # What the rules say together is the services' to check.
        validators: list[Any] = []


class StudyWriteSerializer(StudyChangeSerializer):
    """A study to create, in draft."""

    dataset = OfferedDatasetField()
    slug = serializers.RegexField(
        r"^[a-z0-9_-]{1,64}$",
        required=False,
        help_text="Part of the study's address. If left out, made from the title.",
    )

    class Meta(StudyChangeSerializer.Meta):
        fields = ("title", "dataset", "slug", *StudyChangeSerializer.Meta.fields[1:])
        extra_kwargs = {"kind": {"required": False}}


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """A link that lets people into a study."""

    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True)
    url = serializers.SerializerMethodField(help_text="Anyone who has it can take part.")

    class Meta:
        model = Invitation
        fields = ("id", "study", "url", "note", "max_annotators", "expires_at", "revoked_at", "created_at")
        read_only_fields = fields

    def get_url(self, invitation: Invitation) -> str:
        """Return the address to send to annotators."""
        return str(settings.SITE_URL) + reverse("annotation:join", args=[invitation.token])


class InvitationWriteSerializer(Exact):
    """An invitation to create."""

    note = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    max_annotators = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, allow_null=True
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)


class StudyCopySerializer(Exact):
    """A copy of a study."""

    slug = serializers.RegexField(
        r"^[a-z0-9_-]{1,64}$", required=False, help_text="Its address; made from the title where left out."
    )


class StudyItemSerializer(Exact):
    """An item that a study is to offer."""

    item = serializers.CharField(help_text="The item's id in its dataset.")
    priority = serializers.FloatField(required=False, help_text="The highest first; others come after.")
    probability = serializers.FloatField(
        required=False, help_text="The chance with which it was picked, for weights in figures."
    )
    overlap = serializers.IntegerField(required=False, help_text="Labels that it needs.")


class StudyItemsSerializer(Exact):
    """Items to offer."""

    items: Any = StudyItemSerializer(many=True)


class StudyItemsChosenSerializer(serializers.Serializer[Any]):
    """What a choice did."""

    added = serializers.IntegerField()
    changed = serializers.IntegerField()


class PaceSerializer(serializers.Serializer[Any]):
    """How fast labels come."""

    recent = serializers.IntegerField(help_text="Labels of the last 24 hours.")
    per_hour = serializers.FloatField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(help_text="Why `done_at` isn't known.")


class FunnelStepSerializer(serializers.Serializer[Any]):
    """People who got at least this far."""

    name = serializers.CharField()
    people = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)


class FunnelSerializer(serializers.Serializer[Any]):
    """The way of a study's annotators."""

    steps: Any = FunnelStepSerializer(many=True)
    declined = serializers.IntegerField()
    ineligible = serializers.IntegerField()
    failed = serializers.IntegerField()
    left = serializers.IntegerField()
    suspended = serializers.IntegerField()


class StudyProgressSerializer(serializers.Serializer[Any]):
    """How far a study is: `labels` of `wanted`; `complete` of `items` have all of their labels."""

    state = serializers.CharField()
    items = serializers.IntegerField()
    wanted = serializers.IntegerField()
    labels = serializers.IntegerField()
    complete = serializers.IntegerField()
    open_leases = serializers.IntegerField(help_text="Items that annotators have open now.")
    withdrawn = serializers.IntegerField()
    pace = PaceSerializer(allow_null=True, help_text="Null of a draft.")
    people = FunnelSerializer()


class ReasonToLookSerializer(serializers.Serializer[Any]):
    """One reason to look, which is no verdict."""

    signal = serializers.CharField()
    name = serializers.CharField()
    evidence = serializers.CharField(help_text="What was found, with counts.")
    adjusted_p = serializers.FloatField(
        allow_null=True, help_text="Benjamini-Hochberg over people and signals; null of what is no test."
    )
    explanations = serializers.CharField(help_text="What else brings it about.")


class AnnotatorReasonsSerializer(serializers.Serializer[Any]):
    """An annotator who stands out."""

    annotator = serializers.CharField(help_text="The pseudonym that exports have.")
    reasons: Any = ReasonToLookSerializer(many=True)


class ReasonsToLookSerializer(serializers.Serializer[Any]):
    """Who stands out in a study by how their answers were given."""

    answers = serializers.IntegerField(help_text="Answers that were looked at.")
    with_signals = serializers.IntegerField(help_text="Answers with which a browser sent a summary.")
    tests = serializers.IntegerField(help_text="Tests made, over all people and signals.")
    annotators: Any = AnnotatorReasonsSerializer(many=True)


class EnrollmentSerializer(serializers.ModelSerializer[Enrollment]):
    """An annotator in a study, by the pseudonym of its exports."""

    annotator: Any = serializers.SerializerMethodField()
    is_simulated = serializers.BooleanField(source="annotator.is_simulated", read_only=True)
    labels = serializers.IntegerField(source="n_accepted", read_only=True)

    class Meta:
        model = Enrollment
        fields = (
            *("id", "annotator", "is_simulated", "stage", "labels", "qualification_score"),
            *("suspended_at", "left_at", "finished_at", "created_at"),
        )
        read_only_fields = fields

    def get_annotator(self, enrollment: Enrollment) -> str:
        """Return the pseudonym that exports have."""
        return str(
            pseudonym(
                enrollment.annotator.public_id, study=enrollment.study_id, dataset=enrollment.study.dataset_id
            )
        )
