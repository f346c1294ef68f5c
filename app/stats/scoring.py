"""Weights of marked errors: profiles, most specific match first.

Sources: Riley et al. 2024 §4.1 and Freitag et al. 2021 (weights); WMT24 general task scripts (exceptions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WeightProfile:
    """A table `severity/category/subcategory` (any prefix, lower case) → weight."""

    name: str
    weights: Mapping[str, float]
