"""`plumbline report CAMPAIGN quality|timing|revisions`: the reports on raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from app.cli.kit import context
from app.cli.kit.outputs import write
from app.cli.kit.terminal import plain_table
from app.client import remote as _remote
from app.domain.errors import Invalid, Place
from app.reports.kit.report import StoredReport
from app.reports.source.judged_ratings import On
from app.services import quality, rater_renderings, timing_report
from app.services.rater_renderings import About
from app.stats.quality.controls import MIN_PAIRS, ControlAdjust, ControlTestName
from app.stats.quality.report import Choices
from app.storage.db import Database

KINDS: tuple[About, ...] = get_args(About)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What quality is asked: `--test --min-pairs --adjust --on`."""

    test: str = "signed_rank"
    min_pairs: str = str(MIN_PAIRS)
    adjust: str = "bh"
    on: str = "score"

    def choices(self) -> Choices:
        """As the statistics take them. Raises Invalid."""
        pairs = int(self.min_pairs) if self.min_pairs.isascii() and self.min_pairs.isdigit() else 0
        if pairs < 2:
            raise Invalid("the options are not valid", places=(Place(("--min-pairs",), "must be 2 or more"),))
        return Choices(
            test=_one_of("--test", self.test, get_args(ControlTestName)),
            min_pairs=pairs,
            adjust=_one_of("--adjust", self.adjust, get_args(ControlAdjust)),
        )

    def query(self) -> dict[str, str | int]:
        """As a server is asked."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def report(
    about: About,
    campaign: str,
    options: Mapping[str, Sequence[str]],
    as_of: int | None,
    shape: str,
    remote: _remote.Remote | None,
) -> None:
    """Write or print one. Raises Invalid for options that it does not have."""
    known = {field.name for field in fields(Wanted)} if about == "quality" else set()
    if wrong := sorted(set(options) - known):
        raise Invalid("the options are not valid", places=(Place((wrong[0],), f"{about} has no such option"),))
    wanted = Wanted(**{name: values[-1] for name, values in options.items()})
    choices, on = wanted.choices(), _one_of("--on", wanted.on, get_args(On))
    if remote is None:
        with context.database() as database:
            body = _stored(database, about, campaign, choices, on, as_of).body
    else:
        query: dict[str, str | int] = wanted.query() if about == "quality" else {}
        query |= {} if as_of is None else {"as_of": as_of}
        path = f"/v1/campaigns/{quote(campaign, safe='')}/reports/{about}"
        body = remote.body(path, query, accept="application/json")
    _show(about, body, shape)


def _one_of(place: str, text: str, there: tuple[Any, ...]) -> Any:
    if text not in there:
        raise Invalid("the options are not valid", places=(Place((place, text), f"there are: {', '.join(there)}"),))
    return text


def _stored(
    database: Database, about: About, campaign: str, choices: Choices, on: On, as_of: int | None
) -> StoredReport:
    if about == "quality":
        return quality.report(database, campaign, choices=choices, on=on, as_of=as_of)
    if about == "timing":
        return timing_report.timing(database, campaign, as_of=as_of)
    return timing_report.revised(database, campaign, as_of=as_of)


def _show(about: About, body: bytes, shape: str) -> None:
    if shape:
        write([body if shape == "json" else rater_renderings.render(about, body, shape)])
        return
    view = rater_renderings.read(about, body)
    console = Console()
    console.print(plain_table(rater_renderings.table(view), f"{view.campaign}: {about}"))
    for note in (rater_renderings.caption(view), *(f"Warning: {text}" for text in view.warnings)):
        console.print(Text(note, style="dim"))
