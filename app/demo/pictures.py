"""The demo's campaign with pictures: systems describe drawings, and raters see the drawing beside each description."""

from __future__ import annotations

import io
from typing import Final

from PIL import Image, ImageDraw

from app.client.managing import CampaignClient
from app.client.remote import Remote, ServerRefusal

PICTURES: Final = "demo-pictures"
GUEST_OF_PICTURES: Final = "guest"
SIZE = (320, 200)
# What is drawn (shape, its colour, the ground), and how each system puts it.
DRAWINGS: Final = (
    ("circle", "firebrick", "lightyellow", ("A red circle on a light ground.", "A circle.", "A blue square.")),
    ("square", "steelblue", "white", ("A blue square on white.", "A blue shape on white.", "A blue circle on white.")),
    ("triangle", "seagreen", "lavender", ("A green triangle on violet.", "A triangle, green.", "Two triangles.")),
    ("circle", "goldenrod", "midnightblue", ("A yellow circle at night.", "A circle on blue.", "A red circle.")),
)
SYSTEMS: Final = ("Careful", "Brief", "Hasty")


def draw_picture(shape: str, colour: str, ground: str) -> bytes:
    """A drawing as PNG; the same each time.

    >>> draw_picture("circle", "red", "white")[:4]
    b'\\x89PNG'
    """
    image = Image.new("RGB", SIZE, ground)
    draw, box = ImageDraw.Draw(image), (100, 40, 220, 160)
    if shape == "circle":
        draw.ellipse(box, fill=colour)
    elif shape == "square":
        draw.rectangle(box, fill=colour)
    else:
        draw.polygon([(160, 40), (220, 160), (100, 160)], fill=colour)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def make_picture_campaign(remote: Remote) -> CampaignClient:
    """Make the campaign, with one rater, and open it; one that is there stays as it is."""
    managed = CampaignClient(remote, PICTURES)
    try:
        managed.settings()
    except ServerRefusal:
        _make(managed)
    return managed


def _make(managed: CampaignClient) -> None:
    remote, path = managed.remote, managed.path
    body = {"key": PICTURES, "name": "Descriptions of drawings", "protocol": "da", "target_language": "en"}
    remote.write("POST", "/v1/campaigns", {}, body)
    for system in SYSTEMS:
        remote.write("PUT", f"{path}/systems/{system}", {}, {})
    for n, (shape, colour, ground, texts) in enumerate(DRAWINGS, 1):
        remote.send(f"{path}/media/drawing-{n}.png", io.BytesIO(draw_picture(shape, colour, ground)))
        source = f'<img src="assets/drawing-{n}.png">'
        document = f"{path}/documents/drawing-{n}"
        remote.write("PUT", document, {}, {"position": n, "domain": "drawings", "segments": [{"source": source}]})
        for system, text in zip(SYSTEMS, texts, strict=True):
            remote.write("PUT", f"{path}/systems/{system}/outputs/drawing-{n}", {}, {"segments": [text]})
    managed.enrol(GUEST_OF_PICTURES, {})
    managed.plan({"seed": 1, "overlap": None})
    managed.step("open")
