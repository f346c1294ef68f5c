// The files of a task: addresses that work for a short time and are asked for anew before they run out, and what is told
// of their being played.

import { insist } from "../shared/api.js";

const EARLY = 60_000; // milliseconds before addresses run out

export class MediaFiles extends EventTarget {
  // task: as the server gives it. note(kind, item, segment, media, ms): tells what was done.
  constructor(task, note) {
    super();
    Object.assign(this, { task: task.task, note, asked: null, until: 0, heard: new Map(), rules: null });
    this.shown = task.items.flatMap((item) => item.segments.flatMap((segment) => segment.texts))
      .map((text) => text.media).filter((media) => media?.id);
  }

  // → {address, …} of a file, or null where the task has it no more.
  async find(id, { anew = false } = {}) {
    if (!this.asked || anew || Date.now() > this.until - EARLY) this.asked = this.ask();
    return (await this.asked).find((one) => one.media === id) ?? null;
  }

  async ask() {
    const answer = await insist("GET", `/v1/tasks/${this.task}/media`);
    if (!answer.ok) return [];
    this.until = Date.parse(answer.body.expires_at);
    this.rules = answer.body;
    this.dispatchEvent(new Event("asked"));
    return answer.body.media;
  }

  // Everything that is to be kept for work without a network.
  async all() {
    if (!this.shown.length) return [];
    this.asked ??= this.ask();
    return this.asked;
  }
}
