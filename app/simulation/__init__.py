"""Simulated raters: what they think of a text, how they answer, and how they go through a task. Pure and seeded.

Nothing here does input or output. `generate_session_actions` yields what a front-end would send next, and the code
that drives it sends this.
"""

from __future__ import annotations

from app.simulation.questionnaires import draw_questionnaire_answers
from app.simulation.rater_model import (
    RaterModel,
    RaterModelVariances,
    RaterTraits,
    TextGroundTruth,
    encode_rater_model,
    hash_text_with_source,
    parse_rater_model,
)
from app.simulation.rater_model_template import CampaignForSimulation, OutputForSimulation, make_rater_model_template
from app.simulation.session import (
    AbandonTask,
    Act,
    CampaignRaterForms,
    HandInTask,
    Pause,
    SendHeartbeat,
    SendJudgment,
    SendPreference,
    generate_session_actions,
)
from app.simulation.simulated_rater import SimulatedRater
from app.simulation.task_view import DisplayedTask, parse_task

__all__ = [
    "AbandonTask",
    "Act",
    "CampaignForSimulation",
    "CampaignRaterForms",
    "DisplayedTask",
    "HandInTask",
    "OutputForSimulation",
    "Pause",
    "RaterModel",
    "RaterModelVariances",
    "RaterTraits",
    "SendHeartbeat",
    "SendJudgment",
    "SendPreference",
    "SimulatedRater",
    "TextGroundTruth",
    "draw_questionnaire_answers",
    "encode_rater_model",
    "generate_session_actions",
    "hash_text_with_source",
    "make_rater_model_template",
    "parse_rater_model",
    "parse_task",
]
