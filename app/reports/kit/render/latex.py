"""Text made safe for LaTeX."""

from __future__ import annotations

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\textbar{}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}",
    "α": r"\ensuremath{\alpha}",
    "Δ": r"\ensuremath{\Delta}",
    "τ": r"\ensuremath{\tau}",
    "–": "--",
    "−": r"\ensuremath{-}",
    '"': "{''}",
}


def escape_latex(text: str) -> str:
    """Every character as itself: nothing of it is a command, and a line break is a space.

    >>> escape_latex("50 % of R&D_1")
    '50 \\\\% of R\\\\&D\\\\_1'
    """
    return "".join(_SPECIAL.get(c, c) for c in " ".join(text.split()) if c.isprintable())
