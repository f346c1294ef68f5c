"""Further data in the metadata column of `mqm-tsv`: languages, references, tokens, token ranges.

Source: data format of Marot (README of google-research/marot). The `segment` object need not be repeated in every row,
so its data on a text are put into separate rows, which sort before the judgments of that text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.formats.kit.strict_json import StrictJsonError, canonical_json, parse_json_value
from app.formats.mqm_tsv.rows import MqmRow

TEXTS = "segment"
EVALUATION = "evaluation"


def parse_metadata(metadata: str) -> dict[str, object]:
    """Return the metadata object of a row. Raises ValueError with the reason."""
    if not metadata:
        return {}
    try:
        value = parse_json_value(metadata)
    except StrictJsonError as fault:
        raise ValueError(f"metadata: {fault}") from fault
    if not isinstance(value, dict):
        raise ValueError("metadata: not a JSON object")
    return value


def find_metadata_languages(metadata: Mapping[str, object]) -> tuple[str, str] | None:
    """Return source and target language, if an `evaluation` object names them."""
    evaluation = metadata.get(EVALUATION)
    if isinstance(evaluation, dict):
        source, target = evaluation.get("source_language"), evaluation.get("target_language")
        if isinstance(source, str) and isinstance(target, str):
            return source, target
    return None


def make_reference_and_token_rows(row: MqmRow, metadata: Mapping[str, object]) -> Iterator[MqmRow]:
    """Yield rows with references (no system) and tokens (no rater) for all rows of the same text."""
    segment = metadata.get(TEXTS)
    if not isinstance(segment, dict):
        return
    references = _references(segment)
    blank = row._replace(rater="", what="", target_spans="", source_spans="", severity="", category="")
    if references:
        yield blank._replace(system="", target="", metadata=canonical_json(references))
    tokens = {side: t for side in ("source", "target") if (t := segment.get(f"{side}_tokens")) and _strings(t)}
    if tokens:
        yield blank._replace(metadata=canonical_json(tokens))


def collect_tokens_by_side(metadata: Iterable[str]) -> dict[str, list[str]]:
    """Return tokens by side from the rows of `make_reference_and_token_rows`."""
    tokens_by_side: dict[str, list[str]] = {}
    for text in metadata:
        for side, tokens in parse_metadata(text).items():
            if isinstance(tokens, list):
                tokens_by_side.setdefault(side, tokens)
    return tokens_by_side


def _references(segment: Mapping[str, object]) -> dict[str, str]:
    references: dict[str, str] = {}
    tokens, texts = segment.get("reference_tokens"), segment.get("references")
    if isinstance(tokens, dict):
        references.update({name: "".join(t).strip() for name, t in tokens.items() if _strings(t)})
    if isinstance(texts, dict):
        references.update({name: t.strip() for name, t in texts.items() if isinstance(t, str)})
    return references


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(token, str) for token in value)


def convert_token_ranges_to_spans(
    ranges: object, tokens: Sequence[str] | None, text: str
) -> list[tuple[int, int]] | None:
    """Return code point spans in `text` of inclusive token ranges; None if tokens or ranges do not fit the text.

    >>> convert_token_ranges_to_spans([[1, 2]], ["a", " ", "bc"], "a bc")
    [(1, 4)]
    """
    if tokens is None or not isinstance(ranges, list):
        return None
    joined = "".join(tokens)
    before = len(joined) - len(joined.lstrip())
    if joined.strip() != text:
        return None
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    spans = []
    for pair in ranges:
        if not _range(pair, len(tokens)):
            return None
        start, end = ends[pair[0]] - before, ends[pair[1] + 1] - before
        spans.append((min(max(start, 0), len(text)), min(max(end, 0), len(text))))
    return spans


def _range(pair: object, n: int) -> bool:
    """Return whether this is [first, last] of n tokens."""
    if not isinstance(pair, list) or len(pair) != 2 or any(type(i) is not int for i in pair):
        return False
    first, last = pair
    return bool(0 <= first <= last < n)
