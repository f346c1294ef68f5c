"""Servers of these tests wait for locks and connections as long as a slow machine needs.

That an overloaded service sends raters back within two seconds is tested in tests/web/test_overload.py.
"""

from __future__ import annotations

from tests.patience import patience as patience  # a fixture
