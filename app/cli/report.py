"""`plumbline report` and `plumbline compare`: reports of every kind, on one campaign or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import quote

import typer
from rich.console import Console
from rich.text import Text

from app.api.models.times import parse_data_version_or_time
from app.cli import ranking_comparison
from app.cli.kit import command_database, long_reports
from app.cli.kit.output_formats import Csv, Json, Latex, Markdown, Svg, When, choose_output_format, write_to_stdout
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED
from app.reports import registry
from app.reports.kit import request, store
from app.reports.kit.render.representations import PICTURE, make_report_title, render_report
from app.reports.kit.report import Report
from app.reports.kit.request import Over, ReportRequest
from app.services.jobs import report_requests

AnyKind = Report[Any, Any]
Options = dict[str, list[str]]
OF_RATERS = ("quality", "timing", "revisions")
"""Reports for managers, with routes of their own under addresses like those of other reports."""
EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
Pairs = Annotated[list[str] | None, typer.Option("--option", "-o", help="Option of the report, as NAME=VALUE.")]
Picture = Annotated[str, typer.Option(help="With --svg: which picture, if the report has several.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    own = [
        "recipes: rankings by several recipes side by side. --recipes",
        "quality: control items, repeats, pace and habits of the raters. --test --min-pairs --adjust --on",
        "timing · revisions: duration of judgments · changed answers.",
    ]
    of_one = ["Show a report on a campaign.", *_lines("campaign"), *own]
    words = typer.Argument(metavar="CAMPAIGN KIND", help="Each report has its own options, as listed above.")
    app.command("report", help="\n\n".join(of_one), context_settings=EXTRA)(_command(words, print_campaign_report))
    words = typer.Argument(metavar="KIND CAMPAIGN…", help="Two campaigns or more.")
    of_several = ["Compare campaigns.", *_lines("campaigns")]
    app.command("compare", help="\n\n".join(of_several), context_settings=EXTRA)(
        _command(words, print_comparison_report)
    )


@dataclass(frozen=True, slots=True)
class ReportOutputOptions:
    """How to output a report. output_format: `json`, `csv`, `tex`, `md`, `svg`, or empty for the terminal."""

    as_of: str | None
    output_format: str
    picture: str
    remote: _remote.RemoteServer | None


def _command(argument: Any, run: Callable[[list[str], Options, ReportOutputOptions], None]) -> Callable[..., None]:
    """Make a command with the options that both commands share; only its arguments are its own."""

    def command(
        words: list[str],
        option: Pairs = None,
        as_of: When = None,
        picture: Picture = PICTURE,
        as_json: Json = False,
        csv: Csv = False,
        latex: Latex = False,
        markdown: Markdown = False,
        svg: Svg = False,
        server: _remote.Server = None,
    ) -> None:
        output_format = choose_output_format(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
        run(
            *_read(words, option or []),
            ReportOutputOptions(as_of, output_format, picture, _remote.find_configured_remote_server(server)),
        )

    command.__annotations__["words"] = Annotated[list[str], argument]
    return command


def _lines(over: Over) -> list[str]:
    there = [kind for kind in registry.ALL.values() if kind.over == over]
    return [f"{kind.name}: {kind.summary} {_options(kind)}" for kind in there]


def _options(kind: AnyKind) -> str:
    return " ".join(f"--{name.replace('_', '-')}" for name in kind.options.model_fields)


def print_campaign_report(campaign_and_kind: list[str], options: Options, how: ReportOutputOptions) -> None:
    """Show a report on a campaign."""
    if len(campaign_and_kind) != 2:
        raise Invalid("the arguments are not valid", places=(Place(("CAMPAIGN", "KIND"), "both are needed"),))
    campaign, name = campaign_and_kind
    if campaign in _list_kinds() and name not in _list_kinds():
        campaign, name = name, campaign
    if name == ranking_comparison.RECIPES:
        return ranking_comparison.print_recipe_comparison(
            campaign, _recipes(options), _version(how.as_of), how.output_format, how.remote
        )
    if name not in _list_kinds():
        raise Invalid(
            "the arguments are not valid", places=(Place((name[:80],), f"there are: {', '.join(_list_kinds())}"),)
        )
    kind = (
        registry.WITH_OWN_ROUTES[f"campaign/{name}"]
        if name in OF_RATERS
        else report_requests.get_report_kind_by_name(name)
    )
    return _answer(ReportArguments(kind, (campaign,), options, how))


def print_comparison_report(kind_and_campaigns: list[str], options: Options, how: ReportOutputOptions) -> None:
    """Compare campaigns."""
    if len(kind_and_campaigns) < 3:
        raise Invalid("the arguments are not valid", places=(Place(("CAMPAIGN…",), "two or more are needed"),))
    _answer(
        ReportArguments(
            report_requests.get_report_kind_by_name(kind_and_campaigns[0], "campaigns"),
            tuple(dict.fromkeys(kind_and_campaigns[1:])),
            options,
            how,
        )
    )


def _list_kinds() -> tuple[str, ...]:
    """Return the kinds of report on one campaign."""
    of_kinds = [kind.name for kind in registry.ALL.values() if kind.over == "campaign"]
    return tuple(sorted({*of_kinds, ranking_comparison.RECIPES, *OF_RATERS}))


def _recipes(options: Options) -> list[str]:
    """Return the names of recipes, separated by commas in the option; by default the named ones. Raises Invalid."""
    if wrong := sorted(set(options) - {ranking_comparison.RECIPES}):
        places = (Place((wrong[0],), f"there are: {ranking_comparison.RECIPES}"),)
        raise Invalid("the options are not valid", places=places)
    return options.get(ranking_comparison.RECIPES, [",".join(NAMED)])[-1].split(",")


def _version(as_of: str | None) -> int | None:
    told = parse_data_version_or_time(as_of)
    if told is None or isinstance(told, int):
        return told
    raise Invalid("the options are not valid", places=(Place(("--as-of",), "must be a data version here"),))


@dataclass(frozen=True, slots=True)
class ReportArguments:
    """A report with the arguments of the command."""

    kind: AnyKind
    campaigns: tuple[str, ...]
    options: Options
    how: ReportOutputOptions

    def to_report_request(self) -> ReportRequest:
        """Return the request to the database. Raises Invalid."""
        given = {name: values if self._is_list(name) else values[-1] for name, values in self.options.items()}
        question = request.parse_report_options(self.kind, given, place="options")
        campaigns = request.list_report_campaigns(self.kind, self.campaigns, question)
        return ReportRequest(self.kind, campaigns, question, parse_data_version_or_time(self.how.as_of))

    def make_server_path(self) -> str:
        """Return the path of the report on a server."""
        if self.kind.over == "campaigns":
            return f"/v1/comparisons/{self.kind.name}"
        return f"/v1/campaigns/{quote(self.campaigns[0], safe='')}/reports/{self.kind.name}"

    def make_server_query(self) -> dict[str, str | int | Sequence[str]]:
        """Return the query for a server."""
        several = {"campaigns": ",".join(self.campaigns)} if self.kind.over == "campaigns" else {}
        return {**self.options, **several, **({} if self.how.as_of is None else {"as_of": self.how.as_of})}

    def _is_list(self, name: str) -> bool:
        field = self.kind.options.model_fields.get(name)
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        return any(get_origin(each) in (list, tuple, set, frozenset) for each in kinds)


def _answer(wanted: ReportArguments) -> None:
    output_format, remote = wanted.how.output_format, wanted.how.remote
    if remote is None:
        with command_database.upgrade_and_open_database() as database, show_progress_bar("computing") as on_progress:
            body = store.find_or_compute_report(database, wanted.to_report_request(), on_progress=on_progress).body
    else:
        with show_progress_bar("computing") as on_progress:
            body = long_reports.fetch_report_when_ready(
                remote, "GET", wanted.make_server_path(), wanted.make_server_query(), on_progress=on_progress
            )
    if output_format:
        write_to_stdout(
            [body if output_format == "json" else render_report(wanted.kind, body, output_format, wanted.how.picture)]
        )
    else:
        print_report_body(Console(), wanted.kind, body)


def print_report_body(console: Console, kind: AnyKind, body: bytes, *, max_tables: int | None = None) -> None:
    """Print a report: title, tables (only the first ones if `max_tables` is given), caption and warnings."""
    view = kind.result.model_validate_json(body)
    if kind.single is None:
        console.print(Text(make_report_title(kind, view), style="bold"))
    for shown in (kind.terminal or kind.tables)(view)[:max_tables]:
        console.print(make_rich_table(shown.table, shown.title))
    for note in (*kind.terminal_notes, kind.caption(view), *(f"Warning: {text}" for text in kind.warnings(view))):
        console.print(Text(note, style="dim"))


def _read(words: Sequence[str], pairs: Sequence[str]) -> tuple[list[str], Options]:
    """Return names in order, and options: `--name value`, `--name=value`, `-o name=value`, each possibly repeated."""
    names: list[str] = []
    options: Options = {}
    rest = [*words, *(f"--{pair}" for pair in pairs)]
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            names.append(word)
            continue
        name, has_value, value = word[2:].partition("=")
        if not name or not (has_value or rest):
            raise Invalid("the options are not valid", places=(Place((word[:80],), "must be --name value"),))
        options.setdefault(name.replace("-", "_"), []).append(value if has_value else rest.pop(0))
    return names, options
