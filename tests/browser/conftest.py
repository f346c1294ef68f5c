"""A real browser, a real server, and raters with links; one of each for all tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)

from tests import collecting
from tests.browser.rater import Rater
from tests.browser.texts import Lines
from tests.collecting import Collecting, collect
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

if TYPE_CHECKING:
    from tests.browser.asking import Interface

HERE = Path(__file__).parent
# The same browser without windows and what stands round its pages, which is a third of its time; else the whole of it.
SHELL, CHROMIUM = Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",
    "--js-flags=--no-opt",  # no page runs long enough for what the optimizing compilers take
]
PATIENCE = 30_000  # milliseconds; waiting ends once it is so
STARTS_WITHIN = 180_000
expect.set_options(timeout=PATIENCE)
_numbers = count(1)

_running = ExitStack()
_browsers: list[Browser] = []
_profiles: dict[bool, list[BrowserContext]] = {True: [], False: []}  # with a service worker, and without


@pytest.fixture
def chromium() -> Browser:
    """Headless Chromium, for as long as tests of this folder follow one another."""
    program = next((one for one in map(str, (SHELL, CHROMIUM)) if shutil.which(one)), None)
    if program is None:
        pytest.skip(f"no Chromium at {CHROMIUM}")
    if not any(one.is_connected() for one in _browsers):
        _end()  # one that fell, or never came up: the test that it did so in has failed, the others need not
        driver = _running.enter_context(sync_playwright())
        found = driver.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=STARTS_WITHIN)
        _running.callback(found.close)
        _browsers.append(found)
    return _browsers[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """While the driver runs, so does an event loop: it ends before a test elsewhere wants one of its own."""
    try:
        return (yield)
    finally:
        if nextitem is None or HERE not in nextitem.path.parents:
            _end()


def pytest_sessionfinish() -> None:
    """Where the tests are cut short, too."""
    _end()


def _end() -> None:
    _browsers.clear()
    for those in _profiles.values():
        those.clear()
    _running.close()


@pytest.fixture(scope="session")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    """A database for all tests; each makes a campaign of its own in it."""
    with ExitStack() as opened:
        with patient():
            found = opened.enter_context(fresh(postgres, migrated_template))
        yield found


@pytest.fixture(scope="session")
def served(spine: Spine) -> Iterator[Served]:
    """The server, begun with patience, which ends there: tests elsewhere want the bounds as they are."""
    with ExitStack() as running:
        with patient():
            found = running.enter_context(serving(spine.url))
        yield found


@pytest.fixture(scope="module")
def ask(served: Served) -> Iterator[Interface]:
    """The interface, for somebody who may do everything."""
    from tests.browser.asking import Interface  # it takes texts of a test, whose assertions pytest rewrites

    found = Interface(served)
    yield found
    found.client.close()


@dataclass
class Watch:
    """What pages did that they must never do: errors, violations of the policy, dialogs, requests to elsewhere."""

    origin: str
    faults: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        context.on("console", self._said)
        context.on("weberror", self._failed)
        context.on("dialog", self._asked_back)
        context.on("request", self._asked)

    def leave(self, context: BrowserContext) -> None:
        """Watch no longer."""
        context.remove_listener("console", self._said)
        context.remove_listener("weberror", self._failed)
        context.remove_listener("dialog", self._asked_back)
        context.remove_listener("request", self._asked)

    def _failed(self, error: WebError) -> None:
        self.faults.append(f"script: {error.error}")

    def _asked_back(self, shown: Dialog) -> None:
        if shown.type != "beforeunload":  # the browser's own question before unsaved work is left
            self.faults.append(f"dialog: {shown.message}")
        shown.accept()

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "about:", "blob:")):
            self.faults.append(f"elsewhere: {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        # A request that failed is said so by the browser itself, and is what some tests are about.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")


USUAL: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 900},
    "locale": "en-GB",
    "reduced_motion": "reduce",
}


@pytest.fixture
def service_worker() -> bool:
    """Whether pages may start theirs, which fetches everything of a rater's page again to keep it.

    Modules on what is kept have a fixture of this name; in the others pages do without, as where it is switched off.
    """
    return False


def _make_profile(chromium: Browser, service_worker: bool, **options: Any) -> BrowserContext:
    workers = "allow" if service_worker else "block"
    made = chromium.new_context(**{**USUAL, "service_workers": workers, **options})
    made.set_default_timeout(PATIENCE)
    return made


@pytest.fixture
def open_context(chromium: Browser, served: Served, service_worker: bool) -> Iterator[Callable[..., BrowserContext]]:
    """Make a browser profile; at the end nothing may have gone wrong in any page of it."""
    watch = Watch(served.url)
    made: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        context = _make_profile(chromium, service_worker, **options)
        watch.over(context)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()
    assert not watch.faults


@pytest.fixture
def page(chromium: Browser, served: Served, service_worker: bool) -> Iterator[Page]:
    """A page in a profile that holds nothing; at the end nothing may have gone wrong in any page of it.

    A profile takes longer to make than most tests do, so that all tests have the same one in turn. Its first page stays
    open, and with it the window. `open_context` makes further ones, and those that are other than usual.
    """
    profiles = _profiles[service_worker]
    if not profiles:
        profiles.append(_make_profile(chromium, service_worker))
        profiles[0].new_page()
    context = profiles.pop()
    watch = Watch(served.url)
    watch.over(context)
    yield context.new_page()
    watch.leave(context)
    _empty(context, served.url)
    profiles.append(context)  # only now: one that cannot be emptied is not used again
    assert not watch.faults


def _empty(context: BrowserContext, origin: str) -> None:
    """Leave nothing in a profile: no page but the first, no cookie, nothing stored, nothing allowed."""
    first, *others = context.pages
    for page in others:
        page.close()
    context.unroute_all()
    context.set_offline(False)
    context.clear_permissions()
    context.clear_cookies()
    session = context.new_cdp_session(first)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    session.detach()


Campaign = Callable[..., Collecting]


@pytest.fixture
def campaign(spine: Spine, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Make a campaign that collects; see `tests.collecting.collect`.

    change: statements over its rows. outputs, sources: texts by segment, in the place of made-up ones.
    """

    def make(
        *, change: tuple[str, ...] = (), outputs: Sequence[str] = (), sources: Sequence[str] = (), **how: Any
    ) -> Collecting:
        for name, texts in (("TARGET", outputs), ("SOURCE", sources)):
            if texts:
                monkeypatch.setattr(collecting, name, Lines(texts))
                how["segments"] = len(texts)
        made = collect(spine.database, key=f"c{next(_numbers)}", **{"raters": ("r1",), "documents": 1, **how})
        with changing(spine) as run:
            for statement in change:
                run(statement, made.id)
        return made

    return make


@contextmanager
def changing(spine: Spine) -> Iterator[Callable[[str, int], None]]:
    """Run statements as the owner; `%(id)s` is the campaign."""
    with psycopg.connect(spine.url) as db:
        yield lambda statement, campaign: db.execute(statement.encode(), {"id": campaign})


@pytest.fixture
def rater(page: Page, served: Served, spine: Spine) -> Callable[..., Rater]:
    """Sign a rater in, past the guidelines, and hand back their hands and eyes."""

    def sign_in(live: Collecting, key: str = "r1", on: Page | None = None) -> Rater:
        found = Rater(on or page, served.url, live, spine)
        found.sign_in(live.secrets[key])
        return found

    return sign_in
