"""What holds for every format, whichever there are."""

from __future__ import annotations

import pytest

from app.domain.errors import Invalid, NotFound
from app.formats import ALL, get_format
from app.formats.base import ReadContext, ReaderLimits, ReadLog


def test_an_unknown_format_is_not_found_and_those_there_are_are_named() -> None:
    with pytest.raises(NotFound, match=", ".join(sorted(ALL))):
        get_format("no-such")
    assert {"csv", "esa", "jsonl", "mqm-tsv", "table", "text", "wmt-da"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_format_says_what_it_is_and_can_do_something(name: str) -> None:
    assert ALL[name].name == name
    assert ALL[name].title
    assert ALL[name].read or ALL[name].write


@pytest.mark.parametrize("name", [n for n, f in ALL.items() if f.read])
def test_every_reader_refuses_an_option_that_it_does_not_know(name: str) -> None:
    reader = ALL[name].read
    assert reader is not None
    with pytest.raises(Invalid, match="no-such"):
        list(reader([], ReadContext({"no-such": "1"}, ReaderLimits()), ReadLog()))
