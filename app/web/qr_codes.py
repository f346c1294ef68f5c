"""Pictures of addresses that a phone's camera reads."""

from __future__ import annotations

import io

import segno

MARGIN = 4
"""Modules that must stay empty round the picture (ISO/IEC 18004)."""


def draw_qr_code(text: str) -> str:
    """A text as a QR code: an SVG picture without styles, dark on light whatever page it stands on."""
    out = io.BytesIO()
    code = segno.make(text, micro=False, error="m")
    code.save(out, kind="svg", xmldecl=False, svgclass=None, lineclass=None, omitsize=True, border=MARGIN, light="#fff")
    return out.getvalue().decode().strip()
