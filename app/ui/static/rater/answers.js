// The rater's answers in a task: what was said at each address, whether it is whole, and what is missing.

import * as keep from "./keep.js";
import { same } from "./pending.js";
import { fieldsOf, isWhole, lacks, saysByMarks, startOf } from "./questions.js";

const DRAFT = "d:";

// One answer. values: by field of the payload; a question that nobody touched has none. confirmed: whether the rater said
// that there are no errors, or no others than are ready made; errors that they marked need no such word (`saysByMarks`).
// again: what was said was set aside and the task reopened, so it is asked as if nothing had been said; the next answer
// builds on its revision.
export class Answer {
  constructor(place, level, questions, where, given, path) {
    Object.assign(this, { place, level, questions, ...where, path });
    this.revision = given?.revision ?? 0;
    this.stored = this.again ? null : given?.payload ?? null;
    this.hidden = !this.again && Boolean(given?.hidden); // it counts, and this link does not show what it says
    this.values = this.stored ? valuesOf(this.stored) : {};
    this.confirmed = this.stored !== null && !saysByMarks(this);
    this.state = this.stored ? "saved" : "empty"; // empty, draft, waiting, saved, conflict, refused
    this.prefill = where.prefill ?? null;
    this.output = where.output ?? null;
    if (!this.stored || this.hidden) Object.assign(this.values, startOf(this));
  }

  // Whether all is said that is asked.
  get whole() {
    return isWhole(this);
  }

  // What is still to be said, in words.
  get lacks() {
    return lacks(this);
  }
}

// Of what is missing, or judged: the name of its place.
export function placeOf({ item, segment, screen }) {
  if (screen !== null) return `screens/${screen}`;
  return segment === null ? `${item}` : `${item}/${segment}`;
}

const valuesOf = ({ protocol, ...values }) => values;

export class Answers extends EventTarget {
  constructor(task, forms, outbox) {
    super();
    this.task = task.task;
    this.protocol = task.protocol.name;
    this.final = task.presentation === "segment";
    this.outbox = outbox;
    this.forms = new Map(forms.map((form) => [form.level, form]));
    this.all = new Map();
    this.asked = new Set(task.missing.map(placeOf));
    for (const screen of task.screens) this.addScreen(task, screen);
    const waiting = this.outbox.entries(this.task);
    for (const answer of this.all.values()) this.restore(answer, waiting.get(answer.place));
  }

  addScreen(task, screen) {
    const items = screen.items.map((n) => task.items.find((item) => item.item === n));
    const base = `/v1/tasks/${task.task}/judgments`;
    for (const item of items) {
      for (const segment of this.forms.has("segment") ? item.segments : []) {
        if (segment.texts.some((text) => text.text === null)) continue;
        const { texts, prefill } = segment;
        const where = {
          screen: screen.screen,
          item: item.item,
          segment: segment.segment,
          prefill,
          output: texts.at(-1).text,
        };
        this.add(
          `${item.item}/${segment.segment}`,
          "segment",
          where,
          segment.judgment,
          `${base}/${item.item}/${segment.segment}`,
        );
      }
      if (this.forms.has("document")) {
        const where = { screen: screen.screen, item: item.item, segment: null };
        this.add(`${item.item}`, "document", where, item.judgment, `${base}/${item.item}`);
      }
    }
    if (this.forms.has("screen") && items.length > 1) {
      const where = { screen: screen.screen, item: null, segment: null, columns: items.length };
      this.add(`screens/${screen.screen}`, "screen", where, screen.judgment, `${base}/screens/${screen.screen}`);
    }
  }

  add(place, level, where, given, path) {
    const again = Boolean(given) && this.asked.has(place);
    this.all.set(place, new Answer(place, level, this.forms.get(level).widgets, { ...where, again }, given, path));
  }

  at = (place) => this.all.get(place);

  // What the browser kept of an answer goes over what the server has: it is newer, or it would be gone.
  restore(answer, waiting) {
    const draft = keep.get(this.key(answer));
    if (waiting) {
      answer.values = valuesOf(waiting.payload);
      answer.confirmed = !saysByMarks(answer);
      answer.state = "waiting";
    } else if (draft && !(this.final && answer.stored)) {
      answer.values = draft.values;
      answer.confirmed = draft.confirmed;
      answer.state = "draft";
    }
  }

  key = (answer) => `${DRAFT}${this.task}:${answer.place}`;

  payload(answer) {
    const fields = answer.questions.flatMap(fieldsOf);
    const said = fields.filter((field) => answer.values[field] !== undefined);
    return { protocol: this.protocol, ...Object.fromEntries(said.map((field) => [field, answer.values[field]])) };
  }

  // The rater said something. It is kept at once, and on its way once it is whole (unless answers are final).
  set(answer, values, { confirmed = answer.confirmed } = {}) {
    Object.assign(answer.values, values);
    answer.confirmed = confirmed;
    if (!this.final && answer.whole) this.send(answer);
    else this.draft(answer);
    this.changed(answer);
  }

  draft(answer) {
    keep.put(this.key(answer), { values: answer.values, confirmed: answer.confirmed });
    answer.state = answer.stored && !this.final ? "unfinished" : "draft";
    // An answer that was whole and waits is not whole any more: what is stored stands until it is.
    if (!this.final) this.outbox.take(this.task, answer.place);
  }

  send(answer, how = {}) {
    const payload = this.payload(answer);
    keep.drop(this.key(answer));
    if (answer.stored && same(payload, answer.stored) && !this.outbox.entry(this.task, answer.place)) {
      answer.state = "saved";
      return;
    }
    answer.state = "waiting";
    this.outbox.put(this.task, answer.place, answer.path, payload, answer.revision, how);
  }

  // The server has it on disk.
  stored(place, payload, revision) {
    const answer = this.at(place);
    if (!answer || revision < answer.revision) return;
    answer.revision = revision;
    answer.stored = payload;
    answer.hidden = false;
    if (!this.outbox.entry(this.task, place) && answer.state === "waiting") answer.state = "saved";
    this.changed(answer);
  }

  // Another window said it, or the rater chose what was said elsewhere.
  take(place, payload, revision, state) {
    const answer = this.at(place);
    if (!answer) return;
    if (revision) Object.assign(answer, { revision, stored: payload, hidden: false });
    answer.values = valuesOf(payload);
    answer.confirmed = !saysByMarks(answer);
    answer.state = state;
    this.changed(answer, true);
  }

  takeDraft(place, draft) {
    const answer = this.at(place);
    if (!answer || !draft) return;
    Object.assign(answer, { values: draft.values, confirmed: draft.confirmed, state: "draft" });
    this.changed(answer, true);
  }

  changed(answer, elsewhere = false) {
    this.dispatchEvent(new CustomEvent("change", { detail: { answer, elsewhere } }));
  }

  done = (answer) => ["waiting", "saved"].includes(answer.state) && (answer.whole || answer.hidden);

  get missing() {
    return [...this.all.values()].filter((answer) => !this.done(answer));
  }

  // How many are begun and not whole: they are drafts in this browser.
  get begun() {
    return [...this.all.values()].filter((answer) => ["draft", "unfinished"].includes(answer.state)).length;
  }

  // What was kept of a task that is handed in.
  forget() {
    for (const key of keep.keys(`${DRAFT}${this.task}:`)) keep.drop(key);
  }
}
