// A table with columns of somebody's own: its first rows, and what each column holds, as the map that the import takes.

import { fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { beginning } from "./guessing.js";
import { sheetOf, tableOf } from "./sheets.js";

const SHOWN = 5; // rows
const DELIMITERS = ["\t", ",", ";", "|"];
const MEANINGS = {
  "": t("not read"),
  document: t("document"),
  position: t("number of the segment"),
  source: t("source"),
  reference: t("a reference, named after the column"),
  system: t("name of the system"),
  target: t("output of that system"),
  output: t("outputs of one system, named after the column"),
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

// The cells of a line; with quotes, one may hold the delimiter.
function cellsOf(line, delimiter) {
  const cells = [];
  let rest = line;
  for (;;) {
    const quoted = /^\x22((?:[^\x22]|\x22\x22)*)\x22/.exec(rest);
    const cell = quoted ? quoted[0] : rest.split(delimiter, 1)[0];
    cells.push(quoted ? quoted[1].replaceAll("\"\"", "\"") : cell);
    if (!rest.slice(cell.length).startsWith(delimiter)) return cells;
    rest = rest.slice(cell.length + 1);
  }
}

// → {header, rows, delimiter, content} of a file with several columns, else null. content: what is sent instead of it.
export async function tableIn(file) {
  if (file.name.toLowerCase().endsWith(".xlsx")) {
    const rows = await sheetOf(file).catch(() => []);
    return rows.length > 1 ? { header: rows[0].map((one) => one.trim()), rows: rows.slice(1, 1 + SHOWN), delimiter: ",", content: tableOf(rows) } : null;
  }
  const lines = (await beginning(file).catch(() => "")).replace(/^\uFEFF/, "").split(/\r?\n/).filter(Boolean);
  const delimiter = DELIMITERS.reduce((best, one) => (cellsOf(lines[0] ?? "", one).length > cellsOf(lines[0] ?? "", best).length ? one : best));
  const rows = lines.slice(0, 1 + SHOWN).map((line) => cellsOf(line, delimiter));
  if (rows.length < 2 || rows[0].length < 2) return null;
  return { header: rows[0].map((one) => one.trim()), rows: rows.slice(1), delimiter, content: null };
}

function guesses(header) {
  const meant = header.map((name) => WORDS.find(([, words]) => words.test(name))?.[0] ?? "");
  const once = meant.map((one, n) => (one !== "reference" && meant.indexOf(one) !== n ? "" : one));
  const outputs = once.includes("system") || once.includes("target") ? "" : "output"; // without a system each column may be one
  return once.map((one, n) => one || (/^(id|key|comment|note|time|date)/i.test(header[n]) ? "" : outputs));
}

// Show the first rows with a choice above each column.
export function chooseColumns(place, found) {
  const guessed = guesses(found.header);
  const heads = found.header.map((name, n) => {
    const id = fresh("column");
    const choice = h("select", { id, data: { column: name } }, Object.entries(MEANINGS).map(([value, words]) => h("option", { value, selected: value === guessed[n] }, words)));
    return h("th", { scope: "col" }, h("label", { for: id, dir: "auto" }, name || "–"), h("br"), choice);
  });
  const rows = found.rows.map((cells) => h("tr", {}, found.header.map((_, n) => h("td", { class: "text", dir: "auto" }, cells[n] ?? ""))));
  const label = t("The first rows, and the meaning of each column");
  fill(place, h("h2", {}, label), h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows))));
}

// → the map of what is chosen. protocol: of the campaign, which judgments in the rows are of.
export function mapOf(place, found, protocol) {
  const chosen = [...place.querySelectorAll("[data-column]")].map((choice, n) => [choice.value, choice.dataset.column, n]).filter(([meaning]) => meaning);
  const named = (meaning) => Object.fromEntries(chosen.filter(([one]) => one === meaning).map(([, name]) => [name, name]));
  const columns = Object.fromEntries(chosen.filter(([one]) => !["reference", "output"].includes(one)).map(([one, name]) => [one, name]));
  const map = { delimiter: found.delimiter, quoting: true, columns };
  const position = chosen.find(([one]) => one === "position");
  if (position && found.rows.some((cells) => cells[position[2]]?.trim() === "0")) map.first_position = 0;
  if (columns.rater || columns.score) return { ...map, rows: "judgments", protocol };
  return { ...map, rows: "texts", references: named("reference"), outputs: named("output") };
}
