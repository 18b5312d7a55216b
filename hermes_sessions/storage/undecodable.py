"""Rows with text that is not UTF-8, at which apsw gives up: fetched as bytes, and decoded here."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from hermes_sessions.storage.values import SQLValue


def undecodable_rows(connection: apsw.Connection, sql: str, params: Sequence[SQLValue]) -> list[tuple[SQLValue, ...]]:
    """All rows of a statement, with U+FFFD for what is not UTF-8. Raises apsw.Error."""
    cursor = connection.execute(sql, params)
    width = len(cursor.description)
    cursor.close(True)
    names = [f"c{number}" for number in range(width)]
    blobs = ", ".join(f"CASE typeof({n}) WHEN 'text' THEN CAST({n} AS BLOB) ELSE {n} END, typeof({n})" for n in names)
    rows = connection.execute(f"WITH answer({', '.join(names)}) AS ({sql}) SELECT {blobs} FROM answer", params)
    return [
        tuple(
            value.decode("utf-8", "replace") if kind == "text" and isinstance(value, bytes) else value
            for value, kind in zip(row[::2], row[1::2], strict=True)
        )
        for row in rows
    ]
