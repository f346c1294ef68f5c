"""Escapes text for LaTeX."""

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
    """Escape text so that no character acts as a command; a line break becomes a space.

    >>> escape_latex("50 % of R&D_1")
    '50 \\\\% of R\\\\&D\\\\_1'
    """
    return "".join(_SPECIAL.get(c, c) for c in " ".join(text.split()) if c.isprintable())
