// A glossary as lines of a text field: the term, a tab, and the translation that is wanted.

import { t } from "../shared/messages.js";
import { delimiterOf, quotesEnclose, rowsOf } from "./delimited.js";
import { Unreadable } from "./schema_form.js";

export const linesOf = (terms) => (terms ?? []).map(({ term, translation }) => `${term}\t${translation}`).join("\n");

// → [{term, translation}]; a line may be CSV, with or without quotes. Throws Unreadable.
export function termsOf(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  return lines.map((line) => {
    const [term, translation] = cells(line);
    if (!term || !translation) throw new Unreadable(t("“{line}” is not a term and its translation.", { line }), "settings.glossary");
    return { term, translation };
  });
}

function cells(line) {
  if (line.includes("\t")) return line.split("\t").map((cell) => cell.trim());
  const found = line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g);
  return [...found].map(([, cell]) => cell.trim().replace(/^"([^]*)"$/, "$1").replaceAll('""', '"'));
}

// A file's text in the form of the field: JSON is a list of {term, translation} or of pairs. A first line of names is left out.
export function fileLines(text) {
  const body = text.replace(/^\ufeff/, "");
  if (!body.trimStart().startsWith("[")) return tableLines(body);
  return linesOf(JSON.parse(body).map((one) => (Array.isArray(one) ? { term: one[0], translation: one[1] } : one)));
}

function tableLines(text) {
  const delimiter = delimiterOf(text);
  const rows = rowsOf(text, delimiter, quotesEnclose(text, delimiter), Infinity).map((cells) => cells.map((cell) => cell.replace(/\s+/g, " ").trim()));
  if (/^(term|source)$/i.test(rows[0]?.[0])) rows.shift();
  return rows.map(([term, translation = ""]) => `${term}\t${translation}`).join("\n");
}
