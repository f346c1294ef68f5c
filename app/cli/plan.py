"""`plumbline plan`: compiles a design, shows what it requires and can prove, and freezes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from app.cli.kit import command_database, long_reports
from app.cli.kit.progress_bar import show_progress_bar
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.services.plans import plans, replanning, staleness
from app.web import strict_json

MOST_SHOWN = 40


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(compile_or_print_plan)


def compile_or_print_plan(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    design: Annotated[
        Path | None, typer.Argument(help="A design as JSON; - for standard input; without one, show the current plan.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing; only preview the plan.")] = False,
    pilot: Annotated[str | None, typer.Option(help="Key of a pilot campaign for the forecast.")] = None,
    replan: Annotated[str | None, typer.Option(help="Replan the remaining work, for this reason.")] = None,
    rebalance: Annotated[
        bool, typer.Option(help="With --replan: redistribute unstarted work evenly, including to new raters.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
    server: _remote.Server = None,
) -> None:
    """Compile a design into tasks and freeze it; without a design, show the plan in force."""
    if pilot is not None and design is None:
        raise Invalid(places=(Place(("--pilot",), "goes with a design"),))
    if design is not None and replan is not None:
        raise Invalid(places=(Place(("--replan",), "a replan starts from the plan in force and takes no design"),))
    if rebalance and replan is None:
        raise Invalid(places=(Place(("--rebalance",), "goes with --replan"),))
    again = None if replan is None else _Replan(replan, rebalance)
    answer = _compile_plan(campaign, design, dry_run=dry_run, replan=again, pilot=pilot, server=server)
    if as_json:
        typer.echo(json.dumps(answer, ensure_ascii=False, default=str))
    else:
        _show(Console(markup=False), answer)  # sources and reasons are free text


@dataclass(frozen=True, slots=True)
class _Replan:
    """A request to plan the remaining work again."""

    reason: str
    rebalance: bool

    def asked(self) -> dict[str, object]:
        """Return the body to send. `rebalance` is sent only if set, for servers that do not know it."""
        return {"reason": self.reason, **({"rebalance": True} if self.rebalance else {})}


def _compile_plan(
    campaign: str, design: Path | None, *, dry_run: bool, replan: _Replan | None, pilot: str | None, server: str | None
) -> dict[str, Any]:
    given = None if design is None else _read(design)
    remote = _remote.find_configured_remote_server(server)
    if remote is not None:
        return _compile_on_server(remote, campaign, given, dry_run=dry_run, replan=replan, pilot=pilot)
    actor = command_database.get_actor_name()
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        if replan is not None:
            view = replanning.replan_campaign(
                session, campaign, bought=None, **asdict(replan), dry_run=dry_run, actor=actor
            )
        elif design is None:
            view = staleness.get_plan_with_staleness(session, campaign)
        else:
            view = plans.compile_and_freeze_plan(session, campaign, given, dry_run=dry_run, actor=actor, pilot=pilot)
        return asdict(view)


def _compile_on_server(
    remote: _remote.RemoteServer, campaign: str, given: Any, *, dry_run: bool, replan: _Replan | None, pilot: str | None
) -> dict[str, Any]:
    path = f"/v1/campaigns/{quote(campaign, safe='')}/plan"
    query = {"dry_run": str(dry_run).lower(), **({} if pilot is None else {"pilot": pilot})}
    if replan is None and given is None:
        body = remote.fetch_body(path, accept="application/json")
    else:
        with show_progress_bar("compiling the plan") as on_progress:
            sent, where = (given, path) if replan is None else (replan.asked(), f"{path}/replan")
            body = long_reports.post_until_created(remote, where, query, sent, on_progress=on_progress)
    answer: dict[str, Any] = json.loads(body)
    return answer


def _read(path: Path) -> object:
    """Read a design with the same strictness as over HTTP. Raises Invalid."""
    try:
        return strict_json.parse_json(sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise Invalid(places=(Place((str(path),), f"cannot be read: {type(error).__name__}"),)) from None
    except (strict_json.NotJson, strict_json.JsonNotStrict) as error:
        raise Invalid(places=(Place((str(path),), f"is not usable JSON: {error.detail}"),)) from None


def _show(console: Console, answer: dict[str, Any]) -> None:
    report = answer["report"]
    state = "looked at, not stored" if answer["version"] is None else f"version {answer['version']}"
    console.print(f"Plan of {answer['campaign']}, {state}: seed {answer['seed']}, {answer['hash'][:19]}…")
    table = Table("Rater", "Tasks", "Groups", "Items", "Segments", "Words", "Hours")
    for load in report["raters"][:MOST_SHOWN]:
        cells = [load[name] for name in ("rater", "tasks", "groups", "items", "segments", "words", "hours")]
        table.add_row(*map(str, cells))
    total = report["total"]
    table.add_section()
    names = ("tasks", "items", "segments", "words", "hours")
    tasks, items, segments, words, hours = (str(total[name]) for name in names)
    table.add_row("all", tasks, "", items, segments, words, hours)
    console.print(table)
    balance, forecast = report["balance"], report["forecast"]
    console.print(f"Normalized entropy {balance['normalized_entropy']:.3f}")
    if forecast["detectable"] is None:
        console.print(f"Detectable difference: unknown, {forecast['reason']}")
    else:
        console.print(f"Detectable difference {forecast['detectable']:.3f} at 80 % power ({forecast['source']})")
    console.print(_forecast_srp(report["srp"]))
    if report.get("pilot"):
        console.print(_pilot(report["pilot"]))
    for kind, counts in ((report["controls"] or {}).get("places") or {}).items():  # an earlier release stored none
        console.print(f"Places of {kind} items, by tenths of a task: {' '.join(map(str, counts))}")
    for unmet in report["unmet"]:
        console.print(f"Not met: {unmet['what']}: {unmet['why']}")
    for departure in report["recommendations"]:
        console.print(f"Departs from “{departure['recommendation']}”: {departure['instead']}; {departure['cost']}")
    for note in (*report["estimable"], *report["notes"]):
        console.print(f"Note: {note}")
    for change in answer["stale"] or ():
        console.print(f"Changed since then: {change}")
    if answer["change"] is not None:
        counts = ", ".join(f"{n} {what}" for what, n in sorted(answer["change"]["counts"].items()))
        console.print(f"Against the plan before: {counts}")


def _pilot(pilot: Mapping[str, Any]) -> str:
    """Describe the pilot's judgments, and what resampling its documents says about the detectable difference."""
    said = f"Pilot {pilot['campaign']}: {pilot['ratings']} ratings of {pilot['documents']} documents"
    if pilot["resampled"] is None:
        return f"{said}; its documents were not resampled: {pilot['why_not_resampled']}"
    return f"{said}; resampled, {pilot['resampled']:.0%} of studies find the detectable difference"


def _forecast_srp(srp: Mapping[str, Any]) -> str:
    """Format the SRP forecast, always with significant pairs: a study that finds nothing is stable, too."""
    if srp["value"] is None:
        return f"Forecast SRP: unknown, {srp['reason']}"
    sentence = f"{srp['mean_significant_pairs']:.1f} of {srp['pairs']} pairs significant per study"
    return f"Forecast SRP {srp['value']:.2f}, {sentence} ({srp['source']})"
