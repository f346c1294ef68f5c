"""Findings of pydantic speak of JSON, not of Python."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from app.domain.validation_errors import list_first_validation_errors


class Several(BaseModel):
    """A model with a list that nobody changes."""

    names: tuple[str, ...]


def test_what_should_be_a_list_is_not_called_a_tuple():
    with pytest.raises(ValidationError) as raised:
        Several.model_validate({"names": {"a": 1}})
    (fault,) = list_first_validation_errors(raised.value)
    assert (fault["loc"], fault["msg"]) == (("names",), "Input should be a valid list")
