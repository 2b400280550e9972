"""Images that come with a dataset: what is kept of a file, which names lead to one, and what is refused."""

import base64
import io
import json
import struct
import zlib
from hashlib import sha256

import pytest
from PIL import Image

from annotation.domain.images import image_digests, text_and_images
from annotation.importers import ImportFileError, images, read_generic
from annotation.importers.images import ImageError, ImageFolder, image_encode, read_generic_with_images
from tests.annotation.pictures import CATS, cats, decoded, picture, with_place, zip_of

pytestmark = pytest.mark.quick


@pytest.fixture
def folder(tmp_path):
    return ImageFolder(tmp_path / "images")


def claims_to_be(width: int, height: int) -> bytes:
    """A PNG file of a few bytes whose header promises so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def test_a_picture_is_kept_upright_and_nothing_beside_it():
    source = with_place((40, 20))
    assert b"Secret" in source
    made = image_encode(source)
    image = decoded(made.data)
    assert (image.format, image.size, (made.width, made.height)) == ("JPEG", (20, 40), (20, 40))
    assert b"Secret" not in made.data
    assert not image.getexif()
    assert "comment" not in image.info


def test_transparency_stays_and_of_an_animation_the_first_picture():
    out = io.BytesIO()
    Image.new("RGBA", (5, 5), (0, 0, 0, 0)).save(out, "PNG")
    assert decoded(image_encode(out.getvalue()).data).getpixel((0, 0)) == (0, 0, 0, 0)
    first, second = Image.new("RGB", (9, 9), "red"), Image.new("RGB", (9, 9), "blue")
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=[second])
    image = decoded(image_encode(out.getvalue()).data)
    assert (image.format, image.convert("RGB").getpixel((0, 0))) == ("PNG", (255, 0, 0))


def test_a_large_picture_is_made_smaller(monkeypatch):
    monkeypatch.setattr(images, "MAX_SIDE", 50)
    made = image_encode(picture(size=(200, 100)))
    assert (made.width, made.height) == (50, 25)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "found none or a damaged one"),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
            "found none or a damaged",
        ),
        (b"GIF89a<script>alert(1)</script>", "found none or a damaged"),
        (picture()[:50], "found none or a damaged"),
        (picture(format="BMP"), "found none or a damaged"),
        (claims_to_be(60_000, 60_000), "expected at most 50,000,000 pixels"),
        (claims_to_be(10_000, 6_000), "expected at most 50,000,000 pixels, found 10,000 x 6,000"),
    ],
)
def test_what_is_no_picture_or_too_large_is_refused(data, words):
    with pytest.raises(ImageError, match=words):
        image_encode(data)


def test_a_file_of_too_many_bytes_is_refused_unread(monkeypatch):
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    with pytest.raises(ImageError, match="expected at most 0 MiB"):
        image_encode(b"\x89PNG" + b"x" * 100)


def test_an_archive_names_its_images_and_texts_name_them_by_content(folder, tmp_path):
    bundle = read_generic_with_images(cats(tmp_path), folder)
    red, green = (sha256(data).hexdigest() for data in (picture("red"), picture("green", format="JPEG")))
    texts = [one.text for one in bundle.instructions]
    assert texts == [f"How many cats? ![Two cats](image:{red})", f"Describe it.\n\n![](image:{green})"]
    assert {one.digest: (one.width, one.height) for one in bundle.images} == {red: (40, 30), green: (40, 30)}
    # What a model wrote of images that aren't there stays what it wrote.
    assert CATS[0]["responses"][1] in [one.text for one in bundle.responses]
    assert decoded(folder.read(red)).format == "PNG"
    assert decoded(folder.read(green)).format == "JPEG"


def test_the_same_again_is_the_same_and_one_file(folder, tmp_path):
    path = cats(tmp_path)
    first, second = read_generic_with_images(path, folder), read_generic_with_images(path, folder)
    assert [(one.key, one.text) for one in first.instructions] == [
        (one.key, one.text) for one in second.instructions
    ]
    assert sorted(one.digest for one in first.images) == sorted(one.name for one in folder.files())


def test_an_image_within_a_text(folder, tmp_path):
    path = tmp_path / "items.jsonl"
    encoded = base64.b64encode(picture()).decode()
    row = {
        "instruction": f"![x](data:image/png;base64,{encoded})",
        "responses": ["a", "![](data:image/png;base64,?)"],
    }
    path.write_text(json.dumps(row))
    bundle = read_generic_with_images(path, folder)
    assert image_digests(bundle.instructions[0].text) == [sha256(picture()).hexdigest()]
    assert bundle.responses[1].text == row["responses"][1]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("gone.png", 'field "instruction": image "gone.png": expected a file of this name'),
        ("../secret.png", "expected a file of this name"),
        ("/etc/secret.png", "expected a file of this name"),
        ("no-picture.png", "expected a PNG, JPEG, WebP or GIF file"),
        ("data:image/png;base64,????", "expected base64"),
        ("image:" + "0" * 64, "expected the name of an image file"),
    ],
)
def test_an_image_that_cannot_be_had_is_refused_with_row_and_field(folder, tmp_path, address, words):
    (tmp_path / "secret.png").write_bytes(picture())
    row = {"instruction": f"Look: ![it](<{address}>)", "responses": ["a", "b"]}
    path = zip_of(tmp_path / "a.zip", [CATS[1], row], {"no-picture.png": b"x", "dog one.jpg": picture()})
    with pytest.raises(ImportFileError) as caught:
        read_generic_with_images(path, folder)
    assert "a.zip/items.jsonl, row 2" in str(caught.value)
    assert words.replace('"', "") in str(caught.value).replace('"', "").replace("'", "")


def test_every_wrong_image_is_listed(folder, tmp_path):
    rows = [{"instruction": f"![](gone-{k}.png)", "responses": ["a", "b"]} for k in range(3)]
    with pytest.raises(ImportFileError) as caught:
        read_generic_with_images(zip_of(tmp_path / "a.zip", rows, {}), folder)
    assert [f"gone-{k}.png" in str(caught.value) for k in range(3)] == [True] * 3


@pytest.mark.parametrize(
    ("tables", "words"), [([], "found none"), (["a.csv", "b.jsonl"], "found a.csv, b.jsonl")]
)
def test_an_archive_has_one_file_of_items(folder, tmp_path, tables, words):
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in tables:
        (inside / name).write_text("instruction\n")
    with pytest.raises(ImportFileError, match=words):
        read_generic_with_images(inside, folder)


def test_a_file_by_itself_is_read_as_before(folder, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text('{"instruction": "![cat](cat.png)", "responses": ["a", "b"]}')
    (tmp_path / "cat.png").write_bytes(picture())
    assert read_generic_with_images(path, folder) == read_generic(path)


def test_texts_come_apart_at_their_images_and_together_again():
    digest = "0" * 64
    text = f"a ![x](image:{digest})![](image:{digest}) b ![y](image:1)"
    parts = list(text_and_images(text))
    assert [part if isinstance(part, str) else (part.alt, part.digest) for part in parts] == [
        "a ", ("x", digest), ("", digest), " b ![y](image:1)",
    ]  # fmt: skip
