// Files into a campaign: announced, sent, then checked or stored; what was read, and the place of what could not be.

import { csrf, Unreachable } from "../shared/api.js";
import { $, bringIntoView, fill, fresh, h } from "../shared/dom.js";
import { count, language, loadRefusals, t } from "../shared/messages.js";
import { chooseColumns, linesField, mapOf, tableIn } from "./columns.js";
import { isTestSet, ofPair, pairField, pathOf, visible } from "./folders.js";
import { formatOf, guessedOf, TABLE } from "./guessing.js";
import { api, change, facts, figure, foreign, get, here, Refused, resting, say, showNextStep, table, tell, told } from "./parts.js";
import { reading } from "./reading.js";
import { outcome } from "./waiting.js";
import { beginMedia } from "./media.js";

const form = $("#upload");
const said = $(".said", form);
const result = $("#result");
const known = JSON.parse(form.dataset.options);
const LONG = 600_000; // milliseconds: a file of a large campaign is read in one request
const SPLITS = { language_pair: t("language pair"), protocol: t("protocol") };
const FEW = 5; // files that are told by name
let byHand = false; // whether the format was chosen, so that no file changes it any more
let guessing = Promise.resolve();
let own = null; // the table whose columns are chosen here
const MAP = "columns.json";
const columns = $("#columns");

// A file of several campaigns. about: which of them the format can tell apart.
function splitField(about) {
  const id = fresh("option");
  const offered = Object.keys(SPLITS).filter((name) => about.includes(name));
  return h("div", { class: "field" }, h("label", { for: id }, t("Split into campaigns by")),
    h("select", { id, data: { option: "split", place: "options.split" } }, h("option", { value: "" }, t("nothing: it is one campaign")),
      offered.map((name) => h("option", { value: name }, SPLITS[name]))));
}

// What everybody is asked; what most files need no word about is folded away.
const ASKED = {
  lines: () => linesField({ data: { option: "lines", place: "options.lines" } }, "documents"),
  language_pair: () => (isTestSet(chosenFiles()) ? pairField(chosenFiles(), { data: { option: "language_pair", place: "options.language_pair" } }) : null),
};

function optionField([name, about]) {
  if (name === "split") return splitField(about);
  const [id, help] = [fresh("option"), fresh("help")];
  return h("div", { class: "field" }, h("label", { for: id }, name === "map" ? t("Column map, if you have one") : foreign(name.replaceAll("_", " "))),
    h("input", { id, data: { option: name, place: `options.${name}` }, maxlength: "1000", autocomplete: "off", "aria-describedby": help }),
    h("p", { class: "help", id: help }, foreign(about)));
}

function optionFields() {
  const options = Object.entries(known[form.elements.format.value] ?? {}).map((option) => [option, ASKED[option[0]]?.() ?? null]);
  const [asked, rest] = [options.filter(([, field]) => field).map(([, field]) => field), options.filter(([, field]) => !field).map(([option]) => optionField(option))];
  const fields = (some) => (some.length ? h("div", { class: "fields" }, some) : null);
  fill($("#format-options"), fields(asked), rest.length ? h("details", {}, h("summary", {}, t("Options of this format")), fields(rest)) : null);
}

const chosenFiles = () => [...form.elements.files.files, ...visible(form.elements.folder.files)];

// The format follows what is to be read where that tells it, until somebody chooses one.
async function guess() {
  const files = chosenFiles();
  const name = files.length ? await guessedOf(files) : formatOf(form.elements.pasted.value.trimStart().split("\n", 1)[0]);
  const before = form.elements.format.value;
  if (!byHand && name) form.elements.format.value = name;
  if (form.elements.format.value !== before || isTestSet(files)) optionFields();
  await preview();
}

// What is to be read as a table is shown with a choice of columns; a map among the files or a name of one goes before.
async function preview() {
  const [file, ...others] = chosenFiles();
  const pasted = form.elements.pasted.value.trim() ? new File([form.elements.pasted.value], "pasted") : null;
  const isTable = form.elements.format.value === TABLE && !others.length;
  own = isTable && (file ?? pasted) ? await tableIn(file ?? pasted) : null;
  if (own) chooseColumns(columns, own);
  else fill(columns);
}

// Names in addresses are keys; the place in a message names the file by it.
const keyOf = (name) => name.replace(/[^A-Za-z0-9._~:@+-]/g, "_").slice(-128) || "file";

function chosen(options) {
  const given = chosenFiles();
  const isTree = form.elements.format.value === "mtme" && isTestSet(given);
  const files = (isTree ? ofPair(given, options) : given).map((file) => [keyOf(isTree ? pathOf(file) : file.name), file]);
  if (form.elements.pasted.value.trim()) files.push(["pasted", new Blob([form.elements.pasted.value])]);
  return files;
}

// The files with the map of the columns that were chosen, where no other map is asked for.
function withMap(files, options) {
  if (!own || options.map || files.length !== 1) return files;
  options.map = MAP;
  const [[name, content]] = files;
  return [[name, own.content ?? content], [MAP, new Blob([JSON.stringify(mapOf(columns, own, form.dataset.protocol))])]];
}

async function send(path, content) {
  const headers = { "X-CSRF-Token": csrf(), "Content-Type": "application/octet-stream", Accept: "application/json" };
  let answer;
  try {
    answer = await fetch(path, { method: "PUT", headers, body: content, signal: AbortSignal.timeout(LONG) });
  } catch (error) {
    throw new Unreachable(String(error));
  }
  if (answer.ok) return;
  await loadRefusals();
  throw new Refused(told({ status: answer.status, body: await answer.json() }));
}

async function read(dryRun) {
  fill(result);
  await guessing;
  const options = {};
  for (const input of form.querySelectorAll("[data-option]")) {
    if (input.value.trim()) options[input.dataset.option] = input.value.trim();
  }
  const files = chosen(options);
  if (!files.length) {
    say(said, t("Choose a file, or paste one."));
    return;
  }
  const tellProgress = (text) => fill(result, h("p", { class: "quiet" }, text));
  tellProgress(t("Sending the files …"));
  try {
    await readSent(dryRun, withMap(files, options), options, tellProgress);
  } finally {
    if ($(":scope > .quiet:only-child", result)) fill(result);
  }
}

async function readSent(dryRun, sent, options, tellProgress) {
  const announced = await change("POST", `${api}/imports`, { body: { format: form.elements.format.value, options }, said });
  if (!announced) return;
  const path = `${api}/imports/${announced.body.import}`;
  try {
    for (const [name, content] of sent) await send(`${path}/files/${encodeURIComponent(name)}`, content);
  } catch (error) {
    if (error instanceof Unreachable) say(said, t("The server cannot be reached. Try again in a moment."));
    else tell(said, error.said ?? error.message);
    return;
  }
  tellProgress(t("Reading the files …"));
  const query = new URLSearchParams({ dry_run: dryRun, skip_bad_lines: form.elements.skip.checked });
  const refused = ({ status }) => {
    if (status !== 422) return;
    for (const folded of form.querySelectorAll("#format-options details")) folded.open = true;
    said.append("\n", h("span", { lang: language() }, t("Is the file in another format? Choose it above.")));
  };
  const done = await change("POST", `${path}/commit?${query}`, { said, timeout: LONG, refused });
  if (!done) return;
  if (!dryRun) await showNextStep();
  fill(result, report(done.body));
  bringIntoView(result, "start");
  if (!dryRun) await held();
}

// A table of two columns: figures stand beside their words.
function short(shown) {
  shown.classList.add("short");
  return shown;
}

const counts = (title, found, heading = h("h3", {}, title)) => {
  const rows = Object.entries(found).filter((row) => row[1] && row[0] !== "data_version");
  return rows.length ? [heading, short(table(title, [[t("What"), (row) => foreign(row[0].replaceAll("_", " "))], [t("How many"), (row) => figure(row[1]), "right"]], rows))] : null;
};

function mapped(found) {
  const rows = Object.entries(found).flatMap(([noun, names]) => Object.entries(names).map(([key, name]) => [noun, key, name]));
  return rows.length ? [h("h3", {}, t("Names that became keys")), table(t("Names that became keys"),
    [[t("Noun"), (row) => row[0]], [t("Key"), (row) => row[1]], [t("Name"), (row) => row[2], "text"]], rows)] : null;
}

function badLines({ count: n, first }) {
  if (!n) return null;
  return [h("h3", {}, t("Lines left out: {n}", { n: figure(n) })), table(t("Lines left out"),
    [[t("Place"), (row) => row.loc.join(" › ")], [t("Why"), (row) => foreign(row.msg), "text"]], first)];
}

const namesOf = (files) => (files.length > FEW ? count(files.length, "{n} file", "{n} files") : files.join(", "));

function report(body) {
  const ours = body.files.includes(MAP) ? 1 : 0; // the line of the columns that were chosen here
  return [
    h("h2", {}, body.dry_run ? t("As it would be stored") : t("Stored")),
    body.dry_run ? null : $("#next-step"),
    h("p", {}, count(body.lines - ours, "{n} line of {files}.", "{n} lines of {files}.", { files: namesOf(body.files.filter((name) => name !== MAP)) })),
    counts(body.dry_run ? t("Would be stored") : t("Stored"), body.stored, null), counts(t("Repaired"), body.repaired),
    counts(t("Dropped"), body.dropped), counts(t("Notes"), body.notes), badLines(body.bad_lines), mapped(body.mapped),
  ];
}

const held = reading($("#held"), async () => {
  const place = $("#held");
  const answer = await get(`${api}/reports/ingest`);
  const found = answer.job ? await outcome({ status: 202, body: answer }, { place, said }) : answer;
  if (!found) return;
  fill(place, found.segments ? ingest(found) : h("p", {}, t("Nothing yet. Choose a file above.")));
});

// The first places of a finding, by segment, each with its systems and a way to its texts.
function where({ n, examples }) {
  const places = new Map();
  for (const example of examples) {
    const [place, system] = example.split(" ").reverse(); // of a source there is no system
    places.set(place, [...(places.get(place) ?? []), ...(system ? [system] : [])]);
  }
  const lines = [...places].map(([place, systems]) => h("li", {},
    h("a", { href: `${here}/items?${new URLSearchParams({ document: place.slice(0, place.lastIndexOf(":")) })}` }, place), systems.length ? ` ${systems.join(", ")}` : null));
  const left = n - examples.length;
  const more = [...lines.splice(FEW), ...(left ? [h("li", {}, count(left, "and {n} more", "and {n} more"))] : [])];
  return h("div", {}, h("ul", { class: "places" }, lines), more.length ? h("details", {}, h("summary", {}, t("Show more")), h("ul", { class: "places" }, more)) : null);
}

function ingest(body) {
  return [
    facts([
      [t("Documents"), figure(body.documents)], [t("Segments"), figure(body.segments)], [t("Words"), figure(body.words)],
      [t("References"), body.references.join(", ") || t("none")],
    ]),
    table(t("Systems"), [
      [t("System"), (one) => one.system], [t("Outputs"), (one) => figure(one.outputs), "right"],
      [t("Missing"), (one) => figure(one.missing), "right"], [t("Empty"), (one) => figure(one.empty), "right"],
      [t("Identical"), (one) => figure(one.identical), "right"], [t("Words"), (one) => figure(one.words), "right"],
    ], body.systems),
    body.findings.length ? [h("h3", {}, t("To look at")), table(t("To look at"), [
      [t("What"), (one) => foreign(one.what), "text"], [t("How many"), (one) => figure(one.n), "right"], [t("Where"), where, "text"],
    ], body.findings)] : h("p", {}, t("No problems were found.")),
    h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/reports/ingest` }, "JSON")),
  ];
}

form.elements.format.addEventListener("change", () => {
  byHand = true;
  optionFields();
  guessing = preview();
});
for (const field of [form.elements.files, form.elements.folder, form.elements.pasted]) {
  field.addEventListener("change", () => {
    guessing = guess();
  });
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), () => read(false));
});
$("[data-check]", form).addEventListener("click", (event) => resting(event.currentTarget, () => read(true)));
optionFields();
await Promise.all([held(), beginMedia()]);
