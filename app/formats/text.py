"""`text`: parallel plain-text files, one segment per line, with a file that names the document of each line.

Files are identified by their names without extension: `source` or `src`; `docs` (or a name with `.docs`), one line per
segment with the key of its document, optionally followed by a tab and its domain; `ref`, `reference` or `ref….NAME`;
any other is a system of that name, and an empty line there is an empty output. Options can name files otherwise.
Without a file of documents, the lines belong to the documents that the campaign has, in their order, or to one document
if it has none; with `lines=documents`, each line is a document. All files have the same number of lines, and the same
line is the same segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from app.domain.errors import Invalid, Place
from app.formats.base import Format, InputFile, ReadContext, ReadLog, Record
from app.formats.kit.parallel_lines import (
    FileRoles,
    LineDocumentMapping,
    index_input_files_by_name,
    parse_list_option,
    read_line_aligned_files,
)

OPTIONS = {
    "source": "name of the file of sources",
    "docs": "name of the file that says which document each line is of",
    "reference": "names of the files of references, with commas",
    "document": "key of the one document where there is no file of documents",
    "lines": "documents: each line is a document of its own",
    "human": "names of the systems that are human, with commas",
}
_ENDING = re.compile(r"\.(txt|gz|src|ref|hyp|docs|[a-z]{2,3}(-[A-Za-z]{2,4})?)")
_REFERENCE = re.compile(r"ref(erence)?[._-]?(?P<name>.*)")


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield the test set of all files. Raises Invalid if their numbers of lines differ."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"text takes {', '.join(OPTIONS)}, not {unknown[0][:40]!r}")
    roles = _roles(files, context.options)
    each_line = _is_each_a_document(roles, context.options)
    placing = LineDocumentMapping(_parse_document_line, context.options.get("document"), each_line)
    yield from read_line_aligned_files(roles, placing, context, log)
    log.raise_bad_lines()


def _is_each_a_document(roles: FileRoles, options: Mapping[str, str]) -> bool:
    """Return whether each line is a document. Raises Invalid for another value, or if documents are also named."""
    asked = options.get("lines")
    if asked is None:
        return False
    if asked != "documents":
        raise Invalid("option lines: must be documents")
    if roles.docs is not None or "document" in options:
        raise Invalid("option lines: another file or option says already which document each line belongs to")
    return True


def _parse_document_line(line: str) -> tuple[str, str | None]:
    name, _, domain = line.partition("\t")
    return name.strip(), domain.strip() or None


def _roles(files: Sequence[InputFile], options: Mapping[str, str]) -> FileRoles:
    there = index_input_files_by_name(files)
    named = {role: parse_list_option(options, role) for role in ("source", "docs", "reference")}
    missing = [(role, name) for role, names in named.items() for name in names if name not in there]
    if missing:
        places = tuple(Place(("options", role), f"there is no file {name[:80]}") for role, name in missing)
        raise Invalid("the options name files that are not there", places=places)
    single: dict[str, InputFile] = {role: there[named[role][0]] for role in ("source", "docs") if named[role]}
    references = {_base_name(name): there[name] for name in named["reference"]}
    taken = {file.name for file in (*single.values(), *references.values())}
    systems: dict[str, InputFile] = {}
    for file in (file for file in files if file.name not in taken):
        stem = _base_name(file.name)
        reference_match = _REFERENCE.fullmatch(stem.casefold())
        if "docs" not in single and (stem == "docs" or ".docs" in file.name):
            single["docs"] = file
        elif "source" not in single and stem.casefold() in {"source", "src"}:
            single["source"] = file
        elif reference_match and not named["reference"]:
            references[reference_match["name"] or "ref"] = file
        else:
            systems[file.name if stem in systems else stem] = file
    human = frozenset(parse_list_option(options, "human"))
    return FileRoles(single.get("source"), single.get("docs"), references, systems, human)


def _base_name(name: str) -> str:
    """Return the name of a file without its folders and extensions, of which there may be several."""
    own = name.rsplit("/", 1)[-1]
    end = len(own)
    while (dot := own.rfind(".", 0, end)) >= 0 and _ENDING.fullmatch(own, dot, end):
        end = dot
    return own[:end] or name


FORMAT = Format(name="text", title="Parallel plain-text files", read=read, options=OPTIONS)
