"""`field__among=values`: as `__in`, of many values, which are one parameter of the statement.

Texts have no NUL, which PostgreSQL does not take and at which SQLite's JSON ends them.
"""

import json
from typing import Any

from django.db.models import Field, Lookup


@Field.register_lookup
class Among(Lookup[Any]):
    lookup_name = "among"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, given = self.process_lhs(compiler, connection)
        values = list(self.rhs)
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s)", (*given, values)
        return f"{column} IN (SELECT value FROM json_each(%s))", (*given, json.dumps(values))  # noqa: S608  (the column's own name)
