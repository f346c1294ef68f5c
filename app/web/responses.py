"""Models of responses, and responses that handlers serialize themselves.

A handler that locks a row until its transaction ends must return a finished `Response`. If it returned a model, the
framework would serialize this in a thread of the pool while the transaction is still open, and all threads may be
waiting for that very row.
"""

from __future__ import annotations

from fastapi import Response
from pydantic import BaseModel, ConfigDict

from app.web.ifmatch import quote_etag


class ResponseModel(BaseModel):
    """A JSON answer, made from a service's value: of its fields those that are declared, and no others, leave."""

    model_config = ConfigDict(from_attributes=True)


def json_response(model: BaseModel, status: int = 200, *, etag: str | None = None) -> Response:
    """Return a response with the model as JSON."""
    headers = {"ETag": quote_etag(etag)} if etag is not None else None
    return Response(model.model_dump_json(by_alias=True), status, headers=headers, media_type="application/json")
