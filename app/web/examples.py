"""Examples of responses, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def example_response(
    status: int, example: BaseModel, description: str = "Done.", *, etag: str | None = None
) -> dict[int | str, dict[str, Any]]:
    """Declare a response of the example's type, with the example; etag: description of the header of that name."""
    content = {"application/json": {"example": example.model_dump(mode="json", by_alias=True)}}
    answer: dict[str, Any] = {"model": type(example), "description": description, "content": content}
    if etag is not None:
        answer["headers"] = {"ETag": {"description": etag, "schema": {"type": "string"}}}
    return {status: answer}


def non_json_example_response(
    status: int, description: str, **media_types: tuple[str, str]
) -> dict[int | str, dict[str, Any]]:
    """Declare a response in media types other than JSON, each under any name as (type, example)."""
    content = {kind: {"schema": {"type": "string"}, "example": example} for kind, example in media_types.values()}
    return {status: {"description": description, "content": content}}
