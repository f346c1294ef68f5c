"""Detection of a file's type by its content, and the check that the whole file is of this type.

A file that is two things at once (a GIF that is also a ZIP archive, a picture with a page appended) is read differently
by different programs. Each walk here follows the lengths that the format declares, and so finds data after the end.
Signatures of other formats are searched for in the places where their readers look.

The formats: PNG (ISO/IEC 15948), JPEG (ITU T.81, annex B), GIF89a, RIFF, Ogg (RFC 3533), ISO base media (ISO/IEC
14496-12), EBML (RFC 8794), FLAC (RFC 9639), MPEG audio with ID3v2, PDF (ISO 32000), WebVTT.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from mmap import mmap
from typing import Final

Content = bytes | mmap
Walk = Callable[[Content], str]

HEAD, ZIP_TAIL = 1 << 16, 22 + (1 << 16)
LONGEST_CAPTIONS = 1 << 20
_MARKUP: Final = re.compile(rb"<(?:html|script|!doctype|\?php|svg|iframe|body|head)\b", re.IGNORECASE)
_JPEG_MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)
_TOP_BOXES: Final = frozenset(
    {b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"moof", b"mfra", b"sidx", b"ssix", b"prft"}
    | {b"emsg", b"meta", b"uuid", b"udta", b"pdin"}
)
_BITRATES: Final = {
    (3, 1): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (3, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (2, 1): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES: Final = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


class MediaRefused(ValueError):
    """The file is not accepted; the message says why."""


def detect_media_type(content: Content) -> str:
    """Return the media type of a file by its content. ISO and EBML containers count as video, whatever they contain.

    Raises MediaRefused for a type that is not accepted, and for a file that has data after its end or is also of
    another type.
    """
    walk = next((walk for fits, walk in _WALKS if fits(content)), None)
    if walk is None:
        raise MediaRefused(
            "is not of an accepted type: WAV, MP3, Ogg, FLAC, MP4, WebM, PNG, JPEG, GIF, WebP, PDF or WebVTT"
        )
    media_type = walk(content)
    if media_type != "text/vtt":
        _check_single(content, media_type)
    return media_type


def _check_single(content: Content, media_type: str) -> None:
    """Raise MediaRefused if a reader of another format would accept the file."""
    head, tail = content[:HEAD], content[-ZIP_TAIL:]
    if media_type != "application/pdf":
        if b"%PDF-" in head[:1024]:
            raise MediaRefused("is also a PDF")
        if _MARKUP.search(head):
            raise MediaRefused("contains the start of a page or script")
    at = tail.rfind(b"PK\x05\x06")
    if at >= 0 and len(tail) - at >= 22 and tail[at + 4 : at + 8] == bytes(4):
        raise MediaRefused("is also a ZIP archive")


def _ends(content: Content, end: int) -> None:
    if end > len(content):
        raise MediaRefused("is truncated: it ends before its content does")
    if end < len(content):
        raise MediaRefused(f"has data after its end: {len(content) - end} bytes")


def _number(content: Content, at: int, size: int, *, little: bool = False) -> int:
    piece = content[at : at + size]
    if len(piece) < size:
        raise MediaRefused("is truncated: it ends before its content does")
    return int.from_bytes(piece, "little" if little else "big")


def _png(content: Content) -> str:
    at = 8
    while True:
        length, kind = _number(content, at, 4), content[at + 4 : at + 8]
        if not kind.isalpha():
            raise MediaRefused("is no valid PNG")
        at += 12 + length
        if kind == b"IEND":
            _ends(content, at)
            return "image/png"


def _jpeg(content: Content) -> str:
    at = 2
    while True:
        marker = _JPEG_MARKER.search(content, at)
        if marker is None:
            raise MediaRefused("is truncated: it ends before its content does")
        at, kind = marker.end(), content[marker.end() - 1]
        if kind == 0xD9:
            _ends(content, at)
            return "image/jpeg"
        if kind not in (0x01, 0xD8):
            at += max(2, _number(content, at, 2))


def _gif(content: Content) -> str:
    def table(flags: int) -> int:
        return 3 << ((flags & 7) + 1) if flags & 0x80 else 0

    def blocks(at: int) -> int:
        while size := _number(content, at, 1):
            at += 1 + size
        return at + 1

    at = 13 + table(_number(content, 10, 1))
    while (kind := _number(content, at, 1)) != 0x3B:
        if kind == 0x21:
            at = blocks(at + 2)
        elif kind == 0x2C:
            at = blocks(at + 11 + table(_number(content, at + 9, 1)))
        else:
            raise MediaRefused("is no valid GIF")
    _ends(content, at + 1)
    return "image/gif"


def _riff(content: Content) -> str:
    size, form = _number(content, 4, 4, little=True), content[8:12]
    if size != 0xFFFFFFFF:  # a program that writes to a pipe does not know the size
        _ends(content, min(8 + size + size % 2, max(len(content), 8 + size)))
    kinds = {b"WAVE": "audio/wav", b"WEBP": "image/webp"}
    if bytes(form) not in kinds:
        raise MediaRefused("is not of an accepted type: of RIFF files, WAV and WebP are accepted")
    return kinds[bytes(form)]


def _ogg(content: Content) -> str:
    at = 0
    while at < len(content):
        if content[at : at + 4] != b"OggS":
            raise MediaRefused(f"has data after its end: {len(content) - at} bytes")
        n = _number(content, at + 26, 1)
        at += 27 + n + sum(content[at + 27 : at + 27 + n])
    _ends(content, at)
    return "audio/ogg"


def _iso(content: Content) -> str:
    at = 0
    while at < len(content):
        size, kind = _number(content, at, 4), content[at + 4 : at + 8]
        if bytes(kind) not in _TOP_BOXES:
            raise MediaRefused(f"has data after its end: {len(content) - at} bytes")
        size = _number(content, at + 8, 8) if size == 1 else size or len(content) - at
        if size < 8:
            raise MediaRefused("is no valid MP4")
        at += size
    _ends(content, at)
    return "video/mp4"


def _ebml(content: Content) -> str:
    at, first = 0, True
    while at < len(content):
        name, at = _vint(content, at, keep=True)
        size, at = _vint(content, at, keep=False)
        if first and b"webm" not in content[at : at + max(size, 0)]:
            raise MediaRefused("is Matroska, but not WebM")
        if not first and name not in (0x18538067, 0xEC, 0xBF):
            raise MediaRefused("has data after its end")
        at, first = (len(content) if size < 0 else at + size), False
    _ends(content, at)
    return "video/webm"


def _vint(content: Content, at: int, *, keep: bool) -> tuple[int, int]:
    """Return a number of variable length and the position after it; -1 for an unknown size."""
    first = _number(content, at, 1)
    length = 9 - first.bit_length()
    if length > 8:
        raise MediaRefused("is no valid WebM")
    value = _number(content, at, length)
    mask = (1 << 7 * length) - 1
    size = value if keep else value & mask
    return (-1 if not keep and size == mask else size), at + length


def _flac(content: Content) -> str:
    at = 4
    while True:
        head = _number(content, at, 4)
        at += 4 + (head & 0xFFFFFF)
        if head >> 31:
            break
    if _number(content, at, 2) >> 2 != 0x3FFE:
        raise MediaRefused("is no valid FLAC")
    return "audio/flac"


def _mpeg(content: Content) -> str:
    at = 0
    if content[:3] == b"ID3":
        length = content[6:10]
        at = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(length, (21, 14, 7, 0), strict=True))
        at += 10 if _number(content, 5, 1) & 0x10 else 0
    start, end = at, _end_before_tags(content)
    while at < end:
        size = _mpeg_frame(_number(content, at, 4)) if end - at >= 4 else 0
        if size == 0:
            raise MediaRefused(
                "is no valid MP3" if at == start else f"has data after its end: {len(content) - at} bytes"
            )
        at += size
    if at == start:
        raise MediaRefused("is no valid MP3")
    return "audio/mpeg"  # the last frame may be truncated


def _end_before_tags(content: Content) -> int:
    """Return where the frames of an MP3 file end, before ID3v1 and APE tags."""
    end = len(content)
    if content[-128:][:3] == b"TAG":
        end -= 128
    footer = content[max(0, end - 32) : end]
    if footer[:8] == b"APETAGEX":
        size, flags = int.from_bytes(footer[12:16], "little"), int.from_bytes(footer[20:24], "little")
        end -= size + (32 if flags >> 31 else 0)
    return end


def _mpeg_frame(head: int) -> int:
    """Return the size of an MPEG audio frame (layer II or III) in bytes, from its header; 0 if it is not a frame."""
    version, layer, bits, rate = head >> 19 & 3, 4 - (head >> 17 & 3), head >> 12 & 15, head >> 10 & 3
    if head >> 21 != 0x7FF or version == 1 or layer not in (2, 3) or rate == 3 or bits in (0, 15):
        return 0
    column = {(3, 3): (3, 1), (3, 2): (3, 2)}.get((version, layer), (2, 1))
    samples = 72 if layer == 3 and version != 3 else 144
    return samples * _BITRATES[column][bits] * 1000 // _RATES[version][rate] + (head >> 9 & 1)


def _pdf(content: Content) -> str:
    tail = bytes(content[-2048:]).rstrip(b"\0\t\n\x0c\r ")
    if not tail.endswith(b"%%EOF"):
        raise MediaRefused("has data after its end, or is truncated")
    return "application/pdf"


def _vtt(content: Content) -> str:
    if len(content) > LONGEST_CAPTIONS:
        raise MediaRefused(f"is larger than captions may be: {LONGEST_CAPTIONS} bytes")
    try:
        text = bytes(content[:]).decode("utf-8")
    except UnicodeDecodeError:
        raise MediaRefused("is not UTF-8, which WebVTT requires") from None
    if "\0" in text or _MARKUP.search(text.encode()) or not re.match("\ufeff?WEBVTT[ \t\r\n]", text + "\n"):
        raise MediaRefused("is no valid WebVTT")
    return "text/vtt"


_WALKS: Final[tuple[tuple[Callable[[Content], bool], Walk], ...]] = (
    (lambda c: c[:8] == b"\x89PNG\r\n\x1a\n", _png),
    (lambda c: c[:3] == b"\xff\xd8\xff", _jpeg),
    (lambda c: c[:6] in (b"GIF87a", b"GIF89a"), _gif),
    (lambda c: c[:4] == b"RIFF", _riff),
    (lambda c: c[:4] == b"OggS", _ogg),
    (lambda c: c[4:8] == b"ftyp", _iso),
    (lambda c: c[:4] == b"\x1a\x45\xdf\xa3", _ebml),
    (lambda c: c[:4] == b"fLaC", _flac),
    (lambda c: c[:3] == b"ID3" or _mpeg_frame(int.from_bytes(c[:4], "big")) > 0, _mpeg),
    (lambda c: c[:5] == b"%PDF-", _pdf),
    (lambda c: c[:6] == b"WEBVTT" or c[:9] == b"\xef\xbb\xbfWEBVTT", _vtt),
)
