"""A ranking in its page: what it warns of and what its figures are, in words."""

from __future__ import annotations

import re

from app.ui.manager.ranking import merge_document_count_warnings
from tests.spine import Spine
from tests.stats.stability.worlds import as_mqm, made_up


def test_what_few_documents_are_to_blame_for_is_one_warning():
    assert merge_document_count_warnings(
        ["1 document: no interval", "other", "1 document: rank sets hold every rank"]
    ) == [
        "1 document: no interval. Rank sets hold every rank",
        "other",
    ]


def test_a_ranking_warns_once_of_its_few_documents_leads_to_the_mixed_model_and_names_no_field(
    database_url, database, sign_in
):
    head, *rows = as_mqm(made_up(1, documents=4, pools=((0,), (1,)))).decode().splitlines()
    by_system = ["\t".join([*cells[:4], f"of-{cells[0]}", *cells[5:]]) for cells in (row.split("\t") for row in rows)]
    Spine(database_url, database).take("few", "mqm-tsv", "\n".join([head, *by_system]).encode())
    shown = sign_in().get("/campaigns/few").text
    said = re.findall("<b>Warning:</b> (.*)</p>", shown)
    assert not [text for text in said if text[0].islower()]
    assert len([text for text in said if text.startswith("4 documents: ")]) == 1
    assert any("cannot go below 0.125; judge more documents. Too few for rank sets" in text for text in said)
    assert any("use the mixed model" in text for text in said)
    assert 'href="/campaigns/few/reports/components">Systems by the mixed model</a>' in shown
    assert "rank range counts pairwise wins" in shown
    assert "The JSON lists the raters, documents and domains without which the order of a pair changes" in shown
    assert not re.search(r"rank_range|flips_without", shown)
