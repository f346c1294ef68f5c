// Judgments as a list, and texts with all their judgments; every marked error drawn where it was marked.

import { call, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { Layout } from "../rater/layout.js";
import { pieces } from "../rater/marks.js";
import { clock } from "../rater/player.js";
import { codePoints } from "../rater/text.js";
import { Browse } from "./browse.js";
import { loadShownMedia } from "./shown_media.js";
import { all, api, empty, fetched, figure, foreign, here, main, NONE, Refused, resting, say, tell, told } from "./parts.js";

const form = $("#pick");
const place = $("#items");
const said = $("#said");
const SEVERITIES = {
  minor: t("minor"), major: t("major"), critical: t("critical"), neutral: t("neutral"), undecided: t("undecided"),
};

async function get(path) {
  const answer = await call("GET", path);
  if (!answer.ok) throw new Refused(told(answer));
  return answer.body;
}

const FIELDS = ["document", "segment", "system", "other", "rater", "severity", "category", "commented"];

// What the form asks for; only what is filled in.
const asked = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value));

// What the address asks for.
function inAddress() {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(FIELDS.map((name) => [name, given.get(name)?.trim()]).filter(([, value]) => value));
}

async function choices() {
  const [documents, systems] = await Promise.all([all(`${api}/documents?kind=test`), all(`${api}/systems`)]);
  form.elements.document.append(...documents.map((one) => h("option", { value: one.key }, one.name)));
  for (const name of ["system", "other"]) {
    form.elements[name].append(...systems.map((one) => h("option", { value: one.key }, one.name)));
  }
  for (const [name, value] of Object.entries(inAddress())) form.elements[name].value = value;
  return [documents, systems];
}

const errorsOf = (judgment) => (Array.isArray(judgment.payload.errors) ? judgment.payload.errors : []);

function marksOf(judgment, side) {
  return errorsOf(judgment).map((error, index) => ({ ...error, index }))
    .filter((error) => (error.side ?? "target") === side && Number.isInteger(error.start))
    .map((error) => ({ start: error.start, end: error.end, index: error.index, kinds: [`is-${error.severity}`] }));
}

// What was marked, and where that is not the output itself. file: a ShownFile that an error in time can be heard in.
function toldOf(error, file = null) {
  const where = error.omission ? `${t("omission")}, ` : error.side === "source" ? `${t("source")}, ` : "";
  const time = Number.isInteger(error.start_ms) ? [", ", stretch(error, file)] : null;
  return [`${where}${SEVERITIES[error.severity] ?? error.severity}`, error.category ? [", ", foreign(error.category)] : null, time];
}

function stretch({ start_ms: from, end_ms: to }, file) {
  const words = `${clock(from)}–${clock(to)}`;
  return file ? h("button", { type: "button", class: "quiet", "aria-label": t("Play {time}", { time: words }), onclick: () => file.playFrom(from) }, `▶ ${words}`) : words;
}

// markup: how raters see the text; errors count the text as it is stored.
function drawn(text, marks, markup = null) {
  if (!markup) return h("p", { dir: "auto", class: "drawn" }, pieces(text ?? "", marks));
  const layout = new Layout(markup, codePoints(markup.shown));
  const seen = marks.map((mark) => ({ ...mark, at: layout.toShown(mark.start, mark.end) })).filter((mark) => mark.at);
  return h("div", { dir: "auto", class: "drawn laid-out" }, layout.draw(seen.map(({ at: [start, end], ...mark }) => ({ ...mark, start, end }))));
}

// What was answered beside the errors, as it stands in the payload.
function answersOf({ payload }) {
  const rest = Object.entries(payload).filter(([name, value]) => !["protocol", "errors"].includes(name) && value !== null && typeof value !== "object");
  return rest.map(([name, value]) => `${name} ${value}`).join(", ");
}

// What the rater wrote about the output, and about the screen that it stood on.
const comments = ({ comment, screen_comment: screen }) => [[t("Comment"), comment], [t("Comment on the screen"), screen]]
  .filter(([, text]) => text)
  .map(([label, text]) => h("p", { class: "comment" }, h("b", {}, `${label}: `), h("span", { dir: "auto" }, foreign(text))));

// source, output: as they are stored, each with its layout. files: the players that stand in their places, by side.
function judged(one, source, output, files = {}) {
  const notes = [one.role === "rating" ? "" : one.role, one.surplus ? t("surplus") : "", one.void ? t("voided: {why}", { why: one.void }) : ""].filter(Boolean);
  const own = typeof one.payload.text === "string" ? one.payload.text : null;
  const source_ = marksOf(one, "source");
  return h("li", {},
    h("p", { class: "who" }, h("b", {}, one.rater), ` ${one.score === null ? "" : figure(one.score, 2)} `, h("span", { class: "quiet" }, [answersOf(one), ...notes].filter(Boolean).join("; "))),
    source_.length ? drawn(source?.source, source_, source?.markup) : null,
    marksOf(one, "target").length && !files.target ? drawn(output?.text, marksOf(one, "target"), output?.markup) : null,
    own ? drawn(own, []) : null,
    comments(one),
    errorsOf(one).length ? h("ul", { class: "errors-told" }, errorsOf(one).map((error) => h("li", {}, toldOf(error, files[error.side ?? "target"])))) : null);
}

function latest(judgments) {
  const found = new Map();
  for (const one of judgments) {
    const key = [one.task, one.item, one.segment, one.rater].join(" ");
    if (!found.has(key) || found.get(key).revision < one.revision) found.set(key, one);
  }
  return [...found.values()];
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// How far the scores of an output's raters, or the mean scores of two systems, lie apart.
function apart(n, outputs, judgments) {
  const scores = outputs.map(([system]) => judgments.filter((one) => one.segment === n && one.score !== null && one.systems.includes(system.key)).map((one) => one.score));
  const compared = outputs.length === 2 ? scores.filter((some) => some.length).map(mean) : outputs.length === 1 ? scores[0] : [];
  return compared.length > 1 ? Math.max(...compared) - Math.min(...compared) : null;
}

// All errors in time of some judgments on the file of a side.
function drawTimes(file, side, judgments) {
  const errors = judgments.flatMap(errorsOf).filter((error) => (error.side ?? "target") === side && Number.isInteger(error.start_ms));
  file?.draw(errors.map((error) => ({ ...error, kinds: [`is-${error.severity}`] })));
}

function segment(n, one, outputs, judgments, media) {
  const of = (system) => judgments.filter((each) => each.segment === n && each.systems.includes(system));
  const distance = apart(n, outputs, judgments);
  const source = media.fileOf(one.source, t("Source"));
  drawTimes(source, "source", judgments.filter((each) => each.segment === n));
  const texts = outputs.map(([system, segments]) => {
    const output = segments[n - 1];
    const target = media.fileOf(output?.text, system.name);
    drawTimes(target, "target", of(system.key));
    return h("section", { class: "output" }, h("h3", {}, system.name), target?.element ?? drawn(output?.text, [], output?.markup), of(system.key).length
      ? h("ul", { class: "judged" }, of(system.key).map((each) => judged(each, one, output, { source, target })))
      : h("p", { class: "quiet" }, t("Not judged.")));
  });
  return h("section", { id: `segment-${n}` }, h("h2", {}, t("Segment {n}", { n }), distance === null ? null : h("span", { class: "of" }, ` ${t("{n} apart", { n: figure(distance, 2) })}`)),
    h("p", { class: "quiet" }, t("Source")), source?.element ?? drawn(one.source, [], one.markup),
    h("div", { class: outputs.length === 2 ? "side-by-side" : null }, texts));
}

// Where what is shown is fetched: judgments by the same filters; two systems are two filters, and the table has both.
const files = (query) => [["CSV", "csv"], ["TSV", "tsv"], ["JSONL", "ndjson"], ["JSON", ""]].map(([name, format]) => [name, `${api}/judgments?${new URLSearchParams([...query, ...(format ? [["format", format]] : [])])}`]);

function filesOf(query) {
  const { other: _, ...rest } = query;
  if (query.other) delete rest.system;
  return fetched(files(new URLSearchParams(rest)));
}

const outputsOf = (key, document_) => get(`${api}/systems/${encodeURIComponent(key)}/outputs/${encodeURIComponent(document_)}`);

const PAGE = 200; // judgments
const SYSTEMS_AT_ONCE = 100;
const SYSTEMS_SHOWN = 6; // at first, of a document with more judgments than are read at once

// A document as it is asked for: its text, and of each system what it made of it and how that was judged. Of one system
// the server finds judgments at once, and of all together where they are not too many; else it looks through the
// campaign's, and is asked system by system, for some of them at a time.
class DocumentReading {
  constructor(query, named = []) {
    const { other: _, system: __, ...filters } = query;
    Object.assign(this, { query: JSON.stringify(query), filters, begun: new Map(), most: SYSTEMS_SHOWN });
    this.text = this.begin(get(`${api}/documents/${encodeURIComponent(query.document)}`));
    for (const key of named) this.begin(this.of(key));
    if (!named.length) this.whole = this.begin(this.judgmentsOfAll());
  }

  // → all judgments of the document, page after page; null where the server would look through others for them.
  async judgmentsOfAll() {
    const found = [];
    let cursor = "";
    do {
      const { items, next } = await get(`${api}/judgments?${new URLSearchParams({ ...this.filters, limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
      if (next && items.length < PAGE) return null;
      found.push(...items);
      cursor = next;
    } while (cursor);
    return found;
  }

  // How many of some systems are shown: all, but where the server has to be asked for each.
  async limit(systems) {
    return !this.whole || (await this.whole) ? systems : systems.slice(0, this.most);
  }

  // → [outputs, judgments] of each of some systems.
  async ofAll(keys) {
    if (!this.whole) return Promise.all(keys.map((key) => this.of(key)));
    const whole = await this.whole;
    const [made, judged] = await Promise.all([this.outputsOfAll(keys), whole ?? Promise.all(keys.map((key) => this.judgmentsOf(key)))]);
    return keys.map((key, n) => [{ segments: made[key] }, whole ? judged.filter((one) => one.systems.includes(key)) : judged[n]]);
  }

  async outputsOfAll(keys) {
    const made = {};
    for (let n = 0; n < keys.length; n += SYSTEMS_AT_ONCE) {
      const query = new URLSearchParams(keys.slice(n, n + SYSTEMS_AT_ONCE).map((key) => ["system", key]));
      Object.assign(made, (await get(`${api}/documents/${encodeURIComponent(this.filters.document)}/outputs?${query}`)).systems);
    }
    return made;
  }

  // → all judgments of a system.
  judgmentsOf(key) {
    return this.once(`judgments ${key}`, () => all(`${api}/judgments?${new URLSearchParams({ ...this.filters, system: key })}`));
  }

  // → [outputs, judgments] of a system.
  of(key) {
    return Promise.all([this.once(`outputs ${key}`, () => outputsOf(key, this.filters.document)), this.judgmentsOf(key)]);
  }

  once(name, read) {
    if (!this.begun.has(name)) this.begun.set(name, this.begin(read()));
    return this.begun.get(name);
  }

  begin(promise) {
    promise.catch(() => {}); // whoever waits for it says so
    return promise;
  }
}

const namedIn = ({ system, other }) => [...new Set([system, other].filter(Boolean))];

// again: draws the document once more.
async function ofDocument(query, systems, read, again) {
  const named = namedIn(query);
  const wanted = await read.limit(named.length ? systems.filter((one) => named.includes(one.key)) : [...systems]);
  if (query.other && wanted[0]?.key === query.other) wanted.reverse();
  const [text, found] = await Promise.all([read.text, read.ofAll(wanted.map((one) => one.key))]);
  const judgments = found.flatMap(([, judged]) => judged); // one of several systems comes with each of them, and is shown once
  const outputs = wanted.map((system, n) => [system, found[n][0].segments]);
  const media = await loadShownMedia([...text.segments.map((one) => one.source), ...outputs.flatMap(([, segments]) => segments.map((one) => one?.text))], all, api);
  const shown = latest(judgments).filter((one) => one.systems.some((key) => wanted.some((system) => system.key === key)));
  const whole = shown.filter((one) => one.segment === null);
  const narrow = query.rater || query.severity || query.category || query.commented;
  const numbers = text.segments.map((_one, i) => i + 1).filter((n) => (query.segment ? n === Number(query.segment) : !narrow || shown.some((one) => one.segment === n)));
  const rest = query.segment ? h("p", {}, h("a", { href: `?${new URLSearchParams({ ...query, segment: "" })}#segment-${query.segment}` }, t("The whole document"))) : null;
  return [rest, named.length || wanted.length === systems.length ? null : moreSystems(wanted.length, systems.length, read, again), numbers.length ? null : h("p", {}, t("No judgment matches.")), numbers.map((n) => segment(n, text.segments[n - 1], outputs, shown, media)),
    whole.length ? h("section", {}, h("h2", {}, t("Document scores")), h("ul", { class: "judged" }, whole.map((one) => h("li", {}, `${one.systems.join(", ")}: `, judged(one, null, null).firstChild)))) : null];
}

// Of a document with very many judgments some systems are shown, and further ones when they are asked for.
function moreSystems(shown, all_, read, again) {
  const more = Math.min(SYSTEMS_SHOWN, all_ - shown);
  const next = button(count(more, "Show {n} more system", "Show {n} more systems"), () => {
    read.most += SYSTEMS_SHOWN;
    return resting(next, again);
  }, { class: "plain" });
  return h("div", { class: "note" }, h("p", {}, t("This document has many judgments: {shown} of {n} systems are shown. To read another one, choose it above.", { shown: figure(shown), n: figure(all_) })), h("p", { class: "actions" }, next));
}

// Judgments of all documents: a list that is searched and filtered; each leads to its text.
function listOf([documents, systems]) {
  const link = (one) => {
    const place = new URLSearchParams({ document: one.document, ...(one.segment ? { segment: one.segment } : {}), ...(one.systems.length === 1 ? { system: one.systems[0] } : {}) });
    return h("a", { href: `?${place}` }, one.segment ? t("{document}, segment {n}", { document: one.document, n: one.segment }) : one.document);
  };
  const marked = (one) => (errorsOf(one).length ? errorsOf(one).map((error) => h("span", { class: "marked-error" }, toldOf(error))) : answersOf(one) || NONE);
  const read = documents.length ? h("a", { class: "button plain", href: `?${new URLSearchParams({ document: documents[0].key })}` }, t("Read the first document")) : null;
  return new Browse(place, {
    label: t("Judgments"),
    path: `${api}/judgments`,
    key: (one) => String(one.id),
    search: t("Search in sources and translations"),
    filters: [
      { name: "document", label: t("Document"), options: [["", t("all")], ...documents.map((one) => [one.key, one.name])], chosen: (value) => location.assign(`?${new URLSearchParams({ ...Object.fromEntries(list.query), document: value })}`) },
      { name: "system", label: t("System"), options: [["", t("all")], ...systems.map((one) => [one.key, one.name])] },
      { name: "severity", label: t("Severity"), options: [["", t("any|severity")], ...Object.entries(SEVERITIES).filter(([name]) => name !== "undecided")] },
      { name: "rater", label: t("Rater") },
      { name: "category", label: t("Category") },
      { name: "segment", label: t("Segment"), inputmode: "numeric" },
      { name: "commented", label: t("Comments"), options: [["", t("with or without")], ["true", t("only with a comment")]] },
    ],
    columns: [
      { head: t("Text"), cell: link },
      { head: t("System"), cell: (one) => one.systems.join(", ") },
      { head: t("Rater"), cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater) },
      { head: t("Score"), cell: (one) => figure(one.score, 2), look: "right" },
      { head: t("What was marked"), cell: (one) => [marked(one), comments(one)], look: "text" },
    ],
    links: files,
    nothing: { icon: "texts", title: t("Nothing is judged yet."), text: t("Judgments appear here as raters make them. You can read the texts now."), action: read },
  });
}

function tellDisagreements({ segment: _, severity: __, category: ___, commented: ____, ...compared }) {
  $("#disagreements").href = `${here}/reports/disagreements?${new URLSearchParams(compared)}`;
}

// read: of the document that the address names, begun before. newest: whether nothing else was asked for meanwhile.
async function show([documents, systems], read, newest) {
  say(said, "");
  const query = asked();
  if (!documents.length) return fill(place, empty({ icon: "texts", title: t("There are no texts yet."), text: t("Import the texts of your systems first."), action: h("a", { class: "button plain", href: `${here}/texts` }, t("Texts")) }));
  if (!query.document) {
    const { other: _, ...kept } = query;
    if (asksForm) history.replaceState(null, "", `?${new URLSearchParams(kept)}`);
    list = listOf([documents, systems]);
    form.hidden = true;
    place.classList.add("browse");
    tellDisagreements(query);
    return list.open();
  }
  history.replaceState(null, "", `?${new URLSearchParams(query)}${location.hash}`);
  const { document: _, segment: __, other: ___, ...wide } = query;
  $("#all").href = `?${new URLSearchParams(wide)}`;
  tellDisagreements(query);
  const reading = read?.query === JSON.stringify(query) ? read : new DocumentReading(query, namedIn(query));
  const draw = async () => {
    const judged = await ofDocument(query, systems, reading, () => tried(draw, newest));
    if (newest()) fill(place, filesOf(query), judged);
  };
  await draw();
  if (!newest()) return null;
  return location.hash && document.querySelector(location.hash)?.scrollIntoView();
}

async function tried(work, newest) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (!newest()) return null; // the answer to what was asked since is what counts
    if (error instanceof Unreachable) say(said, t("The server cannot be reached. Press the button to try again."));
    else tell(said, error.said ?? error.message);
    form.hidden = false; // its button asks again
    return null;
  }
}

// What could not be loaded is asked for again by the button.
let known = null;
let list = null;
let asksForm = false; // whether it was asked by the form, or by the address
let lastTurn = 0;
async function shown() {
  const turn = ++lastTurn;
  const newest = () => turn === lastTurn;
  const query = inAddress();
  const read = !known && query.document ? new DocumentReading(query, namedIn(query)) : null;
  known ??= await tried(choices, newest);
  if (known && newest()) await tried(() => show(known, read, newest), newest);
  if (newest()) place.removeAttribute("aria-busy");
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  asksForm = true;
  shown();
});
await shown();
main.dataset.ready = "yes";
