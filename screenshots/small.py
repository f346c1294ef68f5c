"""PNG files that are small: a palette of as many colours as a page has, or of 256."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageChops

COLOURS = 256
UNSEEN = 16  # of 255 levels: the browser draws a rounded corner now so, now so


def small_png(picture: bytes) -> bytes:
    """The same picture in at most 256 colours, the rare ones too, without dithering."""
    with Image.open(BytesIO(picture)) as shot:
        plain = shot.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    made = BytesIO()
    plain.save(made, "PNG", optimize=True)
    return made.getvalue()


def alike(one: bytes, other: bytes) -> bool:
    """Whether nobody would see a difference between two pictures of one size."""
    with Image.open(BytesIO(one)) as first, Image.open(BytesIO(other)) as second:
        if first.size != second.size:
            return False
        apart = ImageChops.difference(first.convert("RGB"), second.convert("RGB")).convert("L")
        return max(level for level, n in enumerate(apart.histogram()) if n) <= UNSEEN
