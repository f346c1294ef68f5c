"""The log: one JSON object per line, with times in UTC; a request's id, route template, status and duration."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

ENCODER = json.JSONEncoder(ensure_ascii=False)
REQUEST = "request"  # the attribute of a log record with the data on a request


class JsonLineFormatter(logging.Formatter):
    """Formats all records alike, our own and the server's."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        said |= {"message": record.getMessage(), **getattr(record, REQUEST, {})}
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return ENCODER.encode(said)
