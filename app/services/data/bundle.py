"""The release bundle: a campaign in every format that fits it, its rankings, figures and papers, with checksums.

`SHA256SUMS` lists every other file. `bundle.json` names the campaign and the data version. The bundle leaves out who
raters are (names, persons, attributes: the pseudonym map) and who set judgments aside. Keys of raters are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from app import formats
from app.domain.errors import Conflict, Invalid
from app.domain.recipe import NAMED, Recipe
from app.formats.base import CampaignContents, RaterRow, Record, VoidedJudgmentRow
from app.reports import registry
from app.reports.inputs import snapshot
from app.reports.inputs.exclusions_and_lock import add_standing_exclusions, load_exclusions_and_lock
from app.reports.kit import request, store
from app.reports.kit.render import representations
from app.reports.ranking import report as ranking_report
from app.reports.ranking.renderings import render_ranking
from app.services.campaigns import campaigns, recipes
from app.services.data import exports
from app.services.data.tar_stream import stream_tar
from app.stats.ranking.result import METHOD_VERSION
from app.storage import campaigns as campaign_rows
from app.storage.db import Database, Session
from app.storage.media import media_queries
from app.storage.media.stores import MediaStore

VERSION = 1
NAME = exports.BUNDLE
SUMS, ABOUT, DATA, READ_ME = "SHA256SUMS", "bundle.json", "data.jsonl", "README.md"
FORMATS = ("mtme", "appraise", "mqm-tsv", "wmt-da")  # if they support the campaign's protocol
PAPERS = ("card", "datasheet")
WITHHELD = "withheld"
MEDIA = "media"
MOST_RECIPES = 100
File = tuple[str, Iterable[bytes]]


class CampaignChangedDuringBundle(Conflict):
    """The campaign changed while its bundle was being written; create it again."""

    published = "ChangedMeanwhile"


@dataclass(slots=True)
class _BundleInProgress:
    """A bundle that is being made. sums: SHA-256 of every file, by path. media: their store; None leaves media out."""

    database: Database
    campaign: str
    version: int
    protocol: str
    sums: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    rankings: list[dict[str, object]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    media: MediaStore | None = None


def stream_bundle_archive(database: Database, campaign: str, media: MediaStore | None = None) -> Iterator[bytes]:
    """Stream the bundle as one tar archive.

    Raises NotFound before the first byte, and CampaignChangedDuringBundle after the papers, before the data.
    """
    return stream_tar(make_bundle_files(database, campaign, media))


def make_bundle_files(database: Database, campaign: str, media: MediaStore | None = None) -> Iterator[File]:
    """Yield the bundle's files with their paths; read each before the next. Raises as `stream_bundle_archive` does."""
    making = _begin_bundle(database, campaign)
    making.media = media
    return _add_checksums(making, chain(_parts(making, _recipes(making), making.version), _media(making)))


def reproduce_bundle_files(
    database: Database, campaign: str, recipes: Sequence[Recipe], version: int
) -> Generator[File, None, None]:
    """Make the files again from data imported from a bundle, with its recipes and version, without checksums."""
    making = _begin_bundle(database, campaign)
    ranked = {recipe.name for recipe in recipes}
    wanted = [*recipes, *(recipe for name, recipe in NAMED.items() if name not in ranked)]
    return _parts(making, wanted, version)


def _parts(making: _BundleInProgress, recipes: Iterable[Recipe], version: int) -> Generator[File, None, None]:
    """Yield all files except the checksums. Closing the generator also closes the file that is being written."""
    yield from _rankings(making, recipes)
    yield from _papers(making)
    yield from _data(making)
    yield from _describe_bundle(making, version)


def _begin_bundle(database: Database, campaign: str) -> _BundleInProgress:
    with database.transaction() as session:
        view = campaigns.get_campaign(session, campaign)
    return _BundleInProgress(database, campaign, view.data_version, view.protocol)


def _add_checksums(making: _BundleInProgress, content: Iterator[File]) -> Iterator[File]:
    for path, chunks in content:
        yield path, _hash_chunks(making.sums, path, chunks)
    yield SUMS, (f"{digest}  {path}\n".encode() for path, digest in sorted(making.sums.items()))


def _hash_chunks(sums: dict[str, str], path: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    sums[path] = digest.hexdigest()


def _rankings(making: _BundleInProgress, wanted: Iterable[Recipe]) -> Iterator[File]:
    """Rank by every recipe that fits: those of published practice, and the campaign's own."""
    for recipe in wanted:
        try:
            body = ranking_report.find_or_compute_ranking(
                making.database, making.campaign, recipe=recipe, as_of=making.version
            ).body
        except Invalid as why:
            making.refused[recipe.name] = why.detail or why.title()
            continue
        path = f"rankings/{recipe.name}.json"
        making.rankings.append({"file": path, "recipe": recipe.as_json()})
        yield path, (body,)
        yield from render_bundled_report_files(path, body)


def render_bundled_report_files(path: str, body: bytes) -> Iterator[File]:
    """Render the forms of the ranking or paper whose JSON is at a path. For other paths, yield nothing."""
    folder, _, file = path.rpartition("/")
    name = file.removesuffix(".json")
    if folder == "rankings" and name != file:
        for shape in ("csv", "tex", "md"):
            yield f"rankings/{name}.{shape}", (render_ranking(body, shape),)
        yield f"rankings/{name}.pairs.csv", (render_ranking(body, "csv", "pairs"),)
        yield f"figures/{name}.svg", (render_ranking(body, "svg"),)
        yield f"figures/{name}.pairs.svg", (render_ranking(body, "svg", "pairs"),)
    elif folder == "papers" and name != file:
        for shape in ("csv", "tex", "md", "svg"):
            yield (
                f"papers/{name}.{shape}",
                (representations.render_report(registry.ALL[f"campaign/{name}"], body, shape),),
            )


def _recipes(making: _BundleInProgress) -> Sequence[Recipe]:
    """Return the recipes with the standing exclusions written into them, because these are not part of the data."""
    with making.database.transaction() as session:
        about = snapshot.load_snapshot(session, making.campaign, making.version)
        stands = load_exclusions_and_lock(session, about.campaign_id, about.version)
        own = [
            one.recipe for one in recipes.list_named_recipes(session, making.campaign, after=None, limit=MOST_RECIPES)
        ]
    locked = [stands.lock.recipe] if stands.lock else []
    by_name = {recipe.name: recipe for recipe in (*NAMED.values(), *own, *locked)}
    return [add_standing_exclusions(recipe, stands) for recipe in by_name.values()]


def _papers(making: _BundleInProgress) -> Iterator[File]:
    """Yield the data card and the data sheet in every form."""
    for name in PAPERS:
        kind = registry.ALL.get(f"campaign/{name}")
        if kind is None:
            continue
        asking = request.ReportRequest(
            kind, (making.campaign,), request.parse_report_options(kind, {}), as_of=making.version
        )
        body = store.find_or_compute_report(making.database, asking).body
        yield f"papers/{name}.json", (body,)
        yield from render_bundled_report_files(f"papers/{name}.json", body)


def _data(making: _BundleInProgress) -> Iterator[File]:
    """Yield the data in every format that supports them, from one snapshot."""
    with making.database.transaction(snapshot=True) as session:
        if campaigns.get_campaign(session, making.campaign).data_version != making.version:
            raise CampaignChangedDuringBundle
        contents = _contents(session, making.campaign)
        write = formats.get_format("jsonl").write
        if write is not None:
            yield DATA, _counting(making, DATA, lambda lost: write(contents.records(), lost))
        for name in FORMATS:
            yield from _in_format(making, name, contents)


def _in_format(making: _BundleInProgress, name: str, contents: CampaignContents) -> Iterator[File]:
    format_ = formats.get_format(name)
    if format_.judged_by and making.protocol not in format_.judged_by:
        return
    if format_.write_file_tree is not None:
        lost = Counter[str]()
        for path, chunks in format_.write_file_tree(contents, lost):
            yield f"{name}/{path}", chunks
        making.left_out[f"{name}/"] = dict(sorted(lost.items()))
    elif format_.write is not None:
        write = format_.write
        yield f"{name}.tsv", _counting(making, f"{name}.tsv", lambda lost: write(contents.records(), lost))


def _counting(
    making: _BundleInProgress, path: str, write: Callable[[Counter[str]], Iterator[bytes]]
) -> Iterator[bytes]:
    lost = Counter[str]()
    yield from write(lost)
    making.left_out[path] = dict(sorted(lost.items()))


def _contents(session: Session, campaign: str) -> CampaignContents:
    """Return all contents without raters' identities, and without what the records lack, so that they can be remade."""
    contents = exports.load_campaign_contents(session, campaign, judged=True)
    return replace(contents, records=partial(_nameless, contents.records))


def _nameless(read: Callable[[], Iterator[Record]]) -> Iterator[Record]:
    for record in read():
        if isinstance(record, RaterRow):
            yield RaterRow(record.at, record.key, record.key)
        elif isinstance(record, VoidedJudgmentRow):
            yield replace(record, actor=WITHHELD)
        else:
            yield record


def _media(making: _BundleInProgress) -> Iterator[File]:
    """Yield the campaign's media files by name."""
    if making.media is None:
        return
    with making.database.transaction() as session:
        campaign_id = campaign_rows.load_campaign(session, making.campaign).id
        files = list(media_queries.load_media_page(session, campaign_id, after=None, limit=None))
    for file in files:
        yield f"{MEDIA}/{file.name}", making.media.read(bytes(file.sha256), 0, file.size)


def _describe_bundle(making: _BundleInProgress, version: int) -> Iterator[File]:
    """Describe the bundle, when everything else is known. version: the data version that was released."""
    about = {
        "bundle": VERSION,
        "campaign": making.campaign,
        "data_version": version,
        "protocol": making.protocol,
        "method_version": METHOD_VERSION,
        "rankings": making.rankings,
        "not_ranked_by": making.refused,
        "left_out": making.left_out,
    }
    yield READ_ME, (_READ_ME.encode(),)
    yield ABOUT, (encode_bundle_manifest(about),)


def encode_bundle_manifest(about: Mapping[str, object]) -> bytes:
    """Encode the bundle's description of itself, as in its file."""
    return json.dumps(about, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


_READ_ME = f"""# A human evaluation, as it was released

- `{DATA}`: all data, to be imported again with nothing lost but what raters are called.
- `mtme/`, `appraise/`, `mqm-tsv.tsv`, `wmt-da.tsv`: the same as other tools read it; `{ABOUT}` counts what each cannot
  hold.
- `rankings/`, `figures/`: by every recipe that fits the data. `papers/`: data card, data sheet (HEDS 3.0), checklist.
- `{SUMS}`: check with `sha256sum -c {SUMS}`, or with `plumbline bundle verify`, which also imports the data into an
  empty database and makes every other file again.
"""
