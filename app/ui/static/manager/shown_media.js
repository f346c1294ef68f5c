// Files of media in the places of texts, as a manager sees them: a text that begins with <audio>, <video> or <img>.

import { Player } from "../rater/player.js";

const ELEMENT = /^\s*<(?:audio|video|img)(?=[\s/>])/i;
const OTHER = /[^A-Za-z0-9._~:@+-]+/g; // what a key cannot hold: such a name is stored in a readable form with a digest

// The name of the file, as far as it can be told here, and what follows the element; null for a text that is a text.
function elementOf(text) {
  if (!ELEMENT.test(text ?? "")) return null;
  const { body } = new DOMParser().parseFromString(text, "text/html");
  const element = body.querySelector("audio, video, img");
  const source = element?.getAttribute("src") ?? element?.querySelector("source")?.getAttribute("src");
  if (!source || /^(?:[\\/]{2}|[a-z][a-z0-9+.-]*:\/\/)/i.test(source)) return null;
  const parts = source.split("?")[0].split(/[\\/]+/).filter((part) => part && part !== ".");
  if (parts[0] === "assets") parts.shift();
  element.remove();
  return { name: parts.join(":"), transcript: body.textContent.trim() || null };
}

class Files {
  constructor(api) {
    this.api = api;
    this.rules = { hear_all: false, most_plays: null };
  }

  note() {} // nobody counts what a manager hears

  async find(name) {
    return { address: `${this.api}/media/${encodeURIComponent(name)}/content`, heard: true, plays_left: null };
  }
}

class ShownMedia {
  constructor(rows, api) {
    this.rows = rows;
    this.files = new Files(api);
  }

  // A player for a text; null where it is shown as a text.
  fileOf(text, label) {
    const element = elementOf(text);
    const row = element && this.row(element.name);
    if (!row || row.kind === "captions") return null;
    return new Player({ ...row, id: row.name, transcript: element.transcript ?? row.transcript }, this.files, { label });
  }

  row(name) {
    const start = `${name.replace(OTHER, "_").slice(0, 119)}~`;
    return this.rows.get(name) ?? (name.search(OTHER) < 0 ? undefined : [...this.rows.values()].find((row) => row.name.startsWith(start)));
  }
}

// texts: all that are shown; the files are asked for only where one of them is media. all: reads a list to its end.
export async function loadShownMedia(texts, all, api) {
  const rows = texts.some((text) => elementOf(text)) ? await all(`${api}/media`) : [];
  return new ShownMedia(new Map(rows.map((row) => [row.name, row])), api);
}
