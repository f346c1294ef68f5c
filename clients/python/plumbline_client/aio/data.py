"""Texts, judgments and media of a campaign: in by imports, out by exports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

from plumbline_client.aio.transport import AsyncTransport
from plumbline_client.calls import Call, Json, path, without_none
from plumbline_client.errors import Problem, ServerUnreachable, UploadChanged
from plumbline_client.files import files_by_name, hash_file, read_part
from plumbline_client.models import Import, ImportFile, ImportReport, Judgment, Media, MediaUpload

NOT_FOUND = 404
GOES_ON = frozenset({"upload-busy", "upload-offset-differs"})
"""Refusals of a part after which the upload goes on, from the offset that the server tells."""
ENDED = "media-upload-not-found"


class AsyncData:
    """What one campaign holds."""

    def __init__(self, transport: AsyncTransport, campaign: str) -> None:
        self._transport, self._campaign = transport, campaign

    def _path(self, *parts: str) -> str:
        return path("campaigns", self._campaign, *parts)

    async def import_files(
        self,
        format: str,
        files: Iterable[Path | str],
        *,
        options: Mapping[str, str] | None = None,
        dry_run: bool = False,
        skip_bad_lines: bool = False,
    ) -> ImportReport:
        """Import files, all of them or nothing.

        If an earlier run broke off, this goes on with its import: files that the server has are not sent again.
        Raises Problem with file and line of what cannot be read, ValueError for two files of one name.
        """
        local = files_by_name(files)
        hashes = {name: hash_file(file) for name, file in local.items()}
        begun = await self._find_import(format, dict(options or {}), hashes)
        if begun is None:
            begun = await self.begin_import(format, options=options)
        await self.send_files(begun.id, local.values())
        return await self.commit_import(begun.id, dry_run=dry_run, skip_bad_lines=skip_bad_lines)

    async def begin_import(self, format: str, *, options: Mapping[str, str] | None = None) -> Import:
        """Announce an import; send its files, then commit it."""
        body = {"format": format, "options": dict(options or {})}
        return await self._transport.ask(Import, Call("POST", self._path("imports"), body=body, repeats="keyed"))

    async def send_files(self, import_id: str, files: Iterable[Path | str]) -> list[ImportFile]:
        """Send files of an import. What the server has already is not sent again.

        Raises UploadChanged, ValueError for two files of one name.
        """
        local = files_by_name(files)
        here = self._path("imports", import_id, "files")
        there = {item["name"]: ImportFile.model_validate(item) async for item in self._transport.items(here)}
        sent = []
        for name, file in local.items():
            known = there.get(name)
            if known is None:
                call = Call("PUT", self._path("imports", import_id, "files", name))
                known = await self._transport.ask(ImportFile, call, file=file)
            elif known.sha256 != hash_file(file):
                raise UploadChanged(f"{import_id} has another {name}; begin a new import")
            sent.append(known)
        return sent

    async def commit_import(
        self, import_id: str, *, dry_run: bool = False, skip_bad_lines: bool = False
    ) -> ImportReport:
        """Read and store an import that has its files. A second commit answers with the report of the first."""
        query = {"dry_run": dry_run, "skip_bad_lines": skip_bad_lines}
        call = Call("POST", self._path("imports", import_id, "commit"), query, repeats="safe")
        return await self._transport.ask(ImportReport, call)

    async def _find_import(self, format: str, options: dict[str, str], hashes: Mapping[str, str]) -> Import | None:
        """An import of these files that broke off. One without files says nothing, and is left alone."""
        async for row in self._transport.items(self._path("imports")):
            if row["state"] != "receiving" or row["format"] != format or row["options"] != options:
                continue
            here = self._path("imports", row["import"])
            files = {item["name"]: item["sha256"] async for item in self._transport.items(f"{here}/files")}
            if files and files.items() <= hashes.items():
                return await self._transport.ask(Import, Call("GET", here))
        return None

    async def export(self, format: str, file: Path | str) -> Path:
        """Stream an export to a file, which is there as a whole or not at all: `jsonl`, `csv`, `bundle` …"""
        await self._transport.download(Call("GET", self._path("exports", format)), Path(file))
        return Path(file)

    async def losses(self, format: str) -> dict[str, int]:
        """What an export in this format leaves out."""
        answer = await self._transport.send(Call("GET", self._path("exports", format, "losses")))
        losses: dict[str, int] = answer.json()["losses"]
        return losses

    async def judgments(self, **filters: str | int) -> AsyncIterator[Judgment]:
        """Every judgment, page after page."""
        async for item in self._transport.items(self._path("judgments"), filters):
            yield Judgment.model_validate(item)

    async def record_judgments(self, judgments: Iterable[Json]) -> Json:
        """Store judgments that were made elsewhere, all of them or none."""
        call = Call("POST", self._path("judgments"), body=list(judgments), repeats="keyed")
        recorded: Json = (await self._transport.send(call)).json()
        return recorded

    async def put_document(self, key: str, segments: Iterable[Json], **fields: object) -> None:
        """Store a document: `segments=[{"source": "…"}]`, and `position`, `domain`, `kind` where wanted."""
        body = {"segments": list(segments), **without_none(**fields)}
        await self._transport.send(Call("PUT", self._path("documents", key), body=body))

    async def put_system(self, key: str, **fields: object) -> None:
        """Store a system: `name`, `kind`, `lab`, `tags` where wanted."""
        await self._transport.send(Call("PUT", self._path("systems", key), body=without_none(**fields)))

    async def put_outputs(self, system: str, document: str, texts: Iterable[str | None], **fields: object) -> None:
        """Store what a system made of a document, a text for each segment."""
        body = {"segments": list(texts), **without_none(**fields)}
        await self._transport.send(Call("PUT", self._path("systems", system, "outputs", document), body=body))

    async def media(self) -> AsyncIterator[Media]:
        """Audio, video, pictures and captions."""
        async for item in self._transport.items(self._path("media")):
            yield Media.model_validate(item)

    async def upload_media(self, file: Path | str, *, name: str | None = None) -> Media:
        """Send a file in parts. After a break, call it again: it goes on where it ended. Raises Problem."""
        file, name = Path(file), name or Path(file).name
        size, digest = file.stat().st_size, hash_file(file)
        try:
            return await self._send_parts(file, await self._find_or_announce(name, size, digest))
        except Problem as error:
            if error.kind != ENDED:
                raise
        # The server forgets an upload with the last part, whose answer was lost: it stored the file or refused it.
        stored = await self._find_media(name)
        if stored is not None and stored.sha256 == digest:
            return stored
        # Refused, or stored with another hash, as the page of a PDF is: sent anew, the same file changes nothing.
        return await self._send_parts(file, await self._find_or_announce(name, size, digest))

    async def _find_media(self, name: str) -> Media | None:
        try:
            return await self._transport.ask(Media, Call("GET", self._path("media", name)))
        except Problem as error:
            if error.status != NOT_FOUND:
                raise
            return None

    async def _find_or_announce(self, name: str, size: int, digest: str) -> MediaUpload:
        here = self._path("media-uploads")
        under_way = (await self._transport.send(Call("GET", here))).json()["uploads"]
        for upload in under_way:
            if (upload["name"], upload["size"]) == (name, size):
                return MediaUpload.model_validate(upload)
        body = {"name": name, "size": size, "sha256": digest}
        return await self._transport.ask(MediaUpload, Call("POST", here, body=body, repeats="keyed"))

    async def _send_parts(self, file: Path, upload: MediaUpload) -> Media:
        """The rest of a file. After a break the server says where it stands; it may have taken the part."""
        here, stuck = self._path("media-uploads", upload.upload), 0
        policy = self._transport.policy
        while upload.media is None:
            headers = {"Upload-Offset": str(upload.offset), "Content-Type": "application/octet-stream"}
            part = Call("PATCH", here, sends=read_part(file, upload.offset), headers=headers)
            try:
                upload, stuck = await self._transport.ask(MediaUpload, part), 0
            except (ServerUnreachable, Problem) as error:
                if isinstance(error, Problem) and error.kind not in GOES_ON:
                    raise
                before, stuck = upload.offset, stuck + 1
                if stuck < policy.tries:  # the server may still examine what an earlier request brought
                    await asyncio.sleep(policy.backoff(stuck))
                upload = await self._transport.ask(MediaUpload, Call("GET", here))
                if upload.offset == before and upload.media is None and stuck >= policy.tries:
                    raise
        return upload.media
