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


class ModelRequest(models.Model):
    """A request to a model, unique by a hash of all that can change its answer; and the answer, once there is one.

    Who inserts the row, or takes it over after its lease ran out, sends the request; everyone else waits for it.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    kind = models.CharField(max_length=16)
    endpoint = models.CharField(max_length=300, help_text="Identity of the server or engine.")
    model = models.CharField(max_length=200)
    payload = models.JSONField()
    state = models.CharField(max_length=8, choices=RequestState.choices, default=RequestState.CLAIMED)
    owner = models.CharField(max_length=64, help_text="The worker that sends it.")
    lease_until = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner"], condition=Q(state="claimed"), name="model_request_claimed"),
        ]

    def __str__(self) -> str:
        return self.hash[:12]
