"""`wmt-jsonl`: test sets, system files and judged outputs as WMT publishes them since 2025, one object per line.

A line with `src_text` is a document of the test set (`doc_id`, `domain`, `src_lang`, `tgt_lang`, `refs`: name → text or
`{"ref": text}`), optionally with outputs in `tgt_text` (system → text). A line with `hypothesis` is a system's output
on `doc_id`, and the name of the file is the system. Texts are strings of paragraphs, each of which is a segment, with
`<p>` and `</p>` around each or blank lines between them; or they are lists of paragraphs. A document can continue in
further lines: then each line is a paragraph, as in the files with judgments (whose `doc_id` may end in `_#_` and its
number from 0, as a fourth part).

The test set may be in the same import, or in the campaign. A text with another number of paragraphs than the source is
a bad line, because it cannot be aligned. `--option segments=documents` does not split texts.

Source: README of wmt-conference/wmt26-general-mt; data and humeval/04-collect_humeval.py of wmt25-general-mt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.errors import Invalid, Place
from app.formats.base import Format, InputFile, ReadContext, ReadLog, Record
from app.formats.wmt_jsonl.documents import WmtJsonlReader
from app.formats.wmt_jsonl.writer import write

OPTIONS = {
    "language_pair": "the pair to read, such as en-cs_CZ, where there are several",
    "split": "language_pair: one campaign for each pair",
    "segments": "documents: do not cut texts into paragraphs",
    "human": "names of the systems that are human, with commas",
}


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield one language pair. Raises Invalid with every bad line, unless they are skipped."""
    if "split" in context.options:
        raise Invalid("with the option split the files make several campaigns; this is about one")
    wanted = context.options.get("language_pair")
    with _documents(files, context, log) as documents:
        pairs = documents.pairs
        if wanted is not None and wanted not in pairs:
            there = ", ".join(pairs) or "none"
            raise Invalid(
                "there are no texts of that language pair",
                places=(Place(("options", "language_pair"), f"there are: {there}"),),
            )
        if wanted is None and len(pairs) > 1:
            what = f"several language pairs in one import: {', '.join(pairs)}; a campaign has one"
            raise Invalid(f"{what} (--option language_pair=PAIR, or split=language_pair for one campaign each)")
        for pair, records in documents.records_by_language_pair():
            for record in records:
                if pair == (wanted or pair):
                    yield record
    log.raise_bad_lines()


def read_by_campaign(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield one stream of records for each language pair."""
    if context.options.get("split") != "language_pair":
        raise Invalid("option split: must be language_pair")
    with _documents(files, context, log) as documents:
        for pair, records in documents.records_by_language_pair():
            yield pair or "unknown", records
    log.raise_bad_lines()


def _documents(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> WmtJsonlReader:
    """Read everything in the files, sorted by language pair and document. Raises Invalid with every bad line."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"wmt-jsonl has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    if context.options.get("segments", "documents") != "documents":
        raise Invalid("the options are not valid", places=(Place(("options", "segments"), "must be documents"),))
    documents = WmtJsonlReader(context, log)
    documents.read_files(files)
    return documents


FORMAT = Format(
    name="wmt-jsonl",
    suffix="wmt.jsonl",
    title="Test sets and system outputs as WMT publishes them from 2025 on",
    read=read,
    parts=read_by_campaign,
    write=write,
    options=OPTIONS,
    by_document=True,
)
