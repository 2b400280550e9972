"""What judges said, and the requests that it took."""

from django.db import models
from django.db.models import Q

from judges.models.configurations import Judge


class ParseStatus(models.TextChoices):
    PARSED = "parsed", "Parsed"
    UNPARSED = "unparsed", "Unparsed"
    FAILED = "failed", "Failed"


class Order(models.IntegerChoices):
    ORIGINAL = 0, "Original"
    SWAPPED = 1, "Swapped"


class Judgment(models.Model):
    """What a judge said of an item in one presentation order.

    `choice` and `value` are in canonical order, whatever the order of presentation; `choice` is NULL where the
    answer could not be read (`unparsed`) or never came (`failed`: a permanent error, its text in `raw_text`).
    """

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="judgments")
    item = models.ForeignKey("annotation.Item", on_delete=models.PROTECT, related_name="judgments")
    order = models.PositiveSmallIntegerField(choices=Order.choices)
    sample = models.PositiveSmallIntegerField(default=0)
    status = models.CharField(max_length=8, choices=ParseStatus.choices)
    choice = models.SmallIntegerField(null=True, help_text="Pairwise: 1, 2, or 0 for a tie.")
    probability = models.FloatField(
        null=True, help_text="Pairwise: that the first response is better, in canonical order, where known."
    )
    value = models.JSONField(
        null=True, help_text="Canonical value of the item's kind, with what else is known."
    )
    raw_text = models.TextField(blank=True)
    thought = models.TextField(
        blank=True, help_text="What the models thought on the way; nothing is read from it."
    )
    source = models.CharField(max_length=300, blank=True, help_text="Of an imported verdict: file and row.")
    requests = models.PositiveSmallIntegerField(
        default=0, help_text="Requests that it took, shared ones included."
    )
    prompt_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Over its requests. Empty: not reported, or judged by an earlier version.",
    )
    completion_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="As prompt_tokens.")
    reasoning_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="How many of the completion tokens were thoughts. Empty: none, or not reported.",
    )
    cost = models.FloatField(default=0.0, help_text="US dollars, at the prices of the day.")
    latency_ms = models.FloatField(default=0.0, help_text="Model time, summed over its requests.")
    answered_by = models.TextField(
        blank=True,
        help_text="The models that answered, as their servers name them, a line each: asked, returned, fingerprint.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            # Which came since a page was computed: of a million, mostly none.
            models.Index(fields=["created_at"], name="judgment_created"),
            models.Index(fields=["judge"], condition=Q(status="failed"), name="judgment_failed"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["judge", "item", "order", "sample"], name="judgment_unique"),
            models.CheckConstraint(
                condition=Q(choice__isnull=True) | Q(choice__in=[0, 1, 2]), name="judgment_choice_known"
            ),
            models.CheckConstraint(
                condition=Q(probability__isnull=True) | Q(probability__gte=0.0, probability__lte=1.0),
                name="judgment_probability_bounded",
            ),
            models.CheckConstraint(
                condition=Q(status=ParseStatus.PARSED) | Q(choice__isnull=True),
                name="judgment_choice_only_if_parsed",
            ),
        ]

    def __str__(self) -> str:
        return f"judgment {self.pk}"


class Generation(models.Model):
    """What a contestant answered to an instruction: a response in the making.

    `failed`: a permanent error, its text in `text`. It becomes a Response when pairs are made of it.
    """

    contestant = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="generations")
    instruction = models.ForeignKey(
        "annotation.Instruction", on_delete=models.CASCADE, related_name="generations"
    )
    sample = models.PositiveSmallIntegerField(default=0)
    status = models.CharField(max_length=8, choices=ParseStatus.choices)
    text = models.TextField(blank=True)
    thought = models.TextField(blank=True, help_text="What the model thought before it answered.")
    finish_reason = models.CharField(max_length=40, blank=True)
    cost = models.FloatField(default=0.0, help_text="US dollars, at the prices of the day.")
    latency_ms = models.FloatField(default=0.0)
    answered_by = models.TextField(
        blank=True,
        help_text="The models that answered, as their servers name them, a line each: asked, returned, fingerprint.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contestant", "instruction", "sample"], name="generation_unique"),
        ]

    def __str__(self) -> str:
        return f"generation {self.pk}"


class RequestState(models.TextChoices):
    CLAIMED = "claimed", "Claimed"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class Worker(models.Model):
    """A session of the engine that is at work. What it has claimed is its own for as long as it gives signs of life.

    One row a session, so that a sign of life writes one row, however many requests it has under way.
    """

    name = models.CharField(max_length=64, primary_key=True)
    host = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class RequestForm(models.Model):
    """What many requests have in common: whom they ask, how it samples; and what the answers took so far.

    Attributes
    ----------
    content : dict
        `WireRequest.frame`.
    characters, n_prompts, prompt_tokens : int
        Of prompts whose answers say how many tokens they had.
    n_completions, completion_tokens : int
        Of answers that say how many tokens they had.
    """

    digest = models.CharField(max_length=64, unique=True)
    endpoint = models.CharField(max_length=300, help_text="Identity of the server or engine.")
    kind = models.CharField(max_length=16)
    model = models.CharField(max_length=200, db_index=True)
    has_choices = models.BooleanField(default=False)
    content = models.JSONField()
    n_answers = models.PositiveBigIntegerField(default=0)
    latency_ms = models.FloatField(default=0.0)
    characters = models.PositiveBigIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    n_completions = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.kind}: {self.model}"


class RequestText(models.Model):
    """Where the text of requests stands: what is asked of several models is stored once."""

    digest = models.BinaryField(max_length=16, primary_key=True)
    block = models.BigIntegerField()
    place = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return bytes(self.digest).hex()


class TextBlock(models.Model):
    """Texts of requests that were claimed together, compressed together; written once.

    The keys grow with time: see `judges.selectors.requests.least_block_key`.
    """

    id = models.BigIntegerField(primary_key=True)
    body = models.BinaryField()

    def __str__(self) -> str:
        return str(self.pk)


class ModelRequest(models.Model):
    """A request to a model, unique by a hash of all that can change its answer; and the answer, once there is one.

    Who inserts the row, or takes it over from a worker that gives no sign of life, sends the request; everyone else
    waits for it. What was asked is `form` and, found by `text`, a `RequestText`; neither is needed to go on, since a
    strategy that is replayed asks the same again. `kind`, `endpoint`, `model` and `payload` hold it in rows of earlier
    versions.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    # Without a constraint, which would read the form again for each row; forms are never deleted.
    form = models.ForeignKey(
        RequestForm, on_delete=models.DO_NOTHING, null=True, db_index=False, db_constraint=False
    )
    text = models.BinaryField(max_length=16, null=True)
    kind = models.CharField(max_length=16, null=True)
    endpoint = models.CharField(max_length=300, null=True, help_text="Identity of the server or engine.")
    model = models.CharField(max_length=200, null=True)
    payload = models.JSONField(null=True)
    state = models.CharField(max_length=8, choices=RequestState.choices, default=RequestState.CLAIMED)
    owner = models.CharField(max_length=64, help_text="The worker that sends it.")
    attempts = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Nothing that an answer changes is indexed: PostgreSQL then writes the row again, and no index.
            models.Index(fields=["form"], condition=~Q(error=""), name="model_request_failed"),
        ]

    def __str__(self) -> str:
        return self.hash[:12]
