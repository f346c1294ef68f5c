"""`plumbline media`: audio, video and pictures of a campaign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from app.api.models.media import MediaOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.client import remote_server as _remote
from app.config import Settings, make_media_settings
from app.domain.errors import Invalid, Place
from app.domain.keys import convert_name_to_key
from app.domain.media_elements import make_media_name_from_path, split_pdf_page_from_path
from app.services.media import library
from app.storage.media.stores import hash_file

PART = 8 << 20  # bytes
Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
Name = Annotated[str, typer.Argument(help="Name of the file.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Audio, video and pictures of a campaign.")
    for name, command in (
        ("add", add_media),
        ("list", list_media),
        ("caption", set_media_captions),
        ("delete", delete_media),
    ):
        group.command(name)(command)
    app.add_typer(group, name="media")


def add_media(
    campaign: Campaign,
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders with all their files, or one page of a PDF: report.pdf#page=3.")
    ],
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Add files. In a folder, talks/1.wav is called talks:1.wav.

    Large files are sent to a server in parts. If the upload breaks off, run the command again: it continues.
    """
    files = list(_files(paths))
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        added = [_send(remote, campaign, name, file) for name, file in files]
    else:
        media_settings = make_media_settings(Settings.load())
        with command_database.upgrade_and_open_database() as database:
            views = [
                library.store_media(
                    database, media_settings, campaign, name, file, actor=command_database.get_actor_name()
                )
                for name, file in files
            ]
        added = [MediaOut.model_validate(view).model_dump() for view in views]
    _show(added, as_json=as_json)


def _files(paths: list[Path]) -> list[tuple[str, Path]]:
    """Return names and files. Raises Invalid, naming a path that is no file."""
    named = []
    for given in paths:
        below, page = split_pdf_page_from_path(str(given))
        path = given if given.is_file() else Path(below)
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            named += [(_name(file.relative_to(path).as_posix(), None), file) for file in inside]
        elif path.is_file():
            named.append((_name(path.name, None if path is given else page), path))
        else:
            raise Invalid("media cannot be read", places=(Place((str(path),), "there is no such file"),))
    return named


def _name(path: str, page: int | None) -> str:
    return make_media_name_from_path(path, page=page) or convert_name_to_key(path)


def _send(remote: _remote.RemoteServer, campaign: str, name: str, file: Path) -> dict[str, Any]:
    """Send a file in parts, starting where an earlier upload of the same file stopped."""
    size, digest = file.stat().st_size, hash_file(file).hex()
    at = f"{_path(campaign)}-uploads"
    under_way = json.loads(remote.fetch_body(at, accept="application/json"))["uploads"]
    upload = next((one for one in under_way if (one["name"], one["size"]) == (name, size)), None)
    if upload is None:
        upload = json.loads(remote.send_change("POST", at, {}, {"name": name, "size": size, "sha256": digest}))
    with file.open("rb") as content:
        while upload["media"] is None:
            content.seek(upload["offset"])
            part = content.read(PART)
            upload = json.loads(remote.upload_part(f"{at}/{upload['upload']}", part, upload["offset"]))
    media: dict[str, Any] = upload["media"]
    return media


def list_media(campaign: Campaign, as_json: Json = False, server: _remote.Server = None) -> None:
    """List the media files of a campaign."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        items: list[dict[str, Any]] = list(remote.iterate_paginated_list(_path(campaign)))
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
            views = library.list_media(session, campaign, after=None, limit=None)
        items = [MediaOut.model_validate(view).model_dump() for view in views]
    _show(items, as_json=as_json)


def set_media_captions(
    campaign: Campaign,
    name: Name,
    captions: Annotated[str | None, typer.Option(help="Name of a WebVTT file that was added.")] = None,
    transcript: Annotated[Path | None, typer.Option(help="A text file with the transcript.")] = None,
    server: _remote.Server = None,
) -> None:
    """Set the captions and the transcript of a file."""
    changes: dict[str, str | None] = {} if captions is None else {"captions": captions}
    if transcript is not None:
        changes["transcript"] = _text(transcript)
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        media = json.loads(remote.send_change("PATCH", f"{_path(campaign)}/{quote(name, safe='')}", {}, changes))
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            view = library.change_media_metadata(
                session, campaign, name, changes, actor=command_database.get_actor_name()
            )
        media = MediaOut.model_validate(view).model_dump()
    _show([media], as_json=False)


def delete_media(campaign: Campaign, name: Name, server: _remote.Server = None) -> None:
    """Delete a file that no text refers to."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        remote.send_request("DELETE", f"{_path(campaign)}/{quote(name, safe='')}")
        return
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        library.delete_media(session, campaign, name, actor=command_database.get_actor_name())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: {error.strerror if isinstance(error, OSError) else 'is no UTF-8'}") from None


def _show(items: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        write_to_stdout([json.dumps(items, ensure_ascii=False).encode()])
        return
    for item in items:
        facts = [item["media_type"], f"{item['size']:,} bytes"]
        facts += [f"{item['duration_ms'] / 1000:.1f} s"] if item["duration_ms"] is not None else []
        facts += [f"{item['width']} × {item['height']}"] if item["width"] is not None else []
        facts += [f"captions {item['captions']}"] if item["captions"] is not None else []
        typer.echo(f"{item['name']}: {', '.join(facts)}")


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}/media"
