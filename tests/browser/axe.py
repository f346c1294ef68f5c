"""axe-core in a page: read into it once, however many looks it is checked in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT as RELEASED
from playwright.sync_api import Page

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
OF_COLOURS = ("color-contrast",)
"""Rules whose answer is the same in every language."""
# It reads each colour anew for each element that has it or lies over it, which is a third of its time on our pages.
READS = 'key:"parseString",value:function(t){'
READ = """key:"parseString",value:function(t){
    const read = (globalThis.readColours ??= new Map());
    if (!read.has(t)) {
        this.parseUnread(t);
        read.set(t, [this.r, this.g, this.b, this.alpha]);
    }
    [this.r, this.g, this.b, this.alpha] = read.get(t);
    return this;
}},{key:"parseUnread",value:function(t){"""
assert RELEASED.count(READS) == 1, "axe-core reads colours elsewhere"
AXE_SCRIPT = RELEASED.replace(READS, READ)
# Only what is wrong comes back: what is right is as long as the page, and nobody reads it.
RUN = "rules => (globalThis.axe ? axe.run(rules).then((found) => found.violations) : null)"


def violations(page: Page, *, but: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What axe-core finds wrong on a page as it stands; but: by all rules other than these."""
    rules = {**RULES, "rules": {name: {"enabled": False} for name in but}}
    found = page.evaluate(RUN, rules)
    if found is None:  # another document since the last time
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(RUN, rules)
    assert isinstance(found, list)
    return found
