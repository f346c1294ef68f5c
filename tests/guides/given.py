"""What each guide takes as given: campaigns, files, and what happens between its sections without a command of it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests.guides.shell import ROOT, blocks
from tests.judged_demo import load_judged
from tests.media_files import VTT, make_pdf, make_png, make_wav
from tests.reports.languages import World, lines
from tests.services.campaigns.test_calibration_builder import campaign
from tests.spine import BN_HI, TED, Spine, shared

GUIDES = ROOT / "docs" / "how-to"
MAKE = """
curl -sH "$H" -H "$J" $B/v1/campaigns -d '{"key": "try", "protocol": "esa", "target_language": "de"}' > made"""
MAKE_ONE_OF_A_SERIES = MAKE.replace('"key"', '"series": "wmt26", "key"')
FILL = "plumbline import try --format text set.docs source.txt alpha.txt beta.txt gamma.txt > imported"
ENROL = "plumbline raters add try anna; plumbline raters add try ben"
HERE = "git() { :; }; cd() { :; }; make() { :; }"
"""What fetches published data, which are here."""
JUDGED = "; ".join(f"plumbline import en-{one} --format jsonl {one}.jsonl" for one in ("hi", "sw", "ta"))
"""Three campaigns by raters of different leniency, in the place of weeks of work."""


@dataclass(frozen=True)
class Given:
    """before, between: as `shell.run` has it. printed: parts of what is printed, in order. long: takes a sitting."""

    before: tuple[str, ...] = ()
    between: Mapping[str, str] = field(default_factory=dict)
    printed: tuple[str, ...] = ()
    long: bool = False


RUN: Mapping[str, Given] = MappingProxyType(
    {
        "docs/how-to/run-a-campaign.md": Given(printed=('"revision":1', '"state":"closed"', "alpha")),
        "docs/how-to/invite-raters.md": Given((MAKE,), printed=("#token=", "invitation=")),
        "docs/how-to/preregister.md": Given((MAKE_ONE_OF_A_SERIES,), printed=("the demo is judged already",)),
        "docs/how-to/exclude-a-rater.md": Given(
            printed=("Nothing was stored.", "failed the controls", "the controls were wrong")
        ),
        "docs/how-to/own-front-end.md": Given((MAKE, FILL, ENROL), printed=('"judgments":1',)),
        "docs/how-to/design-a-campaign.md": Given(
            (MAKE, FILL, ENROL), printed=("looked at, not stored", "version 1", '"state":"open"', "version 2")
        ),
        "docs/how-to/compare-languages.md": Given(
            (MAKE.replace("try", "en-hi").replace("esa", "xsts").replace('"de"', '"hi"'),),
            {"plumbline compare xsts": JUDGED},
            printed=("anchors", "en-ta"),
        ),
        "docs/how-to/gate-a-release.md": Given(
            (), {"plumbline gate ende-2026": "export PLUMBLINE_SERVER=$B PLUMBLINE_TOKEN=$TOKEN"}
        ),
        "docs/how-to/series.md": Given(printed=("wmt26-encs: created", "wmt26-ende: opened")),
        "docs/how-to/media.md": Given(
            (MAKE,),
            printed=(
                "talk.wav: audio/wav",
                "report.pdf~page2: image/png",
                "captions talk.vtt",
                '"again.wav"',
                "hear_all",
            ),
        ),
        "docs/how-to/release.md": Given(long=True),
        "docs/how-to/write-a-protocol.md": Given((MAKE,), printed=('"protocol": "custom"',)),
        "docs/how-to/ask-raters-questions.md": Given((MAKE,), printed=('"name": "translation"',)),
        "docs/how-to/check-attention.md": Given((MAKE, ENROL), printed=('"created":true', '"checks": 0')),
        "docs/how-to/show-texts.md": Given((MAKE,), printed=("Nothing to mark", '"created":true')),
        "docs/how-to/back-up-and-move.md": Given(
            (MAKE, FILL), {"plumbline db restore": "export PLUMBLINE_DATABASE_URL=$EMPTY"}, long=True
        ),
        "docs/how-to/rank-published-data.md": Given((HERE,), long=True),
        "README.md": Given((HERE,), long=True),
    }
)
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "docs/how-to/extend.md": "tests/guides/test_guides.py",
        "docs/how-to/backups.md": "tests/faults/test_any_second.py",
        "docs/how-to/proxy.md": "tests/web/test_proxy.py",
        "docs/how-to/kubernetes.md": "tests/house/test_kubernetes.py",
        "docs/how-to/recruit-on-prolific.md": "tests/cli/test_prolific.py",
        "docs/how-to/recruit-on-mechanical-turk.md": "tests/cli/test_mturk.py",
        "docs/how-to/publish-on-hugging-face.md": "tests/cli/test_huggingface.py",
        "docs/how-to/use-the-python-client.md": "tests/guides/test_client_programs.py",
        "docs/how-to/webhooks.md": "tests/cli/test_webhook_command.py",
        "docs/how-to/use-pearmuts-pages.md": "tests/pearmut/test_the_guides_commands.py",
        "docs/how-to/single-sign-on.md": "tests/ui/test_single_sign_on.py",
        "docs/how-to/organizations.md": "tests/cli/test_organizations_command.py",
        "docs/how-to/citus.md": "tests/citus/cluster.py",
        "docs/tutorial.md": "tests/cli/test_demo_command.py",
    }
)
"""Documents without commands of their own, and the one whose figures are those of the demo as its raters judge it."""


def load(spine: Spine) -> None:
    """The campaigns that guides speak of."""
    load_judged(spine.database)
    for key in ("pilot-hi", "pilot-sw"):
        spine.take(key, "jsonl", _with_references(campaign()))
    spine.take("ende-2026", "jsonl", _two_systems())


def put_files(folder: Path) -> None:
    """The files that guides speak of."""
    (folder / "set.docs").write_text("".join(f"doc-{n}\tnews\n" for n in (1, 1, 2, 2)))
    for name in ("source", "alpha", "beta", "gamma"):
        (folder / f"{name}.txt").write_text("".join(f"A line of {name}, number {n}.\n" for n in range(4)))
    (folder / "design.json").write_text(_shown("design-a-campaign.md"))
    for n, language in enumerate(("hi", "sw", "ta")):
        (folder / f"{language}.jsonl").write_bytes(
            lines(World(language, 3.6 - 0.4 * n, 0.5 * n - 0.3), set_key="first")
        )
    for name, content in {
        "talk.wav": make_wav(),
        "page.png": make_png(),
        "report.pdf": make_pdf(2),
        "talk.vtt": VTT,
    }.items():
        (folder / name).write_bytes(content)
    (folder / "wmt26.json").write_text(_shown("series.md"))
    _put_series(folder)


def put_published(folder: Path) -> None:
    """What is fetched."""
    for data, file in ((TED, "mqm_ted_ende.tsv"), (BN_HI, "ad-latest.csv")):
        (folder / file).write_bytes(shared(data))


def _shown(guide: str) -> str:
    """The first JSON that a guide shows."""
    return next(block.text for block in blocks((GUIDES / guide).read_text()) if block.text[0] == "{")


def _with_references(judged: bytes) -> bytes:
    found = [json.loads(line) for line in judged.splitlines()]
    for one in found:
        if one["type"] == "segment":
            one["references"] = {"ref": f"Reference {one['source']}"}
    return "\n".join(map(json.dumps, found)).encode()


def _two_systems() -> bytes:
    """A new system and the one in use: 30 documents, the errors of three raters."""
    rng = random.Random(2026)
    found: list[dict[str, object]] = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "mqm", "source_language": "en", "target_language": "de"},
    ]
    for document in range(30):
        harder = rng.random() * 2
        for position in range(1, 4 + (document % 2)):
            for system, errors in (("new", 1.0), ("in-use", 1.2)):
                count = sum(rng.random() < (harder + errors) / 8 for _ in range(8))
                marked = [{"severity": "minor", "start": n, "end": n + 1} for n in range(count)]
                found.append(
                    {
                        "type": "judgment", "task": f"t{document}", "item": f"{system}-{document}",
                        "rater": f"r{document % 3}", "systems": [system],
                        "document": f"d{document:02}", "position": position,
                        "payload": {"protocol": "mqm", "errors": marked},
                    }
                )  # fmt: skip
    return "\n".join(map(json.dumps, found)).encode()


def _put_series(folder: Path) -> None:
    (folder / "systems").mkdir()
    pair = {"src_lang": "en", "tgt_lang": "cs_CZ"}
    names = [f"en-cs_CZ_#_news_#_a.{n}" for n in range(3)]
    whole = [{"doc_id": one, "domain": "news", **pair, "src_text": "One.\n\nTwo.", "refs": {}} for one in names]
    (folder / "wmt26-genmt.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in whole))
    for system in "AB":
        said = [{"doc_id": one, "hypothesis": f"{system} 1.\n\n{system} 2."} for one in names]
        (folder / "systems" / f"{system}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said))
    tree = {
        "sources/en-de_DE.txt": "One.\nTwo.\nThree.\n",
        "documents/en-de_DE.docs": "news d1\nnews d1\nnews d2\n",
        "references/en-de_DE.refA.txt": "Eins.\nZwei.\nDrei.\n",
        "system-outputs/en-de_DE/A.txt": "1.\n2.\n3.\n",
        "system-outputs/en-de_DE/B.txt": "I.\nII.\nIII.\n",
    }
    for name, text in tree.items():
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
