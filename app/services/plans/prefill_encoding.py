"""Prefilled errors of imported outputs: checked against the text, and encoded in the stored form."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from app.domain.errors import Invalid
from app.domain.validation_errors import list_first_validation_errors
from app.formats.base import OutputRow
from app.protocols import assign_error_ids, span_faults
from app.protocols.base import JudgedTexts, Span
from app.storage.imports import copy_format

MOST_SPANS = 1000


def validate_and_encode_prefilled_spans(row: OutputRow, severities: Sequence[str]) -> str | None:
    """Encode the prefilled spans of an output as JSON, None if there are none. Raises Invalid if one does not fit.

    severities: the protocol's severities.
    """
    if row.prefill is None:
        return None
    if len(row.prefill) > MOST_SPANS:
        raise Invalid(f"more than {MOST_SPANS} errors shown with an output")
    try:
        spans = [Span.model_validate(one) for one in row.prefill]
    except ValidationError as error:
        first = list_first_validation_errors(error, 1)[0]
        raise Invalid(f"prefill: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    wrong = span_faults(spans, JudgedTexts(text=row.text), severities)
    if wrong:
        raise Invalid(f"prefill {'.'.join(map(str, wrong[0].loc[1:]))}: {wrong[0].msg}")
    return copy_format.format_canonical_json([span.model_dump(mode="json") for span in assign_error_ids(spans)])
