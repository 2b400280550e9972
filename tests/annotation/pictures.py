"""Image files for the tests, made by Pillow, and a zip of items that name some."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from PIL import Image


def picture(
    color: str = "red", size: tuple[int, int] = (40, 30), format: str = "PNG", **options: Any
) -> bytes:
    """A file of one color."""
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, format, **options)
    return out.getvalue()


def with_place(size: tuple[int, int] = (40, 20)) -> bytes:
    """A JPEG file that a phone took upright at a place, and that says who took it."""
    image = Image.new("RGB", size, "blue")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif[0x013B] = "Secret Person"
    exif.get_ifd(0x8825)[1] = "N"
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif, comment=b"Secret Person was here")
    return out.getvalue()


def decoded(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def zip_of(
    path: Path, rows: list[dict[str, Any]], files: dict[str, bytes], table: str = "items.jsonl"
) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(table, "\n".join(json.dumps(row) for row in rows))
        for name, data in files.items():
            archive.writestr(name, data)
    return path


CATS = [
    {
        "id": "cats",
        "instruction": "How many cats? ![Two cats](pictures/cats.png)",
        "responses": ["Two.", "Three, as ![here](https://example.org/cats.png) and ![](made-up.png)."],
        "gold": 1,
    },
    {"id": "dog", "instruction": "Describe it.\n\n![](dog%20one.jpg)", "responses": ["A dog.", "A cat."]},
]


def cats(path: Path) -> Path:
    """A zip archive of two pairs with two images."""
    files = {"pictures/cats.png": picture("red"), "dog one.jpg": picture("green", format="JPEG")}
    return zip_of(path / "cats.zip", CATS, files)
