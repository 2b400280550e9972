"""Parts of addresses."""

from django.urls import register_converter
from django.urls.converters import IntConverter


class RowConverter(IntConverter):
    """The number of a row. Longer ones fit no database, so there is no such page."""

    regex = "[0-9]{1,18}"


register_converter(RowConverter, "row")
