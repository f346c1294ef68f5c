// A caret in a text that goes from word to word, or from character to character, by the arrow keys.

import { announce } from "../shared/dom.js";
import { markable, quoted, sliceOf } from "./text.js";

export class Caret {
  // owner: {isActive(), granularity(), draw()}
  constructor(view, owner, label, signal) {
    Object.assign(this, { view, owner, signal, caret: null });
    const { body } = view;
    body.tabIndex = 0;
    body.setAttribute("role", "application");
    body.setAttribute("aria-label", `${label}: ${quoted(view.text)}`);
    this.on(body, "keydown", (event) => this.pressed(event));
    this.on(body, "focus", () => body.matches(":focus-visible") && this.caret === null && this.moveTo(0));
    body.addEventListener("blur", () => this.hideCaret(), { signal });
    signal.addEventListener("abort", () => this.detach());
  }

  on(target, name, heard) {
    target.addEventListener(name, (event) => this.owner.isActive() && heard(event), { signal: this.signal });
  }

  detach() {
    const { body } = this.view;
    for (const name of ["tabindex", "role", "aria-label"]) body.removeAttribute(name);
    this.view.atCaret(null);
  }

  get units() {
    const { view } = this;
    const granularity = this.owner.granularity();
    if (this.cut?.granularity !== granularity) this.cut = {
      granularity,
      found: markable(view.text, view.units, granularity, view.lang),
    };
    return this.cut.found;
  }

  // Left and right are as one sees them: in a text from right to left, left goes on.
  pressed(event) {
    if (event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      this.withControl(event);
      return;
    }
    const rtl = getComputedStyle(this.view.body).direction === "rtl" || this.looksRightToLeft();
    const on = rtl ? "ArrowLeft" : "ArrowRight";
    const back = rtl ? "ArrowRight" : "ArrowLeft";
    const last = this.units.length - 1;
    const now = this.caret ?? 0;
    const to = { [on]: now + 1, [back]: now - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.moveTo(Math.min(Math.max(to, 0), last), event.shiftKey);
    } else this.other(event, now);
  }

  // The first letter that has a direction decides, as the browser lays the text out.
  looksRightToLeft() {
    const first = this.view.text.match(/\p{L}/u)?.[0] ?? "";
    return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first);
  }

  // Other keys, and those with Ctrl: those who only read have none.
  other() {}

  withControl() {}

  moveTo(unit) {
    if (!this.units.length) return;
    this.caret = unit;
    this.owner.draw();
    this.tell();
  }

  // The word at the caret, and what it is aligned with.
  tell() {
    const [start, end] = this.units[this.caret];
    const { text, units } = this.view;
    const beside = this.view.atCaret(start);
    announce([quoted(sliceOf(text, units, start, end)), beside].filter(Boolean).join(" – "));
  }

  hideCaret() {
    this.caret = null;
    this.view.atCaret(null);
    this.owner.draw();
  }

  // Where the caret stands, to be drawn.
  get caretMark() {
    if (this.caret === null || !this.units[this.caret]) return [];
    const [start, end] = this.units[this.caret];
    return [{ start, end, kinds: ["caret"] }];
  }
}
