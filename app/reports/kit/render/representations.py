"""Reports of every kind as CSV, LaTeX, Markdown or SVG; the same report gives the same bytes."""

from __future__ import annotations

from typing import Any

from app.domain.errors import Invalid, Place
from app.reports.kit import captions
from app.reports.kit.render import csv_text, markup
from app.reports.kit.report import Report, ReportHead, Section

PICTURE = "default"


def render(kind: Report[Any, Any], body: bytes, shape: str, picture: str = PICTURE) -> bytes:
    """A stored report as `csv` (full precision), `tex`, `md` or `svg`.

    picture: which one, by name, where it is SVG. Raises Invalid for another picture.
    """
    view = kind.view.model_validate_json(body)
    if shape == "svg":
        return _drawn(kind, view, picture)
    if shape == "csv":
        headings, rows = kind.csv(view)
        return csv_text.as_csv(headings, rows)
    return _markdown(kind, view) if shape == "md" else _latex(kind, view)


def title(kind: Report[Any, Any], view: ReportHead) -> str:
    """Of the whole report: the campaigns and the kind."""
    return f"{', '.join(map(captions.printable, view.campaigns))}: {kind.title}"


def chart_names(kind: Report[Any, Any]) -> tuple[str, ...]:
    """Names of the pictures of a kind."""
    return (PICTURE, *kind.pictures)


def _drawn(kind: Report[Any, Any], view: ReportHead, picture: str) -> bytes:
    if picture == PICTURE:
        return kind.picture(view)
    if picture not in kind.pictures:
        what = f"there are: {', '.join(chart_names(kind))}"
        raise Invalid("the query is not valid", places=(Place(("query", "picture"), what),))
    return kind.pictures[picture](view)


def _markdown(kind: Report[Any, Any], view: ReportHead) -> bytes:
    """Every table under its title; caption and warnings once, below the last."""
    campaigns = ", ".join(markup.code(key) for key in view.campaigns)
    lines = [f"**{campaigns}**: {markup.plain(kind.title)}\n\n".encode()]
    for one in kind.tables(view):
        head = f"*{markup.plain(one.title)}*"
        table = markup.markdown_table(head, one.table, names=one.names, caption="")
        lines.append(table.rstrip(b"\n") + b"\n\n")
    said = [markup.plain(kind.caption(view)), ""]
    said += [f"- Warning: {markup.plain(text)}" for text in view.warnings]
    return b"".join(lines) + "\n".join(said).rstrip("\n").encode() + b"\n"


def _latex(kind: Report[Any, Any], view: ReportHead) -> bytes:
    """Every table with its caption; warnings once, above the first."""
    shown = kind.tables(view)
    if not shown:
        said = [f"{title(kind, view)}. {kind.caption(view)}", *(f"Warning: {text}" for text in view.warnings)]
        return "".join(f"% {captions.printable(text)}\n" for text in said).encode()
    return b"\n".join(_latex_table(kind, view, one, number) for number, one in enumerate(shown))


def _latex_table(kind: Report[Any, Any], view: ReportHead, one: Section, number: int) -> bytes:
    return markup.latex_table(
        one.table,
        caption=f"{title(kind, view)}. {captions.sentence(one.title.rstrip('.'))} {kind.caption(view)}",
        label="-".join((*view.campaigns, kind.name, *([str(number + 1)] if number else []))),
        warnings=() if number else view.warnings,
    )
