"""What is known of comments everywhere."""

from __future__ import annotations

LONGEST_COMMENT = 4000
"""Characters of a comment on an output or a screen."""
ON_OUTPUT, ON_SCREEN = "textfield", "comment"
"""Where files have them: members of what else is kept with a judgment, named as Pearmut's logs name them."""
