"""Datasets: instructions, responses, and the items to be judged.

One `Item` table serves all kinds. What differs by kind is which of its parts are filled: a pairwise item has two
responses, a rubric or checklist item one, an answer ranking several, an importance item none; criteria belong to the
dataset and aspects to the instruction. Gold and labels are JSON, validated by their kind (`annotation.kinds`), which
is also who knows which kinds there are: the database takes any name.
"""

from django.conf import settings
from django.db import models

from annotation.domain.rights import Rights
from annotation.domain.scales import Scale
from annotation.kinds import ItemKind, kind_choices, kind_of
from annotation.kinds.answer_ranking import AnswerRanking
from annotation.kinds.checklist import Checklist
from annotation.kinds.classification import CategoryScheme, Classification
from annotation.kinds.importance import Importance
from annotation.kinds.pairwise import Pairwise
from annotation.kinds.rubric import Rubric
from annotation.models.names import NameField


class Kind(models.TextChoices):
    PAIRWISE = Pairwise.name, Pairwise.label
    RUBRIC = Rubric.name, Rubric.label
    IMPORTANCE = Importance.name, Importance.label
    CHECKLIST = Checklist.name, Checklist.label
    ANSWER_RANKING = AnswerRanking.name, AnswerRanking.label
    CLASSIFICATION = Classification.name, Classification.label


class Split(models.TextChoices):
    PUBLIC = "public", "Public"
    DEVELOPMENT = "development", "Development"
    PRIVATE = "private", "Private"


class DatasetManager(models.Manager["Dataset"]):
    """The datasets that there are for everything else: without those whose file is still being imported."""

    def get_queryset(self) -> "models.QuerySet[Dataset]":
        return super().get_queryset().filter(is_staged=False)


class Dataset(models.Model):
    """A collection of items with a source, a licence and a split. Items of a private one never leave the site."""

    name = models.SlugField(max_length=64, unique=True)
    title = NameField(max_length=200)
    description = models.TextField(blank=True)
    source = models.CharField(max_length=300, blank=True, help_text="Where it comes from: importer and file.")
    licence = NameField("license", max_length=100, blank=True)
    documentation = models.JSONField(
        default=dict,
        blank=True,
        help_text="What only people know of it, for exports: citation, limitations, biases.",
    )
    categories = models.JSONField(
        default=dict,
        blank=True,
        help_text="How items to classify use their categories: level, several, order. Empty: one, without an order.",
    )
    mapping = models.JSONField(
        default=dict,
        blank=True,
        help_text="What the columns of its file are, for the next version of the file.",
    )
    split = models.CharField(max_length=16, choices=Split.choices, default=Split.PUBLIC)
    version = models.PositiveIntegerField(default=1, help_text="Goes up when an import changes something.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="datasets"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    is_staged = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its file is still being imported: nothing reads it until all of it is in.",
    )

    # What the person may do whom it was fetched for; none where it was fetched for nobody.
    rights = Rights()

    objects = DatasetManager()
    with_staged = models.Manager["Dataset"]()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=models.Q(split__in=Split.values), name="dataset_split_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_private(self) -> bool:
        return self.split == Split.PRIVATE

    @property
    def category_scheme(self) -> CategoryScheme:
        return CategoryScheme.of_json(self.categories)


class DatasetVersion(models.Model):
    """What one import made of a dataset: how much it added, changed and removed, and from what file."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    source = models.CharField(max_length=300, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    items_added = models.PositiveIntegerField(default=0)
    items_changed = models.PositiveIntegerField(default=0)
    items_removed = models.PositiveIntegerField(default=0)
    labels_added = models.PositiveIntegerField(default=0)
    rows_left_out = models.PositiveIntegerField(
        default=0, help_text="Rows of the file that could not be read and were left out on request."
    )
    file_hash = models.CharField(
        max_length=64, blank=True, help_text="Of the file and how it was read; empty where it was no file."
    )
    counted = models.JSONField(default=dict, blank=True, help_text="How much the file had, in all.")

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "number"], name="dataset_version_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id}/{self.number}"


class StagedImport(models.Model):
    """An import of a large file into a dataset that it makes: how much of the file is stored, part by part.

    Each part is stored in one transaction with the place in the file behind it. Until the last one is, the dataset is
    staged, which is to say that nothing reads it.
    """

    dataset = models.OneToOneField(Dataset, on_delete=models.CASCADE, related_name="staged_import")
    file = models.CharField(max_length=200, help_text="The name of the file.")
    key = models.CharField(max_length=64, help_text="Hash of the file and of how it is read.")
    job = models.CharField(
        max_length=40, blank=True, help_text="What it is done for; empty for the command line."
    )
    claim = models.CharField(
        max_length=32,
        blank=True,
        help_text="Of the process that stores parts; it changes when another one continues.",
    )
    is_given_up = models.BooleanField(default=False, help_text="What it has stored is being removed.")
    row = models.PositiveBigIntegerField(default=0)
    line = models.PositiveBigIntegerField(default=0)
    offset = models.PositiveBigIntegerField(default=0)
    n_left_out = models.PositiveBigIntegerField(default=0)
    declared = models.JSONField(default=dict, blank=True, help_text="What rows have declared for later ones.")
    counted = models.JSONField(default=dict, blank=True, help_text="How much the parts had and made.")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(help_text="When the last part was stored.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.file} into {self.dataset_id}"


class Instruction(models.Model):
    """A prompt given to models. Items that share one move together when intervals are computed."""

    dataset = models.ForeignKey(
        Dataset, on_delete=models.CASCADE, related_name="instructions", db_index=False
    )
    external_id = models.CharField(max_length=200)
    text = models.TextField()
    context = models.TextField(blank=True)
    conversation = models.JSONField(
        default=list,
        blank=True,
        help_text='Turns before `text`: [{"role": "user" | "assistant", "text": ...}].',
    )
    reference = models.TextField(
        null=True, blank=True, help_text="A human-written answer, where there is one."
    )
    category = models.CharField(max_length=100, blank=True)
    subset = models.CharField(max_length=200, blank=True, help_text="A path: Adversarial/Neighbor.")
    metadata = models.JSONField(default=dict, blank=True)
    since_version = models.PositiveIntegerField(
        default=1,
        db_default=1,
        help_text="The version of the dataset that brought it, under this id, as it is.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "external_id", "since_version"], name="instruction_unique_in_dataset"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class Aspect(models.Model):
    """One atomic requirement of an instruction; with `parent`, a node of its aspect tree."""

    instruction = models.ForeignKey(Instruction, on_delete=models.CASCADE, related_name="aspects")
    key = models.CharField(max_length=100)
    text = models.TextField()
    position = models.PositiveIntegerField()
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    metadata = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["instruction", "key"], name="aspect_unique_in_instruction"),
        ]

    def __str__(self) -> str:
        return self.key


class Criterion(models.Model):
    """One rubric question, the scale that it is answered on, and words by point: `{"1": "...", ..., "5": "..."}`."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="criteria")
    key = models.SlugField(max_length=64)
    question = models.TextField()
    options = models.JSONField(blank=True, default=dict)
    scale = models.JSONField(
        default=dict,
        blank=True,
        help_text="Low, high, step, and whether “not applicable” is an answer. Empty: 1 to 5.",
    )
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["position"]
        verbose_name_plural = "criteria"
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="criterion_unique_in_dataset"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def rated_on(self) -> Scale:
        """The scale, with its words."""
        return Scale.of_json(self.scale, self.options)


class Response(models.Model):
    """What a system (a model or a person) answered to an instruction."""

    # The constraint is an index that begins with it, as that of an instruction begins with its dataset.
    instruction = models.ForeignKey(
        Instruction, on_delete=models.CASCADE, related_name="responses", db_index=False
    )
    external_id = models.CharField(max_length=200)
    system = models.CharField(max_length=200, blank=True, help_text="Never shown to an annotator.")
    text = models.TextField(blank=True)
    messages = models.JSONField(
        default=list,
        blank=True,
        help_text='Of more than one turn: [{"role": "assistant" | "user", "text": ...}]; `text` has them all.',
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instruction", "external_id"], name="response_unique_in_instruction"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class DatasetImage(models.Model):
    """An image that texts of a dataset show. Its file, in `IMAGES_DIR`, is shared by all datasets that show it."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="images")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file that was imported.")
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="Bytes of the file that is served.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest", "dataset"], name="image_unique_in_dataset"),
        ]

    def __str__(self) -> str:
        return self.digest


class ItemQuerySet(models.QuerySet["Item"]):
    def current(self) -> "ItemQuerySet":
        """Items of the datasets as they are now, without those that a later version replaced or removed."""
        return self.filter(until_version__isnull=True)

    def of_version(self, number: int) -> "ItemQuerySet":
        """Items that their dataset had in one of its versions."""
        began = models.Q(since_version__lte=number)
        return self.filter(began, models.Q(until_version__isnull=True) | models.Q(until_version__gt=number))


class Item(models.Model):
    """One thing to be judged. Its texts never change: where a version of the dataset changes it, another row takes its
    id, and this one stays for the labels that were given on it and for the studies that go on with it.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="items")
    instruction = models.ForeignKey(Instruction, on_delete=models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=kind_choices)
    position = models.PositiveIntegerField(help_text="Order in the source.")
    gold = models.JSONField(null=True, blank=True, help_text="The known right answer, in canonical order.")
    explanation = models.TextField(blank=True, help_text="Why it is right; shown in training. Markdown.")
    metadata = models.JSONField(default=dict, blank=True)
    since_version = models.PositiveIntegerField(
        default=1, db_default=1, help_text="The version of the dataset that brought it as it is."
    )
    until_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version that replaced or removed it; empty while it is current."
    )
    responses: models.ManyToManyField[Response, "ItemResponse"] = models.ManyToManyField(
        Response, through="ItemResponse", related_name="items"
    )

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["dataset", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "external_id"],
                condition=models.Q(until_version__isnull=True),
                name="item_unique_in_dataset",
            ),
            models.CheckConstraint(
                condition=models.Q(until_version__isnull=True)
                | models.Q(until_version__gt=models.F("since_version")),
                name="item_versions_in_order",
            ),
        ]
        indexes = [
            # A page of a list is read in this order, of a million items.
            models.Index(
                fields=["dataset", "position"],
                condition=models.Q(until_version__isnull=True),
                name="item_in_order",
            ),
            # Few rows: what versions took out, which lists of a version and their differences look for.
            models.Index(
                fields=["dataset", "until_version"],
                condition=models.Q(until_version__isnull=False),
                name="item_of_earlier_version",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def kind_info(self) -> ItemKind:
        return kind_of(self.kind)


class ItemResponse(models.Model):
    """A response at its place in an item: position 0 is the first response in canonical order."""

    # Its constraint is an index that begins with the item; another one would be written with each row and never read.
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="item_responses", db_index=False)
    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="item_responses")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["item", "position"], name="item_response_position_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}[{self.position}]"
