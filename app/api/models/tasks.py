"""Tasks in the interface, as raters and front-ends see them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, Field, JsonValue

from app.api.models.times import Time
from app.domain.markup import parse_markup_if_present
from app.services.tasks.judging import JudgmentReceipt
from app.services.tasks.leases import LeaseResult
from app.services.tasks.tasks import ItemView, OwnAnswer, ScreenView, SegmentView, TaskView
from app.web.responses import ResponseModel

LARGEST = 2**31 - 1
TaskId = Annotated[
    str,
    Path(alias="task", pattern="^[A-Za-z0-9_-]{1,64}$", description="Name of the task.", examples=["t_" + "0" * 32]),
]
ItemNumber = Annotated[int, Path(alias="item", ge=1, le=LARGEST, description="Position of the item.", examples=[1])]
SegmentNumber = Annotated[
    int, Path(alias="segment", ge=1, le=LARGEST, description="Position of the segment in the item.", examples=[1])
]
ScreenNumber = Annotated[int, Path(alias="screen", ge=1, le=LARGEST, description="Number of the screen.", examples=[1])]


class LatestAnswerOut(ResponseModel):
    """Your own latest answer."""

    revision: int
    payload: dict[str, JsonValue]
    hidden: bool = Field(
        default=False,
        description="Given before a coordinator made your link: it counts but is not shown, and `payload` is {}.",
    )


class ShownMediaOut(ResponseModel):
    """A file that stands in the place of a text. `GET …/media` has addresses of the files by their ids."""

    id: str | None = Field(description="null if the file does not exist.")
    kind: Literal["audio", "video", "image", "missing"]
    duration_ms: int | None
    width: int | None = Field(description="Width in pixels.")
    height: int | None
    captions: str | None = Field(description="Id of the WebVTT file.")
    transcript: str | None


class TextLayoutOut(ResponseModel):
    """How a text with light markup is shown. Places of errors, alignments and so on remain those in `text`."""

    shown: str = Field(description="Its characters without tags; a line end stands for `<br>` and between blocks.")
    runs: list[tuple[int, int, int]] = Field(
        description="How characters map to the text: characters of `shown`, start and end in `text`, in code "
        "points, one run after another. If a run has as many in both, each stands for one; "
        "otherwise one character stands for the whole range."
    )
    elements: list[tuple[str, int, int]] = Field(
        description="Tag, start and end in `shown`; outer ones first. The tags are p, b, strong, i, em, h1, h2, h3, "
        "ul, ol, li, code and pre."
    )


class SourceAndTextLayoutOut(BaseModel):
    """How a source and a text beside it are shown; null where one is shown as it is."""

    source: TextLayoutOut | None
    text: TextLayoutOut | None

    @classmethod
    def from_texts(cls, source: str | None, text: str | None) -> SourceAndTextLayoutOut:
        """Make it from two stored texts."""
        layouts = (parse_markup_if_present(one) for one in (source, text))
        first, second = (None if one is None else TextLayoutOut.model_validate(one) for one in layouts)
        return cls(source=first, text=second)


class LabelledTextOut(ResponseModel):
    """A text as it is stored. side: what a marked span of it names; null where nothing can be marked by side."""

    label: str
    text: str | None
    side: Literal["source", "target"] | None
    media: ShownMediaOut | None = Field(
        None,
        description="File shown in place of a text, which is then empty; absent if there is none.",
        exclude_if=lambda said: said is None,
    )
    markup: TextLayoutOut | None = Field(
        None,
        description="Only where the campaign's setting `markup` is on and the text has any.",
        exclude_if=lambda layout: layout is None,
    )


class GlossaryTermOut(ResponseModel):
    """A term of the campaign's glossary in a source, and the wanted translation."""

    start: int = Field(description="Start, in code points of the stored source.")
    end: int
    translation: str


class ShownSegmentOut(BaseModel):
    """A segment. What must not be seen or told apart is null; `texts` has all texts in order."""

    segment: int
    source: str | None
    text: str | None
    sha256: str | None = Field(description="SHA-256 of the text in UTF-8.")
    references: list[str] | None
    prefill: list[dict[str, JsonValue]] | None
    alignment: str | None = Field(
        None,
        description="`0-0 1-2`: positions of source words and words of the text, from 0; white space "
        "separates words. Null if none is given.",
    )
    instructions: str | None = Field(
        None,
        description="Instructions for judging this segment; absent if there are none.",
        exclude_if=lambda said: said is None,  # in a page of 400 segments, these fields would add ten kilobytes
    )
    terms: list[GlossaryTermOut] = Field(
        [],
        description="Terms of the campaign's glossary in the source; absent if there are none.",
        exclude_if=lambda terms: not terms,
    )
    texts: list[LabelledTextOut]
    judgment: LatestAnswerOut | None

    @classmethod
    def from_view(cls, view: SegmentView) -> ShownSegmentOut:
        """Convert from the service's form."""
        return cls(
            segment=view.segment,
            source=view.source,
            text=view.text,
            sha256=view.sha256,
            references=None if view.references is None else list(view.references),
            prefill=None if view.prefill is None else [dict(span) for span in view.prefill],
            alignment=view.alignment,
            terms=[GlossaryTermOut.model_validate(term) for term in view.terms],
            instructions=view.instructions,
            texts=[LabelledTextOut.model_validate(text) for text in view.texts],
            judgment=_make_given_out(view.judgment),
        )


class ShownItemOut(BaseModel):
    """An item. judgment: of the document as a whole."""

    item: int
    segments: list[ShownSegmentOut]
    judgment: LatestAnswerOut | None

    @classmethod
    def from_view(cls, view: ItemView) -> ShownItemOut:
        """Convert from the service's form."""
        segments = [ShownSegmentOut.from_view(one) for one in view.segments]
        return cls(item=view.item, segments=segments, judgment=_make_given_out(view.judgment))


class SourceContextOut(BaseModel):
    """Sources around the stretch that is shown."""

    before: list[str]
    after: list[str]


class ScreenOut(BaseModel):
    """Items that are shown together, in the order of their columns. judgment: of the columns together."""

    screen: int
    items: list[int]
    context: SourceContextOut
    judgment: LatestAnswerOut | None

    @classmethod
    def from_view(cls, view: ScreenView) -> ScreenOut:
        """Convert from the service's form."""
        context = SourceContextOut(before=list(view.before), after=list(view.after))
        return cls(screen=view.screen, items=list(view.items), context=context, judgment=_make_given_out(view.judgment))


class ProtocolNameAndVersion(BaseModel):
    """Annotation protocol; `GET /v1/protocols/{protocol}` returns the rest."""

    name: str
    version: int


class MissingJudgmentOut(BaseModel):
    """Something that is still to be judged: a segment of an item, an item as a whole, or a screen."""

    item: int | None = None
    segment: int | None = None
    screen: int | None = None
    why: str


class OwnCommentOut(ResponseModel):
    """A comment of yours: on a segment of an item, on an item as a whole, or on a screen."""

    item: int | None
    segment: int | None
    screen: int | None
    text: str


class TaskCommentsOut(ResponseModel):
    """What can be commented on, and your own comments."""

    output: bool = Field(
        description="Each output that is judged: `PUT …/comments/{item}/{segment}`, or `…/comments/{item}` "
        "for a document judged as a whole."
    )
    screen: bool = Field(description="Each screen: `PUT …/comments/screens/{screen}`.")
    own: list[OwnCommentOut]


class TaskOut(BaseModel):
    """A task as its rater sees it."""

    task: str
    campaign: str
    protocol: ProtocolNameAndVersion
    basis: str
    presentation: str
    guidelines: int | None
    state: Literal["leased", "lapsed", "handed_in", "surplus"] = Field(
        description="lapsed: the lease expired and nobody else has the task yet. surplus: another rater has it now."
    )
    leased_until: Time | None
    words: int | None
    asked: list[str] = Field(description="Levels that are judged: segment, document, screen.")
    screens: list[ScreenOut]
    items: list[ShownItemOut]
    missing: list[MissingJudgmentOut]
    slider_colors: bool = Field(
        default=False,
        description="Sliders show by color how their values compare with those of the other columns; absent if not.",
        exclude_if=lambda wanted: not wanted,
    )
    comments: TaskCommentsOut | None = Field(
        None, description="Absent if the campaign asks for none.", exclude_if=lambda asked: asked is None
    )

    @classmethod
    def from_view(cls, view: TaskView) -> TaskOut:
        """Convert from the service's form."""
        return cls(
            task=view.task,
            campaign=view.campaign,
            protocol=ProtocolNameAndVersion(name=view.protocol, version=view.protocol_version),
            basis=view.basis,
            presentation=view.presentation,
            guidelines=view.guidelines,
            state=view.state,
            leased_until=view.leased_until,
            words=view.words,
            asked=list(view.asked),
            screens=[ScreenOut.from_view(one) for one in view.screens],
            items=[ShownItemOut.from_view(one) for one in view.items],
            missing=[
                MissingJudgmentOut(item=one.item, segment=one.segment, screen=one.screen, why=one.why)
                for one in view.missing
            ],
            slider_colors=view.slider_colors,
            comments=None if view.comments is None else TaskCommentsOut.model_validate(view.comments),
        )


class LeaseOut(BaseModel):
    """A task, or why there is none now."""

    task: TaskOut | None
    why: (
        Literal[
            "finished",
            "nothing_planned",
            "wait",
            "paused",
            "capacity",
            "not_enrolled",
            "consent",
            "qualification",
            "questionnaire",
        ]
        | None
    ) = Field(
        None, description="`nothing_planned`: the plan gives this rater nothing, for example because they joined later."
    )
    retry_after: int | None = Field(
        None, description="Seconds to wait before asking again; null if there will be no more."
    )

    @classmethod
    def from_lease(cls, leased: LeaseResult) -> LeaseOut:
        """Convert from the service's form."""
        task = TaskOut.from_view(leased.task) if leased.task is not None else None
        return cls(task=task, why=leased.why, retry_after=leased.retry_after)


class JudgmentReceiptOut(BaseModel):
    """An answer that is on disk."""

    score: float
    revision: int
    kept: Literal["surplus"] | None = Field(None, description="`surplus` if another rater has the task now.")
    leased_until: Time | None = None


class ComparisonReceiptOut(BaseModel):
    """A comparison that is on disk: a receipt of the same form as that of a judgment."""

    score: None = Field(None, description="A comparison has none.")
    revision: int
    kept: str | None = Field(None, description="`surplus` if another rater has the task now.")
    leased_until: Time | None = None


def make_judgment_receipt_out(receipt: JudgmentReceipt) -> JudgmentReceiptOut | ComparisonReceiptOut:
    """Convert from the service's form."""
    kept: Literal["surplus"] | None = "surplus" if receipt.surplus else None
    if receipt.score is None:
        return ComparisonReceiptOut(revision=receipt.revision, kept=kept, leased_until=receipt.leased_until)
    return JudgmentReceiptOut(
        score=receipt.score, revision=receipt.revision, kept=kept, leased_until=receipt.leased_until
    )


def _make_given_out(given: OwnAnswer | None) -> LatestAnswerOut | None:
    return (
        None
        if given is None
        else LatestAnswerOut(revision=given.revision, payload=dict(given.payload), hidden=given.hidden)
    )


_SPAN: dict[str, Any] = {"side": "target", "start": 4, "end": 8, "severity": "minor"}
EXAMPLE = TaskOut(
    task="t_" + "0" * 32,
    campaign="demo",
    protocol=ProtocolNameAndVersion(name="esa", version=1),
    basis="source",
    presentation="document",
    guidelines=3,
    state="leased",
    leased_until="2026-11-20T14:00:00Z",
    words=5,
    asked=["segment"],
    screens=[ScreenOut(screen=1, items=[1], context=SourceContextOut(before=[], after=[]), judgment=None)],
    items=[
        ShownItemOut(
            item=1,
            segments=[
                ShownSegmentOut(
                    segment=1,
                    source="The dog barked.",
                    text="Der Hunt bellte.",
                    sha256="8ad2fffca4153aedb70c0b4e6a3e35b9c1cfa31ec4d6a86c5ab2f1a6f1f8a3a4",
                    references=None,
                    prefill=None,
                    texts=[
                        LabelledTextOut(label="Source", text="The dog barked.", side="source"),
                        LabelledTextOut(label="Text", text="Der Hunt bellte.", side="target"),
                    ],
                    judgment=LatestAnswerOut(revision=2, payload={"protocol": "esa", "errors": [_SPAN], "score": 72}),
                )
            ],
            judgment=None,
        )
    ],
    missing=[],
)
RECEIPT = JudgmentReceiptOut(score=72.0, revision=1, leased_until="2026-11-20T14:00:00Z")
