"""What researchers write beside items."""

from django.conf import settings
from django.db import models

from annotation.models.datasets import Item


class ItemNote(models.Model):
    """A researcher's note on an item: plain text, for those who may see the dataset. No annotator sees it."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="item_notes")
    text = models.TextField()
    nonce = models.CharField(max_length=32, help_text="Of the form, so that it is written once.")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["item", "author", "nonce"], name="item_note_once"),
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"
