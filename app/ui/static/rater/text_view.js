// A text on the screen, with marks on it.

import { fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Layout } from "./layout.js";
import { pieces } from "./marks.js";
import { Player } from "./player.js";
import { lookOf } from "./severities.js";
import { codePoints, quoted, sliceOf } from "./text.js";

export class Text {
  // text: as it is shown, without tags where there is markup; stored: as errors, alignments and so on count it.
  // media: a file in the place of the text, which is empty then.
  constructor({ label, text, side, media, markup = null }, { lang = "", files = null } = {}) {
    const stored = text ?? "";
    Object.assign(this, { label, side, lang, stored, text: markup?.shown ?? stored, marks: [], beside: [], terms: [], aligned: null });
    this.units = codePoints(this.text);
    this.layout = markup && new Layout(markup, this.units);
    this.body = h(markup ? "div" : "p", { class: markup ? "body laid-out" : "body", dir: "auto", lang: lang || null });
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
    const all = [...marks, ...this.beside, ...this.terms];
    const now = JSON.stringify(all);
    if (this.drawn === now) return; // new nodes would end a selection that is being dragged
    this.drawn = now;
    fill(this.body, this.layout ? this.layout.draw(all) : pieces(this.text, all, this.units));
  }

  // Places in the stored text for those on the screen, and back: null where nothing of it is shown.
  toStored(start, end) {
    return this.layout ? this.layout.toStored(start, end) : [start, end];
  }

  toShown(start, end) {
    return this.layout ? this.layout.toShown(start, end) : [start, end];
  }

  // Words that are aligned with one of another text, beside whatever is marked.
  showAligned(places) {
    this.beside = places.map(([start, end]) => ({ start, end, kinds: ["aligned"] }));
    this.draw(this.marks);
  }

  // Terms of the glossary are highlighted, and listed below with the translations that are wanted.
  showTerms(terms) {
    const places = terms.map(({ start, end, translation }) => [this.toShown(start, end), translation]).filter(([place]) => place);
    if (!places.length) return;
    this.terms = places.map(([[start, end], title]) => ({ start, end, kinds: ["term"], title }));
    this.draw(this.marks);
    const wanted = new Map(places.map(([place, translation]) => [sliceOf(this.text, this.units, ...place).toLowerCase(), translation]));
    const list = [...wanted].map(([term, translation]) => [h("dt", { dir: "auto" }, quoted(term)), h("dd", { dir: "auto" }, quoted(translation))]);
    this.element.append(h("dl", { class: "glossary", "aria-label": t("Glossary") }, list));
  }

  // The caret is on a code point, or nowhere. → what stands there in another text, or is wanted there, to be said.
  atCaret(point) {
    const term = point === null ? undefined : this.terms.find(({ start, end }) => start <= point && point < end);
    const wanted = term ? t("required translation: {words}", { words: quoted(term.title) }) : "";
    return [this.aligned?.atCaret(point) ?? "", wanted].filter(Boolean).join(" – ");
  }

  drawErrors(errors, severities) {
    this.draw(marksOf(errors, this, severities));
    this.player?.draw(stretchesOf(errors, this.side, severities));
  }
}

// Marked errors of a text as marks. Signs for severity and overlap are given by classes, not by colour alone.
export function marksOf(errors, view, severities = []) {
  return errors
    .map((error, index) => ({ ...error, index, at: shownPlace(error, view) }))
    .filter((error) => error.at !== null)
    .map(({ at: [start, end], severity, index }) => ({ start, end, kinds: [lookOf(severity, severities)], index }));
}

// Where an error stands in what a text shows; null where it stands in another text, or nowhere.
export function shownPlace({ side, start, end }, view) {
  return side === view.side && start !== null && end !== null ? view.toShown(start, end) : null;
}

// The same of a file: stretches of time.
export function stretchesOf(errors, side, severities = []) {
  return errors
    .map((error, index) => ({ ...error, index }))
    .filter((error) => error.side === side && typeof error.start_ms === "number")
    .map(({ start_ms, end_ms, severity, index }) => ({ start_ms, end_ms, kinds: [lookOf(severity, severities)], index }));
}
