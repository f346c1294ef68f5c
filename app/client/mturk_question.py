"""The page of a HIT for workers of Mechanical Turk: its description, a link to the campaign, a field for the code."""

from __future__ import annotations

from html import escape
from xml.sax.saxutils import quoteattr

SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
CODE_FIELD = "code"
# The page is in a frame of Mechanical Turk, whose address names worker and assignment once the HIT is accepted.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ font: 16px/1.5 sans-serif; max-width: 40em; margin: 1em }}</style>
</head>
<body>
<h1>{title}</h1>
<p>{description}</p>
<p id="preview">Accept this HIT to get the link.</p>
<form id="accepted" method="post" action={submit} hidden>
<p><a id="link" target="_blank" rel="noopener" data-link={link}>Open the texts</a></p>
<p><label>When you have handed in everything, enter the code that you are shown:
<input name="{field}" required autocomplete="off"></label></p>
<input type="hidden" name="assignmentId">
<p><button>Submit</button></p>
</form>
<script>
const given = new URLSearchParams(location.search);
const assignment = given.get("assignmentId"), worker = given.get("workerId");
if (worker && assignment && assignment !== "ASSIGNMENT_ID_NOT_AVAILABLE") {{
  const link = document.querySelector("#link"), address = new URL(link.dataset.link);
  address.searchParams.set("workerId", worker);
  link.href = address.href;
  document.querySelector("[name=assignmentId]").value = assignment;
  document.querySelector("#preview").hidden = true;
  document.querySelector("#accepted").hidden = false;
}}
</script>
</body>
</html>"""


def make_hit_question_xml(title: str, description: str, link: str, submit_url: str) -> str:
    """Make the question of a HIT, as XML around a page.

    link: to the campaign, from an invitation; the worker's id is added to its query. submit_url: where answers are
    sent.
    """
    page = _PAGE.format(
        title=escape(title),
        description=escape(description),
        submit=quoteattr(submit_url),
        link=quoteattr(link),
        field=CODE_FIELD,
    )
    # Nothing in the page ends the section early, because text from outside contains no >.
    return (
        f'<HTMLQuestion xmlns="{SCHEMA}"><HTMLContent><![CDATA[{page}]]></HTMLContent>'
        "<FrameHeight>0</FrameHeight></HTMLQuestion>"
    )
