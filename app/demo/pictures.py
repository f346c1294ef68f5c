"""The demo's campaign with pictures: systems describe drawings, and raters answer the manager's own questions."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw

from app.client.campaign_client import CampaignClient
from app.client.remote_server import RemoteServer, ServerRefusal
from app.demo.demo_raters import TEMPERS
from app.protocols.base import Span
from app.simulation import OutputForSimulation, RaterModel, make_rater_model_template

PICTURES: Final = "demo-pictures"
GUEST_OF_PICTURES: Final = "guest"
RATERS_OF_PICTURES: Final = ("rater-1", "rater-3", "rater-6")
SIZE = (320, 200)
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class DescriptionWithErrors:
    """A description and its errors: (words, severity, category); no words mean that something is left out."""

    text: str
    errors: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedDrawing:
    """A drawing, and its descriptions by each system in the order of `SYSTEMS`."""

    shape: str
    colour: str
    ground: str
    descriptions: tuple[DescriptionWithErrors, DescriptionWithErrors, DescriptionWithErrors]


SYSTEMS: Final = ("Careful", "Brief", "Hasty")
NO_GROUND: Final = ("", "minor", "Content/Left out")
DRAWINGS: Final = (
    DescribedDrawing(
        "circle",
        "firebrick",
        "lightyellow",
        (
            DescriptionWithErrors("A red circle on a light ground."),
            DescriptionWithErrors("A red circle.", (NO_GROUND,)),
            DescriptionWithErrors(
                "A blue square.", (("blue", "major", "Content/Colour"), ("square", "major", "Content/Shape"))
            ),
        ),
    ),
    DescribedDrawing(
        "square",
        "steelblue",
        "white",
        (
            DescriptionWithErrors("A blue square on white."),
            DescriptionWithErrors("A blue shape on white.", (("shape", "minor", "Content/Shape"),)),
            DescriptionWithErrors("A blue circle on white.", (("circle", "major", "Content/Shape"),)),
        ),
    ),
    DescribedDrawing(
        "triangle",
        "seagreen",
        "lavender",
        (
            DescriptionWithErrors("A green triangle on violet."),
            DescriptionWithErrors("Triangle, green.", (NO_GROUND, ("Triangle, green", "minor", "Language/Style"))),
            DescriptionWithErrors(
                "Two triangle.", (("Two", "major", "Content/Number"), ("triangle", "minor", "Language/Grammar"))
            ),
        ),
    ),
    DescribedDrawing(
        "circle",
        "goldenrod",
        "midnightblue",
        (
            DescriptionWithErrors("A yellow circle at night.", (("at night", "minor", "Language/Style"),)),
            DescriptionWithErrors("A circle on blue.", (("", "minor", "Content/Left out"),)),
            DescriptionWithErrors("A red circle.", (("red", "major", "Content/Colour"), NO_GROUND)),
        ),
    ),
    DescribedDrawing(
        "square",
        "darkorange",
        "honeydew",
        (
            DescriptionWithErrors("An orange square on pale green."),
            DescriptionWithErrors("An orange square.", (NO_GROUND,)),
            DescriptionWithErrors(
                "A orange squares.", (("A", "minor", "Language/Grammar"), ("squares", "major", "Content/Number"))
            ),
        ),
    ),
    DescribedDrawing(
        "triangle",
        "indigo",
        "mistyrose",
        (
            DescriptionWithErrors("A dark violet triangle on pink."),
            DescriptionWithErrors("A dark triangle on pink.", (("dark", "minor", "Content/Colour"),)),
            DescriptionWithErrors("A black circle.", (("circle", "major", "Content/Shape"), NO_GROUND)),
        ),
    ),
)
# The manager's own protocol: no standard protocol has these categories and questions.
OWN_PROTOCOL: Mapping[str, object] = {
    "title": "Does the text describe the drawing?",
    "instructions": "Look at the drawing first. Mark what is wrong in each description, then answer the questions.",
    "parts": [
        {
            "kind": "spans",
            "severities": [{"name": "minor", "weight": 1}, {"name": "major", "weight": 5}],
            "categories": [
                {"name": "Content", "subcategories": ["Shape", "Colour", "Number", "Left out"]},
                {"name": "Language", "subcategories": ["Grammar", "Style"]},
            ],
        },
        {"kind": "slider", "name": "faithful", "title": "How well does it fit the drawing?", "weight": 2},
        {"kind": "slider", "name": "fluent", "title": "How well does it read?", "weight": 1},
        {"kind": "yes_no", "name": "usable", "title": "Could it stand beside the drawing for people who cannot see?"},
    ],
    "ranks_by": "overall",
    "preference": "best",
}
DESIGN: Mapping[str, object] = {
    "grouping": "psxs",
    "ratings_per_item": 2,
    "overlap": None,
    "task": {"columns": len(SYSTEMS)},
    "seed": SEED,
}


def draw_picture(shape: str, colour: str, ground: str) -> bytes:
    """Draw a picture as PNG; the same arguments give the same bytes.

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


def ensure_picture_campaign(remote: RemoteServer) -> CampaignClient:
    """Create and open the campaign with its raters; an existing campaign stays as it is."""
    managed = CampaignClient(remote, PICTURES)
    try:
        managed.fetch_campaign()
    except ServerRefusal:
        _make(managed)
    return managed


def make_picture_rater_model(managed: CampaignClient) -> RaterModel:
    """Make the model of the simulated raters, all except the guest, who look for the planted errors."""
    model = make_rater_model_template(
        managed.fetch_campaign_for_simulation(), _planted_texts(), RATERS_OF_PICTURES, seed=SEED
    )
    return model.model_copy(update={"raters": {rater: TEMPERS[rater] for rater in RATERS_OF_PICTURES}})


def _planted_texts() -> Iterator[OutputForSimulation]:
    for n, drawing in enumerate(DRAWINGS, 1):
        for system, description in zip(SYSTEMS, drawing.descriptions, strict=True):
            errors = tuple(_span(description.text, *error) for error in description.errors)
            yield OutputForSimulation(system, f"drawing-{n}", 1, description.text, _source(n), errors)


def _span(text: str, words: str, severity: str, category: str) -> Span:
    if not words:
        return Span(severity=severity, category=category, omission=True)
    start = text.index(words)
    return Span(start=start, end=start + len(words), severity=severity, category=category)


def _source(n: int) -> str:
    return f'<img src="assets/drawing-{n}.png">'


def _make(managed: CampaignClient) -> None:
    remote, path = managed.remote, managed.campaign_path
    body = {"key": PICTURES, "name": "Descriptions of drawings", "protocol": "custom", "target_language": "en"}
    remote.send_change("POST", "/v1/campaigns", {}, {**body, "options": OWN_PROTOCOL})
    for system in SYSTEMS:
        remote.send_change("PUT", f"{path}/systems/{system}", {}, {})
    for n, drawing in enumerate(DRAWINGS, 1):
        picture = draw_picture(drawing.shape, drawing.colour, drawing.ground)
        remote.upload_file(f"{path}/media/drawing-{n}.png", io.BytesIO(picture))
        document = f"{path}/documents/drawing-{n}"
        remote.send_change(
            "PUT", document, {}, {"position": n, "domain": "drawings", "segments": [{"source": _source(n)}]}
        )
        for system, description in zip(SYSTEMS, drawing.descriptions, strict=True):
            remote.send_change(
                "PUT", f"{path}/systems/{system}/outputs/drawing-{n}", {}, {"segments": [description.text]}
            )
    for rater in (*RATERS_OF_PICTURES, GUEST_OF_PICTURES):
        managed.enrol_rater(rater, {})
    managed.compile_and_freeze_plan(DESIGN)
    managed.change_campaign_state("open")
