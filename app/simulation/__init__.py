"""Simulated raters: what they think of a text, how they answer, and how they sit through a task. Pure and seeded.

Nobody here does any input or output: `list_session_actions` says what a front-end would send next, and whoever drives
it sends it.
"""

from __future__ import annotations

from app.simulation.model import (
    RaterModel,
    RaterModelVariances,
    RaterTraits,
    TextTruth,
    hash_text_with_source,
    read_model,
    write_model,
)
from app.simulation.questionnaires import draw_answers
from app.simulation.session import (
    Act,
    CampaignForms,
    HandIn,
    Leave,
    Pause,
    SendHeartbeat,
    SendJudgment,
    SendPreference,
    list_session_actions,
)
from app.simulation.simulated_rater import SimulatedRater
from app.simulation.task_view import SeenTask, read_task
from app.simulation.template import CampaignFacts, PlantedText, make_model_template

__all__ = [
    "Act",
    "CampaignFacts",
    "CampaignForms",
    "HandIn",
    "Leave",
    "Pause",
    "PlantedText",
    "RaterModel",
    "RaterModelVariances",
    "RaterTraits",
    "SeenTask",
    "SendHeartbeat",
    "SendJudgment",
    "SendPreference",
    "SimulatedRater",
    "TextTruth",
    "draw_answers",
    "hash_text_with_source",
    "list_session_actions",
    "make_model_template",
    "read_model",
    "read_task",
    "write_model",
]
