"""Images without a site: `touchstone judge` and `touchstone gate` on a folder or zip archive, and `Judge` in Python."""

import asyncio
import base64
import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from zipfile import ZipFile

import pytest

from annotation.importers.errors import ImportFileError
from annotation.importers.images import image_encode
from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.standalone.images import CallImages, OneCall
from judges.standalone.main import BROKEN, main
from tests.annotation.pictures import CATS, cats, picture, zip_of
from tests.judges.standalone.files import at, command, rows_of

pytestmark = pytest.mark.service


@pytest.fixture
def archive(tmp_path):
    return cats(tmp_path)


def folder_of(archive):
    folder = archive.with_suffix("")
    with ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def judged(*arguments):
    return main(["judge", *map(str, arguments), "--quiet"])


ECHO = ("--strategy", "vanilla", "--set", "decoding.max_tokens=4000")


@pytest.mark.parametrize("packed", [True, False])
def test_a_model_that_takes_images_is_shown_them(tmp_path, archive, packed):
    items, out = archive if packed else folder_of(archive), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        given = [items, *ECHO, *at(server, "mock-echo"), "--takes-images", "--out", out]
        code, _, complaints = command("judge", *given)
        assert code == 0, complaints
        # The images are the same on another day, so a finished file sends nothing.
        assert judged(*given) == 0
        assert server.stats()["requests"] == 4
    said = {(row["item"], row["order"]): row["raw_text"] for row in rows_of(out)}
    assert "How many cats? [image/png " in said["cats", 0]
    assert "image:" not in said["cats", 1]
    assert "Describe it.\n\n[image/jpeg " in said["dog", 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ECHO, "item 'cats' shows an image, and the judge's models take none as far as you say"),
        (
            ("--strategy", "loglikelihood", "--takes-images"),
            "item 'cats' shows an image, and the judge asks for likelihoods, which can't be of images.",
        ),
        (
            (*ECHO, "--backend", "transformers", "--takes-images"),
            "item 'cats' shows an image, which the backend 'transformers' can't send",
        ),
    ],
)
def test_a_judge_that_cannot_see_an_image_is_refused_before_anything_is_sent(
    tmp_path, archive, capsys, given, said
):
    with running_mock_server() as server:
        where = at(server)[2:] if "transformers" in given else at(server)
        assert judged(archive, *given, *where, "--out", tmp_path / "out.jsonl") == BROKEN
        assert server.stats()["requests"] == 0
    assert f"{archive}: {said}" in capsys.readouterr().err


def test_items_without_images_and_baselines_need_nothing(tmp_path, archive):
    out = tmp_path / "out.jsonl"
    assert judged(archive, "--strategy", "longest", "--out", out) == 0
    assert len(rows_of(out)) == 4
    plain = zip_of(tmp_path / "plain.zip", [{**CATS[1], "instruction": "Describe it."}], {})
    with running_mock_server() as server:
        assert judged(plain, "--strategy", "vanilla", *at(server), "--out", tmp_path / "plain.jsonl") == 0


def test_an_image_that_is_missing_refuses_the_file_by_row_and_field(tmp_path, capsys):
    items = zip_of(tmp_path / "cats.zip", CATS, {})
    assert judged(items, "--strategy", "longest", "--out", tmp_path / "out.jsonl") == BROKEN
    said = capsys.readouterr().err
    assert f"{items}/items.jsonl, row 1, field instruction: image 'pictures/cats.png'" in said


def test_a_gate_shows_them_too(tmp_path, archive, capsys):
    judge, verdicts = tmp_path / "judge.yaml", tmp_path / "verdicts.jsonl"
    fields = {"name": "Sees", "strategy": "vanilla", "model": "mock-echo", "decoding": {"max_tokens": 4000}}
    gold = zip_of(archive, [{**row, "gold": 1} for row in CATS], dict(read(archive)))
    with running_mock_server() as server:
        judge.write_text(json.dumps({**fields, "endpoint": server.url}))
        given = ["gate", judge, gold, "--min-agreement", "0.5", "--verdicts", verdicts, "--quiet"]
        assert main([*map(str, given)]) == BROKEN
        assert "item 'cats' shows an image" in capsys.readouterr().err
        main([*map(str, given), "--takes-images"])
    assert "[image/png " in rows_of(verdicts)[0]["raw_text"] + rows_of(verdicts)[1]["raw_text"]


def read(archive):
    with ZipFile(archive) as opened:
        return [(name, opened.read(name)) for name in opened.namelist() if not name.endswith(".jsonl")]


# --- in Python -----------------------------------------------------------------------------------------------------

DOG = "Describe it.\n\n![a dog](dog)"
PNG, JPEG = picture("red"), picture("blue", format="JPEG")


def seeing(server, **fields):
    given = {"model": "mock-echo", "base_url": server.url, "decoding": {"max_tokens": 4000}}
    return Judge.define(fields.pop("strategy", "vanilla"), **(given | {"takes_images": True} | fields))


def shown(data):
    """What the mock server says of an image that it was sent: its type, and the beginning of its SHA-256."""
    made = image_encode(data).data
    kind = "image/jpeg" if made.startswith(b"\xff\xd8") else "image/png"
    return f"[{kind} {sha256(made).hexdigest()[:12]}]"


@pytest.mark.parametrize("form", ["bytes", "path", "text"])
def test_a_call_sends_its_images(tmp_path, form):
    (tmp_path / "dog.jpg").write_bytes(JPEG)
    image = {"bytes": JPEG, "path": tmp_path / "dog.jpg", "text": str(tmp_path / "dog.jpg")}[form]
    with running_mock_server() as server, seeing(server) as judge:
        found = judge.compare(DOG, "A dog.", "A cat.", images={"dog": image})
        assert found.raw.count(f"Describe it.\n\n{shown(JPEG)}") == 2  # in both orders
        assert "image:" not in found.raw
        assert server.stats()["requests"] == 2


def test_images_of_responses_and_of_a_folder(tmp_path):
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "bar one.png").write_bytes(PNG)
    instruction = "Which chart is it? ![](<charts/bar one.png>)"
    with running_mock_server() as server, seeing(server, image_folder=tmp_path) as judge:
        found = judge.compare(instruction, "This: ![](x)", "![no](made-up.png)", images={"x": JPEG})
        assert shown(PNG) in found.raw
        assert f"This: {shown(JPEG)}" in found.raw
        assert "![no](made-up.png)" in found.raw
        (tmp_path.parent / "outside.png").write_bytes(PNG)
        for name in ("other.png", "../outside.png"):
            with pytest.raises(ImportFileError) as caught:
                judge.compare(f"![]({name})", "a", "b")
            assert f"field instruction: image '{name}': expected a file of this name" in str(caught.value)


def test_every_question_may_show_images_and_so_do_rows_and_asynchronous_calls():
    data = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    with running_mock_server() as server, seeing(server) as judge:
        rows = [{"instruction": DOG, "responses": ["A", "B"], "images": {"dog": PNG}}] * 2
        assert all(shown(PNG) in found.raw for found in judge.judge_all(rows))
        asked = judge.acompare(f"See ![]({data})", "A", "B", orders="original")
        # In a thread of its own: a browser's tests before this one may have left a loop running in this one.
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(asyncio.run, asked).result()
        assert f"See {shown(PNG)}" in found.raw
    with running_mock_server() as server, seeing(server, strategy="checklist_all") as judge:
        found = judge.check(DOG, "A dog.", ["Says what it is."], images={"dog": PNG})
        assert shown(PNG) in found.raw


def test_equal_images_are_equal_requests():
    with running_mock_server() as server, seeing(server) as judge:
        for name in ("one", "two"):
            judge.compare("Look: ![](dog)".replace("dog", name), "A", "B", images={name: PNG})
        assert server.stats()["requests"] == 2
        judge.compare("Look: ![](dog)", "A", "B", images={"dog": JPEG})
        assert server.stats()["requests"] == 4


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"takes_images": False}, "the judge's models take none as far as you say: say takes_images=True"),
        ({"strategy": "loglikelihood"}, "the judge asks for likelihoods, which can't be of images"),
    ],
)
def test_a_judge_that_cannot_see_refuses_before_anything_is_sent(fields, said):
    with running_mock_server() as server, seeing(server, **fields) as judge:
        with pytest.raises(ImportFileError, match=f"field images: 'item.*' shows an image.*{said}"):
            judge.compare(DOG, "A", "B", images={"dog": PNG}, id="item-1")
        assert server.stats()["requests"] == 0
        assert judge.compare("Say hello.", "Hello.", "Hi.").status


def test_baselines_read_the_text_alone():
    with Judge.define("longest") as judge:
        assert judge.compare(DOG, "A dog.", "A", images={"dog": PNG}).choice == 1


@pytest.mark.parametrize(
    ("images", "field", "said"),
    [
        ({"dog": b"no picture"}, "instruction", "image 'dog': expected a PNG, JPEG, WebP or GIF file"),
        ({"dog": "nowhere.png"}, "images.dog", "expected an image file, found none at 'nowhere.png'"),
        ({"dog": 7}, "images.dog", "expected bytes or a path, found 7"),
        (
            {"dog": PNG, "cat": PNG},
            "images.cat",
            "expected a text that shows it, as ![...](NAME), found none",
        ),
        ([PNG], "images", "expected images by name"),
        ({7: PNG}, "images", "expected names as texts, found 7"),
        ({"dog": b"\x89PNG" + bytes(20 * 2**20)}, "instruction", "expected at most 20 MiB"),
        ({"dog": picture(size=(9000, 6000))}, "instruction", "expected at most 50,000,000 pixels"),
    ],
)
def test_images_that_are_none_are_named(images, field, said):
    with running_mock_server() as server, seeing(server) as judge:
        with pytest.raises(ImportFileError) as caught:
            judge.compare(DOG, "A", "B", images=images)
        assert caught.value.field == field
        assert said in str(caught.value)
        assert server.stats()["requests"] == 0


def test_images_are_kept_while_they_are_shown_and_the_last_ones_after():
    kept = CallImages(kept_bytes=len(image_encode(PNG).data))
    first, second = OneCall(kept), OneCall(kept)
    one, two = first.add(PNG).digest, first.add(JPEG).digest
    assert second.add(PNG).digest == one
    first.release()
    assert (kept.read(one) is not None, kept.read(two) is None) == (True, True)  # the second call shows it
    second.release()
    assert kept.read(one) == image_encode(PNG).data  # one more call may show it
    for color in ("green", "white", "black"):
        call = OneCall(kept)
        call.add(picture(color))
        call.release()
    assert len(kept) == 1
    assert kept.read(one) is None


def test_many_threads_show_many_images():
    with running_mock_server() as server, seeing(server) as judge, ThreadPoolExecutor(8) as pool:
        pictures = [picture((n, n, n)) for n in range(24)]
        asked = [pool.submit(judge.compare, DOG, "A", "B", images={"dog": one}) for one in pictures]
        for one, done in zip(pictures, asked, strict=True):
            assert done.result().raw.count(shown(one)) == 2
