// Which format a file is of, as far as its name and its first line tell.

import { encodingOf } from "./delimited.js";
import { isTestSet } from "./folders.js";
import { sheetOf } from "./sheets.js";

export const MOST = 100_000; // characters that are looked at
export const TABLE = "table";
const OF_SHEETS = ["task", "item", "segment"];
const OF_ERRORS = ["system", "doc", "rater", "source", "target", "category", "severity"];
const OF_SCORES = ["HITId", "WorkerId", "sys_id", "sid", "score"];
const OF_DOCUMENTS = ["username", "system", "docId", "isDocScore", "score"];

const has = (cells, wanted) => wanted.every((one) => cells.includes(one));

// Whether a workbook is one that raters were sent, with its hidden columns; one that cannot be read is told about in earnest.
async function isOurs(file) {
  const [header] = await sheetOf(file).catch(() => []);
  return !header || has(header, OF_SHEETS);
}

// → the name of a format, "" where the line does not tell.
export function formatOf(line) {
  if (/^\s*\{.*"type"\s*:\s*"plumbline"/.test(line)) return "jsonl";
  if (/^\s*\{.*"(src_text|hypothesis)"\s*:/.test(line)) return "wmt-jsonl";
  if (has(line.toLowerCase().split("\t").map((cell) => cell.trim()), OF_ERRORS)) return "mqm-tsv";
  if (has(line.split(/\s+/), OF_SCORES)) return "wmt-da";
  if (has(line.trim().split(","), OF_DOCUMENTS)) return "wmt-da-sqm";
  return /[^\t]\t[^\t]|[\x22\w)][,;|]\s?[\x22\w(]/.test(line) && !/^\s*[{[]/.test(line) ? TABLE : "";
}

// → the first characters of a file, unpacked, as far as its first lines may reach.
export async function beginning(file) {
  const packed = file.name.toLowerCase().endsWith(".gz");
  if (packed && !("DecompressionStream" in window)) return "";
  const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = stream.getReader();
  let [text, decoder] = ["", null];
  while (text.length < MOST) {
    const { value, done } = await reader.read();
    if (done) break;
    decoder ??= new TextDecoder(encodingOf(value));
    text += decoder.decode(value, { stream: true });
  }
  reader.cancel().catch(() => {}); // what is left of the file is not wanted, however it ends
  return text.slice(0, MOST);
}

// → as `formatOf`, of files that belong together, in a folder or not.
export async function guessedOf(files) {
  if (isTestSet(files)) return "mtme";
  const name = await guessed(files[0]);
  return !name && files.length > 1 && !/\.(json|jsonl|xml|xlsx)(\.gz)?$/i.test(files[0].name) ? "text" : name;
}

// → as `formatOf`, of a file. One that cannot be read tells nothing: reading it in earnest says why.
export async function guessed(file) {
  if (file.name.toLowerCase().endsWith(".xlsx")) return (await isOurs(file)) ? "xlsx" : TABLE;
  const found = formatOf((await beginning(file).catch(() => "")).split("\n", 1)[0]);
  return found === TABLE && !/\.(csv|tsv)(\.gz)?$/i.test(file.name) ? "" : found;
}
