"""Judge configurations and the endpoints that they call."""

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator, URLValidator
from django.db import models


class BackendKind(models.TextChoices):
    HEURISTIC = "heuristic", "No model (heuristic)"
    OPENAI = "openai", "OpenAI-compatible server"
    IMPORTED = "imported", "Imported verdicts"


class Structured(models.TextChoices):
    NONE = "none", "None: read the answer from free text"
    VLLM = "vllm", "vLLM structured outputs"
    JSON_SCHEMA = "json_schema", "JSON schema response format"


class Endpoint(models.Model):
    """A model server. The key itself is never stored: `api_key_env` names the variable that holds it."""

    name = models.SlugField(max_length=64, unique=True)
    base_url = models.CharField(
        max_length=300, validators=[URLValidator(schemes=["http", "https"])], help_text="Up to and with /v1."
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
    structured = models.CharField(
        max_length=16,
        choices=Structured.choices,
        default=Structured.NONE,
        help_text="How the server can be told to answer with one of the choices.",
    )
    max_concurrency = models.PositiveIntegerField(default=16, validators=[MinValueValidator(1)])
    timeout_seconds = models.PositiveIntegerField(default=120, validators=[MinValueValidator(1)])
    price_input = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="US dollars per million prompt tokens."
    )
    price_output = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="US dollars per million completion tokens."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Judge(models.Model):
    """A judge configuration. `spec` is its whole content and `fingerprint` the hash of it.

    Immutable once it has judged: the admin then shows it read-only and offers a copy, and the database refuses an
    UPDATE of `spec` or `fingerprint` on a judge with judgments.
    """

    name = models.CharField(max_length=200, unique=True)
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
