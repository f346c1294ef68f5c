"""Ways of judging: payload schema, widgets, rubric and worked examples, for front-ends made by others."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from app import protocols
from app.protocols._base import Protocol
from app.web.access import Public
from app.web.examples import shows
from app.web.lists import Page

router = APIRouter(prefix="/v1/protocols", tags=["protocols"])


class RubricLine(BaseModel):
    """What a value means."""

    value: str
    meaning: str


class WidgetOut(BaseModel):
    """What a rater is given, for one field of the payload. kind: slider or spans; the rest depends on it."""

    kind: str
    field: str
    settings: dict[str, JsonValue]


class ExampleOut(BaseModel):
    """A payload and the score that it comes to."""

    source: str
    output: str
    payload: dict[str, JsonValue]
    score: float
    why: str
    profile: str = Field(description="The weights under which the score holds.")
    options: dict[str, JsonValue] = Field(description="The options of the campaign under which it holds.")


class ProtocolOut(BaseModel):
    """A way of judging. scale: least and largest score and its step, where there are bounds."""

    name: str
    version: int
    title: str
    higher_is_better: bool
    scale: list[float | None] | None
    payload: dict[str, JsonValue] = Field(description="JSON schema of a judgment's payload.")
    options: dict[str, JsonValue] = Field(description="JSON schema of the options of a campaign by this protocol.")
    widgets: list[WidgetOut]
    rubric: list[RubricLine]
    examples: list[ExampleOut]


def _shown(protocol: Protocol[Any]) -> ProtocolOut:
    scale = protocol.scale
    return ProtocolOut(
        name=protocol.name,
        version=protocol.version,
        title=protocol.title,
        higher_is_better=protocol.higher_is_better,
        scale=None if scale is None else [scale.minimum, scale.maximum, scale.step],
        payload=protocol.payload.model_json_schema(),
        options=protocol.options.model_json_schema(),
        widgets=[_widget(widget) for widget in protocol.form],
        rubric=[RubricLine(value=value, meaning=meaning) for value, meaning in protocol.rubric],
        examples=[
            ExampleOut(
                source=e.source,
                output=e.output,
                payload=e.payload.model_dump(mode="json"),
                score=e.score,
                why=e.why,
                profile=e.profile,
                options=dict(e.options),
            )
            for e in protocol.examples
        ],
    )


def _widget(widget: Any) -> WidgetOut:
    settings = TypeAdapter(type(widget)).dump_python(widget, mode="json")
    return WidgetOut(kind=type(widget).__name__.lower(), field=settings.pop("field"), settings=settings)


FIRST = _shown(next(iter(protocols.ALL.values())))
Name = Annotated[str, Path(pattern="^[a-z0-9_]{1,64}$", examples=[FIRST.name])]


@router.get("", summary="List protocols", responses=shows(200, Page[ProtocolOut](items=[FIRST], next=None)))
async def list_protocols(_: Public) -> Page[ProtocolOut]:
    """Every way of judging that this version knows."""
    return Page[ProtocolOut](items=[_shown(protocol) for protocol in protocols.ALL.values()], next=None)


@router.get("/{protocol}", summary="Look at a protocol", responses={404: {}, **shows(200, FIRST)})
async def get_protocol(_: Public, protocol: Name) -> ProtocolOut:
    """One way of judging."""
    return _shown(protocols.get(protocol))
