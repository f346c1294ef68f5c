"""Servers of these tests wait for locks and connections as long as a slow machine needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.patience import patient


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """That an overloaded service sends raters back within two seconds is tested in tests/web/test_overload.py."""
    with patient():
        yield
