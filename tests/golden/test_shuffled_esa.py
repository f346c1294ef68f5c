"""Exports of error span annotation, shuffled: the order of rows reaches no report and no export."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from app.storage import embedded
from tests.formats.test_public_flat import raw_export
from tests.spine import SHARED, fresh

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


def test_two_shuffled_imports_give_the_same_bytes_and_a_point_more_is_seen(
    postgres: embedded.EmbeddedServer, migrated_template: str, lines: list[bytes]
) -> None:
    n = next(n for n, line in enumerate(lines) if b",TGT,eng,deu,80," in line)
    changed = [*lines[:n], lines[n].replace(b",deu,80,", b",deu,81,"), *lines[n + 1 :]]
    with (
        fresh(postgres, migrated_template) as one,
        fresh(postgres, migrated_template) as other,
        fresh(postgres, migrated_template) as control,
    ):
        one.take("esa", "esa", shuffled(lines, 1))
        other.take("esa", "esa", shuffled(lines, 2))
        control.take("esa", "esa", shuffled(changed, 1))
        report, written = one.body("esa", "recommended"), one.export("esa", "esa")
        assert other.body("esa", "recommended") == report
        assert other.export("esa", "esa") == written
        assert control.body("esa", "recommended") != report
        assert control.export("esa", "esa") != written
        assert len(written.splitlines()) > 1400


def test_out_and_in_again_gives_the_same_export_and_the_same_scores(
    postgres: embedded.EmbeddedServer, migrated_template: str, lines: list[bytes]
) -> None:
    with fresh(postgres, migrated_template) as one, fresh(postgres, migrated_template) as other:
        one.take("esa", "esa", b"".join(lines))
        written = one.export("esa", "esa")
        other.take("esa", "esa", written)
        assert other.export("esa", "esa") == written
        assert other.body("esa", "recommended") == one.body("esa", "recommended")
