"""The protocol and the format of `docs/how-to/extend.md` work as they are written there."""

from __future__ import annotations

import io
import re
import sys
from types import ModuleType

import pytest

from app.domain.errors import Invalid
from app.formats.base import InputFile, JudgmentRow, ReadContext, ReaderLimits, ReadLog
from app.protocols.base import parse_scoring_options
from tests.guides.shell import ROOT

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def written(monkeypatch):
    """The nth module of the guide."""

    def module(n: int) -> ModuleType:
        text = BLOCK.findall((ROOT / "docs/how-to/extend.md").read_text())[n]
        made = ModuleType(f"extend_{n}")
        monkeypatch.setitem(sys.modules, made.__name__, made)
        exec(compile(text, f"extend.md, block {n}", "exec"), made.__dict__)  # noqa: S102  (the guide's own code)
        return made

    return module


def test_the_protocol_scores_its_examples(written):
    protocol = written(0).PROTOCOL
    options = parse_scoring_options(protocol, {})
    assert len(protocol.examples) == 3
    for example in protocol.examples:
        protocol.check(example.payload, example.judged_texts, options)
        assert protocol.score(example.payload, example.judged_texts, options).score == example.score


def test_the_format_reads_its_lines_names_bad_ones_and_refuses_options(written):
    read = written(1).FORMAT.read
    lines = b"s1\td1\t1\tr1\t80\ns1\td1\tx\tr1\t80\n"

    def run(**options: str) -> tuple[list[object], ReadLog]:
        log = ReadLog(skip_bad_lines=True)
        files = [InputFile("a.tsv", lambda: io.BytesIO(lines))]
        return list(read(files, ReadContext(options, ReaderLimits()), log)), log

    records, log = run()
    [judgment] = [one for one in records if isinstance(one, JudgmentRow)]
    assert judgment.payload == {"protocol": "da", "score": 80.0}
    assert log.n_bad == 1
    with pytest.raises(Invalid, match="pairs takes no options, not 'x'"):
        run(x="1")
