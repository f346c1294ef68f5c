"""`plumbline exclusions`: what analyses of a campaign leave out, and why; the effect can be previewed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast, get_args
from urllib.parse import quote

import typer
from rich.console import Console

from app.api.models.exclusions import ExclusionEffectOut, ExclusionOut
from app.cli.kit import command_database, long_reports
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.recipe import ExclusionTarget, Subject
from app.reports.inputs import named_recipes
from app.reports.kit import text_formatting
from app.reports.kit.table import Table
from app.services.campaigns import exclusions as service

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
Reason = Annotated[str, typer.Option(help="Reason; it is stored.")]
PAGE = 200


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Show, add and lift exclusions.", no_args_is_help=True)
    group.command("list")(list_exclusions)
    group.command("add")(add_exclusion)
    group.command("lift")(lift_exclusion)
    app.add_typer(group, name="exclusions")


def list_exclusions(campaign: Campaign, as_json: Json = False, server: _remote.Server = None) -> None:
    """List exclusions in the order in which they were added, including lifted ones."""
    remote = _remote.find_configured_remote_server(server)
    rows = list(remote.iterate_paginated_list(_path(campaign))) if remote is not None else _load_exclusions(campaign)
    if as_json:
        write_to_stdout([json.dumps({"items": rows, "next": None}, ensure_ascii=False).encode()])
        return
    Console().print(make_rich_table(_table(rows), f"{campaign}: {len(rows)} exclusions"))


def add_exclusion(
    campaign: Campaign,
    what: Annotated[str, typer.Argument(help="rater:KEY, task:KEY, document:KEY or system:KEY.")],
    reason: Reason,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing; preview the effect on the ranking.")
    ] = False,
    recipe: Annotated[str, typer.Option(help="The recipe of that ranking.")] = "recommended",
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Exclude a rater, task, document or system from the next data version on. Nothing is deleted."""
    wanted = _parse_rule(what)
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        body = _over_http(remote, campaign, {wanted.what: wanted.key, "reason": reason}, recipe if dry_run else None)
    else:
        body = _effect(campaign, wanted, recipe) if dry_run else _exclude(campaign, wanted, reason)
    _show(campaign, body, as_json=as_json)


def lift_exclusion(
    campaign: Campaign,
    exclusion: Annotated[int, typer.Argument(help="Number of the exclusion.", min=1)],
    reason: Reason,
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Lift an exclusion with the next data version. Both reasons stay on record."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        body = remote.send_change("DELETE", f"{_path(campaign)}/{exclusion}", {"reason": reason})
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            view = service.lift_exclusion(
                session, campaign, exclusion, reason=reason, actor=command_database.get_actor_name()
            )
            body = ExclusionOut.from_view(view).model_dump_json().encode()
    _show(campaign, body, as_json=as_json)


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}/exclusions"


def _load_exclusions(campaign: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
        after = 0
        while page := service.list_exclusions(session, campaign, after=after, limit=PAGE):
            rows += [ExclusionOut.from_view(view).model_dump(mode="json") for view in page]
            after = page[-1].n
    return rows


def _exclude(campaign: str, wanted: ExclusionTarget, reason: str) -> bytes:
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        view = service.create_exclusion(
            session, campaign, wanted, reason=reason, actor=command_database.get_actor_name()
        )
        return ExclusionOut.from_view(view).model_dump_json().encode()


def _over_http(remote: _remote.RemoteServer, campaign: str, body: Mapping[str, str], preview: str | None) -> bytes:
    """Return the server's answer. If a job makes the preview by a recipe, wait for the job."""
    if preview is None:
        return remote.send_change("POST", _path(campaign), {}, body)
    query = {"dry_run": "true", "recipe": preview}
    with show_progress_bar("ranking without it") as on_progress:
        return long_reports.fetch_report_when_ready(
            remote, "POST", _path(campaign), query, body=body, on_progress=on_progress
        )


def _effect(campaign: str, wanted: ExclusionTarget, recipe: str) -> bytes:
    with command_database.upgrade_and_open_database() as database:
        with database.transaction(snapshot=True) as session:
            chosen = named_recipes.resolve_recipe(session, campaign, recipe, place=("--recipe",))
        effect = service.preview_exclusion(database, campaign, wanted, recipe=chosen)
    return ExclusionEffectOut.from_effect(effect).model_dump_json().encode()


def _parse_rule(text: str) -> ExclusionTarget:
    what, separator, key = text.partition(":")
    if what not in get_args(Subject) or not separator or not key:
        there = ", ".join(f"{subject}:KEY" for subject in get_args(Subject))
        raise Invalid("the arguments are not valid", places=(Place((text[:200],), f"must be one of {there}"),))
    return ExclusionTarget(cast("Subject", what), key)


def _show(campaign: str, body: bytes, *, as_json: bool) -> None:
    if as_json:
        write_to_stdout([body])
        return
    effect = json.loads(body)
    if "exclusion" in effect:
        Console().print(make_rich_table(_table([effect]), campaign))
        return
    changes = [f"{' and '.join(pair['pair'])}: {pair['change']}" for pair in effect["pairs"]]
    notes = [
        f"Ratings: {effect['n_ratings_before']:,} before, {effect['n_ratings_after']:,} after. Nothing was stored.",
        f"Pairs that change: {'; '.join(changes) or 'none'}.",
        *(f"Warning: {text}" for text in effect["warnings"]),
    ]
    title = f"{campaign} by {effect['recipe']}, data version {effect['data_version']}: before and after"
    Console().print(make_rich_table(_moved_systems_table(effect["systems"]), title, notes))


def _table(exclusions: list[dict[str, Any]]) -> Table:
    rows = [
        (
            str(one["exclusion"]),
            f"{one['what']}:{one['key']}",
            one["reason"],
            f"{one['actor']}, {one['at']}",
            f"{one['lifted']['reason']} ({one['lifted']['actor']}, {one['lifted']['at']})"
            if one["lifted"]
            else "stands",
        )
        for one in exclusions
    ]
    return Table(("#", "What", "Reason", "Made", "Lifted"), ("right", "left", "left", "left", "left"), tuple(rows))


def _moved_systems_table(systems: list[dict[str, Any]]) -> Table:
    rows = [
        (one["system"], *(cell for when in ("before", "after") for cell in _format_standing(one[when])))
        for one in systems
    ]
    headings = ("System", "Rank", "Cluster", "Score", "Rank after", "Cluster after", "Score after")
    return Table(headings, ("left", *("right",) * 6), tuple(rows))


def _format_standing(line: dict[str, Any] | None) -> tuple[str, str, str]:
    if line is None:
        return "–", "–", "–"
    cluster = "–" if line["cluster"] is None else str(line["cluster"])
    return text_formatting.format_rank(line["rank"]), cluster, f"{line['score']:.4g}"
