"""A client of Plumbline, for scripts: campaigns from their texts to their ranking, and tasks for front-ends.

`Client` answers when the server has answered; `AsyncClient` has the same methods to be awaited.
"""

from plumbline_client.aio.campaign import AsyncCampaign
from plumbline_client.aio.client import AsyncClient
from plumbline_client.aio.tasks import AsyncTask
from plumbline_client.errors import (
    JobError,
    NotPlumbline,
    PlumblineError,
    Problem,
    ProblemPlace,
    ServerUnreachable,
    UploadChanged,
)
from plumbline_client.reports import Report
from plumbline_client.retries import RetryPolicy
from plumbline_client.sync.campaign import Campaign
from plumbline_client.sync.client import Client
from plumbline_client.sync.tasks import Task

__all__ = [
    "AsyncCampaign",
    "AsyncClient",
    "AsyncTask",
    "Campaign",
    "Client",
    "JobError",
    "NotPlumbline",
    "PlumblineError",
    "Problem",
    "ProblemPlace",
    "Report",
    "RetryPolicy",
    "ServerUnreachable",
    "Task",
    "UploadChanged",
]
