"""The pages of a public archive: a finished campaign for everybody with the address, and as files for any server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from markupsafe import Markup, escape

from app.domain.keys import KEY_PATTERN
from app.domain.markup import parse_markup_if_present
from app.domain.media_elements import parse_media_element
from app.reports.inputs.campaign import find_campaign_protocol
from app.services.data import public_archive
from app.services.data.public_archive import ArchivedDocument, ArchivedJudgment, ArchiveIndexPage
from app.services.data.public_archive_media import ArchivedMediaFile, add_media_addresses
from app.ui.assets import STYLE, load_static_files
from app.ui.messages import ENGLISH, load_page_messages
from app.ui.pages import PageRoute, make_template_environment, render_page
from app.ui.text_markup import Mark, render_markup_as_html
from app.web.deps import DatabaseDep, MediaSettingsDep, SessionDep
from app.web.media_content import media_content_response
from app.web.organizations import ArchiveAddress

router = APIRouter(prefix="/archive/{archive}", route_class=PageRoute, include_in_schema=False)
SEVERITIES = frozenset({"minor", "major", "critical", "neutral", "undecided"})


@dataclass(frozen=True, slots=True)
class MarkedTextPiece:
    """A piece of a text. kinds: the classes of the marks that cover it; empty if there are none."""

    text: str
    kinds: str


@router.get("")
def archive_page(
    request: Request,
    address: ArchiveAddress,
    session: SessionDep,
    after: Annotated[str | None, Query(pattern=KEY_PATTERN)] = None,
) -> Response:
    """The documents of a campaign."""
    index = public_archive.load_archive_index_page(
        session, public_archive.get_archived_campaign_key(session, address), after=after
    )
    home = f"/archive/{address}"
    return _public(render_page(request, "archive/index.html", _index_values(index, home, _document_address)))


@router.get("/documents/{document}")
def archived_document_page(
    request: Request, address: ArchiveAddress, document: Annotated[str, Path(pattern=KEY_PATTERN)], session: SessionDep
) -> Response:
    """A document with its judgments."""
    campaign = public_archive.get_archived_campaign_key(session, address)
    home = f"/archive/{address}"
    page = f"{home}/documents/{quote(document, safe='')}"
    shown = public_archive.load_archived_document(session, campaign, document)
    media = add_media_addresses(shown.media, lambda name: f"{page}/media/{quote(name, safe='')}")
    after = public_archive.find_next_document_key_in_public_archive(session, campaign, document)
    following = None if after is None else f"{home}/{_document_address(after)}"
    values = _document_values(replace(shown, media=media), home, following)
    return _public(render_page(request, "archive/document.html", values))


@router.get("/documents/{document}/media/{media}", name="archived_media")
def serve_archived_media(
    request: Request,
    address: ArchiveAddress,
    document: Annotated[str, Path(pattern=KEY_PATTERN)],
    name: Annotated[str, Path(alias="media", pattern=KEY_PATTERN)],
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
) -> Response:
    """The bytes of a file, or with `Range` a part of them."""
    with database.transaction() as session:
        campaign = public_archive.get_archived_campaign_key(session, address)
        content = public_archive.open_public_archive_media(session, media_settings, campaign, document, name)
    return _public(media_content_response(request, content))


def render_archive_index(index: ArchiveIndexPage, address_of: Callable[[str], str]) -> str:
    """Render the list of documents as a file in English. address_of: returns a document's file, given its key."""
    return _file("archive/index.html", _index_values(index, "", address_of), style=STYLE)


def render_archived_document(document: ArchivedDocument) -> str:
    """Render a document as a file for the folder `documents`, in English. Its media must have addresses."""
    return _file("archive/document.html", _document_values(document, "../index.html"), style=f"../{STYLE}")


def render_archive_style_sheet() -> bytes:
    """Return the style sheet of an archive's files."""
    return load_static_files()[STYLE].content


def render_marked_text(text: str, errors: Sequence[Mapping[str, Any]], side: str, *, markup: bool) -> Markup:
    """Render a text with its marked errors. With `markup`, its tags are shown as layout.

    >>> str(render_marked_text("a <b>", [{"start": 0, "end": 1, "severity": "minor"}], "target", markup=False))
    '<p dir="auto" class="drawn"><mark class="is-minor">a</mark> &lt;b&gt;</p>'
    """
    layout = parse_markup_if_present(text) if markup else None
    if layout is None:
        pieces = (
            Markup('<mark class="{}">{}</mark>').format(one.kinds, one.text) if one.kinds else escape(one.text)
            for one in split_text_at_errors(text, errors, side)
        )
        return Markup('<p dir="auto" class="drawn">{}</p>').format(Markup("").join(pieces))
    marks: list[Mark] = []
    for start, end, kind in _marks_on(text, errors, side):
        place = layout.to_shown_range(start, end)
        marks += [] if place is None else [(*place, kind)]
    return Markup('<div dir="auto" class="drawn laid-out">{}</div>').format(render_markup_as_html(layout, marks))


def _marks_on(text: str, errors: Sequence[Mapping[str, Any]], side: str) -> list[Mark]:
    """Return the errors on a side as marks: code points in the stored text, and the class of the severity."""
    marks = [
        (one["start"], one["end"], f"is-{kind}" if (kind := one.get("severity")) in SEVERITIES else "is-major")
        for one in errors
        if one.get("side", "target") == side and isinstance(one.get("start"), int) and isinstance(one.get("end"), int)
    ]
    return [mark for mark in marks if 0 <= mark[0] < mark[1] <= len(text)]


def split_text_at_errors(text: str, errors: Sequence[Mapping[str, Any]], side: str) -> list[MarkedTextPiece]:
    """Cut a text where marked errors begin and end. Offsets count code points. Errors that exceed the text are skipped.

    >>> minor = [{"start": 1, "end": 2, "severity": "minor"}]
    >>> [(one.text, one.kinds) for one in split_text_at_errors("abc", minor, "target")]
    [('a', ''), ('b', 'is-minor'), ('c', '')]
    """
    inside = _marks_on(text, errors, side)
    cuts = sorted({0, len(text), *(end for mark in inside for end in mark[:2])})
    pieces = []
    for start, end in pairwise(cuts):
        over = sorted({kind for first, last, kind in inside if first <= start and end <= last})
        pieces.append(MarkedTextPiece(text[start:end], " ".join(over)))
    return pieces


def _document_address(key: str) -> str:
    return f"documents/{quote(key, safe='')}"


def _index_values(index: ArchiveIndexPage, home: str, address_of: Callable[[str], str]) -> Mapping[str, object]:
    documents = [(f"{home}/{address_of(key)}" if home else address_of(key), name) for key, name in index.documents]
    following = f"{home}?after={index.next}" if home and index.next else None
    title = find_campaign_protocol(index.campaign).title
    return {"about": index.campaign, "protocol": title, "documents": documents, "following": following}


def _document_values(document: ArchivedDocument, home: str, following: str | None = None) -> Mapping[str, object]:
    """Return what the template needs. following: the address of the next document; None if there is none."""
    return {
        "document": document,
        "home": home,
        "following": following,
        "pieces": split_text_at_errors,
        "drawn": partial(render_marked_text, markup=document.markup),
        "errors_of": _errors,
        "facts_of": _facts,
        "file_of": TextMediaFinder({file.name: file for file in document.media}),
        "times": list_timed_error_ranges,
        "clock": format_media_time,
    }


@dataclass(frozen=True, slots=True)
class TextMediaFinder:
    """Finds the file that a text refers to, with what the text says about it; None if it refers to none."""

    files: Mapping[str, ArchivedMediaFile]

    def __call__(self, text: str | None) -> ArchivedMediaFile | None:
        """Return the file of a text; its `captions` become their address."""
        element = parse_media_element(text)
        file = None if element is None else self.files.get(element.name)
        if element is None or file is None or file.kind == "captions":
            return None
        captions = self.files.get(file.captions or "")
        transcript = element.transcript or file.transcript
        return replace(file, captions=captions.address if captions else None, transcript=transcript)


def list_timed_error_ranges(errors: Sequence[Mapping[str, Any]], side: str) -> list[tuple[int, int, str]]:
    """Return the errors with times on a side: start and end in milliseconds, and the class."""
    return [
        (one["start_ms"], one["end_ms"], f"is-{one['severity']}" if one.get("severity") in SEVERITIES else "is-major")
        for one in errors
        if one.get("side", "target") == side and isinstance(one.get("start_ms"), int)
    ]


def format_media_time(ms: int) -> str:
    """Format a time within a file.

    >>> format_media_time(62_540), format_media_time(500)
    ('1:02.5', '0:00.5')
    """
    minutes, rest = divmod(ms, 60_000)
    return f"{minutes}:{rest // 1000:02}.{rest % 1000 // 100}"


def _errors(judgment: ArchivedJudgment) -> list[Mapping[str, Any]]:
    errors = judgment.payload.get("errors")
    return [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list) else []


def _facts(judgment: ArchivedJudgment) -> list[tuple[str, str]]:
    """Return the answers other than marked errors and the score."""
    left_out = {"protocol", "errors", "score"}
    return [
        (name, f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in _flatten_payload(judgment.payload)
        if name not in left_out
    ]


def _flatten_payload(payload: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _flatten_payload(value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, value


def _file(template: str, values: Mapping[str, object], *, style: str) -> str:
    words = load_page_messages(ENGLISH, template.removesuffix(".html"))
    shared = {
        "_": words.translate,
        "count": words.translate_count,
        "told": words.translate_service_text,
        "shown": words.translate_cell,
        "language": ENGLISH,
        "file_style": style,
    }
    return make_template_environment().get_template("archive/file.html").render({**shared, "page": template, **values})


def _public(response: Response) -> Response:
    """Keep search engines away, because managers choose who gets the address."""
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def assign_document_file_names(keys: Sequence[str]) -> Mapping[str, str]:
    """Assign a file name to each document, because keys may have characters that file systems do not allow.

    >>> assign_document_file_names(["a:b", "c"])
    {'a:b': '0001', 'c': '0002'}
    """
    return {key: f"{n:04}" for key, n in zip(keys, count(1), strict=False)}
