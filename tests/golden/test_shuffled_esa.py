"""Exports of error span annotation, shuffled: the order of rows reaches no report and no export."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from app.storage import embedded
from tests.formats.test_public_flat import raw_export
from tests.spine import SHARED, Spine, fresh, opened

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    _, export = raw_export(lambda path: (SHARED / "data" / path).read_bytes(), "ESA-1")
    return export.splitlines(keepends=True)


def shuffled(lines: Sequence[bytes], seed: int) -> bytes:
    return b"".join(random.Random(seed).sample(lines, len(lines)))


@pytest.fixture(scope="module")
def one(postgres: embedded.EmbeddedServer, migrated_template: str, lines: list[bytes]) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("esa", "esa", shuffled(lines, 1))
        yield spine


@pytest.fixture
def other(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as spine:
        yield spine


def test_two_shuffled_imports_give_the_same_bytes(one: Spine, other: Spine, lines: list[bytes]) -> None:
    other.take("esa", "esa", shuffled(lines, 2))
    assert other.body("esa", "recommended") == one.body("esa", "recommended")
    assert other.export("esa", "esa") == one.export("esa", "esa")
    assert len(one.export("esa", "esa").splitlines()) > 1400


@pytest.mark.soak
def test_a_point_more_is_seen(one: Spine, other: Spine, lines: list[bytes]) -> None:
    """The negative control."""
    n = next(n for n, line in enumerate(lines) if b",TGT,eng,deu,80," in line)
    changed = [*lines[:n], lines[n].replace(b",deu,80,", b",deu,81,"), *lines[n + 1 :]]
    other.take("esa", "esa", shuffled(changed, 1))
    assert other.body("esa", "recommended") != one.body("esa", "recommended")
    assert other.export("esa", "esa") != one.export("esa", "esa")


def test_out_and_in_again_gives_the_same_export_and_the_same_scores(one: Spine, other: Spine) -> None:
    written = one.export("esa", "esa")
    other.take("esa", "esa", written)
    assert other.export("esa", "esa") == written
    assert other.body("esa", "recommended") == one.body("esa", "recommended")
