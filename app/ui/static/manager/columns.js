// A table with columns of somebody's own: its first rows, and what each column holds, as the map that the import takes.

import { fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { delimiterOf, quotesEnclose, rowsOf } from "./delimited.js";
import { beginning, MOST } from "./guessing.js";
import { sheetOf, tableOf } from "./sheets.js";

const SHOWN = 5; // rows
const WIDE = 25; // characters
const MEANINGS = {
  "": t("not read"),
  document: t("document"),
  position: t("segment number"),
  source: t("source"),
  reference: t("a reference"),
  system: t("name of the system"),
  target: t("output of that system"),
  output: t("outputs of a system"),
  domain: t("domain"),
  rater: t("rater"),
  score: t("score"),
};
// What a heading says by itself, the first that fits.
const WORDS = [
  ["document", /^doc|document|article/i], ["position", /^(seg|segment|line|position|nr|no|number|index)\b|seg_?id|segment_?id/i],
  ["source", /^(src|source)/i], ["reference", /^ref/i], ["domain", /^(domain|genre)/i], ["rater", /rater|annotator|evaluator|judge/i],
  ["score", /score|rating/i], ["system", /^(system|model|engine)/i], ["target", /^(target|tgt|output|translation|hypothesis|mt)$/i],
];

// → {header, rows, delimiter, quoting, text, content} of a file with several columns, else null. text: its beginning, null
// of a workbook. content: what is sent instead of it.
export async function tableIn(file) {
  if (file.name.toLowerCase().endsWith(".xlsx")) {
    const rows = await sheetOf(file).catch(() => []);
    return rows.length > 1 ? { header: rows[0].map((one) => one.trim()), rows: rows.slice(1, 1 + SHOWN), delimiter: ",", quoting: true, text: null, content: tableOf(rows) } : null;
  }
  const text = (await beginning(file).catch(() => "")).replace(/^\uFEFF/, "");
  const delimiter = delimiterOf(text);
  const whole = text.length < MOST ? text : text.slice(0, text.lastIndexOf("\n") + 1); // the last line may be cut off
  const quoting = quotesEnclose(whole, delimiter);
  const [header, ...rows] = rowsOf(text, delimiter, quoting, 1 + SHOWN);
  if (!rows.length || header.length < 2) return null;
  return { header: header.map((one) => one.trim()), rows, delimiter, quoting, text, content: null };
}

function guesses(header) {
  const meant = header.map((name) => WORDS.find(([, words]) => words.test(name))?.[0] ?? "");
  const once = meant.map((one, n) => (one !== "reference" && meant.indexOf(one) !== n ? "" : one));
  const outputs = once.includes("system") || once.includes("target") ? "" : "output"; // without a system each column may be one
  return once.map((one, n) => one || (/^(id|key|comment|note|time|date)/i.test(header[n]) ? "" : outputs));
}

// Whether the lines of a file without documents are one text, or one each.
export function linesField(attributes, value) {
  const [id, help] = [fresh("lines"), fresh("help")];
  return h("div", { class: "field" }, h("label", { for: id }, t("The lines are")),
    h("select", { id, "aria-describedby": help, ...attributes }, h("option", { value: "" }, t("one text, in this order")), h("option", { value }, t("texts of their own, one each"))),
    h("p", { class: "help", id: help }, t("Tests compare whole texts, so no difference can be significant with only one. Choose “one each” if the lines have nothing to do with each other.")));
}

function quotesField(found, drawRows) {
  const [id, help] = [fresh("quotes"), fresh("help")];
  const choose = ({ target }) => {
    found.quoting = target.value === "enclose";
    found.rows = rowsOf(found.text, found.delimiter, found.quoting, 1 + SHOWN).slice(1);
    drawRows();
  };
  const options = [["enclose", t("enclose cells")], ["text", t("belong to the texts")]];
  return h("div", { class: "field" }, h("label", { for: id }, t("Double quotes")),
    h("select", { id, "aria-describedby": help, onchange: choose }, options.map(([value, words]) => h("option", { value, selected: (value === "enclose") === found.quoting }, words))),
    h("p", { class: "help", id: help }, t("Change this if a line is refused because of a double quote.")));
}

// Show the first rows with a choice above each column.
export function chooseColumns(place, found) {
  const guessed = guesses(found.header);
  const body = h("tbody", {});
  const lines = linesField({ data: { eachRow: "" } }, "each");
  const look = (n) => (found.rows.some((cells) => (cells[n] ?? "").length > WIDE) ? "text" : "");
  const drawRows = () => fill(body, found.rows.map((cells) => h("tr", {}, found.header.map((_, n) => h("td", { class: look(n), dir: "auto" }, cells[n] ?? "")))));
  const chosen = () => [...place.querySelectorAll("[data-column]")].map((choice) => choice.value);
  const offerLines = () => (lines.hidden = chosen().some((one) => ["document", "rater", "score"].includes(one)));
  const heads = found.header.map((name, n) => {
    const id = fresh("column");
    const choice = h("select", { id, data: { column: name }, onchange: offerLines }, Object.entries(MEANINGS).map(([value, words]) => h("option", { value, selected: value === guessed[n] }, words)));
    return h("th", { scope: "col" }, h("label", { for: id, dir: "auto" }, name || "–"), h("br"), choice);
  });
  const label = t("The first rows, and the meaning of each column");
  drawRows();
  fill(place, h("h2", {}, label), h("p", { class: "help" }, t("Systems and references are named after the heading of their column.")),
    h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)),
    h("div", { class: "fields" }, lines, found.text ? quotesField(found, drawRows) : null));
  offerLines();
}

// → the map of what is chosen. protocol: of the campaign, which judgments in the rows are of.
export function mapOf(place, found, protocol) {
  const chosen = [...place.querySelectorAll("[data-column]")].map((choice, n) => [choice.value, choice.dataset.column, n]).filter(([meaning]) => meaning);
  const named = (meaning) => Object.fromEntries(chosen.filter(([one]) => one === meaning).map(([, name]) => [name, name]));
  const columns = Object.fromEntries(chosen.filter(([one]) => !["reference", "output"].includes(one)).map(([one, name]) => [one, name]));
  const map = { delimiter: found.delimiter, quoting: found.quoting, columns };
  const position = chosen.find(([one]) => one === "position");
  if (position && found.rows.some((cells) => cells[position[2]]?.trim() === "0")) map.first_position = 0;
  if (columns.rater || columns.score) return { ...map, rows: "judgments", protocol };
  if (!columns.document && place.querySelector("[data-each-row]").value) map.each_row = true;
  return { ...map, rows: "texts", references: named("reference"), outputs: named("output") };
}
