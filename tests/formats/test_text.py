"""Parallel plain-text files become one test set, and every fault names its file and line."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import formats
from app.domain.errors import Invalid
from app.formats.base import (
    DocumentRecord,
    InputFile,
    OutputRow,
    ReadContext,
    ReaderLimits,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)

FILES = {
    "source.en.txt": "One.\nTwo.\nThree.\n",
    "ref.A.de": "Eins.\nZwei.\nDrei.\n",
    "set.docs": "d1\tnews\nd1\tnews\nd2\ttalks\n",
    "Online-W.txt": "Eins!\n\nDrei!\n",
    "my system.txt": "1\n2\n3\n",
}


def read(files: dict[str, str | bytes], **options: str) -> tuple[list[Record], ReadLog]:
    inputs = [
        InputFile(name, lambda data=data: io.BytesIO(data if isinstance(data, bytes) else data.encode()))
        for name, data in files.items()
    ]
    log = ReadLog()
    reader = formats.get_format("text").read
    assert reader is not None
    return list(reader(inputs, ReadContext(options, ReaderLimits()), log)), log


def test_the_files_are_told_apart_by_their_names() -> None:
    records, log = read(dict(FILES))

    assert [(r.key, r.domain, r.position) for r in records if isinstance(r, DocumentRecord)] == [
        ("d1", "news", 1),
        ("d2", "talks", 2),
    ]
    segments = [r for r in records if isinstance(r, SegmentRow)]
    assert [(r.document, r.position, r.source, dict(r.references or {})) for r in segments] == [
        ("d1", 1, "One.", {"a": "Eins."}),
        ("d1", 2, "Two.", {"a": "Zwei."}),
        ("d2", 1, "Three.", {"a": "Drei."}),
    ]
    assert {r.name for r in records if isinstance(r, SystemRecord)} == {"Online-W", "my system"}
    assert list(log.mapped["system"].values()) == ["my system"]


def test_an_empty_line_of_a_system_is_an_empty_output() -> None:
    records, _ = read(dict(FILES))

    texts = [r.text for r in records if isinstance(r, OutputRow) and r.system == "Online-W"]

    assert texts == ["Eins!", "", "Drei!"]


def test_options_say_which_file_is_what_where_names_do_not() -> None:
    files = {"a.txt": "x\ny\n", "b.txt": "1\n2\n", "c.txt": "q\nr\n", "Human": "h\ni\n"}

    records, _ = read(files, source="a.txt", reference="b.txt", document="talk", human="Human")

    assert [r.source for r in records if isinstance(r, SegmentRow)] == ["x", "y"]
    assert {(r.name, r.kind) for r in records if isinstance(r, SystemRecord)} == {("c", "mt"), ("Human", "human")}
    assert {r.document for r in records if isinstance(r, SegmentRow)} == {"talk"}


def test_lines_that_have_nothing_to_do_with_each_other_are_documents_of_their_own() -> None:
    files = {"source.txt": "One.\nTwo.\n", "a.txt": "x\ny\n"}

    records, _ = read(files, lines="documents")

    assert [(r.document, r.position, r.source) for r in records if isinstance(r, SegmentRow)] == [
        ("text-1", 1, "One."),
        ("text-2", 1, "Two."),
    ]
    for more, options in (
        ({}, {"lines": "x"}),
        ({}, {"lines": "documents", "document": "d"}),
        ({"docs": "d\nd\n"}, {}),
    ):
        with pytest.raises(Invalid, match="option lines"):
            read({**files, **more}, **{"lines": "documents", **options})


@pytest.mark.parametrize(
    ("changes", "file", "line"),
    [
        ({"Online-W.txt": "Eins!\n"}, "Online-W.txt", 2),
        ({"set.docs": "d1\n\nd2\n"}, "set.docs", 2),
        ({"ref.A.de": b"Eins.\n\xff\nDrei.\n"}, "ref.A.de", 2),
        ({"my system.txt": gzip.compress(b"1\n2\n3\n")[:-6]}, "my system.txt", 0),
    ],
)
def test_a_fault_names_its_file_and_line(changes: dict[str, str | bytes], file: str, line: int) -> None:
    with pytest.raises(Invalid) as raised:
        read({**FILES, **changes})

    assert any(place.loc[0] == file and (not line or place.loc[1] == line) for place in raised.value.places)


def test_an_option_that_names_no_file_is_refused() -> None:
    with pytest.raises(Invalid) as raised:
        read(dict(FILES), source="nowhere")

    assert raised.value.places[0].loc == ("options", "source")


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=("Cs",))), min_size=1))
def test_any_text_comes_through_but_for_white_space_at_its_ends(texts: list[str]) -> None:
    body = "".join(f"{text}\n" for text in texts)

    records, _ = read({"src": "x\n" * len(texts), "A": "\ufeff" + body})

    assert [r.text for r in records if isinstance(r, OutputRow)] == [text.strip() for text in texts]
