"""Files that are broken or meant to hurt: each is refused in bounded time and memory, with file, line and reason."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import time
import zlib
from collections.abc import Iterator

import pytest

from app import formats
from app.domain.errors import Invalid
from app.formats.base import MOST_ERRORS, InputFile, ReadContext, ReaderLimits, ReadLog
from tests.formats.conftest import Read

MQM = (
    "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
    "A\td1\t1\t1\tr1\tGood dog.\tGuter <v>Hund</v>.\tStyle/Awkward\tMinor\t\n"
    "A\td1\t2\t2\tr1\tBad dog.\tÄrger.\tNo-error\tNo-error\t\n"
).encode()
DA = (
    "HITId WorkerId Input.src Input.trg Input.item hit sys_id rid type sid score time\n"
    "h1\tw1\tcs\ten\tad\t1\tA\t7\tSYSTEM\t1\t55\t10\n"
    'h1\tw1\tcs\ten\tad 1 "Bär" 8 SYSTEM 2 0 10\n'
).encode()
JSONL = (
    '{"type":"plumbline","version":1}\n'
    '{"type":"output","system":"A","document":"d1","position":1,"text":"Ärger."}\n'
    '{"type":"judgment","task":"t","item":"i","systems":["A"],"document":"d1","position":1,"rater":"r",'
    '"payload":{"protocol":"da","score":0}}\n'
).encode()
DA_SQM = (
    "username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd\n"
    "engces1,A,0,TGT,eng,ces,55,d1#1-2,False,1662710595.1,1662710644.5\n"
    "engces1,Bär,1,TGT,eng,ces,0,d1#1-2,False,1662710645.1,1662710650.5\n"
).encode()
ESA = (
    "engdeu1,wmt23.A,1,TGT,eng,deu,87,d1#A,False,[],1711317347.6,1711317347.7\n"
    "engdeu1,wmt23.A,2,TGT,eng,deu,0,d1#A,False,[],1711317350.6,1711317351.7\n"
    "engdeu1,wmt23.Bär,3,TGT,eng,deu,40,d2#Bär,False,"
    '"[{""start_i"":0,""end_i"":2,""severity"":""major"",""error_type"":null}]",1711317360.6,1711317361.7\n'
).encode()
TABLE = (
    "protocol\tannotator\tlogin\tbatch\titem_no\titem_type\tsystem\tline\tdomain\tdoc\tbad_id\tduplicate\tscore\t"
    "error_spans\tt_start\tt_end\n"
    "ESA-1\t7\tengdeu1\t1\t1\tTGT\tA\t0\tnews\td1\t\t\t87\t[]\t1711317347.6\t1711317347.7\n"
    "ESA-1\t7\tengdeu1\t1\t2\tTGT\tBär\t1\tnews\td1\t\t\t0\t[]\t1711317348.6\t1711317349.7\n"
).encode()
GOOD = {"mqm-tsv": MQM, "wmt-da": DA, "jsonl": JSONL, "wmt-da-sqm": DA_SQM, "esa": ESA, "table": TABLE}
OPTIONS = {"table": {"map": "esa-annotations"}}
ALL = pytest.mark.parametrize("name", GOOD)


def refusal(read: Read, name: str, data: bytes, **options: object) -> Invalid:
    with pytest.raises(Invalid) as refused:
        read(name, {"bad.file": data}, **OPTIONS.get(name, {}), **options)
    assert refused.value.places, "a refusal says where"
    assert all(place.loc[0] == "bad.file" and place.msg for place in refused.value.places)
    return refused.value


@ALL
def test_the_good_files_of_these_tests_are_good(read: Read, name: str) -> None:
    found = read(name, GOOD[name], **OPTIONS.get(name, {}))
    assert found.judgments
    assert not found.log.bad


@ALL
@pytest.mark.parametrize(
    "kind", ["byte order mark", "UTF-16", "CR LF line ends", "gzip", "two gzip members", "no last line end"]
)
def test_harmless_oddities_are_read_and_counted(read: Read, name: str, kind: str) -> None:
    data = {
        "byte order mark": b"\xef\xbb\xbf" + GOOD[name],
        "UTF-16": GOOD[name].decode().encode("utf-16"),
        "CR LF line ends": GOOD[name].replace(b"\n", b"\r\n"),
        "gzip": gzip.compress(GOOD[name]),
        "two gzip members": gzip.compress(GOOD[name][:50]) + gzip.compress(GOOD[name][50:]),
        "no last line end": GOOD[name].rstrip(b"\n"),
    }[kind]
    found = read(name, data, **OPTIONS.get(name, {}))
    assert found.plain == read(name, GOOD[name], **OPTIONS.get(name, {})).plain
    assert (kind in found.log.repaired) is (kind in ("byte order mark", "UTF-16", "CR LF line ends"))


@ALL
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda good: gzip.compress(good)[:-9], "cut"),
        (lambda good: gzip.compress(good)[:12], "cut"),
        (lambda good: gzip.compress(good) + b"PK", "after the end"),
        (lambda good: gzip.compress(good) + b"\0", "after the end"),
        (lambda good: gzip.compress(good)[:-8] + b"\0" * 8, "damaged"),
        (lambda _: b"\x1f\x8b\x08\x00garbage", "damaged|cut"),
        (lambda good: good.decode().encode("utf-16")[:-1], "UTF-16"),
        (lambda _: codecs.BOM_UTF16_LE + "a".encode("utf-16-le") + b"\x00\xdc", "UTF-16"),
        (lambda _: b"", "empty|no judgments"),
    ],
)
def test_a_file_that_cannot_be_read_on_is_refused_even_when_bad_lines_are_skipped(
    read: Read, name: str, damage: object, reason: str
) -> None:
    data = damage(GOOD[name])
    for skip in (False, True):
        with pytest.raises(Invalid, match=reason):
            read(name, {"bad.file": data}, skip=skip, **OPTIONS.get(name, {}))


@ALL
@pytest.mark.parametrize("members", [1, 2])
def test_a_cut_gzip_file_names_the_line_after_the_last_good_one(read: Read, name: str, members: int) -> None:
    first, second = GOOD[name].splitlines(keepends=True)[:2]
    packer = zlib.compressobj(wbits=31)
    if members == 1:
        data = packer.compress(first + second) + packer.flush(zlib.Z_SYNC_FLUSH)
    else:
        data = gzip.compress(first) + packer.compress(second) + packer.flush(zlib.Z_SYNC_FLUSH)
    error = refusal(read, name, data)
    assert error.places[-1].loc == ("bad.file", 3)
    assert "cut" in error.places[-1].msg


@ALL
@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (b"\xff", "UTF-8"),
        (b"\xc3", "UTF-8"),
        (b"\xc0\xaf", "UTF-8"),
        (b"\xed\xa0\x80", "lone surrogate"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "lone surrogate"),
        (b"\0", "NUL"),
    ],
)
def test_what_is_no_text_is_refused_by_line(read: Read, name: str, bytes_: bytes, reason: str) -> None:
    lines = GOOD[name].split(b"\n")
    lines[2] = lines[2].replace("Ä".encode(), bytes_).replace("ä".encode(), bytes_) + b" " + bytes_
    error = refusal(read, name, b"\n".join(lines))
    assert error.places[0].loc == ("bad.file", 3)
    assert reason in error.places[0].msg


class Endless(io.RawIOBase):
    """A file of one long line, made as it is read; remembers how much was."""

    def __init__(self, start: bytes, filler: bytes, size: int) -> None:
        self.given, self.at, self._start, self._filler, self._size = 0, 0, start, filler, size

    def readable(self) -> bool:
        return True

    def read(self, n: int = -1) -> bytes:
        n = min(n, self._size - self.at)
        start = self._start[self.at : self.at + n]
        part = start + self._filler * (n - len(start))
        self.at += len(part)
        self.given = max(self.given, self.at)
        return part


def consume(name: str, raw: io.RawIOBase, limits: ReaderLimits | None = None) -> Iterator[object]:
    reader = formats.get_format(name).read
    assert reader is not None
    inputs = [InputFile("bad.file", lambda: again(raw))]
    return reader(inputs, ReadContext(OPTIONS.get(name, {}), limits or ReaderLimits()), ReadLog())


def again(raw: io.RawIOBase) -> io.RawIOBase:
    """The same file from its start: some readers look at it twice."""
    if isinstance(raw, Endless):
        raw.at = 0
    return raw


@ALL
def test_a_line_of_a_gigabyte_is_refused_when_about_the_limit_was_read(name: str) -> None:
    raw = Endless(GOOD[name], b"x", 1 << 30)
    begun = time.process_time()
    with pytest.raises(Invalid, match="longer than") as refused:
        list(consume(name, raw))
    assert refused.value.places[0].loc == ("bad.file", 4)
    assert raw.given < 2 * ReaderLimits().line_bytes
    assert time.process_time() - begun < 2


@ALL
def test_a_million_empty_lines_are_refused_early_with_bounded_errors(name: str) -> None:
    raw = Endless(GOOD[name], b"\n", 1_000_000)
    begun = time.process_time()
    with pytest.raises(Invalid) as refused:
        list(consume(name, raw))
    assert 0 < len(refused.value.places) <= MOST_ERRORS
    assert refused.value.places[0].loc == ("bad.file", 4)
    assert time.process_time() - begun < 2


@ALL
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(name: str) -> None:
    line = GOOD[name].split(b"\n")[1] + b"\n"
    packed = gzip.compress(GOOD[name] + line * ((5 << 20) // len(line)), 6)
    raw = io.BytesIO(packed)
    with pytest.raises(Invalid, match="gzip bomb"):
        list(consume(name, raw))
    assert raw.closed


@ALL
def test_more_bytes_than_allowed_are_refused(read: Read, name: str) -> None:
    error = refusal(read, name, gzip.compress(GOOD[name]), limits=ReaderLimits(unpacked_bytes=100))
    assert "more than 100 bytes unpacked" in error.places[0].msg


@ALL
def test_more_lines_than_allowed_are_refused(read: Read, name: str) -> None:
    error = refusal(read, name, GOOD[name], limits=ReaderLimits(lines=2))
    assert error.places[-1].loc == ("bad.file", 3)


@ALL
def test_a_bad_line_among_good_ones_is_named_and_can_be_skipped(read: Read, name: str) -> None:
    lines = GOOD[name].split(b"\n")
    bad = b"\n".join([*lines[:2], b"no such line", *lines[2:]])
    assert refusal(read, name, bad).places[0].loc == ("bad.file", 3)
    skipped = read(name, bad, skip=True, **OPTIONS.get(name, {}))
    assert skipped.plain == read(name, GOOD[name], **OPTIONS.get(name, {})).plain
    assert [place.loc for place in skipped.log.bad] == [("file", 3)]


@ALL
def test_all_bad_lines_of_all_files_are_named_at_once(read: Read, name: str) -> None:
    bad = GOOD[name] + b"one\ntwo\n"
    with pytest.raises(Invalid) as refused:
        read(name, {"a": bad, "b": bad}, **OPTIONS.get(name, {}))
    assert [place.loc for place in refused.value.places] == [("a", 4), ("a", 5), ("b", 4), ("b", 5)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e999", "too large"),
        ("1" * 5000, "64 bits"),
        (str(2**63), "64 bits"),
        ("[" * 100_000, "deeper"),
        ('{"a":1,"a":2}', "twice"),
        ('"\\ud800"', "surrogate"),
        ('{"\\u0000":1}', "NUL"),
        ("{'a':1}", "not JSON"),
    ],
)
@pytest.mark.parametrize("name", ["jsonl", "mqm-tsv"])
def test_json_that_a_lenient_parser_would_take_is_refused(read: Read, name: str, value: str, reason: str) -> None:
    if name == "jsonl":
        data = JSONL.replace(b'"payload":', b'"meta":{"x":' + value.encode() + b'},"payload":')
    else:
        data = MQM.replace(b"Minor\t", b'Minor\t{"x":' + value.encode() + b"}")
    error = refusal(read, name, data)
    assert reason in error.places[0].msg
    assert error.places[0].loc[1] == (3 if name == "jsonl" else 2)
    assert len(str(error)) + len(error.places[0].msg) < 500, "no echo of the input"


def test_json_escapes_of_whole_characters_are_taken(read: Read) -> None:
    escaped = json.dumps({"note": "🐶 Zalgo̷"}).encode()
    found = read("mqm-tsv", MQM.replace(b"Minor\t", b"Minor\t" + escaped))
    assert found.judgments[0].payload["errors"][0]["note"] == "🐶 Zalgo̷"
