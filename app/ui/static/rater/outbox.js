// Answers on their way. Each is kept in the browser (`pending.js`) before it is sent, and stays until the server has it
// on disk. Whether all of them are there is told by `saving.js`.
//
// A request names the revision that its answer was made on. If the acknowledgement of an earlier one was lost, the
// server says 412 with what it has; where that is something this browser sent, the next request builds on it.

import { call, comesBack, Unreachable } from "../shared/api.js";
import * as keep from "./keep.js";
import { Pending, same } from "./pending.js";
import { outcome, stateOf } from "./saving.js";

const SETTLES = 500; // milliseconds without a further change
const LONGEST = 10_000;
const SOON = 2000; // after a failure, where the rater goes on meanwhile
const ROUNDS = 5;

export class Outbox extends EventTarget {
  constructor() {
    super();
    this.pending = new Pending();
    this.due = new Map(); // key → when it may be sent
    this.parked = new Map(); // key → why it is not sent again: conflict or refused
    this.away = false; // whether the last request met no server
    this.signedOut = false;
    this.wait = 0;
    this.timer = null;
    this.running = null;
    this.held = true; // until somebody listens to what becomes of the answers
    addEventListener("online", () => this.flush());
    addEventListener("pagehide", () => this.lastWords());
    keep.watch(() => this.turned()); // another window has sent some, or keeps more
  }

  get waiting() {
    return this.pending.keys.filter((key) => !this.parked.has(key));
  }

  // What `saving.js` asks.
  get facts() {
    const { keys } = this.pending;
    const why = (kind) => keys.filter((key) => this.parked.get(key) === kind).length;
    const [conflicts, refused] = [why("conflict"), why("refused")];
    const { away, signedOut } = this;
    return { waiting: keys.length - conflicts - refused, conflicts, refused, away, signedOut };
  }

  get state() {
    return stateOf(this.facts);
  }

  // Whether a key is that of the latest answer at an address.
  latest(key, task, place) {
    return this.pending.latest({ task, place }) === key;
  }

  entry(task, place) {
    const key = this.pending.latest({ task, place });
    return key && keep.get(key);
  }

  // All of a task, by place: what is kept is gone through once, not once for each of a thousand answers.
  entries(task) {
    const all = this.pending.keys.map((key) => keep.get(key)).filter((entry) => entry.task === task);
    return new Map(all.map((entry) => [entry.place, entry]));
  }

  // Put an answer on its way. seen: the revision that it was made on.
  put(task, place, path, payload, seen, { now = false } = {}) {
    const key = this.pending.add({ task, place, path, payload, seen });
    this.due.set(key, Date.now() + (now ? 0 : SETTLES));
    this.wait = Math.min(this.wait, SOON);
    this.turned();
    this.plan();
  }

  // Forget an answer that is not to be sent.
  take(task, place) {
    this.pending.all({ task, place }).forEach((key) => this.forget(key));
    this.turned();
  }

  forget(key) {
    keep.drop(key);
    this.due.delete(key);
    this.parked.delete(key);
  }

  turned() {
    this.dispatchEvent(new Event("state"));
  }

  // The session has ended: nothing is sent any more, and all of it stays in the browser for the next one.
  signOut() {
    this.signedOut = true;
    clearTimeout(this.timer);
    this.turned();
  }

  begin() {
    this.held = false;
    this.pending.tidy();
    this.turned();
    this.plan();
  }

  plan() {
    clearTimeout(this.timer);
    if (this.held || this.signedOut) return;
    const waiting = this.waiting;
    if (!waiting.length) return;
    const soonest = Math.min(...waiting.map((key) => this.due.get(key) ?? 0));
    this.timer = setTimeout(() => this.run(), Math.max(soonest - Date.now(), this.wait, 0));
  }

  // Send everything that waits, now; also what came while a round was under way. → whether all of a task arrived.
  async flush(task) {
    for (let round = 0; round < ROUNDS && this.waiting.length && !this.signedOut; round += 1) {
      this.due.clear();
      this.wait = 0;
      clearTimeout(this.timer);
      await this.run();
      if (this.away) break;
    }
    return !this.entries(task).size;
  }

  run() {
    if (this.held || this.signedOut) return undefined;
    this.running ??= this.locked(() => this.sendAll()).finally(() => {
      this.running = null;
      this.plan();
    });
    return this.running;
  }

  // One tab at a time, where the browser can say so; without, the revisions keep order all the same.
  locked(work) {
    return navigator.locks ? navigator.locks.request("plumbline-outbox", work) : work();
  }

  async sendAll() {
    for (const key of this.waiting) {
      if ((this.due.get(key) ?? 0) > Date.now()) continue;
      const entry = keep.get(key);
      if (!entry) continue; // another tab sent it
      if (!(await this.send(key, entry))) break;
    }
    this.turned();
  }

  // → whether it makes sense to go on with the next.
  async send(key, entry) {
    let answer;
    try {
      answer = await this.ask(entry);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      return this.later(null);
    }
    if (comesBack(answer.status)) return this.later(answer.retryAfter);
    Object.assign(this, { wait: 0, away: false });
    const kind = outcome(answer);
    if (kind === "signed-out") this.signOut();
    else if (kind === "stored") this.stored(key, entry, answer.body.revision, answer.body);
    else if (kind === "overtaken") this.overtaken(key, entry, answer);
    else this.park(key, "refused", { ...entry, answer });
    return kind !== "signed-out";
  }

  ask(entry, how = {}) {
    const seen = this.pending.goes(entry);
    return call("PUT", entry.path, { body: entry.payload, headers: { "If-Match": `"${seen}"` }, ...how });
  }

  later(seconds) {
    this.wait = seconds ? seconds * 1000 : Math.min(Math.max(this.wait * 2, 500), LONGEST);
    this.away = true;
    this.turned();
    return false;
  }

  // What was typed since stays, unless it says the same.
  stored(key, { task, place, payload }, revision, said) {
    const all = this.pending.all({ task, place });
    const now = this.entry(task, place);
    const done = now && same(now.payload, payload) ? all : all.filter((one) => one <= key);
    this.pending.came({ task, place }, revision);
    done.forEach((one) => this.forget(one));
    this.turned();
    this.tell("stored", { task, place, payload, revision, said });
  }

  overtaken(key, entry, answer) {
    const { stored } = answer.body;
    if (this.pending.went(entry).sent.some((one) => same(one, stored.payload))) {
      const now = this.entry(entry.task, entry.place) ?? entry;
      this.pending.came(entry, stored.revision);
      if (same(now.payload, stored.payload)) this.stored(key, now, stored.revision, {});
      return;
    }
    this.pending.forgetSent(entry);
    this.park(key, "conflict", { ...entry, stored });
  }

  // It is not sent again. What was typed since is sent before anybody is asked.
  park(key, kind, detail) {
    this.parked.set(key, kind);
    this.turned();
    if (this.latest(key, detail.task, detail.place)) this.tell(kind, detail);
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  // The page goes away: what waits is sent once more without waiting for the answer. It is kept all the same.
  lastWords() {
    if (this.signedOut) return;
    for (const key of this.waiting) {
      const entry = keep.get(key);
      if (!entry) continue;
      this.ask(entry, { keepalive: true }).catch(() => {});
    }
  }
}
