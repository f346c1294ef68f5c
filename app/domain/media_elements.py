"""Texts that are media: `<audio src="talk.wav"></audio>` in the place of a text refers to a file of the campaign.

It is what Pearmut writes, and what the field's files of speech and pictures hold, so every format carries it unchanged.
A text that begins with such an element is shown as the file; what follows the element is its transcript.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Final

from app.domain.instructions import read_instructions
from app.domain.keys import is_key, make_key

OPENING: Final = r"^\s*<(audio|video|img)(?=[\s/>])"
"""How a text begins that is media; the same pattern holds in Postgres, case aside."""
_ELEMENT: Final = re.compile(OPENING + r"([^>]*)>", re.IGNORECASE)
_SRC: Final = re.compile(r"""\bsrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"[\\/]+")  # browsers, too, take both for the same
_OTHER_HOST: Final = re.compile(r"[\\/]{2}")
_FOLDER: Final = "assets/"  # where Pearmut serves them
_PICTURES: Final = ("png", "jpg", "jpeg", "gif", "webp", "pdf")
_VIDEOS: Final = ("mp4", "webm", "mov")


@dataclass(frozen=True, slots=True)
class MediaElement:
    """What a text refers to. transcript: what follows the element, as plain text; None where nothing does."""

    name: str
    transcript: str | None


def find_media_element(text: str | None) -> MediaElement | None:
    """The file that a text is; None for a text that is none, and for a file of another host.

    >>> find_media_element('<video src="assets/talks/1.mp4" controls></video>')
    MediaElement(name='talks:1.mp4', transcript=None)
    >>> find_media_element("<audio controls><source src='a.wav'></audio><br>Good <b>morning</b>.")
    MediaElement(name='a.wav', transcript='Good morning.')
    >>> find_media_element("<img src=https://example.org/a.png>"), find_media_element("A <img src=a.png>")
    (None, None)
    """
    opening = None if text is None else _ELEMENT.match(text)
    if text is None or opening is None:
        return None
    inner, rest = "", text[opening.end() :]
    if opening[1].lower() != "img":
        inner, closing, after = _split(rest, f"</{opening[1]}>")
        rest = after if closing else ""
    source = _SRC.search(opening[2]) or _SRC.search(inner)
    name = None if source is None else name_from_address(unescape(next(part for part in source.groups() if part)))
    return None if name is None else MediaElement(name, read_instructions(rest))


def name_from_address(address: str) -> str | None:
    """The name of the file at an address within a campaign; None for an address that leads elsewhere.

    >>> name_from_address("./assets/a b.png"), name_from_address("//example.org/a.png"), name_from_address("../a.png")
    ('a_b.png~47c1591e', None, None)
    """
    if _OTHER_HOST.match(address) or re.match("[a-z][a-z0-9+.-]*://", address, re.IGNORECASE):
        return None
    parts = [part for part in _SEPARATOR.split(address.partition("?")[0]) if part not in ("", ".")]
    if parts and f"{parts[0]}/" == _FOLDER:
        parts = parts[1:]
    if not parts or ".." in parts:
        return None
    name = ":".join(parts)
    return name if is_key(name) else make_key(name)


def make_media_element(name: str, kind: str | None = None) -> str:
    """The text that refers to a file. kind: what it is; told by the ending of the name where None.

    >>> make_media_element("talks:1.wav"), make_media_element("page.pdf")
    ('<audio src="assets/talks/1.wav" controls></audio>', '<img src="assets/page.pdf">')
    """
    ending = name.rpartition(".")[2].lower()
    tag = {"image": "img"}.get(kind or "", kind) or (
        "img" if ending in _PICTURES else "video" if ending in _VIDEOS else "audio"
    )
    address = _FOLDER + name.replace(":", "/")
    return f'<img src="{address}">' if tag == "img" else f'<{tag} src="{address}" controls></{tag}>'


def _split(text: str, closing: str) -> tuple[str, str, str]:
    at = text.lower().find(closing.lower())
    return (text, "", "") if at < 0 else (text[:at], closing, text[at + len(closing) :])
