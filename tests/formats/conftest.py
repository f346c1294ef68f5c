"""How the tests of formats read and write: bytes in, records and log out."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app import formats
from app.formats.base import InputFile, JudgmentRow, LineLocation, ReadContext, ReaderLimits, ReadLog, Record

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
NOWHERE = LineLocation("", 0)


@dataclass(frozen=True)
class Found:
    """What a reader gave."""

    records: list[Record]
    log: ReadLog

    def of(self, kind: type[Any]) -> list[Any]:
        return [r for r in self.records if isinstance(r, kind)]

    @property
    def judgments(self) -> list[JudgmentRow]:
        return self.of(JudgmentRow)

    @property
    def plain(self) -> list[Record]:
        """The records without where they were read."""
        return [replace(r, at=NOWHERE) for r in self.records]


Files = Mapping[str, bytes] | bytes
Read = Callable[..., Found]
Write = Callable[..., bytes]
Parts = Callable[..., dict[str, Found]]


@pytest.fixture(scope="session")
def read() -> Read:
    """Read bytes, or named files together."""

    def reading(
        name: str, files: Files, *, skip: bool = False, limits: ReaderLimits | None = None, **options: str
    ) -> Found:
        named = files if isinstance(files, Mapping) else {"file": files}
        inputs = [InputFile(n, lambda data=data: io.BytesIO(data)) for n, data in named.items()]
        log = ReadLog(skip_bad_lines=skip)
        reader = formats.get_format(name).read
        assert reader is not None
        return Found(list(reader(inputs, ReadContext(options, limits or ReaderLimits()), log)), log)

    return reading


@pytest.fixture(scope="session")
def parts() -> Parts:
    """Read named files together as several campaigns, by the value that tells them apart."""

    def reading(name: str, files: Mapping[str, bytes], **options: str) -> dict[str, Found]:
        inputs = [InputFile(n, lambda data=data: io.BytesIO(data)) for n, data in files.items()]
        log = ReadLog()
        reader = formats.get_format(name).parts
        assert reader is not None
        found = reader(inputs, ReadContext(options, ReaderLimits()), log)
        return {value: Found(list(records), log) for value, records in found}

    return reading


@pytest.fixture(scope="session")
def write() -> Write:
    """Write records to bytes."""

    def writing(name: str, records: Iterable[Record], lost: Counter[str] | None = None) -> bytes:
        writer = formats.get_format(name).write
        assert writer is not None
        return b"".join(writer(records, lost))

    return writing


@pytest.fixture(scope="session")
def data() -> Callable[[str], bytes]:
    """A file of the public data beside the repository; skips where the folder is absent."""

    def reading(path: str) -> bytes:
        if not DATA.is_dir():
            pytest.skip(f"the public data is not beside the repository ({DATA.name} is absent)")
        return (DATA / path).read_bytes()

    return reading
