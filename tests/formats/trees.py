"""Records to files and back, for formats that are several files or need all contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app import formats
from app.formats.base import CampaignContents, Record, ShownOutputRow


def contents(records: Sequence[Record], shown: Sequence[ShownOutputRow] = ()) -> CampaignContents:
    """A campaign at hand."""
    return CampaignContents("talks", lambda: iter(records), lambda: iter(shown))


def tree(name: str, found: CampaignContents, lost: Counter[str] | None = None) -> dict[str, bytes]:
    """All files of a format that is several."""
    write = formats.get_format(name).write_file_tree
    assert write is not None
    return {path: b"".join(chunks) for path, chunks in write(found, Counter() if lost is None else lost)}


def book(name: str, found: CampaignContents, lost: Counter[str] | None = None) -> bytes:
    """The file of a format that needs all contents."""
    write = formats.get_format(name).write_book
    assert write is not None
    return b"".join(write(found, Counter() if lost is None else lost))
