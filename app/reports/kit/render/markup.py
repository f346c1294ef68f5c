"""Tables as Markdown for a pull request and as LaTeX for a paper; names are shown, never executed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.reports.kit.render.latex import escape_latex as tex
from app.reports.kit.table import Table


def render_markdown_table(
    head: str, table: Table, *, code_columns: frozenset[int], caption: str, warnings: Sequence[str] = ()
) -> bytes:
    """Render a table between its heading (already Markdown) and its caption and warnings (plain text).

    code_columns: indices of the columns that are shown as code.
    """
    lines = [head, "", _markdown_row(table.headings)]
    lines.append(_markdown_row([":--" if a == "left" else "--:" for a in table.alignments]))
    lines.extend(
        _markdown_row(
            [format_code_span(cell) if i in code_columns else escape_markdown(cell) for i, cell in enumerate(row)]
        )
        for row in table.rows
    )
    lines += ["", escape_markdown(caption)]
    if warnings:
        lines += ["", *(f"- Warning: {escape_markdown(text)}" for text in warnings)]
    return ("\n".join(lines) + "\n").encode()


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def format_code_span(text: str) -> str:
    """Return a code span, without mark-up, mentions or links; a vertical bar is escaped, as it would end the cell."""
    flat = " ".join(text.split()).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", flat)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def escape_markdown(text: str) -> str:
    """Escape text so that it contains no mark-up, mention or tag."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]|#~" else {"<": "&lt;", ">": "&gt;", "@": "&#64;"}.get(c, c) for c in flat)


def render_latex_table(
    table: Table, *, caption: str, label: str, warnings: Sequence[str] = (), long: bool = False
) -> bytes:
    """Render a booktabs table; caption, label and warnings are plain text."""
    spec = "".join("l" if a == "left" else "r" for a in table.alignments)
    caption = tex(caption)
    body = [f"    {_latex_row(row, rule=i in table.breaks)}" for i, row in enumerate(table.rows)]
    head = ["    \\toprule", f"    {_latex_row(table.headings)}", "    \\midrule"]
    label = f"\\label{{tab:{_label(label)}}}"
    notes = [f"% Warning: {tex(text)}" for text in warnings]
    if long:
        top = ["% \\usepackage{booktabs,longtable}", *notes, f"\\begin{{longtable}}{{{spec}}}"]
        top.append(f"  \\caption{{{caption}}}{label}\\\\")
        lines = [*top, *head, "    \\endhead", *body, "    \\bottomrule", "\\end{longtable}"]
    else:
        top = ["% \\usepackage{booktabs}", *notes, "\\begin{table}", "  \\centering", f"  \\caption{{{caption}}}"]
        top += [f"  {label}", f"  \\begin{{tabular}}{{{spec}}}"]
        lines = [*top, *head, *body, "    \\bottomrule", "  \\end{tabular}", "\\end{table}"]
    return ("\n".join(lines) + "\n").encode()


def _latex_row(cells: Sequence[str], *, rule: bool = False) -> str:
    # A row that starts with a bracket would be read as the optional argument of the preceding row break.
    text = " & ".join(tex(cell) for cell in cells)
    return ("\\midrule\n    " if rule else "") + ("{}" if text.startswith("[") else "") + text + " \\\\"


def _label(text: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in text)
