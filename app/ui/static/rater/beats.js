// Signs of life: what the rater does goes out with them, and so the lease goes on and reading counts as work.

import { call, comesBack, Unreachable } from "../shared/api.js";
import * as keep from "./keep.js";

const EVERY = 20_000; // milliseconds
const IDLE = 15 * 60_000; // after that the lease may expire
const MOST = 400;
const MOST_KEPT = 5000;
const SELDOM = 2000; // between two scrolls that are told

export class Beats extends EventTarget {
  constructor(task) {
    super();
    this.task = task;
    this.session = crypto.getRandomValues(new Uint32Array(2)).join("-");
    this.seq = 0;
    this.at = {};
    this.last = Date.now();
    this.events = keep.get(`b:${task}`) ?? [];
    keep.drop(`b:${task}`);
    this.stopped = new AbortController();
    this.listen();
    this.timer = setInterval(() => this.beat(), EVERY);
    this.note(document.hidden ? "hidden" : "view");
  }

  listen() {
    const { signal } = this.stopped;
    const on = (target, name, kind) => target.addEventListener(
      name,
      () => this.note(kind()),
      { signal, passive: true },
    );
    on(document, "visibilitychange", () => (document.hidden ? "hidden" : "visible"));
    on(window, "focus", () => "focus");
    on(window, "blur", () => "blur");
    for (const name of ["scroll", "pointermove", "keydown"]) {
      const kind = { scroll: "scroll", pointermove: "move", keydown: "key" }[name];
      addEventListener(
        name,
        () => Date.now() - this.last > SELDOM && this.note(kind),
        { signal, passive: true, capture: true },
      );
    }
    addEventListener("pagehide", () => this.leave(), { signal });
  }

  // Something was done at a place; without one it is where the last was.
  // of: what else is told, as of a file that is played.
  note(kind, item, segment, of = {}) {
    if (item) this.at = { item, segment: segment ?? null };
    this.last = Date.now();
    this.events.push(
      {
        session: this.session,
        seq: this.seq,
        kind,
        at_ms: Date.now(),
        item: this.at.item ?? null,
        segment: this.at.segment ?? null,
        ...of,
      },
    );
    this.seq += 1;
    if (this.events.length > MOST_KEPT) this.events.splice(0, this.events.length - MOST_KEPT);
  }

  async beat() {
    if (this.busy || (!this.events.length && (document.hidden || Date.now() - this.last > IDLE))) return;
    this.busy = true;
    const sent = this.events.slice(0, MOST);
    try {
      const answer = await call("POST", `/v1/tasks/${this.task}/heartbeat`, { body: { events: sent } });
      if (comesBack(answer.status)) return;
      if (answer.ok || answer.status === 422) this.events.splice(0, sent.length);
      this.dispatchEvent(new CustomEvent("beat", { detail: answer }));
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    } finally {
      this.busy = false;
    }
  }

  leave() {
    this.note("pagehide");
    if (this.events.length) keep.put(`b:${this.task}`, this.events);
    call(
      "POST",
      `/v1/tasks/${this.task}/heartbeat`,
      { body: { events: this.events.slice(0, MOST) }, keepalive: true },
    ).catch(() => {});
  }

  stop() {
    this.stopped.abort();
    clearInterval(this.timer);
    keep.drop(`b:${this.task}`);
  }
}
