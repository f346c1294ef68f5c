"""What is known of comments everywhere."""

from __future__ import annotations

LONGEST_COMMENT = 4000
"""Characters of a comment on an output or a screen."""
