"""The external sort: order, bounds, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.formats.kit.sorting import ExternalSorter

LINES = st.binary(max_size=20).filter(lambda b: b"\n" not in b)


@given(st.lists(LINES, max_size=60), st.integers(1, 400), st.integers(2, 4))
def test_it_gives_what_it_took_in_order(entries: list[bytes], run_bytes: int, fan_in: int) -> None:
    with ExternalSorter(run_bytes, fan_in) as sorter:
        for entry in entries:
            sorter.add(entry)
        assert list(sorter) == sorted(entries)


def test_fields_joined_by_nul_sort_field_by_field_and_text_by_code_point() -> None:
    fields = [("a", "z"), ("a b", "a"), ("a", "é"), ("é", ""), ("", "x"), ("🐶", ""), ("\uffff", "")]
    with ExternalSorter() as sorter:
        for pair in fields:
            sorter.add("\0".join(pair).encode())
        assert [tuple(entry.decode().split("\0")) for entry in sorter] == sorted(fields)


def test_memory_stays_bounded_and_the_file_is_gone_afterwards() -> None:
    gc.collect()  # what earlier tests left open is closed as it is collected, at any time
    before = _open_files()
    tracemalloc.start()
    with ExternalSorter(run_bytes=1 << 19) as sorter:
        for i in range(100_000):
            sorter.add(b"%08d" % (i * 7919 % 100_000) + b"x" * 100)
        n = sum(1 for _ in sorter)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 100_000
    assert peak < 6 << 20, "11 MB went through"
    assert _open_files() <= before


def _open_files() -> set[str]:
    """The files that this process has open, none where the system does not say."""
    folder = Path("/proc/self/fd")
    found = set()
    for file in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # of the folder that is being read
            found.add(str(file.readlink()))
    return found


def test_long_entries_are_merged_few_at_a_time() -> None:
    tracemalloc.start()
    with ExternalSorter(run_bytes=1 << 20) as sorter:
        for i in range(120):
            sorter.add(b"%03d" % (i * 77 % 120) + b"x" * (1 << 19))
        order = [entry[:3] for entry in sorter]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert order == sorted(order)
    assert len(order) == 120
    assert peak < 32 << 20, "60 MB went through"
