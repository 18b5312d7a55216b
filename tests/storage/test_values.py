"""Values of any storage class."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.values import SQLValue, as_float, as_int, as_text, as_time

anything: st.SearchStrategy[SQLValue] = st.none() | st.text() | st.binary() | st.integers() | st.floats()


@given(anything)
def test_nonsense_never_raises(value: SQLValue) -> None:
    assert as_text(value) is None or isinstance(as_text(value), str)
    assert isinstance(as_int(value), int)
    assert as_float(value) is None or math.isfinite(as_float(value) or 0.0)
    assert as_time(value) is None or (as_time(value) or 0.0) > 0


@pytest.mark.parametrize("value", [0, -1.0, 1e300, float("nan"), float("inf"), "soon", b"\xff", 253402300800])
def test_times_no_session_can_have_are_unknown(value: SQLValue) -> None:
    assert as_time(value) is None


def test_a_time_may_be_text() -> None:
    """Imported history stores ISO text in REAL columns (#14399)."""
    assert as_time("1780000000") == 1_780_000_000.0
    assert as_time("2026-04-09T12:00:00+00:00") == 1_775_736_000.0
    assert as_time("2026-04-09T12:00:00") == time.mktime((2026, 4, 9, 12, 0, 0, 0, 0, -1))


def test_text_that_is_not_utf8_keeps_its_readable_part() -> None:
    assert as_text(b"a\xffb") == "a\ufffdb"
