"""An import that was stopped continues where it stopped, and makes the rows of one that was not."""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TransactionTestCase

from annotation.importers import DatasetBundle, ImportFileError
from annotation.importers.build import ReadStart
from annotation.importers.errors import Faults, LeftOutRows
from annotation.importers.generic import read_generic_parts
from annotation.models import (
    Annotator,
    Aspect,
    Criterion,
    Dataset,
    DatasetVersion,
    Instruction,
    Item,
    ItemResponse,
    Label,
    Response,
    StagedImport,
)
from annotation.services import staged_imports
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import DatasetImportError, file_hash
from annotation.services.staged_imports import staged_find, staged_give_up, staged_tidy
from judges.models import Judge, Judgment
from judges.services.file_imports import file_import
from tests.annotation.services.test_import_in_parts import ROWS, stored, write

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]
TABLES = (
    *(Dataset, DatasetVersion, StagedImport, Instruction, Aspect, Response, Item, ItemResponse, Label),
    *(Annotator, Criterion),
)


class KilledError(BaseException):
    """As `kill -9`: nothing is caught, and no transaction that was open is stored."""


def load(
    file: Path,
    name: str,
    *,
    rows: int = 2,
    after: Callable[[int, int], None] = lambda _row, _offset: None,
    skip: list[ImportFileError] | None = None,
    **options: Any,
) -> ImportResult:
    """Import a file in parts of so many rows; `after` is called after each part that is stored."""

    def read(start: ReadStart | None) -> Generator[DatasetBundle, None, None]:
        faults = Faults() if skip is None else LeftOutRows(skip.append)
        if skip is not None:
            del skip[0 if start is None else start.until.n_left_out :]
        yield from read_generic_parts(file, rows=rows, start=start, any_size=True, faults=faults)

    imported, _ = file_import(
        read=read, name=name, source="generic", file=file.name, key=file_hash(file, skip is None),
        stored=after, **options,
    )  # fmt: skip
    return imported


def killed_at(part: int) -> Callable[[int, int], None]:
    parts = iter(range(1, 10**6))

    def after(_row: int, _offset: int) -> None:
        if next(parts) >= part:
            raise KilledError

    return after


@contextmanager
def killed() -> Iterator[None]:
    with pytest.raises(KilledError):
        yield


def count_rows() -> dict[str, int]:
    return {model.__name__: model._base_manager.count() for model in TABLES}


def items(n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"q{k}", "instruction": f"Say {k}", "responses": ["a", "b"], "subset": f"s{k % 3}"}
        | {"labels": [{"annotator": "ann", "value": 1}]}
        | more
        for k in range(n)
    ]


class TestContinues:
    @pytest.mark.parametrize("part", [1, 2, 4])
    @pytest.mark.parametrize("form", ["jsonl", "json", "csv", "parquet", "bom.csv"])
    def test_in_every_format(self, tmp_path, form, part):
        file = tmp_path / f"data.{form}"
        if form == "jsonl":
            file.write_text("".join(f"\n{json.dumps(row)}\r\n" for row in items(9)))
        elif form == "json":
            file.write_text(json.dumps(items(9)))
        elif form == "parquet":
            import pyarrow
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(items(9)), file, row_group_size=3)
        else:
            mark = "\ufeff" if form.startswith("bom") else ""
            rows = "".join(f'q{n};"Say\n{n}; {n}";"é";b\n\n' for n in range(9))
            file.write_text(f"{mark}id;instruction;response_1;response_2\n{rows}", encoding="utf-8")
        load(file, "whole")
        with killed():
            load(file, "demo", after=killed_at(part))
        found = staged_find("demo")
        assert found is not None
        assert Item.objects.filter(dataset=found.dataset).count() == 2 * part
        assert not Dataset.objects.filter(name="demo").exists()
        result = load(file, "demo")
        assert (result.created, result.items, result.items_created) == (True, 9, 9)
        assert stored("demo") == stored("whole")
        assert not StagedImport.objects.exists()
        versions = DatasetVersion.objects.order_by("pk").values_list("number", "items_added", "counted")
        assert len(set(map(str, versions))) == 1
        assert not load(file, "demo").changed

    def test_killed_after_every_part(self, tmp_path):
        file = write(tmp_path, items(11))
        load(file, "whole")
        for _ in range(5):
            with killed():
                load(file, "demo", after=killed_at(1))
        assert load(file, "demo").subsets == 3
        assert stored("demo") == stored("whole")

    def test_what_rows_declare_holds_after_it(self, tmp_path):
        criterion = {"key": "good", "question": "Good?", "scale": {"low": 0, "high": 2}}
        rubric = {"kind": "rubric", "instruction": "Say it", "responses": ["a"]}
        kinds = {"kind": "classification", "responses": []}
        rows: list[dict[str, Any]] = [
            {"criteria": [criterion], "categories": {"list": ["x", "y"], "level": "ordinal"}},
            *({"id": f"r{n}"} | rubric | {"gold": {"ratings": {"good": 2}}} for n in range(3)),
            *({"id": f"c{n}", "instruction": f"Say {n}", **kinds, "gold": ["y"]} for n in range(3)),
        ]
        file = write(tmp_path, rows)
        load(file, "whole")
        with killed():
            load(file, "demo", after=killed_at(1))
        load(file, "demo")
        assert stored("demo") == stored("whole")
        one, other = (Dataset.objects.get(name=name) for name in ("demo", "whole"))
        assert one.categories == other.categories
        assert [c.scale for c in one.criteria.all()] == [c.scale for c in other.criteria.all()]

    def test_rows_left_out_are_counted_once(self, tmp_path):
        rows = items(9)
        for n in (0, 3, 4, 8):
            rows[n]["responses"] = ["a"]
        file = write(tmp_path, rows)
        kept: list[ImportFileError] = []
        with killed():
            load(file, "demo", after=killed_at(2), skip=kept)
        result = load(file, "demo", skip=kept)
        assert (result.items, result.rows_left_out) == (5, 4)
        assert [error.row for error in kept] == [1, 4, 5, 9]

    def test_an_id_of_a_part_before_is_still_taken(self, tmp_path):
        rows = items(9)
        rows[7]["id"] = "q0"
        file = write(tmp_path, rows)
        with killed():
            load(file, "demo", after=killed_at(2))
        with pytest.raises(ImportFileError, match="'q0' is also in an earlier row") as refused:
            load(file, "demo")
        assert (refused.value.row, refused.value.field) == (8, "id")
        assert not any(count_rows().values())


class TestAnyFile(TransactionTestCase):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory):
        self.folder = tmp_path_factory.mktemp("files")

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(ROWS, st.integers(1, 3), st.integers(1, 4))
    def test_is_what_it_is_without_a_kill(self, rows, size, part):
        file = write(self.folder, rows)
        try:
            first = load(file, "whole", rows=100)
        except ImportFileError:
            with pytest.raises(ImportFileError):
                self._again(file, size, part)
            assert not any(count_rows().values())
            return
        other = self._again(file, size, part)
        assert stored("demo") == stored("whole")
        assert (other.items_created, other.labels_created) == (first.items_created, first.labels_created)

    def _again(self, file: Path, size: int, part: int) -> ImportResult:
        try:
            return load(file, "demo", rows=size, after=killed_at(part))
        except KilledError:
            return load(file, "demo", rows=size)


class TestRefused:
    def test_a_bad_last_row_leaves_nothing(self, tmp_path):
        rows = items(9, kind="checklist", responses=["a"], aspects=[{"key": "x", "text": "X?"}], labels=[])
        rows[8]["aspects"] = []
        rows[1]["labels"] = [{"annotator": "ann", "value": {"answers": {"x": True}}}]
        with pytest.raises(ImportFileError) as refused:
            load(write(tmp_path, rows), "demo")
        assert refused.value.row == 9
        assert not any(count_rows().values())

    def test_another_file_or_another_way_to_read_it(self, tmp_path):
        file = write(tmp_path, items(9))
        with killed():
            load(file, "demo", after=killed_at(2))
        before = count_rows()
        with pytest.raises(DatasetImportError, match=r"stopped after row 4.*isn't the one"):
            load(file, "demo", skip=[])
        write(tmp_path, items(10))
        with pytest.raises(DatasetImportError, match=r"data\.jsonl into 'demo' stopped after row 4"):
            load(file, "demo")
        assert count_rows() == before

    def test_the_name_is_taken_meanwhile(self, tmp_path, django_user_model):
        alice, bob = (django_user_model.objects.create_user(name) for name in ("alice", "bob"))
        with killed():
            load(write(tmp_path, items(9)), "demo", after=killed_at(2), owner=alice)
        (tmp_path / "other").mkdir()
        small = write(tmp_path / "other", items(1))
        with pytest.raises(DatasetImportError, match="the name 'demo' is taken"):
            load(small, "demo", owner=bob)
        with pytest.raises(DatasetImportError, match=r"an import of data\.jsonl into 'demo' stopped"):
            load(small, "demo", owner=alice)

    def test_verdicts_in_a_later_part_are_one_transaction(self, tmp_path):
        rows = items(9)
        rows[7]["verdicts"] = [{"judge": "j", "order": 0, "value": 1}]
        seen = []

        def after(_row: int, _offset: int) -> None:
            seen.append(Judge.objects.count())

        result = load(write(tmp_path, rows), "demo", after=after)
        assert (result.items, Judgment.objects.count()) == (9, 1)
        assert set(seen) == {0}
        assert not StagedImport.objects.exists()


class TestAtOnce:
    def test_who_begins_later_goes_on(self, tmp_path):
        file = write(tmp_path, items(9))
        load(file, "whole")
        done: list[ImportResult] = []

        def after(_row: int, _offset: int) -> None:
            if not done:
                done.append(load(file, "demo"))

        with pytest.raises(DatasetImportError, match="another process has continued this import"):
            load(file, "demo", after=after)
        assert done[0].items == 9
        assert stored("demo") == stored("whole")
        assert not StagedImport.objects.exists()

    @pytest.mark.parametrize("after_claim", [False, True])
    def test_an_import_that_is_finished_by_another_just_then_is_unchanged(
        self, tmp_path, monkeypatch, after_claim
    ):
        file = write(tmp_path, items(9))
        with killed():
            load(file, "demo", after=killed_at(2))
        finish = [lambda: load(file, "demo")]
        find, refresh = staged_imports.staged_find, StagedImport.refresh_from_db

        def found(name):
            row = find(name)
            if not after_claim and finish:
                finish.pop()()
            return row

        def refreshed(row):
            if after_claim and finish:
                finish.pop()()
            refresh(row)

        monkeypatch.setattr(staged_imports, "staged_find", found)
        monkeypatch.setattr(StagedImport, "refresh_from_db", refreshed)
        result = load(file, "demo")
        assert not finish
        assert (result.created, result.items_created, result.items_changed) == (False, 0, 0), result
        assert not StagedImport.objects.exists()

    def test_many_threads_make_one_dataset(self, tmp_path):
        file = write(tmp_path, items(40))
        load(file, "whole")
        barrier = threading.Barrier(4)
        said: list[object] = []

        def one() -> None:
            try:
                barrier.wait()
                said.append(load(file, "demo", rows=5))
            except (DatasetImportError, ImportFileError) as error:
                said.append(error)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(said) == 4
        if (
            staged_find("demo") is not None
        ):  # each took it from the one before, and the last was refused its begin
            said.append(load(file, "demo", rows=5))
        created = [one for one in said if isinstance(one, ImportResult) and one.created]
        assert len(created) == 1, said
        assert all(isinstance(one, ImportResult | DatasetImportError) for one in said), said
        assert stored("demo") == stored("whole")


class TestGivenUp:
    def test_the_name_is_free_again(self, tmp_path):
        with killed():
            load(write(tmp_path, items(9)), "demo", after=killed_at(2))
        staged_give_up(*StagedImport.objects.all())
        assert load(write(tmp_path, items(3)), "demo").items == 3
        assert Item.objects.count() == 3

    def test_a_process_that_has_it_stores_no_more(self, tmp_path):
        def after(_row: int, _offset: int) -> None:
            staged_give_up(*StagedImport.objects.all())
            assert staged_tidy() == 1

        with pytest.raises(DatasetImportError, match="it was given up"):
            load(write(tmp_path, items(9)), "demo", after=after)
        assert not any(count_rows().values())

    def test_one_that_nobody_goes_on_with_is_removed_in_time(self, tmp_path, settings):
        with killed():
            load(write(tmp_path, items(9)), "demo", after=killed_at(2))
        assert staged_tidy() == 0
        late = timezone.now() - timedelta(hours=settings.EXPORTS_KEEP_HOURS + 1)
        StagedImport.objects.update(moved_at=late)
        assert staged_tidy() == 1
        assert not any(count_rows().values())

    def test_removing_may_be_killed_too(self, tmp_path, monkeypatch):
        with killed():
            load(write(tmp_path, items(9)), "demo", after=killed_at(3))
        staged_give_up(*StagedImport.objects.all())
        with monkeypatch.context() as patch:
            patch.setattr("annotation.services.staged_imports.BATCH", 2)
            with killed(), connection.execute_wrapper(_killing('DELETE FROM "annotation_response"')):
                staged_tidy()
        assert Instruction.objects.count() > 0
        StagedImport.objects.update(moved_at=timezone.now() - timedelta(hours=1))
        assert staged_tidy() == 1
        assert not any(count_rows().values())


def _killing(statement: str) -> Callable[..., Any]:
    def execute(run: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(statement):
            raise KilledError
        return run(sql, *rest)

    return execute
