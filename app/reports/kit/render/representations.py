"""Reports as CSV, LaTeX, Markdown or SVG; the same report gives the same bytes."""

from __future__ import annotations

from typing import Any

from app.domain.errors import Invalid, Place
from app.reports.kit import text_formatting
from app.reports.kit.render import csv_text, markup
from app.reports.kit.report import Report, ReportHeader, SingleTableHeadings, TableSection

PICTURE = "default"


def render_report(report: Report[Any, Any], body: bytes, file_format: str, picture: str = PICTURE) -> bytes:
    """Render a stored report as `csv` (full precision), `tex`, `md` or `svg`.

    picture: the name of the chart for SVG. Raises Invalid for an unknown chart.
    """
    view = report.result.model_validate_json(body)
    if file_format == "svg":
        return _draw_svg(report, view, picture)
    if file_format == "csv":
        headings, rows = report.csv(view)
        return csv_text.render_csv(headings, rows)
    if report.single is not None:
        return _single(report, report.single, view, file_format)
    return _markdown(report, view) if file_format == "md" else _latex(report, view)


def make_report_title(report: Report[Any, Any], view: ReportHeader) -> str:
    """Return the title of the whole report, with its campaigns."""
    return f"{', '.join(map(text_formatting.make_printable, view.campaigns))}: {report.title}"


def list_chart_names(report: Report[Any, Any]) -> tuple[str, ...]:
    """Return the names of a report's charts, the default first."""
    return tuple(report.charts)


def _draw_svg(report: Report[Any, Any], view: Any, picture: str) -> bytes:
    if picture not in report.charts:
        what = f"there are: {', '.join(list_chart_names(report))}"
        raise Invalid("the query is not valid", places=(Place(("query", "picture"), what),))
    return report.charts[picture](view)


def _single(report: Report[Any, Any], heads: SingleTableHeadings, view: Any, file_format: str) -> bytes:
    """Render the only table of a report between its heading and its warnings."""
    (shown,) = report.tables(view)
    caption, warnings = report.caption(view), report.warnings(view)
    if file_format == "md":
        head = f"**{markup.format_code_span(view.campaign)}**: {heads.markdown}"
        return markup.render_markdown_table(
            head, shown.table, code_columns=shown.names, caption=caption, warnings=warnings
        )
    return markup.render_latex_table(
        shown.table,
        caption=f"{heads.latex.format(campaign=view.campaign)}. {caption}",
        label=f"{view.campaign}-{report.name}",
        warnings=warnings,
        long=heads.long,
    )


def _markdown(report: Report[Any, Any], view: ReportHeader) -> bytes:
    """Render every table under its title; caption and warnings appear once, below the last."""
    campaigns = ", ".join(markup.format_code_span(key) for key in view.campaigns)
    lines = [f"**{campaigns}**: {markup.escape_markdown(report.title)}\n\n".encode()]
    for section in report.tables(view):
        head = f"*{markup.escape_markdown(section.title)}*"
        table = markup.render_markdown_table(head, section.table, code_columns=section.names, caption="")
        lines.append(table.rstrip(b"\n") + b"\n\n")
    notes = [markup.escape_markdown(report.caption(view)), ""]
    notes += [f"- Warning: {markup.escape_markdown(text)}" for text in report.warnings(view)]
    return b"".join(lines) + "\n".join(notes).rstrip("\n").encode() + b"\n"


def _latex(report: Report[Any, Any], view: ReportHeader) -> bytes:
    """Render every table with its caption; warnings appear once, above the first."""
    shown = report.tables(view)
    if not shown:
        notes = [
            f"{make_report_title(report, view)}. {report.caption(view)}",
            *(f"Warning: {text}" for text in report.warnings(view)),
        ]
        return "".join(f"% {text_formatting.make_printable(text)}\n" for text in notes).encode()
    return b"\n".join(_latex_table(report, view, one, number) for number, one in enumerate(shown))


def _latex_table(report: Report[Any, Any], view: ReportHeader, section: TableSection, number: int) -> bytes:
    heading = text_formatting.make_sentence(section.title.rstrip("."))
    return markup.render_latex_table(
        section.table,
        caption=f"{make_report_title(report, view)}. {heading} {report.caption(view)}",
        label="-".join((*view.campaigns, report.name, *([str(number + 1)] if number else []))),
        warnings=() if number else report.warnings(view),
    )
