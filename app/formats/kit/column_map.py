"""A column map: the meaning of each column of a delimited file, as JSON that a manager writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from app import protocols
from app.domain.errors import Invalid, NotFound, Place
from app.domain.validation_errors import list_first_validation_errors
from app.formats.base import RoleName

Meaning = Literal[
    "system",
    "document",
    "position",
    "rater",
    "person",
    "task",
    "score",
    "errors",
    "type",
    "presented",
    "whole",
    "protocol",
    "source_language",
    "target_language",
    "source",
    "target",
    "domain",
    "instructions",
    "started",
    "ended",
    "global_id",
    "category",
    "severity",
    "start",
    "end",
    "source_side",
]
Column = Annotated[str, Field(min_length=1, max_length=200)]
Short = Annotated[str, Field(max_length=200)]
UNITS = {"seconds": 1.0, "milliseconds": 1e-3}


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class RowSkipRule(_Model):
    """Rows not to import: those whose column has one of the values, or, without values, is not empty."""

    column: Column
    values: Annotated[tuple[Short, ...], Field(strict=False)] = ()
    reason: Column


class ProtocolWithOptions(_Model):
    """The protocol, with its options, for a value of the protocol column."""

    protocol: Column
    options: dict[Column, JsonValue] = {}


class ColumnMap(_Model):
    """The meaning of the columns of a file.

    delimiter, quoting: how a line is split; with quoting, a cell in double quotes may contain the delimiter. header:
    the columns of a file without a header line. rows: one row per judgment, per marked error (MQM), or per segment with
    its texts: then `references` and `outputs` are name → column, and if `columns` has system and target, a row is one
    system's output.

    protocol, options: of all rows; otherwise the column `protocol` with its values in `protocols`. columns: meaning →
    column. constants: meaning → the same value for all rows. each_row: in rows of texts without a document, whether
    each segment is its own document; otherwise all are one. criteria: criterion → column, for a protocol with several
    scores. first_position: the number of a document's first segment (0 or 1). time: unit of started and ended. types:
    value of the column `type` → role. leave_out: rows not to import. whole: the value of the column `whole` for a row
    about the whole document. again: the meaning of a second answer to the same output. keep: columns kept with each
    judgment. texts: meaning → column of further files that contain only texts.
    """

    delimiter: Literal["\t", ",", ";", "|"] = "\t"
    quoting: bool = False
    header: Annotated[tuple[Column, ...], Field(strict=False)] | None = None
    rows: Literal["judgments", "errors", "texts"] = "judgments"
    protocol: Column | None = None
    options: dict[Column, JsonValue] = {}
    protocols: dict[Short, ProtocolWithOptions] = {}
    columns: dict[Meaning, Column]
    criteria: Annotated[dict[Column, Column], Field(max_length=50)] = {}
    references: Annotated[dict[Column, Column], Field(max_length=20)] = {}
    outputs: Annotated[dict[Column, Column], Field(max_length=500)] = {}
    constants: dict[Meaning, Short] = {}
    each_row: bool = False
    first_position: Literal[0, 1] = 1
    time: Literal["seconds", "milliseconds"] = "seconds"
    types: dict[Short, RoleName] = {}
    leave_out: Annotated[tuple[RowSkipRule, ...], Field(strict=False, max_length=50)] = ()
    whole: Short = "True"
    again: Literal["revision", "repeat"] = "revision"
    keep: Annotated[tuple[Column, ...], Field(strict=False, max_length=50)] = ()
    texts: dict[Literal["system", "document", "position", "source", "target"], Column] | None = None

    @model_validator(mode="after")
    def _complete(self) -> ColumnMap:
        if self.rows == "texts":
            return self._complete_texts()
        if self.references or self.outputs or self.each_row:
            raise ValueError("references, outputs and each_row are for rows that are texts")
        needed = {"system", "rater"} | ({"severity"} if self.rows == "errors" else set())
        missing = needed - self.columns.keys() - self.constants.keys()
        if missing:
            raise ValueError(f"columns: {', '.join(sorted(missing))} must be there")
        if (self.protocol is None) == (not self.protocols):
            raise ValueError("give either protocol, or protocols with a column protocol")
        if self.protocols and "protocol" not in self.columns:
            raise ValueError("protocols needs the column protocol")
        names = [self.protocol] if self.protocol else [one.protocol for one in self.protocols.values()]
        by_criteria = [name for name in names if self._check_protocol(name)]
        if self.criteria and not by_criteria:
            raise ValueError(f"criteria: {', '.join(names)} has one score, which columns names")
        return self

    def _complete_texts(self) -> ColumnMap:
        if ("system" in self.columns) != ("target" in self.columns):
            raise ValueError("columns: system and target go together")
        if self.each_row and "document" in self.columns.keys() | self.constants.keys():
            raise ValueError("each_row: columns or constants name the document of each row already")
        if not (self.outputs or self.references or {"source", "target"} & self.columns.keys()):
            raise ValueError("columns: source, target, references or outputs must be there")
        if self.protocol is not None and self.protocol not in protocols.ALL:
            raise ValueError(f"protocol: must be one of {', '.join(protocols.ALL)}")
        return self

    def _check_protocol(self, name: str) -> bool:
        """Return whether the protocol rates by criteria. Raises ValueError if the map does not fit it."""
        try:
            fields = protocols.get_protocol(name).payload.model_fields
        except NotFound as error:
            raise ValueError(str(error)) from None
        if self.rows == "errors" and name != ERRORS_PROTOCOL:
            raise ValueError(f"rows that are errors make judgments of {ERRORS_PROTOCOL}, not of {name}")
        missing = ({"score", "errors"} & set(fields)) - self.columns.keys() if self.rows == "judgments" else set()
        if missing:
            raise ValueError(f"columns: {name} needs {', '.join(sorted(missing))}")
        if "scores" in fields and not self.criteria:
            raise ValueError(f"criteria: {name} needs at least one")
        if not {"score", "scores", "errors"} & set(fields):
            raise ValueError(f"judgments of {name} have no column that could be mapped")
        return "scores" in fields

    def needed_columns(self) -> frozenset[str]:
        """Return the columns that a file must have."""
        named = (self.columns, self.criteria, self.references, self.outputs)
        read = {column for columns in named for column in columns.values()}
        return frozenset(read | {one.column for one in self.leave_out} | set(self.keep))


ERRORS_PROTOCOL = "mqm"


def parse_column_map(value: object) -> ColumnMap:
    """Parse the map from JSON values. Raises Invalid, naming the faults."""
    try:
        return ColumnMap.model_validate(value)
    except ValidationError as error:
        faults = list_first_validation_errors(error, 20)
        places = tuple(Place(("options", "map", *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid(f"the column map is not valid: {places[0].msg}", places=places) from None
