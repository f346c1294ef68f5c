"""A campaign as it was loaded: the places of its documents, and the keys of documents and systems in the store."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from app.domain.errors import Invalid, NotFound
from app.domain.keys import convert_name_to_key
from app.formats.base import LineLocation, OutputRow, ReadContext, ReaderLimits, ReadLog, SegmentRow
from app.formats.pearmut.items import PROTOCOLS, PearmutItemReader
from app.formats.pearmut.spans import SpanReader
from app.services.pearmut.campaign_file import Document, is_form_or_check_document
from app.storage import campaigns, pearmut
from app.storage.db import Session

KEPT = 16  # campaigns that a process caches
HERE = LineLocation("campaign.json", 0)
Place = int | str


class PearmutCampaignUnknown(NotFound):
    """Unknown campaign ID. Maybe it was removed?"""


class PearmutItemUnknown(Invalid):
    """There is no such item."""

    published = "PearmutPlaceUnknown"


@dataclass(frozen=True, slots=True)
class PlannedPearmutDocument:
    """A document whose outputs are judged. number: of its task. user: whose task it is; None: everybody's.

    key: of the document. systems: keys by model, in the order of the columns. length: number of items.
    """

    number: int
    user: str | None
    index: int
    key: str
    systems: Mapping[str, str]
    length: int


@dataclass(frozen=True, slots=True)
class PearmutCampaign:
    """The constant part of a campaign on Pearmut's pages. planned: by user (None: all) and index."""

    key: str
    campaign_id: int
    name: str
    info: Mapping[str, Any]
    data: Mapping[str | None, list[Document]]
    aside: Mapping[str, list[Document]]
    planned: Mapping[tuple[str | None, int], PlannedPearmutDocument]
    spans: SpanReader

    @property
    def is_single_stream(self) -> bool:
        """Whether all users share the documents."""
        return None in self.data

    @property
    def protocol(self) -> str:
        """The protocol here whose payloads hold the answers."""
        if self.info.get("sliders"):
            return "rating"
        return PROTOCOLS.get(str(self.info["protocol"]).casefold(), "da")

    def documents_key_of_user(self, user: str) -> str | None:
        """Return the name under which a user's documents are stored."""
        return None if self.is_single_stream else user

    def documents_of_user(self, user: str) -> list[Document]:
        """Return the documents that a user may get, in order."""
        return self.data.get(self.documents_key_of_user(user), [])

    def get_document_at_place(self, user: str, place: Place) -> Document:
        """Return the document at a place of a user. Raises PearmutItemUnknown."""
        if isinstance(place, int):
            documents = self.documents_of_user(user)
            if 0 <= place < len(documents):
                return documents[place]
            raise PearmutItemUnknown("Item index out of range")
        kind, _, number = place.partition("_")
        documents = self.aside.get(f"data_{kind}", [])
        if number.isascii() and number.isdigit() and len(number) < 7 and int(number) < len(documents):
            return documents[int(number)]
        raise PearmutItemUnknown("Item index out of range")

    def find_planned_document(self, user: str, place: Place) -> PlannedPearmutDocument | None:
        """Return the planned document at a place; None if its answers are not judgments of systems."""
        return self.planned.get((self.documents_key_of_user(user), place)) if isinstance(place, int) else None


def parse_pearmut_campaign(key: str, campaign_id: int, loaded: Mapping[str, Any]) -> PearmutCampaign:
    """Make the value from the contents of `pearmut_campaigns`.

    Raises Invalid if documents' names cannot be distinguished.
    """
    data, info = loaded["data"], loaded["info"]
    by_user: dict[str | None, list[Document]] = {**data} if isinstance(data, dict) else {None: data}
    log = ReadLog(skip_bad_lines=True)
    items = PearmutItemReader(ReadContext({}, ReaderLimits()), log)
    planned: dict[tuple[str | None, int], PlannedPearmutDocument] = {}
    for user, documents in by_user.items():
        for index, document in enumerate(documents):
            if is_form_or_check_document(document):
                continue
            try:
                planned[user, index] = _make_loaded_document(len(planned) + 1, user, index, document, items)
            except ValueError as fault:
                raise Invalid(f"data: document {index + 1}: {fault}") from None
    tokens = info.get("special_tokens")
    spans = SpanReader(skip_line_ends=False, log=log)
    spans.tokens = [str(token) for token in tokens] if isinstance(tokens, list) else ()
    aside = {name: loaded.get(name) or [] for name in ("data_welcome", "data_goodbye", "data_random")}
    return PearmutCampaign(key, campaign_id, loaded["campaign_id"], info, by_user, aside, planned, spans)


def _make_loaded_document(
    number: int, user: str | None, index: int, document: Document, items: PearmutItemReader
) -> PlannedPearmutDocument:
    records = list(items.make_document_records(HERE, document))
    keys = [record.document for record in records if isinstance(record, SegmentRow)]
    outputs = [record.system for record in records if isinstance(record, OutputRow)]
    models = [model for item in document for model in item["tgt"]]
    return PlannedPearmutDocument(number, user, index, keys[0], dict(zip(models, outputs, strict=True)), len(keys))


class PearmutCampaignCache:
    """The campaigns that a process used last. They never change."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, PearmutCampaign] = OrderedDict()
        self._lock = Lock()

    def load(self, session: Session, name: str) -> PearmutCampaign:
        """Return the campaign with a name in Pearmut. Raises PearmutCampaignUnknown."""
        try:
            row = campaigns.load_campaign(session, convert_name_to_key(name))
        except NotFound:
            raise PearmutCampaignUnknown from None
        with self._lock:
            if row.id in self._held:
                self._held.move_to_end(row.id)
                return self._held[row.id]
        stored = pearmut.find_pearmut_campaign(session, row.id, loaded=True)
        if stored is None:
            raise PearmutCampaignUnknown
        campaign = parse_pearmut_campaign(row.key, row.id, json.loads(stored.loaded))
        with self._lock:
            self._held[row.id] = campaign
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        return campaign


def make_shown_model_names(document: Sequence[Mapping[str, Any]], info: Mapping[str, Any]) -> dict[str, str]:
    """Return the page's names of models: `s1`, `s2` … in column order, or the real names if the page may show them."""
    models = list(dict.fromkeys(model for item in document for model in item.get("tgt", {})))
    if info.get("show_model_names"):
        return {model: model for model in models}
    return {model: f"s{n}" for n, model in enumerate(models, 1)}
