"""Make the pictures of README and documents anew: `make screenshots`, or `python -m screenshots.run [NAME …]`.

The demo is started on a folder that is thrown away; its seed is fixed, and what depends on the clock is hidden. Fonts
are those of the machine. `--every FOLDER` pictures every page in every look instead, for somebody to look at.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, expect, sync_playwright

from screenshots.demo import Demo, demo
from screenshots.shots import DRAWN, LOOKS, PAGES, Look, Shot, files
from screenshots.small import alike, small_png
from screenshots.steady import steady_pictures, steady_svg, steady_words

PICTURES: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
CHROMIUM: Final = Path("/usr/bin/chromium")
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE: Final = 20_000  # milliseconds
DRAWN_IN_SIGHT: Final = """
() => [...document.images].every(
  (one) => one.getBoundingClientRect().top > innerHeight || (one.complete && one.naturalWidth))
"""


def main() -> None:
    """Make all pictures of the documents, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m screenshots.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of pages; all by default")
    parser.add_argument("--every", type=Path, metavar="FOLDER", help="every page in every look, into this folder")
    asked = parser.parse_args()
    shots = [shot for shot in PAGES if shot.name in asked.names or not asked.names]
    folder = asked.every or PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with demo() as served, browser() as chromium:
        if asked.every:
            shots = [replace(shot, looks=LOOKS) for shot in [*shots, *_others(chromium, served)]]
        for shot in shots:
            for look in shot.looks:
                write(folder / shot.file(look), small_png(pictured(chromium, served, shot, look)))
        if not asked.every and not asked.names:
            for name, words in DRAWN.items():
                write(folder / name, steady_svg(served.ask(*words)))
            for left_over in {path.name for path in folder.iterdir()} - files():
                (folder / left_over).unlink()


@contextmanager
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield found
        found.close()


@contextmanager
def signed_in(chromium: Browser, served: Demo, who: str, look: Look) -> Iterator[Page]:
    """A page of a look, behind the link of the manager or the rater."""
    context = chromium.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(served.manager if who == "manager" else served.rater)
    page.wait_for_url("**/campaigns/**" if who == "manager" else "**/rate*")
    yield page
    context.close()


def pictured(chromium: Browser, served: Demo, shot: Shot, look: Look) -> bytes:
    """A page as it is seen, as PNG."""
    with signed_in(chromium, served, shot.who, look) as page:
        steady_pictures(page)
        page.goto(served.origin + shot.address)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        shot.ready(page)
        steady_words(page, shot.hidden)
        if shot.top:
            page.locator(shot.top).first.evaluate("one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 12)")
        page.mouse.move(0, 0)
        page.wait_for_function(DRAWN_IN_SIGHT)
        picture = page.screenshot(animations="disabled")
        page.unroute_all(behavior="wait")
        return picture


def _others(chromium: Browser, served: Demo) -> Sequence[Shot]:
    """The pages that no document shows: the ways of the demo campaign, and those beside it."""
    with signed_in(chromium, served, "manager", LOOKS[0]) as page:
        page.goto(f"{served.origin}/campaigns/demo")
        ways = page.locator(".sidebar a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    of_raters = ("/rate/guidelines", "/rate/hours", "/rate/codes", "/rate/consent", "/rate/test")
    staff = [*ways, "/campaigns", "/new-campaign", "/tokens", "/audit"]
    return [
        *(Shot(f"manager{way.replace('/', '-')}", way, LOOKS) for way in staff),
        *(Shot(f"rater{way.replace('/', '-')}", way, LOOKS, who="rater") for way in of_raters),
    ]


def write(path: Path, picture: bytes) -> None:
    """Write a picture and say so; one that looks as before stays as it is."""
    if not (path.suffix == ".png" and path.exists() and alike(path.read_bytes(), picture)):
        path.write_bytes(picture)
    print(f"{path.name}: {len(picture) / 1024:,.0f} kB")


if __name__ == "__main__":
    main()
