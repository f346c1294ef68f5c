"""How many examples are drawn where one takes long."""

from __future__ import annotations

from hypothesis import settings


def few(examples: int) -> int:
    """So many in `make test`, and as many as the profile says in `make soak`."""
    chosen = settings().max_examples
    return examples if chosen == settings.get_profile("patient").max_examples else chosen
