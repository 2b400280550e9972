"""Files that go up in chunks: each is stored once at its offset, and a whole file is imported as one sent at once."""

import json
import os
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from annotation.models import Dataset
from judges.models import DatasetImport, FileUpload, ImportState, VerdictImport
from judges.services import import_files, uploads
from judges.services.import_files import MOST_KEPT, imports_tidy, path_of
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import dataset_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db
CHUNK = 64
BEGIN = "/datasets/upload/begin/"
VERDICTS = "/datasets/pairs/judgments/import/"
LIST = "/imports/"
PAIRS = "".join(
    json.dumps({"id": f"q{n}", "instruction": f"Say {n}.", "response_1": "a", "response_2": "b"}) + "\n"
    for n in range(5)
).encode()
FORM = {"format": "generic", "name": "new", "title": "T", "split": "private", "licence": "", "criteria": ""}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path, monkeypatch):
    settings.IMPORTS_DIR = tmp_path / "imports"
    monkeypatch.setattr(uploads, "CHUNK_BYTES", CHUNK)
    return settings.IMPORTS_DIR


@pytest.fixture
def pairs(cast):
    return dataset_make(pairs=2, name="pairs", owner=cast.alice)


def file_of(content, name="mine.jsonl", modified=1_700_000_000_000):
    head = sha256(content[:CHUNK]).hexdigest()
    return {"file_name": name, "file_size": len(content), "file_modified": modified, "file_head": head}


def began(browser, content=PAIRS, address=BEGIN, **said):
    """What the site answers to a file that is about to be sent."""
    when = {"modified": said.pop("modified")} if "modified" in said else {}
    file = file_of(content, said.pop("called", "mine.jsonl"), **when)
    return browser.post(address, FORM | file | said)


def upload_of(response):
    assert response.status_code == 200, response.content
    return FileUpload.objects.get(pk=response.json()["id"])


def chunk_sent(browser, upload, offset, piece, *, digest=None, **headers):
    said = {
        "Upload-Offset": str(offset),
        "Content-Digest": f"sha-256=:{b64encode(digest or sha256(piece).digest()).decode()}:",
    } | headers
    said = {name: value for name, value in said.items() if value is not None}
    return browser.post(
        f"/datasets/upload/{upload.pk}/", piece, content_type="application/octet-stream", headers=said
    )


def chunks_sent(browser, upload, content=PAIRS, until=None):
    for offset in range(upload.n_stored, len(content) if until is None else until, CHUNK):
        answer = chunk_sent(browser, upload, offset, content[offset : offset + CHUNK])
        assert answer.status_code == 200, answer.content
    upload.refresh_from_db()
    return upload


def ended(browser, upload, address="/datasets/upload/", **said):
    return browser.post(address, FORM | {"upload": upload.pk, "digest": upload.digest} | said)


def chain(content):
    digest = b""
    for offset in range(0, len(content), CHUNK):
        digest = sha256(digest + sha256(content[offset : offset + CHUNK]).digest()).digest()
    return digest.hex()


class TestChunks:
    def test_a_file_in_chunks_becomes_the_import_that_it_would_be_at_once(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)))
        assert (upload.n_stored, upload.digest) == (len(PAIRS), chain(PAIRS))
        assert path_of(upload).read_bytes() == PAIRS
        assert path_of(upload).stat().st_mode & 0o777 == 0o600
        answer = ended(browser, upload)
        job = DatasetImport.objects.get()
        assert answer["Location"] == f"/imports/datasets/{job.pk}/"
        assert (job.name, job.size, job.dataset_name, job.title) == ("mine.jsonl", len(PAIRS), "new", "T")
        assert path_of(job).read_bytes() == PAIRS
        assert job.state == ImportState.CHECKED
        browser.post(answer["Location"], {"action": "confirm"})
        assert Dataset.objects.get(name="new").items.count() == 5
        assert not path_of(job).exists()

    def test_verdicts_and_published_formats_too(self, cast, pairs):
        browser = client_of(cast.alice)
        item = pairs.items.order_by("position")[0].external_id
        content = f"item,judge,verdict\n{item},gpt,1\n".encode()
        upload = upload_of(began(browser, content, f"{VERDICTS}begin/", called="v.csv"))
        chunks_sent(browser, upload, content)
        assert ended(browser, upload, VERDICTS)["Location"] == f"{VERDICTS}#files"
        assert VerdictImport.objects.get().found["judgments"] == 1
        row = {"instruction": "i", "output_1": "x", "output_2": "y", "preference": 1, "annotator_index": 0}
        content = json.dumps([row | {"dataset": "d", "datasplit": "e"}]).encode()
        upload = upload_of(began(browser, content, called="a.json", format="alpaca-human", name="farm"))
        chunks_sent(browser, upload, content)
        answer = ended(browser, upload, format="alpaca-human", name="farm")
        assert answer.status_code == 302, text_of(answer)
        assert answer["Location"] == "/datasets/farm/"
        assert not path_of(upload).exists()

    def test_the_same_file_continues_where_it_stopped(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=2 * CHUNK)
        again = began(client_of(cast.alice), title="Another").json()
        assert (again["id"], again["offset"], again["digest"]) == (
            upload.pk,
            2 * CHUNK,
            chain(PAIRS[: 2 * CHUNK]),
        )
        assert again["chunk"] == CHUNK
        assert browser.get(again["address"]).json() == {
            key: again[key] for key in ("id", "address", "chunk", "offset", "digest")
        }
        upload.refresh_from_db()
        assert upload.said["title"] == "Another"
        for other in (
            began(browser, PAIRS + b"\n"),
            began(browser, modified=1),
            began(browser, called="other.jsonl"),
            began(browser, PAIRS.replace(b"q0", b"qq")),
        ):
            assert other.json()["offset"] == 0
        assert FileUpload.objects.count() == 5

    def test_a_chunk_is_as_long_as_it_was_when_the_upload_began(self, cast, monkeypatch):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        monkeypatch.setattr(uploads, "CHUNK_BYTES", 2 * CHUNK)
        assert began(browser).json()["chunk"] == CHUNK, "the same file, by the head of that length"
        chunks_sent(browser, upload)
        assert ended(browser, upload).status_code == 302

    @pytest.mark.parametrize("offset", [0, CHUNK // 2, 2 * CHUNK, 10**15])
    def test_an_offset_that_is_not_what_is_stored_is_answered_with_what_is(self, cast, offset):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        answer = chunk_sent(browser, upload, offset, PAIRS[offset : offset + CHUNK] or b"x" * CHUNK)
        assert (answer.status_code, answer.json()["offset"]) == (409, CHUNK)
        assert answer.json()["digest"] == chain(PAIRS[:CHUNK])
        assert path_of(upload).read_bytes() == PAIRS[:CHUNK]

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Upload-Offset": None}, 400),
            ({"Upload-Offset": "-1"}, 400),
            ({"Upload-Offset": "1e3"}, 400),
            ({"Upload-Offset": "9" * 30}, 400),
            ({"Content-Digest": None}, 400),
            ({"Content-Digest": "sha-256=:not base64:"}, 400),
            ({"Content-Digest": "md5=:AAAA:"}, 400),
            ({"Content-Digest": f"sha-256=:{b64encode(b'x' * 32).decode()}:"}, 422),
        ],
    )
    def test_what_lies_about_itself_is_refused(self, cast, headers, status):
        browser = client_of(cast.alice)
        upload = upload_of(began(browser))
        answer = chunk_sent(browser, upload, 0, PAIRS[:CHUNK], **headers)
        assert answer.status_code == status
        assert answer.json()["problem"]
        upload.refresh_from_db()
        assert upload.n_stored == 0
        assert not path_of(upload).exists()

    def test_a_chunk_that_is_longer_or_shorter_than_it_is_due_is_refused(self, cast):
        browser = client_of(cast.alice)
        upload = upload_of(began(browser))
        assert chunk_sent(browser, upload, 0, PAIRS[: CHUNK + 1]).status_code == 413
        assert chunk_sent(browser, upload, 0, PAIRS[: CHUNK - 1]).status_code == 400
        assert chunk_sent(browser, upload, 0, b"").status_code == 400
        last = len(PAIRS) - len(PAIRS) % CHUNK
        chunks_sent(browser, upload, until=last)
        answer = chunk_sent(browser, upload, last, PAIRS[last:] + b"more")
        assert answer.status_code == 400
        assert f"Expected {len(PAIRS) - last} bytes" in answer.json()["problem"]
        assert path_of(upload).read_bytes() == PAIRS[:last]

    def test_what_a_killed_process_wrote_behind_the_offset_is_written_over(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        with path_of(upload).open("ab") as file:
            file.write(b"z" * 3 * CHUNK)
        chunks_sent(browser, upload)
        assert path_of(upload).read_bytes() == PAIRS

    def test_a_file_that_lost_bytes_begins_again(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=2 * CHUNK)
        path_of(upload).write_bytes(b"short")
        answer = chunk_sent(browser, upload, 2 * CHUNK, PAIRS[2 * CHUNK : 3 * CHUNK])
        assert (answer.status_code, answer.json()["offset"], answer.json()["digest"]) == (409, 0, "")
        upload.refresh_from_db()
        chunks_sent(browser, upload)
        assert path_of(upload).read_bytes() == PAIRS
        path_of(upload).unlink()
        assert "Choose the same file" in text_of(ended(browser, upload))
        assert not DatasetImport.objects.exists()

    def test_no_room_on_the_disk_is_said(self, cast, monkeypatch):
        browser = client_of(cast.alice)
        upload = upload_of(began(browser))
        monkeypatch.setattr(import_files, "LEFT_FREE", 2**60)
        answer = chunk_sent(browser, upload, 0, PAIRS[:CHUNK])
        assert answer.status_code == 507
        assert "no disk space left" in answer.json()["problem"]
        answer = began(browser, called="other.jsonl")
        assert answer.status_code == 422
        assert "no disk space left" in text_of(answer)
        assert FileUpload.objects.count() == 1


class TestBegin:
    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"name": "no spaces here"}, "Expected letters, digits"),
            ({"called": "mine.exe"}, "Expected a file named .jsonl"),
            ({"format": "alpaca-human"}, "Expected a file named .json"),
            ({"file_size": 2**40}, "Expected at most 64 MiB"),
            ({"file_size": 0}, "empty"),
            ({"file_head": "x"}, "hash of the first bytes"),
            ({"file_modified": "soon"}, "hash of the first bytes"),
        ],
    )
    def test_the_form_is_read_before_the_file_is_sent(self, cast, said, words):
        answer = began(client_of(cast.alice), **said)
        assert answer.status_code == 422
        assert words in text_of(answer)
        assert answer.content.decode().lstrip().startswith("<section")
        assert not FileUpload.objects.exists()

    def test_one_continues_only_with_the_same_file(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        answer = began(browser, PAIRS + b"\n", upload=upload.pk)
        assert answer.status_code == 422
        assert "Expected the file mine.jsonl" in text_of(answer)
        assert began(browser, upload=upload.pk).json()["offset"] == CHUNK
        assert FileUpload.objects.count() == 1

    def test_uploads_count_among_the_files_that_wait(self, cast, pairs):
        browser = client_of(cast.alice)
        for place in range(MOST_KEPT - 1):
            assert began(browser, called=f"{place}.jsonl").status_code == 200
        last = upload_of(began(browser, called="last.jsonl"))
        answer = began(browser, called="more.jsonl")
        assert answer.status_code == 422
        assert f"{MOST_KEPT} of your files wait" in text_of(answer)
        form = FORM | {"file": SimpleUploadedFile("x.jsonl", PAIRS)}
        assert f"{MOST_KEPT} of your files wait" in text_of(browser.post("/datasets/upload/", form))
        assert began(browser, called="last.jsonl").status_code == 200, "that one is there"
        assert began(browser, b"item,judge,verdict\n", f"{VERDICTS}begin/", called="v.csv").status_code == 200
        assert ended(browser, chunks_sent(browser, last)).status_code == 302
        assert began(client_of(cast.bob)).status_code == 200

    def test_two_that_begin_at_once_are_one_upload(self, transactional_db, cast):
        found = all_at_once(began, browsers_of(cast.alice, 6))
        assert {answer.status_code for answer in found} == {200}
        assert len({answer.json()["id"] for answer in found}) == 1


class TestTogether:
    def test_tabs_that_send_the_same_file_store_it_once(self, transactional_db, cast):
        browsers = browsers_of(cast.alice, 4)
        upload = upload_of(began(browsers[0]))

        def send(browser):
            offset, asked = 0, 0
            while offset < len(PAIRS):
                answer = chunk_sent(browser, upload, offset, PAIRS[offset : offset + CHUNK])
                assert answer.status_code in (200, 409), answer.content
                offset, asked = answer.json()["offset"], asked + 1
            return asked

        assert min(all_at_once(send, browsers)) >= 1
        upload.refresh_from_db()
        assert path_of(upload).read_bytes() == PAIRS
        assert upload.digest == chain(PAIRS)

    def test_an_end_that_is_sent_twice_imports_once(self, transactional_db, cast):
        browsers = browsers_of(cast.alice, 4)
        upload = chunks_sent(browsers[0], upload_of(began(browsers[0])))
        found = all_at_once(lambda browser: ended(browser, upload), browsers)
        job = DatasetImport.objects.get()
        assert {answer["Location"] for answer in found} == {f"/imports/datasets/{job.pk}/"}
        assert path_of(job).read_bytes() == PAIRS
        browsers[0].post(f"/imports/datasets/{job.pk}/", {"action": "confirm"})
        assert ended(browsers[1], upload)["Location"] == f"/imports/datasets/{job.pk}/"
        assert DatasetImport.objects.count() == 1
        answer = chunk_sent(browsers[0], upload, 0, PAIRS[:CHUNK])
        assert (answer.status_code, answer.json()["offset"]) == (409, len(PAIRS))

    def test_the_same_file_sent_again_while_it_waits_is_the_same_import(self, cast, folder):
        browser = client_of(cast.alice)
        for _ in range(2):
            upload = chunks_sent(browser, upload_of(began(browser)))
            assert ended(browser, upload).status_code == 302
        job = DatasetImport.objects.get()
        assert path_of(job).read_bytes() == PAIRS
        assert [one.name for one in folder.glob("*.jsonl") if "." not in one.stem] == [job.file]

    def test_a_published_file_that_is_ended_twice_is_imported_once(self, cast):
        browser = client_of(cast.alice)
        content = json.dumps([{"instruction": "i", "output_1": "x", "output_2": "y", "preference": 1,
                               "annotator_index": 0, "dataset": "d", "datasplit": "e"}]).encode()  # fmt: skip
        said = {"format": "alpaca-human", "name": "farm"}
        upload = chunks_sent(browser, upload_of(began(browser, content, called="a.json", **said)), content)
        for _ in range(2):
            assert ended(browser, upload, **said)["Location"] == "/datasets/farm/"


class TestEnd:
    def test_a_file_that_is_not_whole_is_not_imported(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        assert "Choose the same file" in text_of(ended(browser, upload))
        assert not DatasetImport.objects.exists()

    def test_a_file_whose_hash_is_another_is_not_imported(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)))
        assert "isn&#x27;t the file that was uploaded" in text_of(ended(browser, upload, digest="0" * 64))
        assert not DatasetImport.objects.exists()

    def test_what_is_wrong_in_the_form_keeps_the_upload(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)))
        answer = ended(browser, upload, name="no spaces")
        assert "Expected letters, digits" in text_of(answer)
        assert f'name="upload" value="{upload.pk}"' in answer.content.decode()
        assert ended(browser, upload).status_code == 302

    def test_a_published_file_that_is_refused_keeps_the_upload(self, cast):
        browser = client_of(cast.alice)
        said = {"format": "alpaca-human", "name": "farm"}
        upload = chunks_sent(
            browser, upload_of(began(browser, b"[{}]" * 20, called="a.json", **said)), b"[{}]" * 20
        )
        answer = ended(browser, upload, **said)
        assert answer.status_code == 200
        assert "a.json" in text_of(answer)
        assert path_of(upload).exists()

    def test_a_file_in_the_form_is_taken_instead(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        answer = ended(browser, upload, file=SimpleUploadedFile("whole.jsonl", PAIRS))
        assert answer.status_code == 302
        assert DatasetImport.objects.get().name == "whole.jsonl"

    @pytest.mark.parametrize("pk", ["", "x", "0", "99999999999999999999"])
    def test_an_upload_that_is_none_is_not_found(self, cast, pk):
        answer = client_of(cast.alice).post("/datasets/upload/", FORM | {"upload": pk})
        assert answer.status_code == (200 if pk == "" else 404)


class TestOthers:
    def test_whose_they_are(self, cast, pairs):
        upload = chunks_sent(client_of(cast.alice), upload_of(began(client_of(cast.alice))), until=CHUNK)
        own = f"/datasets/upload/{upload.pk}/"
        discard = f"/imports/unfinished/uploads/{upload.pk}/"
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
            browser = client_of(user)
            assert browser.get(own).status_code == status
            assert chunk_sent(browser, upload, CHUNK, PAIRS[CHUNK : 2 * CHUNK]).status_code == status
            assert browser.post(discard, {"action": "discard"}).status_code == status
            assert ended(browser, upload).status_code == status
            assert browser.get(f"/datasets/upload/?upload={upload.pk}").status_code == status
            assert began(browser, upload=upload.pk).status_code == status
        assert began(client_of(cast.bob), b"item\n", f"{VERDICTS}begin/", called="v.csv").status_code == 404
        assert ended(client_of(cast.alice), upload, VERDICTS).status_code == 404, "of items, not of verdicts"
        assert client_of(cast.alice).put(own).status_code == 405
        assert client_of(cast.alice).get(BEGIN).status_code == 405
        upload.refresh_from_db()
        assert upload.n_stored == CHUNK

    def test_a_chunk_from_another_site_is_refused(self, cast):
        upload = upload_of(began(client_of(cast.alice)))
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(cast.alice)
        assert chunk_sent(strict, upload, 0, PAIRS[:CHUNK]).status_code == 403
        assert strict.post(BEGIN, FORM | file_of(PAIRS)).status_code == 403


class TestList:
    def test_it_is_listed_with_how_much_is_there_and_where_it_continues(self, cast, pairs):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=2 * CHUNK)
        content = b"item,judge,verdict\n" * 10
        other = upload_of(began(browser, content, f"{VERDICTS}begin/", called="v.csv"))
        chunks_sent(browser, other, content)
        page = browser.get(LIST)
        rows = [(one.file, one.into, one.kind, one.progress, one.state) for one, _, _ in page.context["rows"]]
        assert rows == [
            (
                "v.csv",
                "pairs",
                "Verdicts",
                "190\xa0bytes uploaded, not read yet",
                "Waiting for you to continue",
            ),
            (
                "mine.jsonl",
                "new",
                "Items",
                f"128\xa0bytes of {len(PAIRS)}\xa0bytes uploaded",
                "Upload not finished",
            ),
        ]
        text = page.content.decode()
        assert f'href="/datasets/upload/?upload={upload.pk}"' in text
        assert f'href="{VERDICTS}?upload={other.pk}"' in text
        assert "Unfinished imports (2)" in text_of(browser.get("/datasets/"))
        form = browser.get(f"/datasets/upload/?upload={upload.pk}")
        assert 'value="new"' in form.content.decode()
        assert "Choose mine.jsonl again to continue where it stopped" in text_of(form)
        assert "mine.jsonl" in text_of(browser.get("/datasets/upload/"))
        assert "is uploaded" in text_of(browser.get(f"{VERDICTS}?upload={other.pk}"))

    def test_it_takes_few_queries_however_many_there_are(self, cast, django_assert_num_queries):
        browser = client_of(cast.alice)

        def fill(n):
            for place in range(n):
                began(browser, called=f"{place}.jsonl")

        fill(2)
        browser.get(LIST)
        with django_assert_num_queries(6):  # session, user, four lists
            browser.get(LIST)
        fill(5)
        with django_assert_num_queries(6):
            browser.get(LIST)

    def test_the_form_takes_few_queries_however_many_there_are(self, cast, pairs, django_assert_num_queries):
        browser = client_of(cast.alice)
        upload = upload_of(began(browser))
        for place in range(5):
            began(browser, called=f"{place}.jsonl")
        with django_assert_num_queries(4):  # session, user, files, uploads
            browser.get("/datasets/upload/")
        with django_assert_num_queries(5):  # and this one
            browser.get(f"/datasets/upload/?upload={upload.pk}")

    def test_a_chunk_takes_few_queries(self, cast, django_assert_num_queries):
        browser = client_of(cast.alice)
        upload = upload_of(began(browser))
        with django_assert_num_queries(
            7
        ):  # session, user, whose it is; in a transaction: the row, and what is stored
            chunk_sent(browser, upload, 0, PAIRS[:CHUNK])

    def test_it_is_discarded_with_its_file(self, cast, folder):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        kept = chunks_sent(browser, upload_of(began(browser, called="kept.jsonl")), until=CHUNK)
        address = f"/imports/unfinished/uploads/{upload.pk}/"
        assert browser.post(address, {"action": "discard"}).status_code == 302
        assert browser.post(address, {"action": "discard"}).status_code == 404
        assert browser.post(address, {"action": "explode"}).status_code == 404
        assert chunk_sent(browser, upload, CHUNK, PAIRS[CHUNK : 2 * CHUNK]).status_code == 404
        assert [path.name for path in folder.iterdir()] == [kept.file]

    def test_an_upload_whose_import_began_is_not_discarded_as_an_upload(self, cast):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)))
        ended(browser, upload)
        assert (
            browser.post(f"/imports/unfinished/uploads/{upload.pk}/", {"action": "discard"}).status_code
            == 404
        )
        assert path_of(DatasetImport.objects.get()).exists()

    def test_one_that_nobody_continues_is_removed_in_time(self, cast, folder, settings):
        browser = client_of(cast.alice)
        upload = chunks_sent(browser, upload_of(began(browser)), until=CHUNK)
        due = timedelta(hours=settings.EXPORTS_KEEP_HOURS)
        assert (upload.moved_at + due).strftime("%-d %b %Y, %H:%M") in text_of(browser.get(LIST))
        old = timezone.now() - due
        FileUpload.objects.update(created_at=old - due, moved_at=old + timedelta(minutes=1))
        os.utime(path_of(upload), (1, 1))
        imports_tidy()
        assert FileUpload.objects.exists(), "its last chunk is newer"
        assert path_of(upload).exists()
        FileUpload.objects.update(moved_at=old - timedelta(minutes=1))
        imports_tidy()
        assert not FileUpload.objects.exists()
        assert not list(folder.iterdir())
