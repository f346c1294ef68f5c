"""`wmt-rr`: pairs by ranking as of WMT16, five systems a line as before it; what is wrong is named."""

from __future__ import annotations

import pytest

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, ScreenComparisonRow
from tests.formats.conftest import Read

PAIRS = "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
FIVE = (
    "srclang,trglang,srcIndex,documentId,segmentId,judgeId,system1Number,system1Id,system2Number,system2Id,"
    "system3Number,system3Id,system4Number,system4Id,system5Number,system5Id,"
    "system1rank,system2rank,system3rank,system4rank,system5rank"
)
LINE = "cze,eng,7,7,judge1,newstest2016.uedin-nmt.4361.cs-en,5,newstest2016.online-A.0.cs-en,3,1"


def sent(*lines: str) -> bytes:
    return "\n".join((*lines, "")).encode()


def test_a_pair_is_a_screen_of_two_columns(read: Read) -> None:
    found = read("wmt-rr", sent(PAIRS, LINE))

    (row,) = found.of(ScreenComparisonRow)
    assert (row.columns, row.preference) == ((("uedin-nmt",), ("online-A",)), ((2,), (1,)))
    assert (row.rater, row.screen, row.document, row.position) == ("judge1", 1, "unknown", 7)
    about = found.of(CampaignRow)[0]
    assert (about.source_language, about.target_language, about.options) == ("cs", "en", {"preference": "ranking"})


def test_a_line_of_five_is_a_screen_and_blank_ranks_are_counted(read: Read) -> None:
    line = "Czech,English,3,-1,3,j,1,A,2,B,3,C,4,D,5,E,1,2,2,-1,5"
    found = read("wmt-rr", sent(FIVE, line, line.replace(",1,2,2,-1,5", ",-1,-1,-1,-1,5")))

    (row,) = found.of(ScreenComparisonRow)
    assert row.columns == (("A",), ("B",), ("C",), ("E",))
    assert row.preference == ((1,), (2, 3), (4,))
    assert found.of(CampaignRow)[0].source_language == "cs"
    assert found.log.dropped == {
        "ranks left blank": 5,
        "rankings of fewer than two systems": 1,
        "columns that nothing is read from: documentid": 1,
    }


def test_systems_that_are_named_together_share_a_column(read: Read) -> None:
    both = "newstest2016.online-A.0.cs-en+newstest2016.online-B.0.cs-en"
    plus = "newstest2016.a+b.1.cs-en"
    other = LINE.replace("newstest2016.uedin-nmt.4361.cs-en", plus).replace(",5,", ",3,")
    lines = (line.replace("newstest2016.online-A.0.cs-en", both) for line in (LINE, other))

    (row,) = read("wmt-rr", sent(PAIRS, *lines)).of(ScreenComparisonRow)

    assert len(row.columns) == 3
    assert ("online-A", "online-B") in row.columns
    assert [sorted(len(row.columns[n - 1]) for n in group) for group in row.preference] == [[1, 2], [1]]


def test_a_ranking_written_out_for_all_systems_of_an_output_may_have_more_than_a_screen(read: Read) -> None:
    pairs = [
        LINE.replace("uedin-nmt.4361", f"s{a}.1").replace("online-A.0", f"s{b}.1").replace(",5,", ",3,")
        for a in range(13)
        for b in range(a)
    ]

    (row,) = read("wmt-rr", sent(PAIRS, *pairs)).of(ScreenComparisonRow)

    assert (len(row.columns), len(row.preference)) == (13, 1)


def test_a_file_of_documents_says_where_segments_stand(read: Read) -> None:
    files = {"rr.csv": sent(PAIRS, LINE.replace(",7,7,", ",3,3,")), "set.docs": b"d1\nd1\nd2\tnews\n"}
    found = read("wmt-rr", files, documents="set.docs")

    assert [(row.document, row.position) for row in found.of(ScreenComparisonRow)] == [("d2", 1)]
    assert found.of(CampaignRow)[0].documents_known is True


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((LINE.replace(",5,", ",x,"),), "system1rank must be a whole number from 1"),
        ((LINE, LINE.replace("cze", "deu")), "this is of de-en, the lines before of cs-en"),
        ((LINE, LINE.replace(",5,", ",4,")), "uedin-nmt has two ranks in ranking 1"),
        ((LINE, LINE.replace(",7,7,", ",8,8,")), "ranking 1 is of two segments, 7 and 8"),
        ((LINE.replace("judge1", ""),), "judgeID is empty"),
        ((LINE + ",more",), "there are 11 columns where 10 are needed"),
    ],
)
def test_what_is_wrong_is_a_bad_line(read: Read, lines: tuple[str, ...], why: str) -> None:
    with pytest.raises(Invalid) as raised:
        read("wmt-rr", sent(PAIRS, *lines))

    assert why in raised.value.places[0].msg


def test_a_wrong_header_and_nothing_ranked_are_refused(read: Read) -> None:
    with pytest.raises(Invalid, match="the header lacks"):
        read("wmt-rr", b"a,b\n")
    with pytest.raises(Invalid, match="there are no rankings"):
        read("wmt-rr", sent(PAIRS))
