// The right judgment of a text, given by the widgets that raters have for it.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { practice } from "../rater/practice.js";

export class Unfinished extends Error {}

// How far a place at the old text's end of what was changed moves; null where it stood in what was changed.
function follow(before, after) {
  const [old, now] = [[...before], [...after]];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  let kept = 0;
  while (kept < Math.min(old.length, now.length) - start && old.at(-1 - kept) === now.at(-1 - kept)) kept += 1;
  const end = old.length - kept;
  return (error) => {
    if (error.start === null || error.end <= start) return error;
    if (error.start < end) return null;
    const by = now.length - old.length;
    return { ...error, start: error.start + by, end: error.end + by };
  };
}

export class Judgment {
  // form: what raters are asked. about: {protocol, source, target, needed}: its name, the languages, and whether there
  // must be an answer. texts(): {source, text}, as they stand now.
  constructor(form, about, payload, texts) {
    Object.assign(this, { form, about, texts, touched: Boolean(payload), seen: texts() });
    const { protocol, ...values } = payload ?? {};
    this.element = h("div", { class: "judging" });
    this.draw(values, this.touched);
  }

  draw(values, confirmed) {
    const { source, text } = this.seen;
    this.made?.row.forms.forEach((one) => one.leave()); // what was drawn before hears nothing more
    const labels = source === "" ? this.form.labels.slice(-1) : this.form.labels;
    this.made = practice({ source, output: text, prefill: null }, { ...this.form, labels }, this.about, { heard: () => (this.touched = true) });
    Object.assign(this.made.answer.values, values);
    this.made.answer.confirmed = confirmed;
    this.made.row.forms.forEach((one) => one.refresh());
    this.made.row.element.removeAttribute("aria-label"); // it is one of many, and no part of the page by itself
    fill(this.element, this.made.element);
  }

  // The texts are others now: marked errors move with what they were marked on, and end with it.
  read() {
    const [before, now] = [this.seen, this.texts()];
    this.seen = now;
    const sides = { source: follow(before.source, now.source), target: follow(before.text, now.text) };
    const values = this.touched ? { ...this.made.answer.values } : {};
    for (const { kind, field } of this.form.widgets) {
      if (kind === "spans" && values[field]) values[field] = values[field].map((error) => sides[error.side](error)).filter(Boolean);
    }
    this.draw(values, this.made.answer.confirmed);
  }

  // As the interface takes it; null where nothing was said. Throws Unfinished.
  get payload() {
    const { answer } = this.made;
    if (!this.touched && !this.about.needed) return null;
    if (!answer.whole) throw new Unfinished(t("Still missing: {what}.", { what: answer.lacks.join(", ") }));
    return { protocol: this.about.protocol, ...answer.values };
  }
}
