"""Protocols: payload schema, widgets, rubric and worked examples, for other people's front-ends."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from app import protocols
from app.api.models.tasks import SourceAndTextLayoutOut
from app.protocols.base import JudgmentMeasure, Protocol, Widget, WorkedExample, parse_scoring_options
from app.stats.ratings import ScoreScale
from app.web.access import Public
from app.web.examples import example_response
from app.web.pagination import Page

# Fields of a protocol that appear unchanged in the interface.
SAID_ALIKE = (
    "instructions",
    "level",
    "ranks",
    "hides_source",
    "contrastive",
    "accepts_prefill",
    "requires_prefill",
)
router = APIRouter(prefix="/v1/protocols", tags=["protocols"])


class RubricLine(BaseModel):
    """What a value means."""

    value: str
    meaning: str


class WidgetOut(BaseModel):
    """Widget for one field of the payload; its settings depend on the kind."""

    kind: str = Field(description="slider, choice, count, spans, textedit, link, criteria, texts or preference.")
    field: str
    settings: dict[str, JsonValue]


class JudgmentMeasureOut(BaseModel):
    """A number that a judgment yields. scale: that of the protocol."""

    name: str
    higher_is_better: bool
    scale: list[float | None] | None
    uses_profile: bool = Field(description="It depends on the weights of marked errors.")
    needs_text: bool = Field(description="It requires the texts of the outputs.")


class WorkedExampleOut(BaseModel):
    """A payload and the score that it comes to."""

    source: str
    output: str
    payload: dict[str, JsonValue]
    score: float
    why: str
    profile: str = Field(description="Weights under which the score holds.")
    options: dict[str, JsonValue] = Field(description="Options of the campaign under which it holds.")
    prefill: list[JsonValue] | None = Field(description="The prefilled errors, if any.")
    markup: SourceAndTextLayoutOut | None = Field(
        None,
        description="How a campaign with the setting `markup` shows the texts, if they contain tags.",
        exclude_if=lambda layout: layout is None,
    )


class ProtocolOut(BaseModel):
    """An annotation protocol. scale: least and largest score and its step, if there are bounds."""

    name: str
    version: int
    title: str
    higher_is_better: bool
    scale: list[float | None] | None
    payload: dict[str, JsonValue] = Field(description="JSON schema of a judgment's payload.")
    options: dict[str, JsonValue] = Field(description="JSON schema of a campaign's options under this protocol.")
    widgets: list[WidgetOut]
    rubric: list[RubricLine]
    examples: list[WorkedExampleOut]
    instructions: str = Field(description="What raters are to do.")
    level: str = Field(description="What is judged: each segment, or only the document as a whole.")
    measures: list[JudgmentMeasureOut] = Field(
        description="Numbers that a judgment yields; the first ranks, under the given options."
    )
    ranks: bool = Field(description="False if the numbers do not measure quality.")
    bases: list[str] = Field(description="What campaigns can base judgments on; the usual one first.")
    hides_source: bool = Field(description="Raters see two texts and do not learn which is which.")
    contrastive: bool = Field(description="Several outputs may be shown side by side.")
    accepts_prefill: bool = Field(description="Errors may be prefilled.")
    requires_prefill: bool = Field(description="Errors must be prefilled.")
    document_widgets: list[WidgetOut] = Field(
        description="Widgets for a whole document, with the option `document_score`."
    )
    screen_widgets: list[WidgetOut] = Field(
        description="Widgets for the columns together, with the option `preference`."
    )
    screen_payload: dict[str, JsonValue] | None = Field(description="JSON schema of a judgment of a screen.")


@cache
def _describe_protocol(name: str) -> ProtocolOut:
    """Describe a protocol, only once, because its schemas take milliseconds each."""
    return _make_protocol_out(protocols.get_protocol(name))


def _make_protocol_out(protocol: Protocol[Any]) -> ProtocolOut:
    usual = parse_scoring_options(protocol, protocol.examples[0].options)
    return ProtocolOut(
        name=protocol.name,
        version=protocol.version,
        title=protocol.title,
        higher_is_better=protocol.higher_is_better,
        scale=_scale(protocol.scale),
        payload=protocol.payload.model_json_schema(),
        options=protocol.options.model_json_schema(),
        widgets=[make_widget_out(widget) for widget in protocol.form],
        rubric=[RubricLine(value=value, meaning=meaning) for value, meaning in protocol.rubric],
        examples=[_example(example) for example in protocol.examples],
        measures=[make_judgment_measure_out(measure) for measure in protocol.list_judgment_measures(usual)],
        bases=[*protocol.bases],
        document_widgets=[make_widget_out(widget) for widget in protocol.document_form],
        screen_widgets=[make_widget_out(widget) for widget in protocols.list_screen_preference_widgets(protocol)],
        screen_payload=protocols.PreferencePayload.model_json_schema() if protocol.contrastive else None,
        **{name: getattr(protocol, name) for name in SAID_ALIKE},
    )


def _example(example: WorkedExample[Any]) -> WorkedExampleOut:
    layout = SourceAndTextLayoutOut.from_texts(example.source, example.output)
    return WorkedExampleOut(
        source=example.source,
        output=example.output,
        payload=example.payload.model_dump(mode="json"),
        score=example.score,
        why=example.why,
        profile=example.profile,
        options=dict(example.options),
        prefill=None if example.prefill is None else [span.model_dump(mode="json") for span in example.prefill],
        markup=layout if layout.source or layout.text else None,
    )


def make_judgment_measure_out(measure: JudgmentMeasure) -> JudgmentMeasureOut:
    """Return a measure in the form of the interface."""
    return JudgmentMeasureOut(
        name=measure.name,
        higher_is_better=measure.higher_is_better,
        scale=_scale(measure.scale),
        uses_profile=measure.uses_profile,
        needs_text=measure.needs_text,
    )


def _scale(scale: ScoreScale | None) -> list[float | None] | None:
    return None if scale is None else [scale.minimum, scale.maximum, scale.step]


def make_widget_out(widget: Widget) -> WidgetOut:
    """Return a widget in the form of the interface."""
    settings = TypeAdapter(type(widget)).dump_python(widget, mode="json")
    return WidgetOut(kind=widget.kind, field=settings.pop("field"), settings=settings)


FIRST = _describe_protocol(next(name for name, protocol in protocols.ALL.items() if protocol.ranks))
Name = Annotated[str, Path(pattern="^[a-z0-9_]{1,64}$", examples=[FIRST.name])]


@router.get("", summary="List protocols", responses=example_response(200, Page[ProtocolOut](items=[FIRST], next=None)))
async def list_protocols(_: Public) -> Page[ProtocolOut]:
    """List every annotation protocol that this version knows."""
    return Page[ProtocolOut](items=[_describe_protocol(name) for name in protocols.ALL], next=None)


@router.get("/{protocol}", summary="Get a protocol", responses={404: {}, **example_response(200, FIRST)})
async def get_protocol(_: Public, protocol: Name) -> ProtocolOut:
    """Return one annotation protocol."""
    return _describe_protocol(protocol)
