"""PNG files that are small: a palette of as many colours as a page has, or of 256."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

COLOURS = 256


def small_png(picture: bytes) -> bytes:
    """The same picture in at most 256 colours, the rare ones too, without dithering."""
    with Image.open(BytesIO(picture)) as shot:
        plain = shot.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    made = BytesIO()
    plain.save(made, "PNG", optimize=True)
    return made.getvalue()
