"""Notes on items, for programs."""

import secrets
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Exact, Listing, deleted, said
from annotation.models import Item, ItemNote
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.item_notes import note_get_for
from annotation.services.item_notes import MAX_NOTE, note_add, note_change, note_delete


class NoteSerializer(serializers.ModelSerializer[ItemNote]):
    """A note on an item."""

    item: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    author: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = ItemNote
        fields = ("id", "item", "author", "text", "created_at", "edited_at")
        read_only_fields = fields


class NoteWriteSerializer(Exact):
    """A note to write: plain text."""

    text = serializers.CharField(max_length=MAX_NOTE)


class NotesView(Listing):
    """List the notes of an item; write one."""

    resource = "datasets"
    serializer_class = NoteSerializer

    def _item(self) -> Item:
        rows = Item.objects.filter(dataset__in=datasets_visible_to(self.user))
        return get_object_or_404(rows, pk=self.kwargs["pk"])

    def rows(self) -> QuerySet[ItemNote]:
        return ItemNote.objects.filter(item=self._item()).select_related("author")

    @extend_schema(request=NoteWriteSerializer, responses={201: NoteSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Write a note on an item, for those who may see its dataset."""
        item = self._item()
        text = said(NoteWriteSerializer, request)["text"]
        made = note_add(item=item, author=self.user, text=text, nonce=secrets.token_hex(8))
        return Response(NoteSerializer(made).data, status=201)


class NoteView(ApiView):
    """A note of yours."""

    resource = "datasets"

    def _note(self, pk: int) -> ItemNote:
        try:
            return note_get_for(self.user, pk)
        except ItemNote.DoesNotExist:
            raise Http404("You have no such note.") from None

    @extend_schema(request=NoteWriteSerializer, responses=NoteSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        """Change a note of yours."""
        note = self._note(pk)
        note_change(note=note, text=said(NoteWriteSerializer, request)["text"])
        return Response(NoteSerializer(self._note(pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a note of yours."""
        return deleted(note_delete(note=self._note(pk)))
