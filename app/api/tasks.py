"""A rater's task: get it, hand it in, release it."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.api.models.tasks import EXAMPLE, TaskId, TaskOut
from app.api.protocols import WidgetOut, make_widget_out
from app.protocols import RaterForm
from app.services.tasks import hand_in_checks, tasks
from app.web.access import RaterCaller
from app.web.deps import DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/tasks/{task}", tags=["tasks"])


class AttentionCheckWarningOut(ResponseModel):
    """Warning for a rater who did not pass an attention check."""

    texts: list[dict[str, str]] = Field(description="Texts of the rules that were not followed, each by language.")
    again: bool = Field(description="Whether the same document is shown once more.")


class HandedInTaskOut(BaseModel):
    """Response to a task that was handed in."""

    completion_code: str = Field(description="A repeated request gets the same code.")
    warning: AttentionCheckWarningOut | None = Field(
        None,
        description="Only if the task was an attention check that warns, and was not passed.",
        exclude_if=lambda warning: warning is None,
    )


@router.get("", summary="Get a task", responses=example_response(200, EXAMPLE))
def get_task(rater: RaterCaller, task: TaskId, session: SessionDep) -> TaskOut:
    """Return what is shown and asked, your own answers, and what is missing. It does not name the systems."""
    return TaskOut.from_view(tasks.load_task_view(session, task, rater=rater))


class JudgmentFormOut(BaseModel):
    """What is asked at one level."""

    level: str = Field(description="segment, document or screen.")
    widgets: list[WidgetOut]
    rubric: list[tuple[str, str]] = Field(description="(value, meaning).")
    labels: list[str] = Field(description="Labels of the texts, in screen order.")
    instructions: list[str]

    @classmethod
    def from_form(cls, form: RaterForm) -> JudgmentFormOut:
        """Make the form from the protocol's."""
        return cls(
            level=form.level,
            widgets=[make_widget_out(widget) for widget in form.widgets],
            rubric=list(form.rubric),
            labels=list(form.labels),
            instructions=list(form.instructions),
        )


class TaskFormsOut(BaseModel):
    """What is asked in a task."""

    forms: list[JudgmentFormOut]


FORMS = TaskFormsOut(
    forms=[
        JudgmentFormOut(
            level="segment",
            widgets=[WidgetOut(kind="slider", field="score", settings={"minimum": 0, "maximum": 100, "step": 1})],
            rubric=[("100", "The meaning is all there and the language is right.")],
            labels=["Source", "Translation"],
            instructions=["Mark the errors, then give the score."],
        )
    ]
)


@router.get("/forms", summary="Get the forms of a task", responses=example_response(200, FORMS))
def get_task_forms(rater: RaterCaller, task: TaskId, session: SessionDep) -> TaskFormsOut:
    """Return widgets, rubric and labels as the campaign has them: its criteria, number of points and basis."""
    return TaskFormsOut(
        forms=[JudgmentFormOut.from_form(form) for form in tasks.load_task_forms(session, task, rater=rater)]
    )


@router.post(
    "/submit",
    summary="Hand a task in",
    responses={
        **example_response(200, HandedInTaskOut(completion_code="9F3A01C7DE")),
        409: {"description": "Judgments are missing, somebody else has the task, or the campaign is closed."},
    },
)
def submit_task(rater: RaterCaller, task: TaskId, database: DatabaseDep) -> HandedInTaskOut:
    """Everything that is asked must be judged; `errors` names all that is missing, such as `["items", 3]`."""
    receipt = hand_in_checks.hand_in_task_and_check_rater(database, task, rater=rater)
    warning = None if receipt.warning is None else AttentionCheckWarningOut.model_validate(receipt.warning)
    return HandedInTaskOut(completion_code=receipt.code, warning=warning)


@router.post(
    "/release",
    status_code=204,
    summary="Give a task back",
    response_description="Given back.",
    responses={409: {"description": "It is handed in."}},
)
def release_task(rater: RaterCaller, task: TaskId, session: SessionDep) -> None:
    """The judgments are kept. The next lease gives another task, as long as there is any."""
    tasks.release_task(session, task, rater=rater)
