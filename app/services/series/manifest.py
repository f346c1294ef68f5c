"""The manifest of a series: one JSON file that defines the campaigns of many language pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.domain.strict_json import StrictJsonError, parse_strict_json
from app.services.people.raters import Enrolment, RaterContact, State, Unit

LARGEST = 16 << 20  # bytes
MOST_CAMPAIGNS = 100
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class _ManifestModel(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class ManifestImport(_ManifestModel):
    """The files of one import: paths relative to the manifest's folder, with `*` for several."""

    format: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,64}$")]
    paths: Annotated[list[Path], Field(min_length=1, max_length=10_000)]
    options: dict[str, str] = {}
    skip_bad_lines: bool = False


class ManifestRaterContact(_ManifestModel):
    """Personal data of a rater."""

    name: str | None = None
    email: str | None = None
    note: str | None = None


class ManifestRater(_ManifestModel):
    """A rater to enrol."""

    key: Key
    capacity: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    capacity_unit: Unit = "items"
    team: Key | None = None
    buckets: list[Key] | None = None
    state: State = "active"
    languages: list[str] = []
    attributes: dict[str, JsonValue] = {}
    person: Key | None = None
    contact: ManifestRaterContact | None = None

    def to_enrolment(self) -> Enrolment:
        """Return the enrolment for the service."""
        said = self.model_dump(exclude={"key", "contact", "buckets", "languages"})
        contact = None if self.contact is None else RaterContact(**self.contact.model_dump())
        buckets = None if self.buckets is None else tuple(self.buckets)
        return Enrolment(**said, contact=contact, buckets=buckets, languages=tuple(self.languages))

    @property
    def stated_identity_fields(self) -> frozenset[str]:
        """Those of `person` and `contact` that are stated."""
        return frozenset({"person", "contact"} & self.model_fields_set)


class ManifestCampaign(_ManifestModel):
    """One campaign of the series. Missing fields are taken from `defaults`."""

    key: Key
    protocol: str
    name: str | None = None
    options: dict[str, JsonValue] = {}
    source_language: str | None = None
    target_language: str | None = None
    basis: str | None = None
    settings: dict[str, JsonValue] = {}
    files: list[ManifestImport] = []
    raters: Annotated[list[ManifestRater], Field(max_length=100_000)] = []
    design: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _distinct(self) -> ManifestCampaign:
        keys = [rater.key for rater in self.raters]
        if len(set(keys)) < len(keys):
            raise ValueError("raters: a key occurs twice")
        return self


class Manifest(_ManifestModel):
    """A series of campaigns."""

    series: Key
    recipe: Key = "recommended"
    campaigns: Annotated[list[ManifestCampaign], Field(min_length=1, max_length=MOST_CAMPAIGNS)]

    @model_validator(mode="after")
    def _distinct(self) -> Manifest:
        keys = [campaign.key for campaign in self.campaigns]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise ValueError(f"campaigns: the key {repeated[0]} stands twice")
        return self


def parse_manifest(text: str, name: str) -> Manifest:
    """Parse the manifest in a file with a given name. Raises Invalid, which names each wrong place."""
    try:
        plain = parse_strict_json(text)
    except json.JSONDecodeError as fault:
        raise Invalid(places=(Place((name, fault.lineno), f"is not JSON: {fault.msg}"),)) from None
    except StrictJsonError as fault:
        raise Invalid(places=(Place((name,), f"is not JSON: {fault}"),)) from None
    try:
        return Manifest.model_validate(_with_defaults(plain, name))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)[:100]
        places = tuple(Place((name, *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid("the manifest is not valid", places=places) from None


def _with_defaults(plain: object, name: str) -> object:
    """Return the manifest with `defaults` filled in for fields that a campaign does not state."""
    if not isinstance(plain, dict) or "defaults" not in plain:
        return plain
    defaults, campaigns = plain["defaults"], plain.get("campaigns")
    known = set(ManifestCampaign.model_fields) - {"key", "name"}
    if not isinstance(defaults, dict) or set(defaults) - known:
        raise Invalid(places=(Place((name, "defaults"), f"must be an object of {', '.join(sorted(known))}"),))
    rest: dict[str, Any] = {key: value for key, value in plain.items() if key != "defaults"}
    if isinstance(campaigns, list):
        rest["campaigns"] = [{**defaults, **one} if isinstance(one, Mapping) else one for one in campaigns]
    return rest
