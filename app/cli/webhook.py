"""`plumbline webhook`: signed messages to your own systems when something happens in a campaign."""

from __future__ import annotations

from typing import Annotated, cast

import typer
from rich.console import Console
from rich.table import Table

from app.cli.kit import command_database
from app.config import Settings
from app.domain.errors import Invalid, Place
from app.services.webhooks import webhooks
from app.services.webhooks.addresses import AllowedWebhookAddresses
from app.services.webhooks.events import EVENT_KINDS, EventKind

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
WebhookId = Annotated[str, typer.Argument(help="Id of the webhook, as `list` prints it.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Signed messages to your own systems when something happens.", no_args_is_help=True)
    group.command("add")(add_webhook)
    group.command("list")(list_webhooks)
    group.command("replay")(replay_events)
    group.command("remove")(remove_webhook)
    app.add_typer(group, name="webhook")


def add_webhook(
    campaign: Campaign,
    url: Annotated[str, typer.Argument(help="Address that messages are posted to.")],
    event: Annotated[
        list[str] | None, typer.Option(help=f"Which events: {', '.join(EVENT_KINDS)}; all by default.")
    ] = None,
) -> None:
    """Add a webhook and print the secret that signs its messages, once."""
    unknown = sorted(set(event or ()) - set(EVENT_KINDS))
    if unknown:
        raise Invalid("the options are not valid", places=(Place(("--event",), f"there is no {unknown[0]}"),))
    allowed = AllowedWebhookAddresses.parse(Settings.load().webhook_allowed)
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        made = webhooks.create_webhook(
            session,
            campaign,
            url=url,
            kinds=cast("list[EventKind]", event or list(EVENT_KINDS)),
            allowed=allowed,
            actor=command_database.get_actor_name(),
        )
    typer.echo(f"{made.webhook.public_id}\n{made.secret}")


def list_webhooks(campaign: Campaign) -> None:
    """List webhooks with their state."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        views = webhooks.list_webhooks(session, campaign, after=None, limit=webhooks.MOST)
    table = Table("webhook", "address", "events", "next event", "state", box=None)
    for view in views:
        state = (
            f"stopped: {view.stopped_because}" if view.stopped_at else "failing" if view.failing_since else "working"
        )
        table.add_row(view.public_id, view.url, ", ".join(view.kinds), str(view.next_event), state)
    Console().print(table)


def replay_events(
    campaign: Campaign,
    webhook: WebhookId,
    event: Annotated[
        int | None, typer.Option("--from", help="Number of the first event; by default the first undelivered one.")
    ] = None,
) -> None:
    """Send events again, in order. A stopped webhook starts again."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        webhooks.replay_events(session, campaign, webhook, event=event, actor=command_database.get_actor_name())


def remove_webhook(campaign: Campaign, webhook: WebhookId) -> None:
    """Delete a webhook; nothing more is sent to it."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        webhooks.delete_webhook(session, campaign, webhook, actor=command_database.get_actor_name())
