"""Texts that are media: `<audio src="talk.wav"></audio>` instead of a text refers to a file of the campaign.

Pearmut writes this form, and the field's files of speech and pictures contain it, so every format carries it unchanged.
A text that begins with such an element is shown as the file; the rest of the text is its transcript.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Final

from app.domain.instructions import extract_instruction_text
from app.domain.keys import LONGEST, convert_name_to_key, shorten_name_to_key

OPENING: Final = r"^\s*<(audio|video|img)(?=[\s/>])"
"""The beginning of a text that is media; Postgres uses the same pattern, ignoring case."""
_ELEMENT: Final = re.compile(OPENING + r"([^>]*)>", re.IGNORECASE)
_SRC: Final = re.compile(r"""\bsrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"[\\/]+")  # browsers also treat both alike
_OTHER_HOST: Final = re.compile(r"[\\/]{2}")
_FOLDER: Final = "assets/"  # where Pearmut serves them
_PICTURES: Final = ("png", "jpg", "jpeg", "gif", "webp", "pdf")
_VIDEOS: Final = ("mp4", "webm", "mov")
_SOUNDS: Final = ("wav", "mp3", "ogg", "oga", "opus", "flac", "m4a", "weba", "vtt")
_QUERY: Final = re.compile(
    rf"(?<=\.)({'|'.join((*_PICTURES, *_VIDEOS, *_SOUNDS))})(~page[0-9]+)?(\?.*)$", re.IGNORECASE | re.DOTALL
)
_PAGE: Final = re.compile(r"(?<=\.pdf)#page=([1-9][0-9]{0,5})$", re.IGNORECASE)
_PAGE_MARK: Final = "~page"
_SIGNS: Final = re.compile("(?:%[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True)
class MediaElement:
    """The file to which a text refers. transcript: the rest of the text in plain form; None if there is none."""

    name: str
    transcript: str | None


def parse_media_element(text: str | None) -> MediaElement | None:
    """Return the file that a text refers to; None for ordinary text, and for a file on another host.

    >>> parse_media_element('<video src="assets/talks/1.mp4" controls></video>')
    MediaElement(name='talks:1.mp4', transcript=None)
    >>> parse_media_element("<audio controls><source src='a.wav'></audio><br>Good <b>morning</b>.")
    MediaElement(name='a.wav', transcript='Good morning.')
    >>> parse_media_element("<img src=https://example.org/a.png>"), parse_media_element("A <img src=a.png>")
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
    name = (
        None if source is None else find_file_name_in_address(unescape(next(part for part in source.groups() if part)))
    )
    return None if name is None else MediaElement(name, extract_instruction_text(rest))


def find_file_name_in_address(address: str) -> str | None:
    """Return the name of the file at an address within a campaign; None for an address elsewhere.

    A question mark starts a query only after a name with a known ending, because names of files may contain one.
    `#page=3` after a PDF selects its third page.

    >>> [find_file_name_in_address(address) for address in ("./assets/a%20b.png", "//example.org/a.png", "../a.png")]
    ['a_b.png~47c1591e', None, None]
    >>> [find_file_name_in_address(address) for address in ("a.png?v=2", "why?.wav", "report.pdf#page=3")]
    ['a.png', 'why_.wav~b055faac', 'report.pdf~page3']
    """
    if _OTHER_HOST.match(address) or re.match("[a-z][a-z0-9+.-]*://", address, re.IGNORECASE):
        return None
    path, asked = split_pdf_page_from_path(address)
    return make_media_name_from_path(_QUERY.sub(r"\1\2", path), page=asked, folder=_FOLDER)


def make_media_name_from_path(path: str, *, page: int | None = None, folder: str = "") -> str | None:
    """Return the name of a file at a path, below an optional folder; None if the path is outside, or names no file.

    Encoded characters in the path, such as `%20`, are decoded.

    >>> make_media_name_from_path("talks/1.wav"), make_media_name_from_path("../a.wav")
    ('talks:1.wav', None)
    >>> make_media_name_from_path("./a%20b.png")
    'a_b.png~47c1591e'
    """
    parts = [_read_signs(part) for part in _SEPARATOR.split(path) if part not in ("", ".")]
    if parts and f"{parts[0]}/" == folder:
        parts = parts[1:]
    if not parts or ".." in parts:
        return None
    return make_pdf_page_name(convert_name_to_key(":".join(parts)), page)


def split_pdf_page_from_path(path: str) -> tuple[str, int | None]:
    """Split the path of a PDF into the path and the selected page, None if none is named.

    >>> split_pdf_page_from_path("report.pdf#page=3"), split_pdf_page_from_path("a#1.png")
    (('report.pdf', 3), ('a#1.png', None))
    """
    named = _PAGE.search(path)
    return (path, None) if named is None else (path[: named.start()], int(named[1]))


def make_pdf_page_name(name: str, page: int | None) -> str:
    """Return the name under which a page of a PDF is stored as a picture; long file names are cut, but not the page.

    >>> make_pdf_page_name("report.pdf", 3)
    'report.pdf~page3'
    >>> find_pdf_page_in_name("report.pdf~page3"), find_pdf_page_in_name("report.pdf")
    (3, None)
    """
    if page is None:
        return name
    mark = f"{_PAGE_MARK}{page}"
    whole = convert_name_to_key(name)
    return (whole if len(whole) + len(mark) <= LONGEST else shorten_name_to_key(whole, LONGEST - len(mark))) + mark


def find_pdf_page_in_name(name: str) -> int | None:
    """Return the PDF page, from 1, that a name refers to; None for all other names."""
    named = re.search(rf"{_PAGE_MARK}([1-9][0-9]{{0,5}})$", name)
    return None if named is None else int(named[1])


def format_media_element(name: str, kind: str | None = None) -> str:
    """Return the text that refers to a file. kind: its media kind; if None, the name's ending decides.

    >>> format_media_element("talks:1.wav"), format_media_element("page.pdf")
    ('<audio src="assets/talks/1.wav" controls></audio>', '<img src="assets/page.pdf">')
    >>> format_media_element("report.pdf~page3")
    '<img src="assets/report.pdf#page=3">'
    >>> format_media_element(make_pdf_page_name("a report.pdf", 3))
    '<img src="assets/a_report.pdf~bca0ae13~page3">'
    """
    page = find_pdf_page_in_name(name)
    if page is not None:
        address = f"{name.removesuffix(f'{_PAGE_MARK}{page}')}#page={page}"
        return f'<img src="{_FOLDER}{(address if _PAGE.search(address) else name).replace(":", "/")}">'
    ending = name.rpartition(".")[2].lower()
    tag = {"image": "img"}.get(kind or "", kind) or (
        "img" if ending in _PICTURES else "video" if ending in _VIDEOS else "audio"
    )
    address = _FOLDER + name.replace(":", "/")
    return f'<img src="{address}">' if tag == "img" else f'<{tag} src="{address}" controls></{tag}>'


def _read_signs(part: str) -> str:
    """Decode characters such as `%20` in a part of a path, as UTF-8 (RFC 3986, section 2.1)."""
    return _SIGNS.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "replace"), part)


def _split(text: str, closing: str) -> tuple[str, str, str]:
    at = text.lower().find(closing.lower())
    return (text, "", "") if at < 0 else (text[:at], closing, text[at + len(closing) :])
