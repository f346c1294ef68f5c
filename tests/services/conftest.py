"""Fixtures that tests of use cases share."""

from tests.patience import patience as patience
