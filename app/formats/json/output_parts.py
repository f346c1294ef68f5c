"""Objects with parts of one output: a source sentence with two sentences of translation occurs twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.formats.base import LineLocation, ReadLog
from app.formats.json.json_map import JsonFieldMap, MarkedErrorsMapping

JOINED = "objects with the next sentence of the output before them: joined to it"
MOST_PARTS = 20
Object = Mapping[str, object]
Placed = tuple[LineLocation, Object]


def join_output_parts(objects: Iterator[Placed], fields: JsonFieldMap, log: ReadLog) -> Iterator[Placed]:
    """Join consecutive objects about the same place that contain different parts of an output.

    Applies only to maps with positions and nothing but marked errors: errors of two parts add up, scores do not.
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
    """Return the errors of both parts, moving those of the second; a value that is no list is reported later."""
    given, more = first.get(marks.list) or [], second.get(marks.list) or []
    if not isinstance(given, list) or not isinstance(more, list):
        return given if not isinstance(given, list) else more
    return [*given, *(more if marks.side == "source" else (_move_mark(marks, mark, by) for mark in more))]


def _move_mark(marks: MarkedErrorsMapping, mark: object, by: int) -> object:
    if not isinstance(mark, Mapping):
        return mark
    ends = {name: mark[name] for name in (marks.start, marks.end) if name and type(mark.get(name)) is int}
    return {**mark, **{name: place + by for name, place in ends.items()}}
