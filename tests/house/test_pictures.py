"""Every picture of the documents is one that `make screenshots` or a benchmark makes, and small."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.calibration_page import PICTURE
from screenshots.shots import DRAWN, LOOKS, MEASURED, PAGES
from screenshots.shots import files as made
from screenshots.small import alike, small_png
from screenshots.steady import steady_svg

LARGEST = 150_000  # bytes
NAMED = re.compile(r"!\[([^]]*)\]\(([^)\s]+)\)")
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def shown(repository: Path, files: list[Path]) -> dict[Path, set[str]]:
    """Documents by the pictures that they show, with the words that stand for each."""
    found: dict[Path, set[str]] = {}
    for path in files:
        if path.suffix == ".md":
            for words, target in NAMED.findall((repository / path).read_text(encoding="utf-8")):
                found.setdefault((repository / path.parent / target).resolve(), set()).add(words)
    return found


def test_every_picture_that_is_shown_is_made_and_every_one_that_is_made_is_shown(
    repository: Path, files: list[Path]
) -> None:
    folder = repository / "docs" / "pictures"
    assert {path.relative_to(folder).as_posix() for path in shown(repository, files)} == made()


def test_what_lies_in_the_folder_is_what_is_made(repository: Path) -> None:
    assert {PICTURE.name} == MEASURED
    assert {path.name for path in (repository / "docs" / "pictures").iterdir()} == made()


def test_every_picture_is_told_in_words(repository: Path, files: list[Path]) -> None:
    short = [path.name for path, words in shown(repository, files).items() if min(map(len, words)) < 20]
    assert not short


def test_every_picture_is_small_and_as_wide_as_its_name_says(repository: Path) -> None:
    for shot in PAGES:
        for look in shot.looks:
            picture = (repository / "docs" / "pictures" / shot.file(look)).read_bytes()
            assert len(picture) < LARGEST
            assert picture.startswith(SIGNATURE)
            assert struct.unpack(">II", picture[16:24]) == (look.width, look.height)


def test_drawn_reports_tell_nothing_of_chance(repository: Path) -> None:
    for name in DRAWN:
        picture = (repository / "docs" / "pictures" / name).read_bytes()
        assert len(picture) < LARGEST
        assert b"ata version" in picture
        assert steady_svg(picture) == picture


def test_a_phone_and_a_desk_in_light_and_in_dark_are_pictured() -> None:
    assert {(look.width, look.scheme) for look in LOOKS} == {
        (360, "light"),
        (360, "dark"),
        (1440, "light"),
        (1440, "dark"),
    }
    assert {shot.who for shot in PAGES if set(shot.looks) == set(LOOKS)} == {"manager", "rater"}


def test_a_picture_made_small_is_the_same_again(repository: Path) -> None:
    picture = (repository / "docs" / "pictures" / PAGES[0].file(PAGES[0].looks[0])).read_bytes()
    assert small_png(picture) == small_png(small_png(picture))


@pytest.mark.parametrize(("level", "same"), [(245, True), (200, False)])
def test_only_what_can_be_seen_makes_a_picture_another(level: int, same: bool) -> None:
    white, other = Image.new("RGB", (8, 8), "white"), Image.new("RGB", (8, 8), "white")
    other.putpixel((3, 3), (level, level, level))
    assert alike(as_png(white), as_png(other)) is same
    assert not alike(as_png(white), as_png(Image.new("RGB", (8, 9), "white")))


def as_png(picture: Image.Image) -> bytes:
    made = io.BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()
