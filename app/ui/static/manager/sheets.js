// The first sheet of a workbook (.xlsx) as rows of texts: a zip archive of XML, which the browser can read by itself.

const END = 0x06054b50; // of the archive's directory
const MOST = 256 * 1024 * 1024; // bytes, unpacked

// → the parts of the archive, name → a function that reads it.
function parts(view) {
  let end = view.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
  if (end < 0) throw new TypeError("no zip archive");
  const found = new Map();
  let at = view.getUint32(end + 16, true);
  for (let n = view.getUint16(end + 10, true); n; n -= 1) {
    const [method, packed, size] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const header = view.getUint32(at + 42, true);
    const key = new TextDecoder().decode(new Uint8Array(view.buffer, at + 46, name));
    found.set(key, () => unpacked(view, header, method, packed, size));
    at += 46 + name + extra + comment;
  }
  return found;
}

async function unpacked(view, header, method, packed, size) {
  if (size > MOST) throw new TypeError("unpacks to too much");
  const begin = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
  const stream = new Blob([new Uint8Array(view.buffer, begin, packed)]).stream();
  const text = await new Response(method ? stream.pipeThrough(new DecompressionStream("deflate-raw")) : stream).text();
  return new DOMParser().parseFromString(text, "application/xml");
}

const texts = (element) => [...element.getElementsByTagName("t")].filter((one) => one.parentNode.nodeName !== "rPh").map((one) => one.textContent).join("");

// "BC7" → 54: the number of its column, from 0.
const column = (place) => [.../^[A-Z]+/.exec(place)[0]].reduce((n, letter) => 26 * n + letter.charCodeAt(0) - 64, 0) - 1;

function cell(element, shared) {
  const type = element.getAttribute("t");
  if (type === "inlineStr") return texts(element);
  const value = element.getElementsByTagName("v")[0]?.textContent ?? "";
  return type === "s" ? shared[Number(value)] ?? "" : value;
}

function row(element, shared) {
  const cells = [];
  for (const one of element.getElementsByTagName("c")) {
    const place = one.getAttribute("r");
    const at = place ? column(place) : cells.length;
    while (cells.length < at) cells.push("");
    cells.push(cell(one, shared));
  }
  return cells;
}

// Where the first sheet of the book stands in the archive.
async function firstSheet(archive) {
  const [book, links] = await Promise.all(["xl/workbook.xml", "xl/_rels/workbook.xml.rels"].map((name) => archive.get(name)()));
  const id = book.getElementsByTagName("sheet")[0].getAttribute("r:id");
  const link = [...links.getElementsByTagName("Relationship")].find((one) => one.getAttribute("Id") === id);
  const target = link.getAttribute("Target");
  return target.startsWith("/") ? target.slice(1) : `xl/${target}`;
}

// → rows of texts, all as wide as the first. Throws TypeError for what is no workbook.
export async function sheetOf(file) {
  const archive = parts(new DataView(await file.arrayBuffer()));
  if (!archive.has("xl/workbook.xml")) throw new TypeError("no workbook");
  const strings = archive.has("xl/sharedStrings.xml") ? await archive.get("xl/sharedStrings.xml")() : null;
  const shared = strings ? [...strings.getElementsByTagName("si")].map(texts) : [];
  const sheet = await archive.get(await firstSheet(archive))();
  const rows = [...sheet.getElementsByTagName("row")].map((one) => row(one, shared)).filter((cells) => cells.some((one) => one.trim()));
  const width = rows[0]?.length ?? 0;
  return rows.map((cells) => [...cells, ...Array(Math.max(0, width - cells.length)).fill("")]);
}

// Rows as a file of the format `table`: quoted cells with commas between.
export function tableOf(rows) {
  const quoted = (text) => `"${text.replaceAll("\"", "\"\"")}"`;
  return new Blob([rows.map((cells) => `${cells.map(quoted).join(",")}\n`).join("")]);
}
