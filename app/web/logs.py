"""The log: a JSON object a line, with times in UTC; of a request its id, route template, status and duration."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

ENCODER = json.JSONEncoder(ensure_ascii=False)
REQUEST = "request"  # the attribute of a record that holds what there is to say of a request


class JsonLineFormatter(logging.Formatter):
    """Formats every record, ours and the server's, alike."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        said |= {"message": record.getMessage(), **getattr(record, REQUEST, {})}
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return ENCODER.encode(said)
