"""Progress of each user, as Pearmut stores it with a log.

Source: `_add_single_campaign` of cli.py, `log_response` of app.py and `update_progress` of assignment.py in
zouharvi/pearmut 1.1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from app.formats.kit.strict_json import canonical_json

DONE, BY_ANOTHER = "completed", "completed_foreign"
Times = tuple[float | None, float | None]


@dataclass(slots=True)
class _User:
    """The answers of a user: models by document. begun, ended: the times of each answer, Unix seconds."""

    answered: dict[int, set[str]] = field(default_factory=dict)
    seconds: float = 0.0
    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)


class PearmutProgressBuilder:
    """Progress of one campaign. by_model: whether it is stored per model of a document, or per document."""

    def __init__(self, campaign_id: str, by_model: bool) -> None:
        self._campaign_id, self._by_model = campaign_id, by_model
        self._documents: list[Sequence[str]] = []
        self._users: dict[str, _User] = {}
        self._answered: dict[int, set[str]] = {}

    def add_document(self, models: Sequence[str]) -> None:
        """Add the next document of the campaign, with the models that it shows."""
        self._documents.append(models)

    def add_document_answers(self, user_id: str, item_i: int, models: Sequence[str], times: Times) -> None:
        """Add a user's answers to one document. times: of start and hand-in, Unix seconds."""
        user = self._users.setdefault(user_id, _User())
        user.answered.setdefault(item_i, set()).update(models)
        self._answered.setdefault(item_i, set()).update(models)
        first, last = times
        user.begun += [] if first is None else [first]
        user.ended += [] if last is None else [last]
        if first is not None and last is not None:
            user.seconds += max(0.0, last - first)

    def to_json_chunks(self) -> Iterator[bytes]:
        """Yield one object of campaigns, each an object of users, with one line per user."""
        before = f"{{{canonical_json(self._campaign_id)}:{{\n"
        for user_id, user in sorted(self._users.items()):
            yield f"{before}{canonical_json(user_id)}:{canonical_json(self._entry(user_id, user))}".encode()
            before = ",\n"
        yield b"}}\n"

    def _entry(self, user_id: str, user: _User) -> dict[str, object]:
        address = f"annotate?campaign_id={quote_plus(self._campaign_id)}&user_id={quote_plus(user_id)}"
        return {
            "progress": [self._state(user, item_i) for item_i in range(len(self._documents))],
            "progress_welcome": [],
            "progress_goodbye": [],
            "time_start": min(user.begun, default=None),
            "time_end": max(user.ended, default=None),
            "time": user.seconds,
            "url": address,
            "token_correct": "",
            "token_incorrect": "",
            "note": None,
        }

    def _state(self, user: _User, item_i: int) -> object:
        """Return the state of a document, or of each of its models."""
        mine, everybodys = user.answered.get(item_i, set()), self._answered.get(item_i, set())
        if not self._by_model:
            return DONE if mine else BY_ANOTHER if everybodys else None
        return {
            model: DONE if model in mine else BY_ANOTHER if model in everybodys else None
            for model in self._documents[item_i]
        }
