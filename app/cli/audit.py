"""`plumbline audit`: checks that the audit log was not changed after it was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from app.api.audit import AuditEntryOut
from app.cli.kit import command_database
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.services.campaigns import audit as log
from app.services.campaigns import data_seals
from app.services.campaigns.audit import AuditChainVerification
from app.services.campaigns.data_seals import DataSealVerification

DOES_NOT_HOLD = 1


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(print_or_check_audit_chains)


def print_or_check_audit_chains(
    check: Annotated[bool, typer.Option("--check", help="Recompute every hash; exit with 1 if one differs.")] = False,
    seal: Annotated[
        bool, typer.Option("--seal", help="Seal data from a release without seals, in their present state.")
    ] = False,
    server: _remote.Server = None,
) -> None:
    """Print the last hash of every campaign's chain. Kept elsewhere, it proves that nothing before it was changed.

    `--check` recomputes the hashes of the log and of every campaign's judgments.
    """
    if seal and (check or server):
        what = "--seal works on the database and cannot be combined with --check"
        raise Invalid("the options are not valid", places=(Place(("--seal",), what),))
    if seal:
        _seal()
        return
    if check and server:
        what = "the hashes are computed from the database, so not over a server"
        raise Invalid("the options are not valid", places=(Place(("--check",), what),))
    remote = (
        None if check else _remote.find_configured_remote_server(server)
    )  # a check always uses the database, even if the settings name a server
    _print_checks(_check_in_database(check=check) if remote is None else _check_on_server(remote), check=check)


def _seal() -> None:
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        for campaign in data_seals.seal_all_campaigns(session, actor=log.OPERATOR):
            typer.echo(f"{campaign}: sealed")


def _print_checks(seals: Iterable[AuditChainVerification | DataSealVerification], *, check: bool) -> None:
    """Print every chain and its faults. Raises Exit if there are faults and `check` is set."""
    results = list(seals)
    for seal in results:
        typer.echo(f"{_name(seal)}: {_size(seal)}, {seal.hash}")
    faults = [(_name(seal), fault) for seal in results for fault in seal.faults]
    for campaign, fault in faults:
        typer.echo(f"plumbline: {campaign}: {fault}", err=True)
    if check and faults:
        raise typer.Exit(DOES_NOT_HOLD)


def _name(seal: AuditChainVerification | DataSealVerification) -> str:
    return seal.campaign or "(installation)"


def _size(seal: AuditChainVerification | DataSealVerification) -> str:
    return (
        f"{seal.rows} rows"
        if isinstance(seal, AuditChainVerification)
        else f"{seal.judgments} judgments in {seal.versions} versions"
    )


def _check_in_database(*, check: bool) -> list[AuditChainVerification | DataSealVerification]:
    with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
        return [*log.verify_audit_chains(session), *(data_seals.verify_data_seals(session) if check else ())]


def _check_on_server(remote: _remote.RemoteServer) -> Iterator[AuditChainVerification]:
    """Yield the last row of each chain that the token may see; no hash is recomputed."""
    last: dict[str | None, AuditEntryOut] = {}
    for item in remote.iterate_paginated_list("/v1/audit"):  # newest first
        row = AuditEntryOut.model_validate(item)
        last.setdefault(row.campaign, row)
    for campaign in sorted(last, key=lambda key: (key is None, key or "")):
        yield AuditChainVerification(campaign, last[campaign].n, last[campaign].hash, ())
