"""The public data, imported once for all golden tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.storage import embedded
from tests.spine import BN_HI, CS_EN, CS_EN_Z, HI_BN, SHARED, TED, Spine, fresh, shared


@pytest.fixture(scope="session")
def published(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    """Campaigns ted, bn-hi, hi-bn, cs-en (raw) and cs-en-z (standardised), each from its public file."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the public data are not beside the repository: shared/data")
    with fresh(postgres, migrated_template) as spine:
        spine.take("ted", "mqm-tsv", shared(TED))
        for key, path in (("bn-hi", BN_HI), ("hi-bn", HI_BN), ("cs-en", CS_EN)):
            spine.take(key, "wmt-da", shared(path))
        spine.take("cs-en-z", "wmt-da", shared(CS_EN_Z), options={"scale": "z"})
        yield spine
