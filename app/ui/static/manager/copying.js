// What goes to the clipboard, and the word on the button that says so for a moment.

import { announce, button } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { icon } from "./parts.js";

const SHOWN = 2500; // milliseconds

// text: null where there is nothing to copy. The button keeps its width, so nothing beside it moves.
export async function toClipboard(button, text) {
  const label = button.textContent;
  const done = text !== null && (await write(text));
  announce(done ? t("Copied.") : t("This browser did not allow the page to copy."));
  button.classList.toggle("is-done", done);
  button.classList.toggle("is-failed", !done);
  setTimeout(() => button.classList.remove("is-done", "is-failed"), SHOWN);
  return label;
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // it is no secure address, or not allowed
  }
}

const line = (text) => text.replaceAll("\u00AD", "").trim().replace(/\s+/g, " ");
const FORMULA = /^(?:[=@]|[+-].*\p{L})/u; // what a spreadsheet would run; numbers have signs, too

const NEGATIVE = /^−[\d.,]+$/u; // what a spreadsheet reads as a number only with a hyphen

// What a cell says; a time that is shown in short is said whole. What a spreadsheet would run has an apostrophe in
// front, as in files.
function cellText(cell) {
  const times = [...cell.querySelectorAll("time")];
  const text = times.reduce((said, time) => said.replace(line(time.innerText), time.dateTime), line(cell.innerText));
  if (NEGATIVE.test(text)) return text.replace("−", "-");
  return FORMULA.test(text) ? `'${text}` : text;
}

// A table as TSV: the rows that are shown, without boxes to choose them and steps to take.
export function tableText(table) {
  const cells = (row) => [...row.cells].filter((cell) => !cell.matches(".pick, .steps, [hidden]"));
  return [...table.rows].filter((row) => !row.hidden).map((row) => cells(row).map(cellText).join("\t")).join("\n");
}

// text: gives what the button copies.
export function copyButton(label, text) {
  const copy = button([icon("copy"), label], () => toClipboard(copy, text()), { class: "quiet copy" });
  return copy;
}
