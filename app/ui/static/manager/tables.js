// Tables of results: a click on a heading sorts, a field filters, a button copies what is shown as TSV.

import { h } from "../shared/dom.js";
import { language, t } from "../shared/messages.js";
import { tableText, toClipboard } from "./copying.js";

const MANY = 10; // rows from which on a table can be filtered
const COMMA = language() === "de";
const NUMBER = /[−-]?(?:\d[\d.,]*|[.,]\d+)(?:e-?\d+)?/;

// Whatever is in a cell, as a number by which rows are sorted; null where there is none.
export function numberIn(text) {
  const match = NUMBER.exec(text);
  if (!match) return null;
  const plain = COMMA ? match[0].replaceAll(".", "").replace(",", ".") : match[0].replaceAll(",", "");
  const value = Number(plain.replace("−", "-"));
  return Number.isNaN(value) ? null : value;
}

const words = (row, n) => row.cells[n]?.textContent.trim() ?? "";

function comparison(rows, n) {
  const texts = rows.map((row) => words(row, n)).filter((text) => text && text !== "–");
  const numeric = texts.filter((text) => numberIn(text) !== null && /^[^\p{L}]*\d/u.test(text)).length * 2 > texts.length;
  const key = (row) => (numeric ? numberIn(words(row, n)) : words(row, n) || null);
  const by = numeric ? (a, b) => a - b : new Intl.Collator(language(), { numeric: true }).compare;
  return (sign) => (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null); // what is missing stays below
    return sign * by(x, y);
  };
}

function sortable(table) {
  const body = table.tBodies[0];
  const first = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  for (const [n, head] of heads.entries()) {
    if (head.tagName !== "TH" || !head.textContent.trim()) continue;
    const label = [...head.childNodes];
    const button = h("button", { type: "button", class: "sort" });
    button.append(...label);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
      const order = next === undefined ? "ascending" : next;
      for (const other of heads) other.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order);
      table.classList.toggle("sorted", Boolean(order));
      const compare = order && comparison(first, n)(order === "ascending" ? 1 : -1);
      body.append(...(compare ? [...first].sort(compare) : first));
    });
  }
}

function filter(table, label) {
  const rows = [...table.tBodies[0].rows];
  const left = h("span", { class: "quiet", role: "status" });
  const field = h("input", { type: "search", "aria-label": t("Filter: {table}", { table: label }), placeholder: t("Filter rows") });
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
    const shown = rows.filter((row) => !row.hidden).length;
    left.textContent = shown === rows.length ? "" : t("{shown} of {all} rows", { shown, all: rows.length });
  });
  return [field, left];
}

// On a phone a row is a card, where each cell says what it is. The page does not: it would be a fifth longer.
function labelCells(table) {
  const headings = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  for (const row of table.tBodies[0].rows) for (const [n, cell] of [...row.cells].entries()) cell.dataset.label = headings[n];
}

// box: the region round a table. The tools go into the place before it, which the page keeps free.
export function enhanceTable(box) {
  const table = box.querySelector("table");
  if (!table?.tHead || !table.tBodies[0]?.rows.length) return;
  if (table.matches(".cards")) labelCells(table);
  const label = box.getAttribute("aria-label") ?? "";
  const tools = box.previousElementSibling?.classList.contains("table-tools") ? box.previousElementSibling : h("div", { class: "table-tools unprinted" });
  if (!tools.parentNode) box.before(tools);
  if (table.tBodies[0].rows.length > 1) sortable(table);
  const copy = h("button", { type: "button", class: "quiet copy" }, t("Copy as TSV"));
  copy.addEventListener("click", () => toClipboard(copy, tableText(table)));
  tools.replaceChildren(...(table.tBodies[0].rows.length > MANY ? filter(table, label) : []), copy);
}

export function enhanceTables(within) {
  for (const box of within.querySelectorAll("[data-table]")) enhanceTable(box);
}
