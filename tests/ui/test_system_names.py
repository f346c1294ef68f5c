"""The page of a ranking shows systems by the names they were imported with."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.storage.db import Database
from tests.services.data.test_imports import judgment, lines
from tests.spine import Spine
from tests.ui.conftest import Browser

NAME = "Ünï/cødé <b>sys"


def test_both_tables_of_the_page_show_a_name_that_is_not_the_key_and_run_none_of_it(
    database_url: str, database: Database, sign_in: Callable[..., Browser]
) -> None:
    rows = [judgment(s, f"d{d}", 50 + d * (1 + (s == "B"))) for d in range(7) for s in "AB"]
    Spine(database_url, database).take("c", "jsonl", lines({"type": "system", "key": "B", "name": NAME}, *rows))
    shown = sign_in().get("/campaigns/c?recipe=wmt-da").text
    assert len(re.findall(re.escape("Ünï/cødé &lt;b&gt;sys [B]"), shown)) == 2
    assert "<b>sys" not in shown
