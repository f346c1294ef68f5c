"""What of a page lies beyond the screen's edge, by name."""

from __future__ import annotations

from playwright.sync_api import Page

# What scrolls or cuts off what it holds keeps it within its own edge. Where the page is wider than the screen and
# nothing in it is, the sizes that the browser works with are told instead.
BEYOND = """() => {
  const root = document.documentElement;
  const edge = root.clientWidth;
  if (root.scrollWidth <= edge) return [];
  const kept = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const told = (element, right) =>
    `${element.tagName.toLowerCase()}#${element.id}.${element.getAttribute("class") ?? ""} to ${Math.round(right)}: ` +
    element.textContent.trim().slice(0, 40);
  const wide = [...document.body.querySelectorAll("*")]
    .map((element) => [element, element.getBoundingClientRect().right])
    .filter(([element, right]) => right > edge + 0.5 && !kept(element))
    .map(([element, right]) => told(element, right));
  const sizes = { page: root.scrollWidth, edge, window: innerWidth, outer: outerWidth, scrolled: scrollX,
    body: document.body.scrollWidth, zoom: visualViewport.scale, seen: visualViewport.width };
  return [`the page is ${root.scrollWidth} wide, the screen ${edge}`, ...wide.slice(0, 8),
    ...(wide.length ? [] : [JSON.stringify(sizes)])];
}"""


def beyond(page: Page) -> list[str]:
    """What lies beyond, widths in pixels; empty where the page is as wide as the screen."""
    told: list[str] = page.evaluate(BEYOND)
    return told


WIDTHS = (1136, 390)


def widths_beyond(page: Page) -> dict[int, list[str]]:
    """What of the page lies beyond the screen's edge, by the screen's width."""
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if wide := beyond(page):
            found[width] = wide
    return found
