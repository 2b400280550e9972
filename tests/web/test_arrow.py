"""Columns of Arrow from plain values, without pandas."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.arrow import arrow_array
from web.tables import TableColumn, parquet_schema

WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"))
VALUES = {
    "text": TEXT,
    "integer": WHOLE,
    "number": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "time": st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    "json": TEXT,
    "integers": st.lists(WHOLE),
    "texts": st.lists(TEXT),
    "money": st.integers(-(10**17), 10**17).map(lambda cents: f"{cents / 10**6:.6f}"),
}


@pytest.mark.quick
@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_what_is_written_is_what_pyarrow_makes_of_it(kind, data):
    type_ = parquet_schema([TableColumn("column", kind)]).field(0).type
    cells = data.draw(st.lists(st.none() | VALUES[kind]))
    for values in (cells, [cell for cell in cells if cell is not None], tuple(cells)):
        found = arrow_array(values, type_)
        found.validate(full=True)
        if kind in ("time", "money"):
            assert found.equals(pa.array(values, pa.string()).cast(type_))
        else:
            assert found.equals(pa.array(values, type_))


@pytest.mark.quick
@pytest.mark.parametrize(
    ("values", "type_"), [(["one", 2], pa.string()), ([1, 1.5], pa.int64()), (["no number"], pa.float64())]
)
def test_values_of_another_type_are_refused(values, type_):
    with pytest.raises((TypeError, ValueError)):
        arrow_array(values, type_)


@pytest.mark.service
def test_a_file_is_written_without_pandas():
    written = (
        "import sys; from web.tables import ExportTable, TableColumn, table_bytes\n"
        "columns = tuple(TableColumn(k, k) for k in ('text', 'integer', 'boolean', 'texts', 'time', 'money'))\n"
        "rows = [('a', 1, True, ['b'], '2026-11-22T14:05:00Z', '0.120000'), (None,) * 6]\n"
        "assert b''.join(table_bytes(ExportTable(columns, rows), 'parquet')).startswith(b'PAR1')\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", written], check=True)
