// A text on the screen, with marks on it.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { pieces } from "./marks.js";
import { Player } from "./player.js";
import { lookOf } from "./severities.js";
import { codePoints } from "./text.js";

export class Text {
  // media: a file in the place of the text, which is empty then.
  constructor({ label, text, side, media }, { lang = "", files = null } = {}) {
    Object.assign(this, { label, side, lang, text: text ?? "", marks: [], beside: [], aligned: null });
    this.units = codePoints(this.text);
    this.body = h("p", { class: "body", dir: "auto", lang: lang || null });
    this.element = h("div", { class: "text" }, h("span", { class: "label" }, t(label)), this.body);
    this.player = media ? new Player(media, files, { label: t(label), lang }) : null;
    if (this.player) this.body.hidden = true;
    if (this.player) this.element.append(this.player.element);
    else if (text === null) fill(this.body, h("span", { class: "quiet" }, t("There is no text here.")));
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
    this.player?.draw(stretchesOf(errors, this.side, severities));
  }
}

// Marked errors of a side as marks. Signs for severity and overlap are given by classes, not by colour alone.
export function marksOf(errors, side, severities = []) {
  return errors
    .map((error, index) => ({ ...error, index }))
    .filter((error) => error.side === side && error.start !== null && error.end !== null)
    .map(({ start, end, severity, index }) => ({ start, end, kinds: [lookOf(severity, severities)], index }));
}

// The same of a file: stretches of time.
export function stretchesOf(errors, side, severities = []) {
  return errors
    .map((error, index) => ({ ...error, index }))
    .filter((error) => error.side === side && typeof error.start_ms === "number")
    .map(({ start_ms, end_ms, severity, index }) => ({ start_ms, end_ms, kinds: [lookOf(severity, severities)], index }));
}
