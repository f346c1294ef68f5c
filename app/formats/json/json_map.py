"""A JSON map: the meaning of each field of a JSON object, as JSON that a manager writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from app import protocols
from app.domain.errors import Invalid, NotFound, Place
from app.domain.validation_errors import list_first_validation_errors

Meaning = Literal["system", "document", "position", "rater", "source", "target", "domain", "language_pair"]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=200)]


class _MapPart(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class MarkedErrorsMapping(_MapPart):
    """A list of marked errors.

    ends: whether `end` is the last marked character, or the one after it. words: field with the marked text, which is
    compared with the text at that place. An error without a position is an omission.
    """

    list: Name
    side: Literal["source", "target"] = "target"
    start: Name
    end: Name
    ends: Literal["inclusive", "exclusive"] = "exclusive"
    severity: Name
    category: Name | None = None
    note: Name | None = None
    words: Name | None = None


class AnswerListMapping(_MapPart):
    """A list of answers to one output. raters: their name, to which the position in the list, from 1, is added."""

    list: Name
    raters: Name


class JsonFieldMap(_MapPart):
    """The meaning of the fields of an object: one judgment, or one output with several answers.

    fields: meaning → field. references: field with a list of reference texts, or one. answers: lists of answers;
    without them the object is the only answer, by the rater that `fields` names. criteria, score, errors: in an answer.
    first_position: the number of a document's first segment. documents: how documents without a field are
    distinguished; a new one begins when the position does not increase. ignore: fields that are not counted as unused.
    """

    protocol: Name
    options: dict[Name, JsonValue] = {}
    fields: dict[Meaning, Name]
    constants: dict[Literal["source_language", "target_language"], Text] = {}
    references: Name | None = None
    answers: Annotated[tuple[AnswerListMapping, ...], Field(strict=False, max_length=20)] = ()
    score: Name | None = None
    criteria: Annotated[dict[Name, Name], Field(max_length=50)] = {}
    errors: Annotated[tuple[MarkedErrorsMapping, ...], Field(strict=False, max_length=10)] = ()
    first_position: Literal[0, 1] = 1
    documents: Literal["field", "position"] = "field"
    ignore: Annotated[tuple[Name, ...], Field(strict=False, max_length=100)] = ()

    @model_validator(mode="after")
    def _complete(self) -> JsonFieldMap:
        needed = {"system"} | ({"document"} if self.documents == "field" else {"position", "source"})
        needed |= set() if self.answers else {"rater"}
        missing = needed - self.fields.keys()
        if missing:
            raise ValueError(f"fields: {', '.join(sorted(missing))} must be there")
        try:
            asked = set(protocols.get_protocol(self.protocol).payload.model_fields)
        except NotFound as error:
            raise ValueError(str(error)) from None
        given = {"score": self.score, "scores": self.criteria, "errors": self.errors}
        for name, value in given.items():
            if value and name not in asked:
                raise ValueError(f"{self.protocol} has no {name}")
        if not any(given.values()):
            raise ValueError("one of score, criteria and errors must be there")
        if "score" in asked and self.score is None:
            raise ValueError(f"score: {self.protocol} needs it")
        return self

    def allowed_fields(self) -> frozenset[str]:
        """Return the fields of an object that are read or may be ignored."""
        named = {*self.fields.values(), *self.ignore, *(one.list for one in self.answers)}
        return frozenset(
            named | ({self.references} if self.references else set()) | self._list_answer_fields(whole=True)
        )

    def allowed_answer_fields(self) -> frozenset[str]:
        """Return the fields of an answer in a list that are read or may be ignored."""
        return frozenset(self._list_answer_fields(whole=False) | set(self.ignore))

    def _list_answer_fields(self, *, whole: bool) -> set[str]:
        if whole and self.answers:
            return set()
        return {*self.criteria.values(), *(one.list for one in self.errors)} | ({self.score} if self.score else set())


def parse_json_field_map(value: object) -> JsonFieldMap:
    """Parse the map from JSON values. Raises Invalid, naming the faults."""
    try:
        return JsonFieldMap.model_validate(value)
    except ValidationError as error:
        faults = list_first_validation_errors(error, 20)
        places = tuple(Place(("options", "map", *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid(f"the JSON map is not valid: {places[0].msg}", places=places) from None
