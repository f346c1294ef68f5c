"""Items of Pearmut as documents, segments and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeGuard

from app.domain.errors import Invalid
from app.domain.keys import convert_name_to_key
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    InputFile,
    LineLocation,
    OutputRow,
    ReadContext,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.json_stream import StreamedJsonValue, stream_json_values
from app.formats.kit.names import KeyAssigner
from app.formats.kit.parallel_lines import parse_list_option
from app.formats.kit.records import LONGEST_NAME
from app.formats.kit.strict_json import canonical_json
from app.formats.pearmut.spans import TOKENS, SpanReader, version_skips_line_ends

PROTOCOLS: Mapping[str, str] = {"da": "da", "esa": "esa", "cesa": "cesa", "mqm": "mqm"}
COLORS = "slider_colors"
BY_CRITERIA = "rating"  # if a campaign has its own sliders
CHECKS = "documents of tutorials, checks and forms"
MOST_SEGMENTS = 2_000_000
OTHERS = "campaigns that were not asked for"
USED = frozenset({"item_id", "src", "ref", "tgt", "models", "error_spans"})
UNANSWERED = "unanswered"  # a member that we write into an answer that does not exist
PROGRESS = "users whose progress stands in a file of its own"
NAMING = frozenset({"campaign_id", "token"})
SETTINGS_READ = frozenset({"protocol", "sliders", "special_tokens", COLORS})
# Further settings, of version 1.1.6, so that a file cannot fill the report with names of its own.
SETTINGS = frozenset(
    {
        *("assignment", "users", "docs_per_user", "shuffle", "seed", "template", "textfield"),
        *("show_model_names", "show_alignment", "show_progress", "word_level", "mqm_categories", "mqm_severities"),
        *("instructions", "instructions_goodbye", "validation_threshold", "data_random_prob", "dynamic_models"),
        *("dynamic_coldstart", "dynamic_coldstart_pool", "dynamic_warmup"),
    }
)
FIRST = re.compile(r"(?P<document>.+?)(_#+_|[-_.:/# ])0+")
Item = Mapping[str, object]


class PearmutItemReader:
    """Reads documents in order. protocol, at: the protocol stated by a campaign file, and the first line read."""

    def __init__(self, context: ReadContext, log: ReadLog) -> None:
        self._context, self._log = context, log
        self._human = frozenset(parse_list_option(context.options, "human"))
        self._campaign_id = context.options.get("campaign")
        self.spans = SpanReader(version_skips_line_ends(context.options.get("pearmut")), log)
        self._places: dict[str, tuple[str, int]] = {}
        self._first: dict[str, str] = {}
        self._documents, self._systems = KeyAssigner("document", log), KeyAssigner("system", log)
        self._told: set[str] = set()
        self.protocol: str | None = None
        self.at: LineLocation | None = None

    def read_test_set(self, file: InputFile) -> Iterator[Record]:
        """Yield the test set of a campaign file, or of a list of campaigns."""
        for piece in stream_json_values(file, self._context.limits, self._log):
            self.at = self.at or piece.at
            if piece.key is None and isinstance(piece.value, dict) and "data" in piece.value:
                yield from self._read_campaign(piece.at, piece.value)
            else:
                yield from self._read_piece(piece)

    def is_requested_campaign(self, campaign_id: object) -> bool:
        """Return whether a campaign is the requested one; without a request all are."""
        return self._campaign_id in (None, campaign_id)

    def _read_campaign(self, at: LineLocation, campaign: Item) -> Iterator[Record]:
        """Yield the records of one campaign in a list, member by member."""
        if not self.is_requested_campaign(campaign.get("campaign_id")):
            self._log.dropped[OTHERS] += 1
            return
        for key, value in campaign.items():
            for part in value if isinstance(value, list) else [value]:
                yield from self._read_piece(StreamedJsonValue(at, key, part, isinstance(value, list)))

    def _read_piece(self, piece: StreamedJsonValue) -> Iterator[Record]:
        if is_progress_by_user(piece.value):
            self._log.dropped[PROGRESS] += len(piece.value)
        elif piece.key == "info" and isinstance(piece.value, dict):
            yield from self._campaign(piece.at, piece.value)
        elif piece.key == "data":
            for document in _documents(piece):
                yield from self._read_or_refuse(piece.at, document)
        elif piece.key is None or piece.key.startswith("data_"):
            self._log.dropped[CHECKS] += 1
        elif piece.key not in NAMING:
            self._log.dropped["members of the file that have no place here"] += 1

    def _campaign(self, at: LineLocation, info: Item) -> Iterator[Record]:
        """Yield what the settings state. Without a protocol it is cESA; a protocol unknown to Pearmut is a score."""
        self.protocol = PROTOCOLS.get(str(info.get("protocol", "cESA")).casefold(), "da")
        for setting in info:
            if setting not in SETTINGS_READ or (setting == COLORS and not isinstance(info[setting], bool)):
                told = setting if setting in SETTINGS | SETTINGS_READ else "others"
                self._log.dropped[f"settings (info) that have no place here: {told}"] += 1
        tokens = info.get("special_tokens")
        self.spans.tokens = [str(token) for token in tokens] if isinstance(tokens, list) else TOKENS
        criteria = _criteria(info.get("sliders"))
        if criteria:
            self.protocol = BY_CRITERIA
        given = info.get(COLORS)
        colors = given if isinstance(given, bool) else None
        if self._context.protocol is None and self.protocol is not None:
            options = {"criteria": criteria} if criteria else None
            yield CampaignRow(at, self.protocol, options=options, slider_colors=colors)
        elif colors is not None:
            yield CampaignRow(at, slider_colors=colors)

    def _read_or_refuse(self, at: LineLocation, document: object) -> Iterator[Record]:
        try:
            records = list(self.make_document_records(at, parse_document_items(document)))
        except ValueError as fault:
            self._log.record_bad_line(at, str(fault))
            return
        yield from records

    def make_document_records(self, at: LineLocation, items: Sequence[Item]) -> Iterator[Record]:
        """Yield a document with the outputs that it shows. Raises ValueError before the first record."""
        if is_tutorial_check_or_form(items):
            self._log.dropped[CHECKS] += 1
            return
        places, texts = self.find_or_assign_positions(items), [parse_item_outputs(item) for item in items]
        prefills = [_read_prefilled_errors(item, shown, self.spans) for item, shown in zip(items, texts, strict=True)]
        sources = [(_text(item, "src"), _text(item, "ref")) for item in items]
        name = self._first[places[0][0]]
        if places[0][0] not in self._told and places[0][0] != name:
            yield DocumentRecord(at, places[0][0], name)
        is_new = places[0][0] not in self._told
        self._told.add(places[0][0])
        for item, (document, position), shown, spans, (source, reference) in zip(
            items, places, texts, prefills, sources, strict=True
        ):
            meta = {key: value for key, value in item.items() if key not in USED} if is_new else {}
            references = {"ref": reference} if reference is not None else None
            yield SegmentRow(at, document, position, source, references, meta or None)
            for model, text in shown.items():
                key, renamed = self._systems.assign_key(model)
                if renamed or (model in self._human and f"\0{key}" not in self._told):
                    self._told.add(f"\0{key}")
                    yield SystemRecord(at, key, model, "human" if model in self._human else "mt")
                yield OutputRow(at, key, document, position, text, spans.get(model))

    def find_or_assign_positions(self, items: Sequence[Item]) -> list[tuple[str, int]]:
        """Return document and position of each item. Raises ValueError if they differ from earlier ones."""
        ids = [_id(item) for item in items]
        known = [self._places.get(one) for one in ids]
        known_places = [place for place in known if place is not None]
        if len(known_places) == len(ids):
            return known_places
        if known_places or len(set(ids)) < len(ids):
            raise ValueError(f"item_id: {ids[0][:80]} and those after it are not the same document everywhere")
        if len(self._places) + len(ids) > MOST_SEGMENTS:
            raise Invalid(f"more than {MOST_SEGMENTS:,} segments")
        key = self._document_key(ids[0])
        for position, item_id in enumerate(ids, 1):
            self._places[item_id] = key, position
        return [(key, position) for position in range(1, len(ids) + 1)]

    def _document_key(self, first: str) -> str:
        """Return the key of a document from the id of its first item."""
        match = FIRST.fullmatch(first)
        for name in ([match["document"]] if match else []) + [first]:
            key = convert_name_to_key(name)
            if key not in self._first:
                self._documents.assign_key(name)
                self._first[key] = name
                return key
        raise ValueError(f"item_id: another document is called {first[:80]} too")


def is_progress_by_user(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a member is Pearmut's record of users' progress, by user.

    >>> is_progress_by_user({"ann": {"progress": [None], "time": 0}}), is_progress_by_user({"protocol": "ESA"})
    (True, False)
    """
    users = list(value.values()) if isinstance(value, dict) else []
    return bool(users) and all(isinstance(user, dict) and "progress" in user for user in users)


def parse_document_items(document: object) -> list[Item]:
    """Return the items of a document. Raises ValueError."""
    if not isinstance(document, list) or not document or not all(isinstance(item, dict) for item in document):
        raise ValueError("a document must be a list of items")
    return document


def is_tutorial_check_or_form(items: Sequence[Item]) -> bool:
    """Return whether a document is a tutorial, an attention check or a form."""
    return any("validation" in item or "form" in item for item in items)


def parse_item_outputs(item: Item) -> dict[str, str]:
    """Return the outputs that an item shows, by model. Raises ValueError."""
    texts, models = item.get("tgt"), item.get("models")
    if isinstance(texts, list) and isinstance(models, list) and len(texts) == len(models):
        texts = dict(zip(map(str, models), texts, strict=True))
    if not isinstance(texts, dict) or not texts or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("tgt: must be an object of texts, by model")
    if not all(1 <= len(model) <= LONGEST_NAME for model in texts):
        raise ValueError(f"tgt: a model must have 1 to {LONGEST_NAME} characters")
    return texts


def _criteria(sliders: object) -> list[dict[str, object]]:
    """Return sliders as criteria; those without a name or bounds are ignored."""
    criteria: list[dict[str, object]] = []
    for slider in sliders if isinstance(sliders, list) else []:
        said = slider if isinstance(slider, dict) else {}
        name, bounds = said.get("name"), [said.get(bound) for bound in ("min", "max", "step")]
        if isinstance(name, str) and name and all(type(bound) in (int, float) for bound in bounds):
            minimum, maximum, step = (float(str(bound)) for bound in bounds)
            criteria.append({"name": convert_name_to_key(name), "minimum": minimum, "maximum": maximum, "step": step})
    return criteria


def _read_prefilled_errors(
    item: Item, texts: Mapping[str, str], reader: SpanReader
) -> dict[str, tuple[Mapping[str, object], ...]]:
    given = item.get("error_spans")
    if isinstance(given, list):
        given = dict(zip(texts, given, strict=False))
    if given is not None and not isinstance(given, dict):
        raise ValueError("error_spans: must be an object of lists, by model")
    unknown = sorted(set(given or ()) - set(texts))
    if unknown:
        raise ValueError(f"error_spans: {unknown[0][:80]} is not shown")
    return {model: tuple(reader.parse(spans, texts[model])) for model, spans in (given or {}).items()}


def _documents(piece: StreamedJsonValue) -> list[object]:
    """Return the documents in an element of `data`: itself, or those of a task, or of the tasks of all users."""
    value = piece.value
    if isinstance(value, dict) and not piece.is_array_element:
        return [document for task in value.values() for document in (task if isinstance(task, list) else [task])]
    return value if isinstance(value, list) and value and isinstance(value[0], list) else [value]


def _id(item: Item) -> str:
    """Return the id of an item, derived from its source if it has none. Raises ValueError."""
    given = item.get("item_id")
    if given is None:
        told = canonical_json([item.get("src"), item.get("ref")] if item.get("src") is not None else item.get("tgt"))
        return f"item-{sha256(told.encode()).hexdigest()[:16]}"
    if not isinstance(given, str | int) or not 1 <= len(str(given)) <= LONGEST_NAME:
        raise ValueError("item_id: must be a text")
    return str(given)


def _text(item: Item, field: str) -> str | None:
    value = item.get(field)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{field}: must be a text")
    return value
