"""QR codes of addresses, for the camera of a phone."""

from __future__ import annotations

import io

import segno

MARGIN = 4
"""Modules that must stay empty around the picture (ISO/IEC 18004)."""


def draw_qr_code(text: str) -> str:
    """Draw a text as a QR code: an SVG picture without styles, dark on light on any page."""
    out = io.BytesIO()
    code = segno.make(text, micro=False, error="m")
    code.save(out, kind="svg", xmldecl=False, svgclass=None, lineclass=None, omitsize=True, border=MARGIN, light="#fff")
    return out.getvalue().decode().strip()
