"""`plumbline archive`: a finished campaign as files that any web server can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from app.cli.kit import command_database
from app.cli.kit.files import write_files_to_new_folder
from app.config import Settings, make_media_settings
from app.domain.media_types import ENDINGS
from app.services.data import public_archive
from app.services.data.public_archive import ArchivedDocument, ArchiveIndexPage
from app.services.data.public_archive_media import add_media_addresses
from app.services.media import library
from app.services.media.library import MediaContent
from app.ui.archive import (
    assign_document_file_names,
    render_archive_index,
    render_archive_style_sheet,
    render_archived_document,
)
from app.ui.assets import STYLE

DOCUMENT: TypeAdapter[ArchivedDocument] = TypeAdapter(ArchivedDocument)
Loader = Callable[[str], ArchivedDocument]


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("archive")(write_archive_folder)


def write_archive_folder(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, new or empty.")],
) -> None:
    """Write a closed campaign as pages and JSON: its texts and media with all judgments, without names of raters."""
    with command_database.upgrade_and_open_database() as database:
        with database.transaction(snapshot=True) as session:
            public_archive.require_closed_campaign(session, campaign)
            indexes = list(_indexes(session, campaign))
            media = library.open_all_media(session, make_media_settings(Settings.load()), campaign)

        def load(document: str) -> ArchivedDocument:
            with database.transaction(snapshot=True) as session:
                return public_archive.load_archived_document(session, campaign, document)

        write_files_to_new_folder(_files(indexes, load, media), output)


def _indexes(session: Any, campaign: str) -> Iterator[ArchiveIndexPage]:
    after: str | None = None
    while True:
        index = public_archive.load_archive_index_page(session, campaign, after=after)
        yield index
        after = index.next
        if after is None:
            return


def _files(
    indexes: list[ArchiveIndexPage], load: Loader, media: Mapping[str, MediaContent]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    documents = tuple(one for index in indexes for one in index.documents)
    whole = ArchiveIndexPage(indexes[0].campaign, documents, None)
    names = assign_document_file_names([key for key, _ in documents])
    yield "index.html", iter([render_archive_index(whole, lambda key: f"documents/{names[key]}.html").encode()])
    yield STYLE, iter([render_archive_style_sheet()])
    files = {
        name: f"media/{n}.{ENDINGS[media[name].media_type]}"
        for name, n in assign_document_file_names(sorted(media)).items()
    }
    shown: set[str] = set()
    for key, _ in documents:
        document = load(key)
        document = replace(document, media=add_media_addresses(document.media, lambda name: f"../{files[name]}"))
        shown |= {file.name for file in document.media}
        yield f"documents/{names[key]}.html", iter([render_archived_document(document).encode()])
        yield f"documents/{names[key]}.json", iter([DOCUMENT.dump_json(document)])
    for name in sorted(shown):
        yield files[name], media[name].read(0, media[name].size)
