"""`mqm-tsv`: what rows come to, and that their order does not matter."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, DocumentRecord, OutputRow, RaterRow, SegmentRow, SystemRecord
from app.formats.mqm_tsv.rows import COLUMNS
from tests.formats.conftest import Found, Read, Write

HEADER = "\t".join(COLUMNS)


def row(
    target: str = "Guter Hund.",
    severity: str = "Minor",
    category: str = "Style/Awkward",
    *,
    system: str = "A",
    doc: str = "d1",
    seg: object = 1,
    rater: str = "r1",
    source: str = "Good dog.",
    meta: object = "",
    global_id: str = "7",
) -> str:
    metadata = meta if isinstance(meta, str) else json.dumps(meta)
    return "\t".join([system, doc, str(seg), global_id, rater, source, target, category, severity, metadata])


def clean(**cells: object) -> str:
    return row(severity="No-error", category="No-error", **cells)


def table(*rows: str, header: str = HEADER) -> bytes:
    return "\n".join([*([header] if header else []), *rows, ""]).encode()


def errors(found: Found, nth: int = 0) -> list[Mapping[str, object]]:
    marked = found.judgments[nth].payload["errors"]
    assert isinstance(marked, list)
    return marked


def test_systems_that_the_options_name_are_human_translations(read: Read) -> None:
    rows = [row(system=system, seg=seg, target=f"{system} {seg}") for system in ("ref A", "ref", "B") for seg in (1, 2)]
    found = read("mqm-tsv", table(*rows, clean(system="ref", target="ref 1", rater="r2")), human="ref, ref A,missing")
    assert {(r.name, r.kind) for r in found.of(SystemRecord)} == {("ref A", "human"), ("ref", "human")}
    assert len(found.of(SystemRecord)) == 2, "each is said once"
    assert found.log.notes == {
        "judgments of ref A, a human translation as the options say": 2,
        "judgments of ref, a human translation as the options say": 3,
        "no system is called missing, a human translation as the options say": 1,
    }
    assert {(r.name, r.kind) for r in read("mqm-tsv", table(*rows)).of(SystemRecord)} == {("ref A", "mt")}


def test_a_row_is_an_error_and_the_rows_of_a_rater_and_output_are_one_judgment(read: Read) -> None:
    found = read(
        "mqm-tsv",
        table(
            row("Guter <v>Hund</v>.", "Major", "Accuracy/Mistranslation"),
            row("<v>Guter</v> Hund.", "minor"),
            clean(rater="r2"),
            clean(system="B", target="Brav!"),
        ),
    )
    assert [(j.rater, j.task, j.item, j.systems, len(j.payload["errors"])) for j in found.judgments] == [
        ("r1", "r1", "A:d1", ("A",), 2),
        ("r2", "r2", "A:d1", ("A",), 0),
        ("r1", "r1", "B:d1", ("B",), 0),
    ]
    assert errors(found) == [
        {"start": 0, "end": 5, "severity": "minor", "category": "Style/Awkward"},
        {"start": 6, "end": 10, "severity": "major", "category": "Accuracy/Mistranslation"},
    ]
    assert [o.text for o in found.of(OutputRow)] == ["Guter Hund.", "Brav!"]
    assert [(s.source, s.meta) for s in found.of(SegmentRow)] == [("Good dog.", {"globalSegId": "7"})]
    assert found.records[0] == CampaignRow(found.records[0].at, protocol="mqm", documents_known=True)
    assert found.log.mapped["severity"] == {"major": "Major", "minor": "minor"}


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        "",
        "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment",
        "System\tDoc\tDOCSEGID\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata",
    ],
)
def test_headers_old_and_new_and_none_name_the_same_columns(read: Read, header: str) -> None:
    rows = row("Guter <v>Hund</v>."), clean(seg=2)
    assert read("mqm-tsv", table(*rows, header=header)).plain == read("mqm-tsv", table(*rows)).plain


def test_columns_are_found_by_name_wherever_they_stand(read: Read) -> None:
    rows = [HEADER, row("Guter <v>Hund</v>.", meta={"note": "x"}), clean(seg=2)]
    turned = "\n".join("\t".join(reversed(line.split("\t"))) for line in rows).encode()
    assert read("mqm-tsv", turned).plain == read("mqm-tsv", table(*rows[1:])).plain


def test_a_table_without_metadata_is_read(read: Read) -> None:
    rows = [line.rpartition("\t")[0] for line in (HEADER, row(), clean(seg=2))]
    assert read("mqm-tsv", "\n".join(rows).encode()).plain == read("mqm-tsv", table(row(), clean(seg=2))).plain


def test_columns_beyond_the_ten_are_kept(read: Read) -> None:
    found = read("mqm-tsv", table(row(meta={"a": 1}) + "\tnews", row(seg=2) + "\t", header=HEADER + "\tdomain"))
    assert found.judgments[0].meta == {"errors": [{"columns": {"domain": "news"}, "a": 1}]}
    assert found.judgments[1].meta is None


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (HEADER.replace("severity", "severe"), "lacks severity; found the columns system, doc"),
        (HEADER.replace("\ttarget", ""), "lacks target"),
        (HEADER.replace("globalSegId", "doc_id"), "lacks globalSegId"),
        (HEADER.replace("metadata", "rater"), "names a column twice"),
    ],
)
def test_a_header_that_will_not_do_is_refused_with_line_and_columns(read: Read, header: str, says: str) -> None:
    with pytest.raises(Invalid, match=says) as refused:
        read("mqm-tsv", {"x.tsv": table(row(), header=header)})
    assert refused.value.places[0].loc == ("x.tsv", 1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (row(severity="Awful"), "unknown severity 'Awful'"),
        (row(severity=""), "unknown severity"),
        (row(seg=0), "docSegId must be"),
        (row(seg="x"), "docSegId must be"),
        (row(seg="-1"), "docSegId must be"),
        (row(seg="1_0"), "docSegId must be"),
        (row(seg="٣"), "docSegId must be"),
        (row(seg=10**10), "docSegId must be"),
        (row(system=""), "system is empty"),
        (row(doc=" "), "doc is empty"),
        (row(system="x" * 2000), "more than 1000 characters"),
        (row(category="x" * 300), "category has more than 256"),
        (row() + "\textra", "11 columns where 10"),
        (row(meta='{"note":'), "metadata: not JSON"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(read: Read, line: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("mqm-tsv", {"x.tsv": table(clean(), line)})
    assert [place.loc for place in refused.value.places] == [("x.tsv", 3)]
    assert says in refused.value.places[0].msg


@pytest.mark.parametrize(("change", "column"), [({"target": "Anders."}, "target"), ({"source": "Else."}, "source")])
def test_a_text_that_differs_is_a_bad_line_that_names_both(read: Read, change: dict[str, str], column: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("mqm-tsv", {"a.tsv": table(clean()), "b.tsv": table(clean(rater="r2", **change))})
    assert len(refused.value.places) == 1
    place = refused.value.places[0]
    other = {"a.tsv": "b.tsv", "b.tsv": "a.tsv"}[str(place.loc[0])]
    assert place.msg == f"segment d1 1: another {column} than in line 2 of {other}"


def test_texts_that_differ_in_white_space_at_their_ends_are_the_same_and_spans_are_clipped(read: Read) -> None:
    found = read(
        "mqm-tsv",
        table(
            row("  <v>Guter</v> Hund. "),
            row("Guter Hund.<v> </v> "),
            row(" Guter Hund<v>. \u00a0</v>"),
            row("<v> </v>Guter Hund."),
        ),
    )
    assert [o.text for o in found.of(OutputRow)] == ["Guter Hund."]
    assert [(e["start"], e["end"]) for e in errors(found)] == [(0, 0), (0, 5), (10, 11), (11, 11)]
    assert found.log.repaired["white space at the ends of a text"] == 4


@pytest.mark.parametrize(
    ("target", "span"),
    [
        ("🐶 <v>Hund</v>", (2, 6)),
        ("<v></v>Hund", (0, 0)),
        ("Hund <v>bellt", (5, 10)),
        ("Hund</v> bellt", None),
        ("a <v>b <v>c</v> d", (2, 5)),
    ],
)
def test_offsets_are_code_points_over_the_text_without_marks(
    read: Read, target: str, span: tuple[int, int] | None
) -> None:
    found = read("mqm-tsv", table(row(target)))
    error = errors(found)[0]
    assert (error.get("start"), error.get("end")) == (span or (None, None))
    assert found.of(OutputRow)[0].text == target.replace("<v>", "").replace("</v>", "")
    assert found.log.repaired["span marks that were not in pairs"] == (target.count("<v>") != target.count("</v>"))


def test_an_omission_is_a_span_of_the_source(read: Read) -> None:
    found = read("mqm-tsv", table(row(source="Good <v>old</v> dog.", category="Accuracy/Omission")))
    expected = {"side": "source", "start": 5, "end": 8, "severity": "minor", "category": "Accuracy/Omission"}
    assert errors(found) == [{**expected, "omission": True}]


def test_several_marks_are_one_error_and_all_are_kept(read: Read) -> None:
    found = read("mqm-tsv", table(row("<v>Guter</v> <v>Hund</v>.", source="<v>Good</v> dog.")))
    assert [(e["start"], e["end"]) for e in errors(found)] == [(0, 5)]
    assert found.judgments[0].meta == {"errors": [{"spans": [[0, 5], [6, 10]], "source_marks": [[0, 4]]}]}
    assert sum(found.log.repaired.values()) == 2


def test_token_ranges_are_inclusive_and_their_tokens_may_stand_in_another_row(read: Read) -> None:
    tokens = {"segment": {"target_tokens": ["Guter", " ", "Hund", "."], "source_tokens": ["Good", " ", "dog", "."]}}
    found = read(
        "mqm-tsv",
        table(
            row(meta={"target_spans": [[2, 3]]}),
            row(meta={"source_spans": [[0, 2]]}),
            clean(rater="r2", meta=tokens),
            row(rater="r3", meta={"target_spans": [[2, 4]]}),
        ),
    )
    assert [(e.get("side", "target"), e["start"], e["end"]) for e in errors(found)] == [
        ("source", 0, 8),
        ("target", 6, 11),
    ]
    assert "start" not in errors(found, 2)[0]
    assert found.judgments[2].meta == {"errors": [{"target_spans": [[2, 4]]}]}
    assert sum(found.log.notes.values()) == 1


def test_no_error_beside_errors_counts_for_nothing(read: Read) -> None:
    found = read("mqm-tsv", table(row(), clean()))
    assert len(errors(found)) == 1
    assert found.log.repaired["No-error beside errors: the errors count"] == 1


@pytest.mark.parametrize(("said", "left"), [(5000, 0), (1500, 1), (500, 2)])
def test_a_later_no_error_takes_back_the_errors_before_it(read: Read, said: int, left: int) -> None:
    rows = row(meta={"timestamp": 1000}), row(meta={"timestamp": 2000}), clean(meta={"timestamp": said})
    found = read("mqm-tsv", table(*rows))
    assert len(errors(found)) == left
    assert found.log.notes["re-submissions by time stamp: the latest counts"] == 1


def test_attention_checks_are_kept_apart_and_a_segment_with_nothing_else_is_rated_zero(read: Read) -> None:
    found = read("mqm-tsv", table(row(severity="HOTW-test", category="Found"), row("Brav.", seg=2)))
    assert [len(j.payload["errors"]) for j in found.judgments] == [0, 1]
    assert found.judgments[0].meta == {"attention": [{"severity": "HOTW-test", "category": "Found"}]}
    assert found.log.dropped["attention checks (HOTW-test), kept with the judgment"] == 1


def test_rows_without_a_rater_are_dropped_but_their_references_and_languages_are_kept(read: Read) -> None:
    about = {
        "segment": {"references": {"refA": " Braver Hund."}, "metrics": {"BLEU": 1}},
        "evaluation": {"source_language": "en", "target_language": "de"},
    }
    found = read("mqm-tsv", table(clean(), row(rater="", severity="", category="", meta=about)))
    assert len(found.judgments) == 1
    assert found.of(SegmentRow)[0].references == {"refA": "Braver Hund."}
    assert (found.of(CampaignRow)[0].source_language, found.of(CampaignRow)[0].target_language) == ("en", "de")
    assert found.log.dropped["rows without a rater (metrics only)"] == 1


def test_several_language_pairs_are_refused_and_named(read: Read) -> None:
    pairs = [{"evaluation": {"source_language": "en", "target_language": t}} for t in ("de", "zh")]
    with pytest.raises(Invalid, match="en-de, en-zh"):
        read("mqm-tsv", table(*(clean(seg=i + 1, meta=pair) for i, pair in enumerate(pairs))))


def test_names_that_are_no_keys_are_mapped_and_kept(read: Read) -> None:
    found = read(
        "mqm-tsv", table(clean(system="Online W", rater="Jörg", doc="Doc #1"), clean(system="B", doc="Doc #1"))
    )
    assert [(r.name, r.key[:7]) for r in found.of(SystemRecord)] == [("Online W", "Online_")]
    assert [r.name for r in found.of(RaterRow)] == ["Jörg"]
    assert [r.name for r in found.of(DocumentRecord)] == ["Doc #1"]
    assert {noun: sorted(names.values()) for noun, names in found.log.mapped.items()} == {
        "system": ["Online W"],
        "rater": ["Jörg"],
        "document": ["Doc #1"],
    }


def test_notes_and_time_stamps_are_kept(read: Read) -> None:
    found = read("mqm-tsv", table(row(meta={"note": "hm", "timestamp": 1500}), row("Brav.", seg=2, meta="a free note")))
    assert [e["note"] for e in (*errors(found), *errors(found, 1))] == ["hm", "a free note"]
    assert found.judgments[0].meta == {"errors": [{"timestamp": 1500}]}
    assert found.judgments[0].submitted_at is not None
    assert found.judgments[0].submitted_at.isoformat() == "1970-01-01T00:00:01.500000+00:00"


def test_one_output_takes_a_bounded_number_of_rows_of_a_rater(read: Read) -> None:
    found = read("mqm-tsv", table(*[row()] * 1005), skip=True)
    assert len(errors(found)) == 1000
    assert found.log.n_bad == 5


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\t"), max_size=12).filter(
    lambda t: "<v>" not in t and "</v>" not in t and t == t.strip()
)


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Rows of some systems, segments and raters that do not contradict each other."""
    rows = []
    for seg in range(1, draw(st.integers(1, 3)) + 1):
        source = draw(TEXT)
        for system in draw(st.lists(st.sampled_from(["A", "B b", "ç"]), min_size=1, unique=True)):
            target = draw(TEXT)
            for rater in draw(st.lists(st.sampled_from(["r1", "r 2"]), min_size=1, unique=True)):
                where = {"system": system, "seg": seg, "rater": rater, "source": source}
                for _ in range(draw(st.integers(0, 3))):
                    start, end = sorted(draw(st.tuples(*[st.integers(0, len(target))] * 2)))
                    note = draw(st.one_of(st.just(""), st.builds(lambda n: {"note": n, "x": 1.5}, TEXT)))
                    marked = f"{target[:start]}<v>{target[start:end]}</v>{target[end:]}"
                    severity = draw(st.sampled_from(["Major", "minor", "Neutral", "HOTW-test"]))
                    rows.append(row(marked, severity, meta=note, **where))
                rows.append(clean(target=target, **where))
    return rows


@settings(deadline=None, max_examples=40)
@given(tables(), st.randoms(use_true_random=False))
def test_no_order_of_lines_changes_the_records(read: Read, rows: list[str], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    cut = rng.randint(0, len(rows))
    once = read("mqm-tsv", table(*rows))
    assert once.plain == read("mqm-tsv", table(*shuffled)).plain
    apart = read("mqm-tsv", {"a": table(*shuffled[:cut]), "b": table(*shuffled[cut:])})
    assert once.plain == apart.plain


@settings(deadline=None, max_examples=40)
@given(tables())
def test_what_is_written_reads_as_the_same_judgments(read: Read, write: Write, rows: list[str]) -> None:
    once, lost = read("mqm-tsv", table(*rows)), Counter[str]()
    again = read("mqm-tsv", write("mqm-tsv", once.records, lost))
    assert again.plain == once.plain
    assert not +lost


def test_several_spans_references_and_languages_survive_writing(read: Read, write: Write) -> None:
    about = {
        "segment": {"references": {"refA": "Ref"}},
        "evaluation": {"source_language": "en", "target_language": "de"},
        "timestamp": 12,
    }
    once = read(
        "mqm-tsv",
        table(
            row("<v>Guter</v> <v>Hund</v>.", source="<v>Good</v> dog.", meta=about),
            row(severity="HOTW-test", category="Missed", meta={"hotw": "x"}),
            clean(seg=2, meta={"feedback": {"thumbs": "up"}}),
        ),
    )
    assert read("mqm-tsv", write("mqm-tsv", once.records)).plain == once.plain


def test_what_the_table_cannot_carry_is_counted(read: Read, write: Write) -> None:
    lines = [
        {"type": "plumbline", "version": 1},
        {"type": "output", "system": "A", "document": "d", "position": 1, "text": "a\tb <v> c"},
        *(
            {
                "type": "judgment",
                "task": "t",
                "item": "i",
                "systems": ["A"],
                "document": "d",
                "position": 1,
                "rater": "r",
                "revision": n,
                "accepted": False,
                "payload": {"protocol": "mqm", "errors": [{"severity": "minor", "start": 4, "end": end}]},
            }
            for n, end in ((1, 6), (2, 7))
        ),
    ]
    lost = Counter[str]()
    data = "\n".join(json.dumps(line) for line in lines).encode()
    written = write("mqm-tsv", read("jsonl", data).records, lost)
    assert "\ta b <v>‹v›</v> c\t" in written.decode()
    assert lost == {
        "superseded revisions": 1,
        "that a task was rejected": 1,
        "tasks of judgments": 1,
        "tabs and line ends in cells": 1,
        "<v> that stands in a text": 1,
    }
