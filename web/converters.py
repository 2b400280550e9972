"""Parts of addresses."""

from django.urls import register_converter
from django.urls.converters import IntConverter, SlugConverter


class RowConverter(IntConverter):
    """The number of a row. Longer ones fit no database, so there is no such page."""

    regex = "[0-9]{1,18}"


class DatasetNameConverter(SlugConverter):
    """The name of a dataset. `datasets/upload/` is none, in whatever order the addresses are."""

    regex = "(?!upload/)[-a-zA-Z0-9_]+"


register_converter(RowConverter, "row")
register_converter(DatasetNameConverter, "dataset_name")
