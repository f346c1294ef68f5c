// Delimited tables as spreadsheets write them: in double quotes, a cell may hold the delimiter and line ends.

const DELIMITERS = ["\t", ",", ";", "|"];

// What a file holds as text: UTF-16 where its first bytes say so, else UTF-8.
export const textOf = async (file) => new TextDecoder(encodingOf(new Uint8Array(await file.slice(0, 2).arrayBuffer()))).decode(await file.arrayBuffer());

export function encodingOf([first, second]) {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

// → the first rows that hold anything, as lists of cells. most: how many.
export function rowsOf(text, delimiter, quoting, most) {
  const quoted = /\x22((?:[^\x22]|\x22\x22)*)\x22/y;
  const rows = [];
  let [at, cells] = [0, []];
  while (at <= text.length && rows.length < most) {
    quoted.lastIndex = at;
    const enclosed = quoting ? quoted.exec(text) : null;
    const after = enclosed ? quoted.lastIndex : at;
    const end = [delimiter, "\n"].map((mark) => text.indexOf(mark, after)).filter((place) => place >= 0).reduce((a, b) => Math.min(a, b), text.length);
    cells.push(enclosed ? enclosed[1].replaceAll("\"\"", "\"").replaceAll("\r\n", "\n") : text.slice(at, end).replace(/\r$/, ""));
    at = end + 1;
    if (text[end] === delimiter) continue;
    if (cells.length > 1 || cells[0]) rows.push(cells);
    cells = [];
  }
  return rows;
}

// The mark that cuts the first row into most cells.
export function delimiterOf(text) {
  const width = (delimiter) => rowsOf(text, delimiter, true, 1)[0]?.length ?? 0;
  return DELIMITERS.reduce((best, one) => (width(one) > width(best) ? one : best));
}

// Whether double quotes enclose cells: in tables with tabs they mostly belong to the texts.
export function quotesEnclose(text, delimiter) {
  const mark = delimiter === "|" ? "\\|" : delimiter;
  const cell = new RegExp(`(^|[\\n${mark}])\x22(?:[^\x22]|\x22\x22)*\x22(?=\\r?\\n|\\r?$|${mark})`, "g");
  const enclosed = cell.test(text);
  const within = text.replace(cell, "$1").includes("\"");
  return delimiter === "\t" ? enclosed && !within : enclosed || !within;
}
