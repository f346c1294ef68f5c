"""`plumbline pearmut`: runs campaigns of Pearmut on this database, with their links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from app.cli.kit import command_database
from app.config import Settings
from app.domain.errors import Invalid, Place
from app.domain.strict_json import parse_strict_json
from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loading import AddedCampaign, add_pearmut_campaign
from app.services.pearmut.running_campaign_import import (
    RunningCampaignImportResult,
    import_running_campaign,
    read_running_campaigns,
)

OLD_IDS = typer.Option(
    "--old-ids",
    help="Keep user names and the dashboard's token as credentials: old links work, but can be guessed.",
)
AS_JSON = typer.Option("--json", help="As JSON.")


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Load campaigns of Pearmut, or move a running Pearmut.", no_args_is_help=True)
    group.command("add")(add_campaigns_from_files)
    group.command("move")(import_pearmut_installation)
    app.add_typer(group, name="pearmut")


def add_campaigns_from_files(
    files: Annotated[list[Path], typer.Argument(help="Campaign files of Pearmut, as `pearmut add` takes them.")],
    old_ids: Annotated[bool, OLD_IDS] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Load campaigns and open them, all or none; print the link of the dashboard and of each user, once."""
    given = [(path.name, campaign) for path in files for campaign in _campaigns(path)]
    actor = command_database.get_actor_name()
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        added = [
            add_pearmut_campaign(session, _read(name, value), by=THE_OPERATOR, actor=actor, old_ids=old_ids)
            for name, value in given
        ]
    _show([(one, None) for one in added], as_json=as_json)


def import_pearmut_installation(
    folder: Annotated[Path, typer.Argument(help="The folder that Pearmut ran in; stop Pearmut first.")],
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.")] = None,
    old_ids: Annotated[bool, OLD_IDS] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Take over a running Pearmut: users, codes and all answers. Print how much each user has done there and here."""
    running = read_running_campaigns(folder, campaign)
    actor = command_database.get_actor_name()
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        moved = [
            import_running_campaign(session, one, by=THE_OPERATOR, actor=actor, old_ids=old_ids) for one in running
        ]
    _show([(one.added, one) for one in moved], as_json=as_json)


def _campaigns(path: Path) -> list[object]:
    try:
        value = parse_strict_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid("a file cannot be read", places=(Place((path.name,), error.strerror or ""),)) from None
    except ValueError as error:
        raise Invalid("a file cannot be read", places=(Place((path.name,), str(error)[:200]),)) from None
    return value if isinstance(value, list) else [value]


def _read(name: str, value: object) -> Any:
    try:
        return parse_campaign_file(value)
    except Invalid as error:
        places = tuple(Place((name, *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None


def _show(shown: Sequence[tuple[AddedCampaign, RunningCampaignImportResult | None]], *, as_json: bool) -> None:
    origin = _origin()
    if as_json:
        typer.echo(
            json.dumps([_make_summary(added, moved, origin) for added, moved in shown], ensure_ascii=False, indent=2)
        )
        return
    for added, moved in shown:
        typer.echo(f"{added.name}: {added.documents} documents to judge, {len(added.links)} users")
        for what, n in sorted({**added.unused, **_list_dropped_records(added)}.items()):
            typer.echo(f"  {n:,} {what}")
        if moved is not None:
            typer.echo(
                f"  {moved.lines:,} answers taken over, {moved.reset:,} reset before, {moved.again:,} sent twice"
            )
            Console().print(_progress_table(moved))
        typer.echo(f"  dashboard {_dashboard(added, origin)}")
        for link in added.links:
            typer.echo(f"  {link.user} {_page(added, link.credential, origin)}")


def _make_summary(added: AddedCampaign, moved: RunningCampaignImportResult | None, origin: str) -> dict[str, object]:
    plain: dict[str, object] = {
        "campaign": added.key,
        "campaign_id": added.name,
        "documents": added.documents,
        "dashboard": _dashboard(added, origin),
        "token": added.token,
        "users": {link.user: _page(added, link.credential, origin) for link in added.links},
        "unused": {**added.unused, **_list_dropped_records(added)},
    }
    if moved is not None:
        users = {
            one.user: {"before": one.done_before, "now": one.done_now, "of": one.documents, "next": one.goes_on_at}
            for one in moved.users
        }
        plain |= {"answers": moved.lines, "reset": moved.reset, "sent_twice": moved.again, "progress": users}
    return plain


def _list_dropped_records(added: AddedCampaign) -> dict[str, int]:
    """Return what the import counted as dropped, except for what is stored separately."""
    dropped = added.report["dropped"]
    assert isinstance(dropped, dict)  # noqa: S101  (the report's own shape)
    return {
        what: n for what, n in dropped.items() if not what.startswith(("settings (info)", "documents of tutorials"))
    }


def _progress_table(moved: RunningCampaignImportResult) -> Table:
    table = Table("user", "done before", "done now", "of", "goes on at")
    for user in moved.users:
        end = "the end" if user.goes_on_at is None else str(user.goes_on_at)
        table.add_row(user.user, f"{user.done_before:,}", f"{user.done_now:,}", f"{user.documents:,}", end)
    return table


def _origin() -> str:
    settings = Settings.load()
    return settings.pearmut_url or f"http://{settings.host}:{settings.pearmut_port or 8001}"


def _page(added: AddedCampaign, credential: str, origin: str) -> str:
    return f"{origin}/annotate?campaign_id={quote(added.name)}&user_id={quote(credential)}"


def _dashboard(added: AddedCampaign, origin: str) -> str:
    return f"{origin}/dashboard?campaign_id={quote(added.name)}&token={quote(added.token)}"
