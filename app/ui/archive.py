"""The pages of a public archive: a finished campaign for everybody who has the address, and as files for any server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from markupsafe import Markup, escape

from app.domain.keys import KEY_PATTERN
from app.domain.markup import find_layout
from app.services.data import archive
from app.services.data.archive import ArchivedDocument, ArchivedJudgment, ArchiveIndex
from app.ui.assets import STYLE, load_static_files
from app.ui.laid_out import Mark, draw_layout
from app.ui.messages import ENGLISH, load_page_messages
from app.ui.pages import PageRoute, make_template_environment, render_page
from app.web.deps import SessionDep

router = APIRouter(prefix="/archive/{archive}", route_class=PageRoute, include_in_schema=False)
SEVERITIES = frozenset({"minor", "major", "critical", "neutral", "undecided"})
Address = Annotated[str, Path(alias="archive", pattern=r"^[A-Za-z0-9_-]{1,64}$")]


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A stretch of a text. kinds: classes of the marks over it; empty: none is."""

    text: str
    kinds: str


@router.get("")
def archive_page(
    request: Request,
    address: Address,
    session: SessionDep,
    after: Annotated[str | None, Query(pattern=KEY_PATTERN)] = None,
) -> Response:
    """The documents of a campaign."""
    index = archive.load_archive_index(session, archive.find_archived_campaign(session, address), after=after)
    home = f"/archive/{address}"
    return _public(render_page(request, "archive/index.html", _index_values(index, home, "documents/{key}".format)))


@router.get("/documents/{document}")
def archived_document_page(
    request: Request, address: Address, document: Annotated[str, Path(pattern=KEY_PATTERN)], session: SessionDep
) -> Response:
    """A document with its judgments."""
    campaign = archive.find_archived_campaign(session, address)
    shown = archive.load_archived_document(session, campaign, document)
    return _public(render_page(request, "archive/document.html", _document_values(shown, f"/archive/{address}")))


def render_archive_index(index: ArchiveIndex, address_of: Callable[[str], str]) -> str:
    """The list of documents as a file in English. address_of: a document's file, by its key."""
    return _file("archive/index.html", _index_values(index, "", address_of), style=STYLE)


def render_archived_document(document: ArchivedDocument) -> str:
    """A document as a file in the folder `documents`, in English."""
    return _file("archive/document.html", _document_values(document, "../index.html"), style=f"../{STYLE}")


def style_sheet() -> bytes:
    """What the files of an archive look like."""
    return load_static_files()[STYLE].content


def draw_text(text: str, errors: Sequence[Mapping[str, Any]], side: str, *, markup: bool) -> Markup:
    """A text with its marked errors, laid out where its tags are markup.

    >>> str(draw_text("a <b>", [{"start": 0, "end": 1, "severity": "minor"}], "target", markup=False))
    '<p dir="auto" class="drawn"><mark class="is-minor">a</mark> &lt;b&gt;</p>'
    """
    layout = find_layout(text) if markup else None
    if layout is None:
        pieces = (
            Markup('<mark class="{}">{}</mark>').format(one.kinds, one.text) if one.kinds else escape(one.text)
            for one in cut_at_marks(text, errors, side)
        )
        return Markup('<p dir="auto" class="drawn">{}</p>').format(Markup("").join(pieces))
    marks: list[Mark] = []
    for start, end, kind in _marks_on(text, errors, side):
        place = layout.to_shown(start, end)
        marks += [] if place is None else [(*place, kind)]
    return Markup('<div dir="auto" class="drawn laid-out">{}</div>').format(draw_layout(layout, marks))


def _marks_on(text: str, errors: Sequence[Mapping[str, Any]], side: str) -> list[Mark]:
    """Where errors are marked on a side, in code points of the stored text, each with the class of its severity."""
    marks = [
        (one["start"], one["end"], f"is-{kind}" if (kind := one.get("severity")) in SEVERITIES else "is-major")
        for one in errors
        if one.get("side", "target") == side and isinstance(one.get("start"), int) and isinstance(one.get("end"), int)
    ]
    return [mark for mark in marks if 0 <= mark[0] < mark[1] <= len(text)]


def cut_at_marks(text: str, errors: Sequence[Mapping[str, Any]], side: str) -> list[MarkedPiece]:
    """A text cut where marked errors begin and end. Offsets count code points; those beyond the text are left out.

    >>> [(one.text, one.kinds) for one in cut_at_marks("abc", [{"start": 1, "end": 2, "severity": "minor"}], "target")]
    [('a', ''), ('b', 'is-minor'), ('c', '')]
    """
    inside = _marks_on(text, errors, side)
    cuts = sorted({0, len(text), *(end for mark in inside for end in mark[:2])})
    pieces = []
    for start, end in pairwise(cuts):
        over = sorted({kind for first, last, kind in inside if first <= start and end <= last})
        pieces.append(MarkedPiece(text[start:end], " ".join(over)))
    return pieces


def _index_values(index: ArchiveIndex, home: str, address_of: Callable[[str], str]) -> Mapping[str, object]:
    documents = [(f"{home}/{address_of(key)}" if home else address_of(key), name) for key, name in index.documents]
    following = f"{home}?after={index.next}" if home and index.next else None
    return {"about": index.campaign, "documents": documents, "following": following}


def _document_values(document: ArchivedDocument, home: str) -> Mapping[str, object]:
    drawn = partial(draw_text, markup=document.markup)
    functions = {"pieces": cut_at_marks, "drawn": drawn, "errors_of": _errors, "facts_of": _facts}
    return {"shown": document, "home": home, **functions}


def _errors(judgment: ArchivedJudgment) -> list[Mapping[str, Any]]:
    errors = judgment.payload.get("errors")
    return [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list) else []


def _facts(judgment: ArchivedJudgment) -> str:
    """What was answered beside marked errors and the score."""
    left_out = {"protocol", "errors", "score"}
    return ", ".join(f"{name} {value}" for name, value in _flatten_payload(judgment.payload) if name not in left_out)


def _flatten_payload(payload: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _flatten_payload(value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, value


def _file(template: str, values: Mapping[str, object], *, style: str) -> str:
    words = load_page_messages(ENGLISH, template.removesuffix(".html"))
    shared = {"_": words.say, "count": words.count, "told": words.told, "language": ENGLISH, "file_style": style}
    return make_template_environment().get_template("archive/file.html").render({**shared, "page": template, **values})


def _public(response: Response) -> Response:
    """Search engines are to leave it alone: the address is for whom the manager gives it to."""
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def number_files(keys: Sequence[str]) -> Mapping[str, str]:
    """A file name for each document: keys may have characters that file systems do not.

    >>> number_files(["a:b", "c"])
    {'a:b': '0001', 'c': '0002'}
    """
    return {key: f"{n:04}" for key, n in zip(keys, count(1), strict=False)}
