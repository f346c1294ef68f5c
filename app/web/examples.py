"""Worked examples of answers, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def shows(status: int, example: BaseModel, description: str = "Done.") -> dict[int | str, dict[str, Any]]:
    """An answer of the example's type, with the example."""
    content = {"application/json": {"example": example.model_dump(mode="json")}}
    return {status: {"model": type(example), "description": description, "content": content}}


def sends(status: int, description: str, **media_types: str) -> dict[int | str, dict[str, Any]]:
    """An answer in other media types than JSON: `name="type/subtype"`, each with the example of that name."""
    return {status: {"description": description, "content": {kind: {} for kind in media_types.values()}}}
