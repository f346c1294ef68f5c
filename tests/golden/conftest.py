"""The public data, imported once for all golden tests: they run in one process (`tests/conftest.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.storage import embedded
from tests.golden.asking import Asked, asking
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


@pytest.fixture(scope="session")
def esa(published: Spine) -> dict[str, Any]:
    """Campaigns `esa-…`, one for each protocol of the error spans; what the import said."""
    files = {name: shared(f"esa_wmt23_ende/{name}.gz") for name in ("annotations.tsv", "texts.tsv")}
    return published.take("esa", "table", files, options={"map": "esa-annotations", "split": "protocol"})


@pytest.fixture(scope="session")
def sxs(published: Spine) -> dict[str, Any]:
    """Campaign sxs: side-by-side MQM; what the import said."""
    return published.take("sxs", "table", shared("sxs_mqm2023_ende/ratings.tsv.gz"), options={"map": "sxs-mqm"})


@pytest.fixture(scope="session")
def zhen(published: Spine) -> dict[str, Any]:
    """Campaign zhen: MQM of eight raters; what the import said."""
    data = shared("mqm_wmt23_zhen_calibration/ratings.tsv.gz")
    return published.take("zhen", "table", data, options={"map": "mqm-spans"})


@pytest.fixture(scope="session")
def cal(published: Spine) -> dict[str, Any]:
    """Campaigns `cal-…`, one for each language pair that all raters judged alike; what the import said."""
    files = {name: shared(f"da_sqm_wmt22_calibration/{name}.gz") for name in ("calibration.csv", "mapping.csv")}
    return published.take("cal", "wmt-da-sqm", files, options={"mapping": "mapping.csv", "split": "language_pair"})


@pytest.fixture(scope="session")
def asked(published: Spine) -> Iterator[Asked]:
    """The application over all of it; tests ask for the campaigns that they need beside those of `published`."""
    with asking(published) as found:
        yield found
