// Which words of the source a word of the text is aligned with, shown while the pointer or the caret is on it.

import { t } from "../shared/messages.js";
import { Caret } from "./caret.js";
import { positionUnder } from "./marks.js";
import { codePointAt, codePoints, quoted, sliceOf } from "./text.js";

// [start, end) of the words between white space in the stored text, as the server counts them, where they are shown.
function words(view) {
  const units = view.layout ? codePoints(view.stored) : view.units;
  const found = [...view.stored.matchAll(/[^\p{White_Space}\x1c-\x1f]+/gu)];
  return found.map(({ 0: word, index }) => view.toShown(codePointAt(units, index), codePointAt(units, index + word.length)));
}

export class Aligned {
  // links: "0-0 1-2", a word of the source and one of the text; source, target: views.
  constructor(links, source, target) {
    Object.assign(this, { source, target, caret: null, pointer: null });
    const [there, here] = [words(source), words(target)];
    this.places = here.map(() => []);
    for (const link of links.split(" ").filter(Boolean)) {
      const [from, to] = link.split("-").map(Number);
      if (there[from]) this.places[to]?.push(there[from]);
    }
    this.words = here;
    target.aligned = this;
    const { body } = target;
    body.addEventListener("pointermove", (event) => this.under(event));
    body.addEventListener("pointerdown", (event) => this.under(event));
    body.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.point(null));
  }

  under({ clientX, clientY }) {
    const at = positionUnder(this.target.body, clientX, clientY);
    this.point(at === null ? null : codePointAt(this.target.units, at));
  }

  point(at) {
    this.pointer = this.wordAt(at);
    this.show();
  }

  // → what the word is aligned with, to be said.
  atCaret(at) {
    this.caret = this.wordAt(at);
    this.show();
    const { text, units } = this.source;
    const said = (this.places[this.caret] ?? []).map((place) => quoted(sliceOf(text, units, ...place)));
    return said.length ? t("in the source: {words}", { words: said.join(" ") }) : "";
  }

  wordAt(point) {
    const found = point === null ? -1 : this.words.findIndex((word) => word && word[0] <= point && point < word[1]);
    return found < 0 ? null : found;
  }

  // The word under the pointer goes before that at the caret. The source is drawn anew only for another word.
  show() {
    const word = this.pointer ?? this.caret;
    if (this.shown === word) return;
    this.shown = word;
    this.source.showAligned(this.places[word] ?? []);
  }
}

// A text in which nothing is marked is gone through by keys as well, where its words are aligned.
export function readByWord(view, signal) {
  const owner = { isActive: () => true, granularity: () => "word", draw: () => view.draw(reader?.caretMark ?? []) };
  const reader = new Caret(view, owner, t("Text, word by word"), signal);
  signal.addEventListener("abort", () => view.draw([]));
}
