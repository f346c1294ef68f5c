"""What a file is by its content, and that one which is two things at once is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.media_types import MediaFacts, MediaLimits
from app.services.media.examine import MediaNotAccepted, examine_media
from app.services.media.media_type_detection import MediaRefused, detect_media_type
from tests.media_files import VTT, ZIP_END, make_pdf, make_png, make_wav

HONEST = {
    "audio/wav": make_wav(),
    "image/png": make_png(),
    "application/pdf": make_pdf(),
    "text/vtt": VTT,
    "image/gif": b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
    "audio/mpeg": (b"\xff\xfb\x90\x00" + bytes(413)) * 4,
    "audio/ogg": b"OggS" + bytes(22) + b"\x01\x05" + b"hello",
    "video/mp4": b"\0\0\0\x14ftypisom\0\0\0\0isom" + b"\0\0\0\x08free",
    "video/webm": b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm" + b"\x18\x53\x80\x67\x82ab",
}


@pytest.mark.parametrize("media_type", HONEST)
def test_a_file_is_what_its_content_says(media_type: str) -> None:
    assert detect_media_type(HONEST[media_type]) == media_type


@pytest.mark.parametrize("media_type", sorted(set(HONEST) - {"text/vtt"}))
@pytest.mark.parametrize("behind", [ZIP_END, b"<script>alert(1)</script>", b"\xff\xfb", b"%PDF-1.4 %%EOF."])
def test_what_goes_on_behind_its_end_is_refused(media_type: str, behind: bytes) -> None:
    with pytest.raises(MediaRefused):
        detect_media_type(HONEST[media_type] + behind)


@pytest.mark.parametrize("media_type", sorted(set(HONEST) - {"text/vtt", "audio/mpeg"}))
def test_a_file_that_is_cut_is_refused(media_type: str) -> None:
    with pytest.raises(MediaRefused):
        detect_media_type(HONEST[media_type][:-6])


def test_an_archive_within_a_sound_is_found() -> None:
    """A ZIP whose end stands in the last chunk of a WAV: each of both readers takes it for its own."""
    wav = bytearray(HONEST["audio/wav"])
    wav[-len(ZIP_END) :] = ZIP_END
    with pytest.raises(MediaRefused, match="ZIP"):
        detect_media_type(bytes(wav))


@pytest.mark.parametrize("page", [b"<html>", b"<SCRIPT src=x>", b"<!doctype html>", b"<?php ", b"<svg onload=x>"])
def test_a_page_within_a_picture_is_found(page: bytes) -> None:
    gif = HONEST["image/gif"]
    commented = gif[:-1] + b"\x21\xfe" + bytes([len(page)]) + page + b"\0;"
    with pytest.raises(MediaRefused, match="page or script"):
        detect_media_type(commented)


def test_a_document_within_a_picture_is_found() -> None:
    gif = HONEST["image/gif"]
    with pytest.raises(MediaRefused, match="PDF"):
        detect_media_type(gif[:-1] + b"\x21\xfe\x08%PDF-1.4\0;")


@pytest.mark.parametrize(
    "content", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"MZ\x90", b"#!/bin/sh\n", b"PK\x03\x04", b"text"]
)
def test_other_types_are_refused(content: bytes) -> None:
    with pytest.raises(MediaRefused):
        detect_media_type(content)


def examined(folder: Path, content: bytes, limits: MediaLimits | None = None, *, page: int | None = None) -> MediaFacts:
    file = folder / "given"
    file.write_bytes(content)
    return examine_media(file, folder / "page.png", "given", limits or MediaLimits(), page=page)


def test_duration_and_pixels_are_read(tmp_path: Path) -> None:
    assert examined(tmp_path, make_wav(1.5)) == MediaFacts("audio/wav", 1500)
    assert examined(tmp_path, make_png(8, 6)) == MediaFacts("image/png", None, 8, 6)


def test_a_page_becomes_a_picture(tmp_path: Path) -> None:
    assert examined(tmp_path, make_pdf()) == MediaFacts("image/png", None, 150, 75)
    assert detect_media_type((tmp_path / "page.png").read_bytes()) == "image/png"
    with pytest.raises(MediaNotAccepted, match="3 pages"):
        examined(tmp_path, make_pdf(3))
    assert examined(tmp_path, make_pdf(3), page=3) == MediaFacts("image/png", None, 226, 75)
    with pytest.raises(MediaNotAccepted, match="no page 4"):
        examined(tmp_path, make_pdf(3), page=4)


def test_limits_hold(tmp_path: Path) -> None:
    for content, limits in (
        (make_wav(2), MediaLimits(duration=1)),
        (make_png(100, 100), MediaLimits(pixels=9_999)),
        (make_png(), MediaLimits(size=20)),
    ):
        with pytest.raises(MediaNotAccepted):
            examined(tmp_path, content, limits)
