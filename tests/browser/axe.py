"""axe-core in a page: read into it once, however many looks it is checked in."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

EVERY_LOOK = "EVERY_LOOK"  # variable of the environment with which everything is looked at in full, as in the soak
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
OF_LOOKS = ("color-contrast", "target-size")
"""Rules whose answer the style decides: they take three times as long as the hundred that read the document."""
OF_DOCUMENT = {**RULES, "rules": {rule: {"enabled": False} for rule in OF_LOOKS}}
# Only what is wrong comes back: what is right is as long as the page, and nobody reads it.
RUN = "rules => (globalThis.axe ? axe.run(rules).then((found) => found.violations) : null)"


def violations(page: Page, *, of_looks: bool = True) -> list[dict[str, Any]]:
    """What axe-core finds wrong on a page as it stands; of_looks: also by the rules that depend on its look."""
    rules = RULES if of_looks else OF_DOCUMENT
    found = page.evaluate(RUN, rules)
    if found is None:  # another document since the last time
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(RUN, rules)
    assert isinstance(found, list)
    return found
