// Drives the real outbox by events, against a made-up server and browser; prints the state after each as JSON.
// Arguments: the folder of the rater's modules, and a list of lists of events.

const [folder, given] = process.argv.slice(2);
const cases = JSON.parse(given);
const kept = new Map();
let clock = 1_000_000;
let answer;
const heard = new Map();

globalThis.localStorage = {
  getItem: (name) => kept.get(name) ?? null,
  setItem: (name, text) => void kept.set(name, String(text)),
  removeItem: (name) => void kept.delete(name),
  key: (n) => [...kept.keys()][n] ?? null,
  get length() {
    return kept.size;
  },
};
globalThis.document = { querySelector: () => null };
globalThis.addEventListener = (name, told) => heard.set(name, [...(heard.get(name) ?? []), told]);
globalThis.setTimeout = () => 0; // nothing happens by itself
Date.now = () => (clock += 1000);
globalThis.fetch = async (path) => answer(path);

const { Outbox } = await import(`${folder}/outbox.js`);
const revisions = new Map();
const json = (status, body, path) => new Response(JSON.stringify(body), { status, headers: { path } });
const SERVER = {
  reached: (path) => {
    revisions.set(path, (revisions.get(path) ?? 0) + 1);
    return json(200, { revision: revisions.get(path) });
  },
  "busy server": () => json(503, {}),
  "no server": () => {
    throw new TypeError("away");
  },
  "link ended": () => json(401, {}),
  "other session": () => json(403, { type: "urn:plumbline:problem:not-our-page" }),
  overtaken: () => json(412, { stored: { revision: 9, payload: { score: -1 } } }),
  "not taken": () => json(409, { title: "The campaign is closed" }),
};

let score = 0;
const EVENTS = {
  judged: (box) => box.put("t", "1/1", "/t/1/1", { score: (score += 1) }, 0, { now: true }),
  "judged another": (box) => box.put("t", "1/2", "/t/1/2", { score: (score += 1) }, 0, { now: true }),
  chosen: (box) => box.take("t", "1/1"),
  "sent by another window": () => {
    for (const key of [...kept.keys()]) kept.delete(key);
    for (const told of heard.get("storage") ?? []) told({ key: "plumbline", newValue: null });
  },
};

async function play(events) {
  kept.clear();
  heard.clear();
  const box = new Outbox();
  let said = null;
  box.addEventListener("state", () => (said = box.state));
  box.begin();
  const states = [];
  for (const event of events) {
    if (EVENTS[event]) EVENTS[event](box);
    else {
      answer = SERVER[event];
      await box.flush("t");
    }
    // What a page shows is what it was told last; what is kept tells whether that is true.
    states.push([said, box.pending.keys.length]);
  }
  return states;
}

const told = [];
for (const events of cases) told.push(await play(events));
process.stdout.write(JSON.stringify(told));
