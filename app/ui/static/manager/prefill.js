// Errors that are marked in advance in the texts of an attention check, by the widget that raters have for it.

import { h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Judgment } from "./judging.js";

export class Prefill {
  // given: the errors of each text. asked: {form, about}. shown(): {source, texts}, as they stand now.
  constructor(given, { form, about }, shown) {
    const widgets = form.widgets.filter(({ kind }) => kind === "spans");
    Object.assign(this, { given: given ?? [], form: { ...form, widgets }, field: widgets[0].field, about, shown, parts: [] });
    this.place = h("div", { class: "prefilled" });
    const help = h("p", { class: "help" }, t("A check shows them if the tasks show errors marked in advance. They are no part of the right judgment."));
    this.element = h("details", { open: this.given.some((errors) => errors.length) }, h("summary", {}, t("Errors marked in advance")), help, this.place);
    this.read();
  }

  part(n) {
    const texts = () => ({ source: this.shown().source, text: this.shown().texts[n] ?? "" });
    const errors = this.given[n];
    const judgment = new Judgment(this.form, this.about, errors?.length ? { protocol: this.about.protocol, [this.field]: errors } : null, texts);
    const label = t("Errors marked in advance in text {n}", { n: n + 1 });
    return { judgment, texts, element: h("div", { role: "group", "aria-label": label }, judgment.element) };
  }

  // The texts are others now: each has a place to mark in, and errors move with the text that they were marked in.
  read() {
    const { texts } = this.shown();
    for (const { element } of this.parts.splice(texts.length)) element.remove();
    for (const part of this.parts) {
      const [before, now] = [part.judgment.seen, part.texts()];
      if (before.source !== now.source || before.text !== now.text) part.judgment.read();
    }
    while (this.parts.length < texts.length) {
      this.parts.push(this.part(this.parts.length));
      this.place.append(this.parts.at(-1).element);
    }
  }

  // A list of errors for each text; none where nothing is marked.
  get value() {
    const marked = this.parts.map(({ judgment }) => judgment.made.answer.values[this.field] ?? []);
    return marked.some((errors) => errors.length) ? marked : [];
  }
}
