"""Facts about comments that all packages share."""

from __future__ import annotations

LONGEST_COMMENT = 4000
"""Maximum number of characters in a comment on an output or a screen."""
ON_OUTPUT, ON_SCREEN = "textfield", "comment"
"""Their names in files, as members of the additional data of a judgment; these are the names in Pearmut's logs."""
