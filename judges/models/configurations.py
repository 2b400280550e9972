"""Judge configurations and the endpoints that they call."""

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator, URLValidator
from django.db import models

from annotation.models.names import NameField
from judges.backends.registry import backend_info
from judges.backends.settings import BATCH_PRICE_SHARE


class BackendKind(models.TextChoices):
    HEURISTIC = "heuristic", "No model (heuristic)"
    OPENAI = "openai", "OpenAI-compatible server"
    ANTHROPIC = "anthropic", "Anthropic API"
    LITELLM = "litellm", "Another vendor, by LiteLLM"
    VLLM = "vllm", "vLLM engine in the worker"
    VLLM_SERVER = "vllm_server", "vLLM server started by the worker"
    TRANSFORMERS = "transformers", "transformers in the worker"
    COMPOSED = "composed", "Made of other judges"
    IMPORTED = "imported", "Imported verdicts"


ENDPOINT_KINDS = (
    BackendKind.OPENAI,
    BackendKind.ANTHROPIC,
    BackendKind.LITELLM,
    BackendKind.VLLM,
    BackendKind.VLLM_SERVER,
    BackendKind.TRANSFORMERS,
)
"""What an endpoint can be; the others are what a judge can be without one."""
ENDPOINT_CHOICES = [(kind.value, kind.label) for kind in ENDPOINT_KINDS]
WITH_BATCHES = (BackendKind.OPENAI, BackendKind.ANTHROPIC)
"""Vendors' protocols that have batches: answered within a day, at half the price."""
WITH_IMAGES = tuple(kind for kind in ENDPOINT_KINDS if backend_info(kind).takes_images)
"""Protocols by which images are sent."""
IN_WORKER = (BackendKind.VLLM, BackendKind.VLLM_SERVER, BackendKind.TRANSFORMERS)
"""Models that run in, or under, the worker itself: local, and without an address."""


class Queue(models.TextChoices):
    """Which workers ask an endpoint: one Celery queue each."""

    HTTP = "http", "http: waits for servers"
    CPU = "cpu", "cpu: computes on processors"
    GPU = "gpu", "gpu: computes on accelerators"


class Structured(models.TextChoices):
    NONE = "none", "None: read the answer from free text"
    VLLM = "vllm", "vLLM structured outputs"
    JSON_SCHEMA = "json_schema", "JSON schema response format"


class Endpoint(models.Model):
    """Where models answer: a server, or an engine in the worker.

    The key itself is never stored: `api_key_env` names the variable that holds it.
    """

    name = models.SlugField(max_length=64, unique=True)
    kind = models.CharField(
        max_length=16,
        choices=ENDPOINT_CHOICES,
        default=BackendKind.OPENAI,
    )
    base_url = models.CharField(
        max_length=300,
        blank=True,
        validators=[URLValidator(schemes=["http", "https"])],
        help_text="Up to and with /v1; none for an engine in the worker. Judges know the server by it, and so do "
        "stored answers, wherever it is asked.",
    )
    addresses = models.JSONField(
        default=list,
        blank=True,
        help_text="Where the server is asked, if not at its address: copies of it share the requests.",
    )
    queue = models.CharField(
        max_length=8,
        choices=Queue.choices,
        default=Queue.HTTP,
        help_text="Which workers do its work; a worker names its queues when it is started.",
    )
    options = models.JSONField(
        default=dict,
        blank=True,
        help_text="Settings of the engine or server, such as dtype, quantization or tensor_parallel_size.",
    )
    api_key_env = models.CharField(
        max_length=100,
        blank=True,
        verbose_name="API key variable",
        validators=[
            RegexValidator(r"^[A-Z][A-Z0-9_]*$", "The name of an environment variable, in capitals.")
        ],
        help_text="Name of the environment variable with the key; empty: no key is sent.",
    )
    is_local = models.BooleanField(
        default=False, help_text="Under your own control: items of private datasets may be sent there."
    )
    open_weights = models.BooleanField(
        null=True,
        blank=True,
        verbose_name="open weights",
        help_text="Whether anybody can get the weights of its models; a choice of judges may ask for it.",
    )
    structured = models.CharField(
        max_length=16,
        choices=Structured.choices,
        default=Structured.NONE,
        help_text="How the server can be told to answer with one of the choices.",
    )
    in_batches = models.BooleanField(
        default=False,
        verbose_name="batches",
        help_text="Requests are sent as batches, which the vendor answers within 24 hours at half the price.",
    )
    takes_images = models.BooleanField(
        default=False,
        verbose_name="images",
        help_text="Its models take images that instructions or responses show.",
    )
    max_concurrency = models.PositiveIntegerField(default=16, validators=[MinValueValidator(1)])
    timeout_seconds = models.PositiveIntegerField(default=120, validators=[MinValueValidator(1)])
    price_input = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="US dollars per million prompt tokens."
    )
    price_output = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="US dollars per million completion tokens."
    )
    prices = models.JSONField(
        default=dict,
        blank=True,
        help_text="Of single models, in place of the two above: {model: [prompt, completion]}.",
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Empty: no limit."
    )
    tokens_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Prompt and completion; empty: no limit.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in ENDPOINT_KINDS]),
                name="endpoint_kind_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(kind=BackendKind.OPENAI, base_url=""), name="endpoint_server_has_address"
            ),
            models.CheckConstraint(
                condition=~models.Q(kind=BackendKind.ANTHROPIC, base_url=""),
                name="endpoint_anthropic_has_address",
            ),
            models.CheckConstraint(
                condition=models.Q(in_batches=False)
                | models.Q(kind__in=[BackendKind.OPENAI.value, BackendKind.ANTHROPIC.value]),
                name="endpoint_batches_known",
            ),
            models.CheckConstraint(
                condition=models.Q(takes_images=False)
                | models.Q(kind__in=[kind.value for kind in WITH_IMAGES]),
                name="endpoint_images_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def keeps_private(self) -> bool:
        """Whether items of private datasets may be asked there: nothing leaves what is under our own control."""
        return self.is_local or self.kind in IN_WORKER

    @property
    def has_open_weights(self) -> bool | None:
        """Whether the weights of its models are public; None where nobody said."""
        return True if self.kind in IN_WORKER and self.open_weights is None else self.open_weights

    @property
    def is_priced(self) -> bool:
        return bool(self.price_input or self.price_output or self.prices)

    def price_of(self, model: str) -> tuple[float, float]:
        """Return what a million prompt tokens and a million completion tokens of a model cost, in US dollars.

        In batches it is half of the prices that are set here, which are those of requests by themselves.
        """
        prompt, completion = self.prices.get(model, (self.price_input, self.price_output))
        share = BATCH_PRICE_SHARE if self.in_batches else 1.0
        return share * float(prompt), share * float(completion)


class PromptText(models.Model):
    """A version of a prompt that was written in the admin. Never changed: a change is the next version.

    Its name in a judge's specification is `name` and `version`, as of a file: ``"my_rules.v2"``. The specification
    holds the text too, so that a judge does not depend on this row.
    """

    kind = models.CharField(max_length=16, help_text="The kind of items that it is for.")
    name = models.CharField(max_length=64, validators=[RegexValidator(r"^[a-z][a-z0-9_]*$")])
    version = models.PositiveIntegerField()
    source = models.TextField()
    sha = models.CharField(max_length=64)
    based_on = models.CharField(max_length=80, blank=True, help_text="The prompt that it was made from.")
    notes = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="prompts"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "name", "-version"]
        verbose_name = "prompt"
        constraints = [
            models.UniqueConstraint(fields=["kind", "name", "version"], name="prompt_text_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.name}.v{self.version}"


class Judge(models.Model):
    """A judge configuration. `spec` is its whole content and `fingerprint` the hash of it.

    `endpoint` is that of its first model (see `JudgeModel` for all). A contestant, whose strategy generates responses,
    is a judge too. Immutable once it has judged: the admin then shows it read-only and offers a copy, and the database
    refuses an UPDATE of `spec` or `fingerprint` on a judge with judgments.
    """

    name = NameField(max_length=200, unique=True)
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, null=True, blank=True, related_name="judges"
    )
    backend = models.CharField(max_length=16, choices=BackendKind.choices)
    model = models.CharField(max_length=200, blank=True)
    strategy = models.CharField(max_length=64)
    spec = models.JSONField()
    fingerprint = models.CharField(max_length=64, unique=True)
    notes = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="judges"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class JudgeModel(models.Model):
    """One of the models that a judge asks, and the endpoint where it answers: a row for each role of its spec."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="models")
    role = models.CharField(max_length=200, help_text='"judge", another role, or "member/role".')
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="uses")
    model = models.CharField(max_length=200)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["judge", "role"], name="judge_model_role_unique")]

    def __str__(self) -> str:
        return f"{self.role}: {self.model}"


class JudgeMember(models.Model):
    """A judge of which a composite or a jury is made."""

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="memberships")
    member = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="member_of")
    key = models.CharField(max_length=100, help_text='The category, "*" for all others; of a jury a name.')

    class Meta:
        ordering = ["key"]
        constraints = [models.UniqueConstraint(fields=["judge", "key"], name="judge_member_key_unique")]

    def __str__(self) -> str:
        return f"{self.key}: {self.member}"
