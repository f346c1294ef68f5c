// A text on the screen, with marks on it.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { pieces } from "./marks.js";
import { lookOf } from "./severities.js";
import { codePoints } from "./text.js";

export class Text {
  constructor({ label, text, side }, { lang = "" } = {}) {
    Object.assign(this, { label, side, lang, text: text ?? "", marks: [], beside: [], aligned: null });
    this.units = codePoints(this.text);
    this.body = h("p", { class: "body", dir: "auto", lang: lang || null });
    this.element = h("div", { class: "text" }, h("span", { class: "label" }, t(label)), this.body);
    if (text === null) fill(this.body, h("span", { class: "quiet" }, t("There is no text here.")));
    else this.draw([]);
  }

  // A column has a name of its own.
  unlabel() {
    this.element.querySelector(".label").remove();
  }

  draw(marks) {
    this.marks = marks;
    fill(this.body, pieces(this.text, [...marks, ...this.beside], this.units));
  }

  // Words that are aligned with one of another text, beside whatever is marked.
  showAligned(places) {
    this.beside = places.map(([start, end]) => ({ start, end, kinds: ["aligned"] }));
    this.draw(this.marks);
  }

  // The caret is on a code point, or nowhere. → what stands there in another text, to be said.
  atCaret(point) {
    return this.aligned?.atCaret(point) ?? "";
  }

  drawErrors(errors, severities) {
    this.draw(marksOf(errors, this.side, severities));
  }
}

// Marked errors of a side as marks. Signs for severity and overlap are given by classes, not by colour alone.
export function marksOf(errors, side, severities = []) {
  return errors
    .map((error, index) => ({ ...error, index }))
    .filter((error) => error.side === side && error.start !== null && error.end !== null)
    .map(({ start, end, severity, index }) => ({ start, end, kinds: [lookOf(severity, severities)], index }));
}
