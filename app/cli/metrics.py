"""`plumbline metrics`: imports scores of automatic metrics from files, and lists the metrics."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from app.api.metrics import MetricOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.client import remote_server as _remote
from app.domain.errors import Invalid
from app.services.data import metrics as service
from app.services.data import metrics_files

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Add and list scores of automatic metrics.")
    group.command("import")(import_metric_scores)
    group.command("list")(list_metrics)
    app.add_typer(group, name="metrics")


def import_metric_scores(
    campaign: Campaign,
    files: Annotated[list[Path], typer.Argument(help="A table with names, or *.seg.score and *.sys.score files.")],
    name: Annotated[str | None, typer.Option(help="Name of the metric; default: from the score files.")] = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="A higher score is worse.")] = False,
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Store the scores of one metric, replacing its previous scores."""
    texts = {path.as_posix(): _text(path) for path in files}
    said = {named for path in texts if (named := metrics_files.parse_metric_name(path)) is not None}
    if name is None and len(said) != 1:
        raise Invalid("name the metric: --name NAME" if not said else f"several metrics: {', '.join(sorted(said))}")
    metric = name or said.pop()
    given = metrics_files.read_metric_files(texts, higher_is_better=not lower_is_better)
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        body = remote.send_change("PUT", f"{_path(campaign)}/{quote(metric, safe='')}", {}, asdict(given))
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            outcome = service.put_metric_scores(
                session, campaign, metric, given, actor=command_database.get_actor_name()
            )
        body = MetricOut.model_validate(outcome).model_dump_json().encode()
    if as_json:
        write_to_stdout([body])
        return
    told = json.loads(body)
    typer.echo(
        f"{campaign}: {metric}, {told['n_outputs']:,} scores of outputs and {told['n_of_systems']:,} of systems, "
        f"data version {told['data_version']}"
    )
    for reason, n in told["left"].items():
        typer.echo(f"left: {n:,} {reason}")


def list_metrics(campaign: Campaign, as_json: Json = False, server: _remote.Server = None) -> None:
    """List the metrics of a campaign."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        items = json.loads(remote.fetch_body(_path(campaign), accept="application/json"))["items"]
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
            items = [MetricOut.model_validate(one).model_dump() for one in service.list_metrics(session, campaign)]
    if as_json:
        write_to_stdout([json.dumps(items, ensure_ascii=False).encode()])
        return
    for item in items:
        better = "higher" if item["higher_is_better"] else "lower"
        typer.echo(
            f"{item['metric']}: {item['n_outputs']:,} outputs, {item['n_systems']:,} systems, {better} is better"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: {error.strerror if isinstance(error, OSError) else 'is no UTF-8'}") from None


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}/metrics"
