"""The campaigns whose reports are recorded: made up ones, and the public ones where their data are at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.api.thin_data import campaign as thin
from tests.judged_demo import load_judged
from tests.reports.languages import PLANTED, lines
from tests.spine import BN_HI, CS_EN, TED, Spine, shared

Fill = Callable[[Spine], object]
ESA: Final = "esa_wmt23_ende"
SQM: Final = "da_sqm_wmt22_calibration"


def _esa(spine: Spine) -> None:
    files = {part: shared(f"{ESA}/{part}.gz") for part in ("annotations.tsv", "texts.tsv")}
    spine.take("esa", "table", files, options={"map": "esa-annotations", "split": "protocol"})


def _calibration(spine: Spine) -> None:
    files = {part: shared(f"{SQM}/{part}.gz") for part in ("calibration.csv", "mapping.csv")}
    spine.take("cal", "wmt-da-sqm", files, options={"mapping": "mapping.csv", "split": "language_pair"})


def _xsts(spine: Spine) -> None:
    for world in PLANTED[:2]:
        spine.take(f"xsts-{world.language}", "jsonl", lines(world))


MADE_UP: Final[Mapping[str, Fill]] = {
    "demo": lambda spine: load_judged(spine.database),
    "postedit": lambda spine: spine.take("postedit", "jsonl", thin("postedit", "full")),
    "xsts-hi": _xsts,
}
"""By the key of a campaign whose reports are recorded, what puts it there."""
PUBLIC: Final[Mapping[str, Fill]] = {
    "ted": lambda spine: spine.take("ted", "mqm-tsv", shared(TED)),
    "bn-hi": lambda spine: spine.take("bn-hi", "wmt-da", shared(BN_HI)),
    "cs-en": lambda spine: spine.take("cs-en", "wmt-da", shared(CS_EN)),
    "esa-ESA-1": _esa,
    "sxs": lambda spine: spine.take(
        "sxs", "table", shared("sxs_mqm2023_ende/ratings.tsv.gz"), options={"map": "sxs-mqm"}
    ),
    "cal-eng-deu": _calibration,
}
BESIDE: Final[Mapping[str, str]] = {
    "demo": "postedit",
    "postedit": "demo",
    "xsts-hi": "xsts-sw",
    "ted": "sxs",
    "bn-hi": "cs-en",
    "cs-en": "bn-hi",
    "esa-ESA-1": "esa-MQM-1",
    "sxs": "ted",
    "cal-eng-deu": "cal-eng-ces",
}
"""What a campaign is compared with."""
