"""Lines in runs: what is read and what is said of it, in its order, as where lines are looked at one by one."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats._base import At, Input, Limits, ReadLog
from app.formats._reading import lines, runs
from app.formats.mqm_tsv import route

LIMITS = Limits(line_bytes=12)
LINE = st.sampled_from(
    [b"a", b"\xc3\xa9", b"", b"\r", b"a\r", b"a\r\r", b"\0", b"a\0\r", b"\xff", b"ab\xed\xa0\x80", b"x"]
)
Said = list[tuple[int, str]]


def one_by_one(data: bytes, *, empty: bool) -> tuple[Said, Said]:
    """The slow, obvious twin: good lines, and everything in the order in which it is met."""
    good: Said = []
    met: Said = []
    blank = 0
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        if blank:
            met.append((blank, "the line is empty"))
        blank = 0
        raw = line.removesuffix(b"\r")
        if not raw and not empty:
            blank = number
        elif b"\0" in raw:
            met.append((number, f"there is a NUL at character {raw.index(0) + 1}"))
        elif b"\xff" in raw or b"\xed" in raw:
            met.append((number, "not valid UTF-8"))
        else:
            good.append((number, raw.decode()))
            met.append((number, "taken"))
    return good, met


@given(st.lists(LINE, max_size=12), st.booleans(), st.booleans())
def test_runs_are_the_lines_and_faults_between_them_come_in_their_order(
    found: list[bytes], empty: bool, ended: bool
) -> None:
    data = b"\n".join(found) + (b"\n" if ended and found else b"")
    file, log = Input("f", lambda: io.BytesIO(data)), ReadLog(skip_bad_lines=True)
    for first, run in runs(file, LIMITS, log, empty=empty):
        assert run
        for number in range(first, first + len(run)):
            log.bad_line(At("f", number), "taken")
    good, met = one_by_one(data, empty=empty)
    said = [(int(place.loc[1]), place.msg) for place in log.bad]
    assert [number for number, _ in said] == [number for number, _ in met]
    assert all(why.startswith(expected) for (_, why), (_, expected) in zip(said, met, strict=True))
    assert list(lines(file, LIMITS, ReadLog(skip_bad_lines=True), empty=empty)) == good


def test_the_lines_before_one_that_is_too_long_are_given() -> None:
    file = Input("f", lambda: io.BytesIO(b"a\r\nb\r\n" + b"x" * 13 + b"\nc\n"))
    taken: list[str] = []
    with pytest.raises(Invalid, match="longer than 12 bytes"):
        taken.extend(line for _, run in runs(file, LIMITS, ReadLog()) for line in run)
    assert taken == ["a", "b"]


def test_lines_are_told_by_their_documents_whatever_else_is_wrong_with_them() -> None:
    about, is_data = route(At("f", 1), "A\td 1\t1\t0\tr\ts\tt\tX\tMinor\t", ReadLog())
    assert is_data
    assert about(["A\td 1\t1", "B\t d 2 \t1"]) == ["d 1", "d 2"]
    assert about(["A\td 1\t1", "", "oops", "B\td 2"]) == ["d 1", "", "", "d 2"]
    assert about([]) == []
