"""The page of quality has a word, in every language, for each verdict that there is."""

from __future__ import annotations

import re
from typing import get_args

from app.stats.quality.controls import Verdict
from app.ui.assets import FOLDER


def test_every_verdict_has_a_word():
    told = re.search(r"const VERDICTS = \{(.*?)\}", (FOLDER / "manager" / "quality.js").read_text())
    assert told
    assert set(re.findall(r"(\w+): t\(", told[1])) == set(get_args(Verdict))
