"""Judgments of a rater in a task: each is on disk before the request is answered."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app.api.models.payloads import (
    JudgmentPayload,
    Seen,
    TaskComparisonIn,
    TaskJudgmentIn,
    TaskJudgmentsIn,
    list_payload_examples,
    read_judgment_payload_body_as,
)
from app.api.models.tasks import (
    RECEIPT,
    ComparisonReceiptOut,
    ItemNumber,
    JudgmentReceiptOut,
    ScreenNumber,
    SegmentNumber,
    TaskId,
    make_judgment_receipt_out,
)
from app.protocols import PreferencePayload
from app.services.people.raters import ActingRater
from app.services.tasks import judging
from app.services.tasks.judging import AnswerAddress, JudgingService, ScreenAnswerAddress, SentAnswer
from app.web.deps import JudgingServiceDep
from app.web.examples import example_response
from app.web.fast.rater_cache import CachedRater
from app.web.fast.route import FastRoute
from app.web.ifmatch import quote_etag

router = APIRouter(prefix="/v1/tasks/{task}/judgments", tags=["tasks"])
fast = APIRouter(prefix="/v1/tasks/{task}/judgments", tags=["tasks"], route_class=FastRoute)

REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "The task is handed in, the campaign closed, or the answer final in this presentation."},
    412: {"description": "Judged again since the revision that `If-Match` names; `stored` and `sent` are the answers."},
}
ETAG = "The revision; send it as `If-Match` with a change."
MANY = [
    {"item": 1, "segment": 1, "payload": {"protocol": "da", "score": 72}, "if_match": 0},
    {"screen": 1, "payload": {"protocol": "da", "preference": [[2], [1]]}},
]


class JudgmentsStoredOut(BaseModel):
    """Answers that are on disk, in the order in which they came."""

    judgments: list[JudgmentReceiptOut | ComparisonReceiptOut]


@fast.put(
    "/screens/{screen}",
    summary="Compare the columns of a screen",
    responses={**example_response(200, ComparisonReceiptOut(revision=1), "Stored on disk.", etag=ETAG), **REFUSED},
)
async def put_comparison(
    rater: CachedRater,
    task: TaskId,
    screen: ScreenNumber,
    if_match: Seen,
    body: Annotated[
        PreferencePayload,
        read_judgment_payload_body_as(
            PreferencePayload, {"ranking": {"protocol": "esa", "preference": [[2], [1, 3]]}}, without_slot=True
        ),
    ],
    service: JudgingServiceDep,
) -> Response:
    """Send the columns in groups from best to worst. The rules are those for the judgment of a segment."""
    return await _judge(service, task, SentAnswer(ScreenAnswerAddress(screen), body, if_match), rater)


@fast.put(
    "/{item}/{segment}",
    summary="Judge a segment",
    responses={**example_response(200, RECEIPT, "Stored on disk.", etag=ETAG), **REFUSED},
)
async def put_judgment(
    rater: CachedRater,
    task: TaskId,
    item: ItemNumber,
    segment: SegmentNumber,
    if_match: Seen,
    body: Annotated[
        JudgmentPayload, read_judgment_payload_body_as(JudgmentPayload, list_payload_examples(), without_slot=True)
    ],
    service: JudgingServiceDep,
) -> Response:
    """The same answer again changes nothing; a different one is a new revision.

    If `If-Match` names a revision that is not the latest: 200 if the next one has the same answer, else 412.
    """
    return await _judge(service, task, SentAnswer(AnswerAddress(item, segment), body.root, if_match), rater)


@fast.put(
    "/{item}",
    summary="Judge a whole document",
    responses={**example_response(200, RECEIPT, "Stored on disk.", etag=ETAG), **REFUSED},
)
async def put_document_judgment(
    rater: CachedRater,
    task: TaskId,
    item: ItemNumber,
    if_match: Seen,
    body: Annotated[
        JudgmentPayload, read_judgment_payload_body_as(JudgmentPayload, list_payload_examples(), without_slot=True)
    ],
    service: JudgingServiceDep,
) -> Response:
    """The campaign must ask for it. The rules are those for the judgment of a segment."""
    return await _judge(service, task, SentAnswer(AnswerAddress(item, None), body.root, if_match), rater)


@router.post(
    "",
    summary="Send several judgments",
    responses={**example_response(200, JudgmentsStoredOut(judgments=[RECEIPT])), **REFUSED},
)
async def post_judgments(
    rater: CachedRater,
    task: TaskId,
    body: Annotated[TaskJudgmentsIn, read_judgment_payload_body_as(TaskJudgmentsIn, {"da": MANY})],
    service: JudgingServiceDep,
) -> JudgmentsStoredOut:
    """Store all of them or none; an error names `["body", i]`, counted from 0. Sent again, they change nothing.

    They may be of segments, of whole documents (`"segment": null`), and of the columns of a screen (`"screen"`).
    """
    given = [SentAnswer(_address(one), one.payload, one.if_match) for one in body.root]
    receipts = await judging.record_answers(service, task, given, rater=rater, all_or_nothing=True)
    return JudgmentsStoredOut(judgments=[make_judgment_receipt_out(one) for one in receipts])


def _address(judgment: TaskJudgmentIn | TaskComparisonIn) -> AnswerAddress | ScreenAnswerAddress:
    return (
        ScreenAnswerAddress(judgment.screen)
        if isinstance(judgment, TaskComparisonIn)
        else AnswerAddress(judgment.item, judgment.segment)
    )


async def _judge(service: JudgingService, task: str, given: SentAnswer, rater: ActingRater) -> Response:
    (receipt,) = await judging.record_answers(service, task, [given], rater=rater, all_or_nothing=False)
    body = make_judgment_receipt_out(receipt).model_dump_json()
    return Response(body, media_type="application/json", headers={"ETag": quote_etag(str(receipt.revision))})


router.routes.extend(fast.routes)
