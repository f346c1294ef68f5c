"""Request bodies: read by our own code within limits of time and size, before anything parses them."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import IO, Annotated, Any, Generic, TypeVar

import anyio
from anyio import to_thread
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.types import Message

from app.domain.errors import AppError, StorageFull, TooLarge
from app.domain.validation_errors import list_first_validation_errors
from app.web import strict_json
from app.web.admission import find_admission_slot
from app.web.deps import get_service_options

IN_MEMORY = 1 << 20
PIECE = 1 << 20
AT_ONCE = 1 << 14  # bytes of JSON that are parsed faster than a thread can be found for them
SLOWEST = 1 << 10  # bytes per second, after the first `body_timeout` seconds
M = TypeVar("M", bound=BaseModel)


class BodyTooLarge(TooLarge):
    """The body is larger than allowed."""


class BodyTooSlow(AppError):
    """The body did not arrive in time."""

    kind = "timeout"


class WrongContentType(AppError):
    """The body is of a type that is not accepted here."""

    kind = "unsupported"


class NoRoomForUpload(StorageFull):
    """There is no space left to receive a file."""

    published = "NoRoom"


class BodyIncomplete(AppError):
    """The body ended before it was complete."""

    published = "Cut"
    kind = "bad_request"


class BodyModel(BaseModel):
    """A JSON body: strict, finite, and nothing beyond the declared fields."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class JsonBodyReader(Generic[M]):
    """A dependency that reads a JSON body as a model; the OpenAPI document takes model and examples from here.

    without_slot: the request continues without a slot, as if its body were still arriving. It is for requests that wait
    in the recorder, where many requests share a connection and a separate limit applies.
    """

    def __init__(
        self, model: type[M], examples: Mapping[str, Mapping[str, Any]], *, without_slot: bool = False
    ) -> None:
        self.model = model
        self.examples = examples
        self.without_slot = without_slot

    async def __call__(self, request: Request) -> M:
        """Return the body as the model. Raises WrongContentType, BodyTooLarge, BodyTooSlow, NotJson, Invalid."""
        data = await read_strict_json_bytes(request, without_slot=self.without_slot)
        try:
            if len(data) <= AT_ONCE:
                return self._read(data)
            return await to_thread.run_sync(self._read, data)
        except ValidationError as error:
            faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in list_first_validation_errors(error)]
            raise RequestValidationError(faults) from None

    def _read(self, data: bytes) -> M:
        return self.model.model_validate_json(data, strict=True)


def read_json_body_as(model: type[BaseModel], *, without_slot: bool = False, **examples: Mapping[str, Any]) -> Any:
    """Return a dependency that reads the JSON body of a handler as a model; examples: for the OpenAPI document."""
    return Depends(
        JsonBodyReader(model, {name: {"value": value} for name, value in examples.items()}, without_slot=without_slot)
    )


async def read_strict_json_bytes(request: Request, *, without_slot: bool = False) -> bytes:
    """Return the bytes of a strict JSON body, as `strict_json.parse_json` checks it.

    without_slot: see `JsonBodyReader`.
    """
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != "application/json" or parameters.strip().lower() not in {"", "charset=utf-8"}:
        raise WrongContentType("send application/json in UTF-8")
    _refuse_encoded(request)
    limit = get_service_options(request).body_limit
    pieces = [piece async for piece in stream_body_pieces(request, limit, without_slot=without_slot)]
    data = b"".join(pieces)
    request.state.body_digest = hashlib.sha256(data).digest()
    if len(data) <= AT_ONCE:
        strict_json.parse_json(data)
    else:
        await to_thread.run_sync(strict_json.parse_json, data)
    return data


async def stream_body_pieces(request: Request, limit: int, *, without_slot: bool = False) -> AsyncIterator[bytes]:
    """Yield the pieces of a body as they arrive, at most `limit` bytes in total.

    The slot of this request is free for others meanwhile and, with `without_slot`, also afterwards. Raises
    BodyTooLarge, BodyTooSlow, BodyIncomplete, TooBusy.
    """
    if int(_content_length(request)) > limit:
        raise BodyTooLarge(f"at most {limit} bytes")
    size, timeout = 0, get_service_options(request).body_timeout
    begun = anyio.current_time()
    slot = find_admission_slot(request.scope)
    if slot is not None:
        slot.pause()
    while True:
        # Both silence and slow delivery are limited: on average, a body must arrive at SLOWEST or faster.
        left = begun + timeout + size / SLOWEST - anyio.current_time()
        message = await _next_message(request, min(timeout, max(left, 0)))
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise BodyTooLarge(f"at most {limit} bytes")
        whole = not message.get("more_body", False)
        if whole and slot is not None and not without_slot:
            slot.resume()
        if piece:
            yield piece
        if whole:
            return


async def _next_message(request: Request, timeout: float) -> Message:
    """Return the next message of a body.

    Raises BodyTooSlow, or BodyIncomplete, which no client can receive any longer, but which the log counts.
    """
    try:
        async with asyncio.timeout(timeout):
            message = await request.receive()
    except TimeoutError:
        raise BodyTooSlow(f"nothing came for {timeout:.3g} seconds") from None
    if message["type"] == "http.disconnect":
        raise BodyIncomplete("the client left")
    return message


def _content_length(request: Request) -> str:
    """Return the declared length; servers refuse non-numbers, and a chunked body declares none."""
    given = request.headers.get("content-length", "0")
    return given if given.isascii() and given.isdigit() and len(given) < 20 else "0"


def _refuse_encoded(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongContentType("send it without Content-Encoding; gzipped files are recognized by their content")


class UploadedFile:
    """An uploaded file, held in an unnamed temporary file, which is on disk from IN_MEMORY bytes on."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file = file
        self.size = size

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in order."""
        for offset in range(0, self.size, PIECE):
            self.file.seek(offset)
            yield self.file.read(PIECE)

    def open(self) -> IO[bytes]:
        """Return the content as a separate stream, from the start; closing the stream leaves the file open."""
        return io.BufferedReader(_View(self), buffer_size=1 << 16)


class _View(io.RawIOBase):
    """A reader's own position in an upload."""

    def __init__(self, upload: UploadedFile) -> None:
        self._upload = upload
        self._at = 0

    def readable(self) -> bool:
        """Return True, as every such stream is readable."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from this reader's position."""
        self._upload.file.seek(self._at)
        data = self._upload.file.read(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


async def receive_body_file(request: Request) -> AsyncIterator[UploadedFile]:
    """Yield a body of any type as a file, never whole in memory; the file is deleted after the request."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise WrongContentType("send the bytes of the file themselves as the body, not a form")
    _refuse_encoded(request)
    digest = hashlib.sha256()
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        size, held = 0, bytearray()
        async for piece in stream_body_pieces(request, get_service_options(request).upload_limit):
            held += piece
            size += len(piece)
            if len(held) >= PIECE:
                await to_thread.run_sync(_write, file, bytes(held), digest)
                held.clear()
        await to_thread.run_sync(_write, file, bytes(held), digest)
        request.state.body_digest = digest.digest()
        yield UploadedFile(file, size)


def _write(file: Any, data: bytes, digest: Any) -> None:
    try:
        file.write(data)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise NoRoomForUpload from error
        raise
    digest.update(data)


class JsonOrFileBodyReader(Generic[M]):
    """A dependency: a JSON body, or a file if the query has the parameter that only files need."""

    def __init__(self, body: JsonBodyReader[M], parameter: str) -> None:
        self.body = body
        self.parameter = parameter

    async def __call__(self, request: Request) -> AsyncIterator[M | UploadedFile]:
        """Yield the model or the file."""
        if self.parameter not in request.query_params:
            yield await self.body(request)
            return
        async for upload in receive_body_file(request):
            yield upload


UploadDep = Annotated[UploadedFile, Depends(receive_body_file)]
"""A dependency: a file as the body."""


def hash_body(request: Request) -> bytes:
    """Return the SHA-256 of the body that was read, or of no bytes if the route reads none."""
    digest: bytes = getattr(request.state, "body_digest", hashlib.sha256(b"").digest())
    return digest
