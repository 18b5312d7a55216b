"""What sessions used and cost: the one rule for a row's money, and sums by any key, added up in SQL.

What is counted, and that it is counted once:

* The row of a session is its main loop. Continuations, delegates and branches are rows of their own, so that
  adding rows counts nothing twice; copies of messages do not matter, since no message is looked at.
* `session_model_usage`, where there is one (Hermes 0.19), says which models the main loop used and holds the
  auxiliary calls (compression, titles, vision), which are nowhere else. Its main rows split the session's
  row: what the row has beyond them (Hermes' absolute updates do not reach them) stays with the row's own
  model, and what they have beyond the row counts too. Usage of a session that is gone is not counted.

Every view adds the same parts, so the groups of each add up to the same total. A session that used two models
is a session of both groups, and one session of the total.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hermes_sessions.model import Basis, CostLine, CostSummary, Money, Tokens
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.values import LATEST_TIME, SQLValue, as_float, as_int, as_text

CALENDAR = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
"""Local days, ISO weeks and months of the start. SQLite's `localtime` is the zone of `time.localtime`."""

COLUMN_OF_KEY = {"provider": "billing_provider", "model": "model", "source": "source", "session": "id"}
KEYS = (*CALENDAR, *COLUMN_OF_KEY, "task", "total")
SPLIT_BY_USAGE = frozenset({"provider", "model", "task"})

NO_KEY = "unknown"
MAIN_TASK = "main"
"""The key of the main loop among the tasks; Hermes stores it as an empty text."""

TOKEN_COLUMNS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
CLASSES = range(len(TOKEN_COLUMNS))

LARGEST_AMOUNT = 1e9
LARGEST_COUNT = 10**15
"""USD and tokens of one row above which the number is nonsense, and counts as nothing."""

DUST = 1e-9
"""USD below which a difference of sums is rounding."""


def row_money(actual: SQLValue, estimated: SQLValue, status: SQLValue) -> Money:
    """The money of one row of `sessions` or `session_model_usage`, as its three columns hold it.

    * The actual amount counts if it is there: 0 only with the status `actual`, since Hermes' usage table holds 0
      for "not given". Then the estimate: 0 only with the status `estimated`. Then the status `included`: 0.
    * Hermes adds amounts but overwrites the status. So an estimate under `included` was spent before the route
      changed and stays an estimate; under `unknown` it is the known part of a `mixed` amount.
    * Nothing known is None, never 0. Text, negative and absurd amounts are nothing.

    `_priced` is the same rule in SQL.
    """
    paid, guess = _amount(actual), _amount(estimated)
    if paid == 0 and status != "actual":
        paid = None
    if paid is not None or (guess == 0 and status != "estimated"):
        guess = None
    included = status == "included"
    gap = paid is None and (status == "unknown" or (guess is None and not included))
    return _money(paid, guess, included=included, gap=gap)


def add_money(amounts: Iterable[Money]) -> Money:
    """The sum, added exactly. Its basis is that of its parts, `mixed` for actual and estimated ones together.

    Included amounts add 0 and change no other basis. Unknown ones leave what is known as it is, but make it `mixed`;
    beside included ones alone, nothing is known.
    """
    amounts = list(amounts)
    known = [money.amount_usd for money in amounts if money.amount_usd is not None]
    bases = {money.basis for money in amounts}
    if bases == {"included"}:
        return Money(0.0, "included")
    bases.discard("included")
    if not bases - {"unknown"}:
        return Money(None, "unknown")
    return Money(math.fsum(known), bases.pop() if len(bases) == 1 else "mixed")


class CostTable:
    """Sums over `sessions` and, where the store has it, `session_model_usage`. Composed by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def summary(
        self,
        by: str,
        session_ids: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> CostSummary:
        """Tokens and USD by `by`, one of `KEYS`, of these sessions (None: of all) that started from `since` until
        before `until`. A session whose start is nonsense belongs to no span of time.

        Days, weeks and months are local and in order; other groups stand dearest first.
        """
        if by not in KEYS:
            raise ValueError(f"no such key: {by}")
        scope = _Scope(_as_json(session_ids), since, until)
        if by in SPLIT_BY_USAGE and self._has_usage():
            groups = _lines(by, self._parts(by, scope))
            total = _sum("total", _lines("total", self._entries("total", scope)))
        else:
            groups = _lines(by, self._entries(by, scope))
            total = _sum("total", groups)
        return CostSummary(by, total, groups)

    def of_sessions(self, session_ids: Collection[str] | None = None) -> dict[str, tuple[Tokens, Money]]:
        """What each of these sessions (None: of all) used and cost, auxiliary calls included, by session id."""
        answer = {}
        for row in self._entries("session", _Scope(_as_json(session_ids), None, None)):
            key, _, _, included, actual, estimated, *tokens, gap = row
            money = _money(as_float(actual), as_float(estimated), included=included == 1, gap=gap == 1)
            answer[as_text(key) or ""] = (Tokens(*map(as_int, tokens)), money)
        return answer

    def _has_usage(self) -> bool:
        return "session_model_usage" in self._database.tables and bool(
            self._database.value("SELECT EXISTS (SELECT 1 FROM session_model_usage)")
        )

    def _entries(self, by: str, scope: _Scope) -> list[Row]:
        """The groups of a key that a session has one of: each session is in exactly one group."""
        if not self._database.columns("sessions"):
            return []
        entry = "chosen"
        tables = [f"chosen AS ({self._chosen(by, scope)})"]
        if self._has_usage():
            tables += [f"used AS ({self._used('', scope)})", f"spent AS ({_SPENT})", f"entry AS ({_ENTRY})"]
            entry = "entry"
        return self._database.rows(
            f"""
            WITH {", ".join(tables)}
            SELECT key, count(*), sum(actual IS NULL AND estimated IS NULL) - sum(included), sum(included),
                sum(actual), sum(estimated), {_each("sum(t{0})")}, max(gap)
            FROM {entry} GROUP BY key
            """,
            scope.parameters,
        )

    def _parts(self, by: str, scope: _Scope) -> list[Row]:
        """The groups of a key that the usage table splits sessions by: a session may be in several."""
        return self._database.rows(
            f"""
            WITH chosen AS MATERIALIZED ({self._chosen(by, scope)}), used AS ({self._used(by, scope)}),
            spent AS ({_SPENT}), part AS ({_PART})
            SELECT key, count(DISTINCT id),
                count(DISTINCT id)
                    - count(DISTINCT CASE WHEN actual NOT NULL OR estimated NOT NULL OR included THEN id END),
                count(DISTINCT CASE WHEN actual NOT NULL OR estimated NOT NULL OR included THEN id END)
                    - count(DISTINCT CASE WHEN actual NOT NULL OR estimated NOT NULL THEN id END),
                sum(actual), sum(estimated), {_each("sum(t{0})")}, 0
            FROM part GROUP BY key
            """,
            scope.parameters,
        )

    def _chosen(self, by: str, scope: _Scope) -> str:
        """SQL for the sessions in scope, as id, key, tokens and money."""
        has = self._database.columns("sessions")
        key = f"strftime('{CALENDAR[by]}', {_START}, 'unixepoch', 'localtime')" if by in CALENDAR else _key(by, has)
        return _priced({"id": "id", "key": key}, has, f"sessions WHERE {scope.condition('id', _START)}")

    def _used(self, by: str, scope: _Scope) -> str:
        """SQL for the usage of those sessions, and more when the scope is one of time: as id, main, key, and so on."""
        has = self._database.columns("session_model_usage")
        task = "task" if "task" in has else "''"
        columns = {"id": "session_id", "main": f"{task} IS ''", "key": task if by == "task" else _key(by, has)}
        return _priced(columns, has, f"session_model_usage WHERE {scope.condition('session_id')}")


def regroup(summary: CostSummary, key_of: Callable[[str], str]) -> CostSummary:
    """The same sums under fewer keys, such as ids of sessions as those of their conversations."""
    lines = [line._replace(key=key_of(line.key)) for line in summary.groups]
    return summary._replace(groups=_grouped(summary.by, lines))


class _Scope(NamedTuple):
    """Which sessions: ids as JSON, and the span of time they started in."""

    ids: str | None
    since: float | None
    until: float | None

    @property
    def parameters(self) -> list[SQLValue]:
        return [value for value in self if value is not None]

    def condition(self, id_column: str, time: str | None = None) -> str:
        """SQL over the numbered parameters; one of ids alone for a table without a time of start."""
        conditions = []
        if self.ids is not None:
            conditions.append(f"{id_column} IN (SELECT value FROM json_each(?1))")
        number = len(conditions) + 1
        for operator, bound in ((">=", self.since), ("<", self.until)):
            if bound is not None and time is not None:
                conditions.append(f"{time} {operator} ?{number}")
                number += 1
        return " AND ".join(conditions) or "1"


_START = f"""
    CASE WHEN started_at > 0 AND started_at < {LATEST_TIME} THEN started_at
    WHEN typeof(started_at) = 'text' THEN nullif(max(unixepoch(trim(started_at), 'utc'), 0), 0) END
    """
"""`values.as_time` in SQL: ISO text is local unless it names a zone."""


def _key(by: str, has: frozenset[str]) -> str:
    """SQL for a key that is a column, or no key at all; a column that is not there holds nothing."""
    if by not in COLUMN_OF_KEY:
        return "''"
    return COLUMN_OF_KEY[by] if COLUMN_OF_KEY[by] in has else "NULL"


def _each(form: str) -> str:
    """The form once for each class of tokens, which stands for {0} in it."""
    return ", ".join(form.format(number) for number in CLASSES)


def _priced(columns: Mapping[str, str], has: frozenset[str], source: str) -> str:
    """SQL for rows with these columns, then t0 to t4, actual, estimated, included, gap: `row_money`, step by step."""

    def number(name: str, largest: float) -> str:
        # Text and blobs sort above every number, so the upper bound refuses them too.
        return f"iif({name} BETWEEN 0 AND {largest}, {name}, NULL)" if name in has else "NULL"

    tokens = ", ".join(
        f"CAST(ifnull({number(name, LARGEST_COUNT)}, 0) AS INTEGER) AS t{at}" for at, name in enumerate(TOKEN_COLUMNS)
    )
    actual, estimated = (number(name, LARGEST_AMOUNT) for name in ("actual_cost_usd", "estimated_cost_usd"))
    status = "cost_status" if "cost_status" in has else "NULL"
    first = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
    return f"""
        SELECT *, status IS 'included' AND actual IS NULL AND estimated IS NULL AS included,
            actual IS NULL AND (status IS 'unknown' OR (estimated IS NULL AND status IS NOT 'included')) AS gap
        FROM (
            SELECT {", ".join(columns)}, {_each("t{0}")}, actual, status,
                iif(actual IS NULL AND (guess > 0 OR status IS 'estimated'), guess, NULL) AS estimated
            FROM (
                SELECT *, iif(paid > 0 OR status IS 'actual', paid, NULL) AS actual
                FROM (
                    SELECT {first}, {tokens}, {actual} AS paid, {estimated} AS guess, {status} AS status
                    FROM {source}
                )
            )
        )
        """


_SPENT = f"""
    SELECT id, sum(main) AS main_rows,
        {_each("sum(t{0} * main) AS main{0}")}, {_each("sum(t{0} * NOT main) AS other{0}")},
        total(main * ifnull(actual, estimated)) AS main_money,
        sum(actual) AS actual, sum(estimated) AS estimated, max(included) AS included, max(gap) AS gap
    FROM used GROUP BY id
    """
"""Usage by session. A row has an actual amount or an estimate, never both."""


def _beyond(amount: str) -> str:
    """SQL for what a session's own amount has beyond its main usage rows; NULL where it has no amount."""
    rest = f"{amount} - ifnull(main_money, 0)"
    return f"iif({rest} < {DUST}, 0, {rest})"


_ENTRY = f"""
    SELECT *, either AND NOT gap AND actual IS NULL AND estimated IS NULL AS included FROM (
        SELECT key, {_each("max(t{0}, ifnull(main{0}, 0)) + ifnull(other{0}, 0) AS t{0}")},
            iif(c.actual IS NULL, s.actual, ifnull(s.actual, 0) + {_beyond("c.actual")}) AS actual,
            iif(c.estimated IS NULL, s.estimated, ifnull(s.estimated, 0) + {_beyond("c.estimated")}) AS estimated,
            c.included OR ifnull(s.included, 0) AS either, c.gap OR ifnull(s.gap, 0) AS gap
        FROM chosen c LEFT JOIN spent s ON s.id = c.id
    )
    """

_PART = f"""
    SELECT u.id, u.key, {_each("u.t{0}")}, u.actual, u.estimated, u.included FROM used u JOIN chosen c ON c.id = u.id
    UNION ALL
    SELECT * FROM (
        SELECT c.id, c.key, {_each("max(0, t{0} - ifnull(main{0}, 0)) AS t{0}")},
            {_beyond("c.actual")} AS actual, {_beyond("c.estimated")} AS estimated, c.included
        FROM chosen c LEFT JOIN spent s ON s.id = c.id
        WHERE main_rows IS NULL OR main_rows = 0
            OR {" OR ".join(f"t{at} > main{at}" for at in CLASSES)}
            OR {_beyond("ifnull(c.actual, c.estimated)")} > 0
    )
    """
"""The usage rows, and of each session what is beyond them: all of it, where it has no main rows."""


def _money(actual: float | None, estimated: float | None, *, included: bool, gap: bool) -> Money:
    if actual is None and estimated is None:
        return Money(0.0, "included") if included and not gap else Money(None, "unknown")
    basis: Basis = "estimated" if actual is None else "actual"
    if gap or (actual is not None and estimated is not None):
        basis = "mixed"
    return Money((actual or 0.0) + (estimated or 0.0), basis)


def _amount(value: SQLValue) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value <= LARGEST_AMOUNT else None


def _as_json(session_ids: Collection[str] | None) -> str | None:
    return None if session_ids is None else json.dumps(list(session_ids), ensure_ascii=False)


def _lines(by: str, rows: Iterable[Row]) -> tuple[CostLine, ...]:
    return _grouped(by, (_line(by, row) for row in rows))


def _line(by: str, row: Row) -> CostLine:
    stored, sessions, unpriced, included, actual, estimated, *tokens, _ = row
    paid, guess = as_float(actual), as_float(estimated)
    amount = 0.0 if included else None
    if paid is not None or guess is not None:
        amount = (paid or 0.0) + (guess or 0.0)
    key = as_text(stored) or {"task": MAIN_TASK, "total": "total"}.get(by, NO_KEY)
    counts = (as_int(sessions), as_int(unpriced), as_int(included))
    return CostLine(key, amount, paid, guess, *counts, Tokens(*map(as_int, tokens)))


def _grouped(by: str, lines: Iterable[CostLine]) -> tuple[CostLine, ...]:
    """The lines with one line a key, in the order of the view."""
    by_key: dict[str, list[CostLine]] = {}
    for line in lines:
        by_key.setdefault(line.key, []).append(line)
    groups = [same[0] if len(same) == 1 else _sum(key, same) for key, same in by_key.items()]
    if by in CALENDAR:
        return tuple(sorted(groups, key=lambda line: (line.key == NO_KEY, line.key)))
    return tuple(sorted(groups, key=lambda line: (-(line.amount_usd or 0.0), -line.tokens.total, line.key)))


def _sum(key: str, lines: Sequence[CostLine]) -> CostLine:
    def known(amounts: Iterable[float | None]) -> float | None:
        there = [amount for amount in amounts if amount is not None]
        return math.fsum(there) if there else None

    return CostLine(
        key=key,
        amount_usd=known(line.amount_usd for line in lines),
        actual_usd=known(line.actual_usd for line in lines),
        estimated_usd=known(line.estimated_usd for line in lines),
        sessions=sum(line.sessions for line in lines),
        unpriced_sessions=sum(line.unpriced_sessions for line in lines),
        included_sessions=sum(line.included_sessions for line in lines),
        tokens=Tokens(
            sum(line.tokens.input for line in lines),
            sum(line.tokens.output for line in lines),
            sum(line.tokens.cache_read for line in lines),
            sum(line.tokens.cache_write for line in lines),
            sum(line.tokens.reasoning for line in lines),
        ),
    )
