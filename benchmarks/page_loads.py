"""How fast managers' pages are there, and whether they shift: `python -m benchmarks.page_loads [--before CHECKOUT]`.

Each page of a campaign of 60 systems, 2,000 raters, 400 segments and 96,000 judgments is opened in Chromium, in turn
from this checkout and from another one with a `.venv` of its own. Told are the largest contentful paint, when all that
the page reads is shown, and the cumulative layout shift, also on a phone; medians over the repeats.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import httpx
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as BrowserTimeout

from app.storage import embedded
from benchmarks import pages
from benchmarks.children import ROOT
from benchmarks.page_data import KEY, RATINGS, fill
from benchmarks.processes import load_average

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
WIDE, PHONE = (1280, 900), (390, 844)
GOAL_RATIO, GOAL_SHIFT, GOAL_SHOWN = 1.5, 0.1, 1000
LONG: Final = 120_000  # milliseconds, for data that are first computed on request
WATCH: Final = """
window.seen = { paint: 0, shift: 0 };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) seen.paint = Math.max(seen.paint, entry.startTime);
}).observe({ type: "largest-contentful-paint", buffered: true });
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
# Two frames after the page has finished reading, by the page's own clock.
SHOWN: Final = """() => new Promise((done) => {
  const look = () => document.querySelector("[aria-busy=true]") ? requestAnimationFrame(look)
    : requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
  look();
})"""
PAGES: Final = (
    *("/campaigns", "/tokens", "/audit"),
    *(
        f"/campaigns/{KEY}{end}"
        for end in (
            *(
                "/overview",
                "/texts",
                "/items",
                "/items?document=news-1",
                "/items?document=news-1&system=system-1",
                "/guidelines",
                "/raters",
            ),
            *("/invitations", "/quality", "/exclusions", "/problems", "/design", "/lock", "", "/recipes", "/reports"),
            *(
                "/reports/agreement",
                "/gate",
                "/series",
                "/print",
                "/exports",
                "/jobs",
                "/questionnaires",
                "/tutorial",
                "/qualification",
                "/wording",
                "/webhooks",
                "/protocol",
                "/replan",
                "/settings",
                "/clone",
                "/audit",
            ),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a page. paint, shown: milliseconds; shift: cumulative, without a unit."""

    paint: float
    shown: float
    shift: float


@contextmanager
def served(checkout: Path, ratings: int) -> Iterator[str]:
    """Serve the large campaign from a checkout; yield a link that signs in an admin."""
    python = str(checkout / ".venv" / "bin" / "python")
    program = [python, "-c", "from app.cli import main; main()"]
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="plumbline-bench-")))
        folder.chmod(0o711)
        server = opened.enter_context(embedded.start_server(folder / "data"))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
        environment |= {"PLUMBLINE_DATABASE_URL": server.url("owner"), "PLUMBLINE_DATA_DIR": str(folder / "own")}
        log = opened.enter_context((folder / "log").open("wb"))
        origin = f"http://127.0.0.1:{(port := free_port())}"
        serve = [*program, "serve", "--port", str(port)]
        process = subprocess.Popen(serve, cwd=checkout, env=environment, stdout=log, stderr=log)
        opened.callback(process.wait, 30)
        opened.callback(process.terminate)
        wait_until_ready(f"{origin}/readyz", process)
        fill(server.url("owner"), ratings)
        create = [*program, "token", "create", "--role", "admin"]
        secret = subprocess.run(create, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        yield f"{origin}/#token={secret.stdout.strip()}"


def free_port() -> int:
    """Return a free port on the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until an address answers 200. Raises RuntimeError if the process ends, and TimeoutError."""
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the service ended before it was ready")
        try:
            if httpx.get(address, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise TimeoutError("the service does not start")


@contextmanager
def visitor(browser: Browser, link: str, size: tuple[int, int]) -> Iterator[Page]:
    """Open a signed-in page in a window of the given size."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, locale="en-GB")
    context.set_default_timeout(LONG)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(link)
    page.wait_for_url("**/campaigns")
    yield page
    context.close()


def load(page: Page, address: str) -> Load | None:
    """Open a page and wait until it is shown; None if there is no such page, for example in another version."""
    page.goto("about:blank")
    answer = page.goto(address)
    if answer is None or answer.status != httpx.codes.OK:
        return None
    try:
        shown = float(page.evaluate(SHOWN))
    except BrowserTimeout:
        return None
    page.wait_for_timeout(300)
    seen = page.evaluate("window.seen")
    return Load(float(seen["paint"]), shown, float(seen["shift"]))


def measure(
    browser: Browser, links: Sequence[str], repeats: int, paths: Sequence[str] = PAGES
) -> Iterator[tuple[str, list[list[Load]]]]:
    """Yield each page with its loads from each service in a wide window, and from the first service on a phone."""
    with ExitStack() as opened:
        visitors = [opened.enter_context(visitor(browser, link, WIDE)) for link in links]
        phone = opened.enter_context(visitor(browser, links[0], PHONE))
        for path in paths:
            loads: list[list[Load]] = [[] for _ in range(len(links) + 1)]
            for n in range(repeats + 1):
                for i, (page, link) in enumerate(zip([*visitors, phone], [*links, links[0]], strict=True)):
                    seen = load(page, link.partition("/#")[0] + path)
                    if seen is not None and n:  # the first load computes what the others find
                        loads[i].append(seen)
            yield path, loads


def table(taken: Iterable[tuple[str, list[list[Load]]]]) -> Iterator[str]:
    """Yield the lines of the page's table; `before` is the second service, if there is one."""
    yield f"{load_average()}."
    yield ""
    yield "| page | largest paint, ms | before, ms | ratio | all shown, ms | before, ms | shift | shift on a phone |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    worst_ratio = worst_shift = 0.0
    for path, (now, *before, phone) in taken:
        if not now:
            yield f"| `{path}` | not shown within {LONG // 1000} s | – | – | – | – | – | – |"
            continue
        paint, shown = (median(getattr(one, name) for one in now) for name in ("paint", "shown"))
        shift, small = (max((one.shift for one in loads), default=0.0) for loads in (now, phone))
        old = before[0] if before else []
        old_paint = median(one.paint for one in old) if old else None
        old_shown = f"{median(one.shown for one in old):.0f}" if old else "–"
        ratio = paint / old_paint if old_paint else None
        worst_ratio, worst_shift = max(worst_ratio, ratio or 0.0), max(worst_shift, shift, small)
        told = (f"{old_paint:.0f}", f"{ratio:.2f}") if old_paint and ratio else ("–", "–")
        figures = (f"{paint:.0f}", *told, f"{shown:.0f}", old_shown, f"{shift:.3f}", f"{small:.3f}")
        yield f"| `{path}` | {' | '.join(figures)} |"
    yield ""
    yield f"The largest ratio is {worst_ratio:.2f} (goal ≤ {GOAL_RATIO})."
    yield f"The largest shift is {worst_shift:.3f} (goal < {GOAL_SHIFT})."


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_loads", description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout with a .venv, to compare with")
    parser.add_argument("--only", nargs="*", metavar="PART", help="pages whose address has one of these parts")
    parser.add_argument("--repeats", type=int, default=3, help="openings of each page")
    parser.add_argument("--ratings", type=int, default=RATINGS, help="of an output; 24,000 judgments each")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `page loads`")
    asked = parser.parse_args()
    paths = [path for path in PAGES if not asked.only or any(part in path for part in asked.only)]
    checkouts = [ROOT, *([asked.before.resolve()] if asked.before else [])]
    with ExitStack() as opened:
        links = [opened.enter_context(served(checkout, asked.ratings)) for checkout in checkouts]
        driver = opened.enter_context(sync_playwright())
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        opened.callback(browser.close)
        lines = []
        for line in table(measure(browser, links, asked.repeats, paths)):
            print(line, flush=True)
            lines.append(line)
    if asked.write:
        pages.write(asked.write, "\n".join(lines) + "\n", "page loads")


if __name__ == "__main__":
    main()
