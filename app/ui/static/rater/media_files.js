// The files of a task: addresses that work for a short time and are asked for anew before they run out, and what is told
// of their being played.

import { call, Unreachable } from "../shared/api.js";
import * as keep from "./keep.js";

const EARLY = 60_000; // milliseconds before addresses run out

export class MediaFiles {
  // task: as the server gives it. note(kind, item, segment, media, ms): tells what was done.
  constructor(task, note) {
    Object.assign(this, { task: task.task, note, asked: null, until: 0, rules: null });
    this.shown = task.items.flatMap((item) => item.segments.flatMap((segment) => segment.texts))
      .map((text) => text.media).filter((media) => media?.id);
  }

  // → {address, …} of a file, or null where the task has it no more.
  async find(id, { anew = false } = {}) {
    if (!this.asked || anew || Date.now() > this.until - EARLY) this.asked = this.ask();
    return (await this.asked).find((one) => one.media === id) ?? null;
  }

  async ask() {
    const name = `m:${this.task}`;
    let body = keep.get(name); // without a network the worker knows the files by their paths
    try {
      const answer = await call("GET", `/v1/tasks/${this.task}/media`);
      if (answer.ok) {
        body = answer.body;
        this.until = Date.parse(body.expires_at);
        for (const other of keep.keys("m:")) if (other !== name) keep.drop(other);
        keep.put(name, body);
      }
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
    this.rules = body ?? { hear_all: false, most_plays: null };
    return body?.media ?? [];
  }

  // Everything that is to be kept for work without a network.
  async all() {
    if (!this.shown.length) return [];
    this.asked ??= this.ask();
    return this.asked;
  }
}
