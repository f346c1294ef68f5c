"""Objects that hold one output in parts: a source sentence with two sentences of translation stands there twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.formats.base import LineLocation, ReadLog
from app.formats.json.json_map import JsonFieldMap, MarkedErrorsMapping

JOINED = "objects with the next sentence of the output before them: joined to it"
MOST_PARTS = 20
Object = Mapping[str, object]
Placed = tuple[LineLocation, Object]


def join_output_parts(objects: Iterator[Placed], fields: JsonFieldMap, log: ReadLog) -> Iterator[Placed]:
    """Objects, of which those that follow each other about one place, with another output, are one.

    Only where a map says of marked errors alone and of positions: errors of two parts add up, scores do not.
    """
    names = [fields.fields.get(meaning) for meaning in ("system", "position", "rater", "source")]
    target = fields.fields.get("target")
    if fields.documents != "position" or fields.answers or fields.score or fields.criteria or not fields.errors:
        yield from objects
        return
    before: Placed | None = None
    parts = 1
    for at, value in objects:
        if before is None:
            before = at, value
            continue
        first, second = (one.get(target) if target else None for one in (before[1], value))
        same = all(name is not None and before[1].get(name) == value.get(name) for name in names)
        if (
            not same
            or parts >= MOST_PARTS
            or not isinstance(first, str)
            or not isinstance(second, str)
            or first == second
        ):
            yield before
            before, parts = (at, value), 1
            continue
        parts += 1
        head = first if first[-1:].isspace() else f"{first} "
        lists = {marks.list: _add_marks(marks, before[1], value, len(head)) for marks in fields.errors}
        before = before[0], {**before[1], str(target): head + second, **lists}
        log.repaired[JOINED] += 1
    if before is not None:
        yield before


def _add_marks(marks: MarkedErrorsMapping, first: Object, second: Object, by: int) -> object:
    """The errors of both parts, those of the second where its text now stands; what is no list stays to be named."""
    given, more = first.get(marks.list) or [], second.get(marks.list) or []
    if not isinstance(given, list) or not isinstance(more, list):
        return given if not isinstance(given, list) else more
    return [*given, *(more if marks.side == "source" else (_move_mark(marks, mark, by) for mark in more))]


def _move_mark(marks: MarkedErrorsMapping, mark: object, by: int) -> object:
    if not isinstance(mark, Mapping):
        return mark
    ends = {name: mark[name] for name in (marks.start, marks.end) if name and type(mark.get(name)) is int}
    return {**mark, **{name: place + by for name, place in ends.items()}}
