"""What depends on the clock or on chance is taken out of what is pictured, so that the same program gives the same."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Page, Route

# How many answers one commit took depends on how busy the machine was, and with it the number of the data version.
VERSION: Final = re.compile(r"([Dd]ata version) [\d,]+")
DRAWN: Final = re.compile(r"/campaigns/.*\.svg")
UNTOLD: Final = r"\1 …"
WORDS: Final = """
([hidden, pattern, untold]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(new RegExp(pattern, "g"), untold);
  for (const one of document.querySelectorAll(hidden.join(",") || "nothing")) one.style.visibility = "hidden";
}
"""


def steady_svg(picture: bytes) -> bytes:
    """A drawn report without its data version.

    >>> steady_svg("21 documents. Data version 918, seed 1".encode()).decode()
    '21 documents. Data version …, seed 1'
    """
    return VERSION.sub(UNTOLD, picture.decode()).encode()


def steady_pictures(page: Page) -> None:
    """Have the drawn reports of all pages to come without their data version."""

    def pass_on_back_translations(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=steady_svg(answer.body()))

    page.route(DRAWN, pass_on_back_translations)


def steady_words(page: Page, hidden: tuple[str, ...]) -> None:
    """Take the data version out of what stands on a page, and hide what tells of a clock."""
    page.evaluate(WORDS, [hidden, VERSION.pattern, "$1 …"])
