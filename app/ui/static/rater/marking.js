// Marking in a text by mouse, touch and keyboard. What is marked is told in code points, on whole words or characters.
//
// The mouse drags, as anywhere; a tap takes a word, and a second tap elsewhere everything in between. On the keyboard
// a caret goes from word to word; with Shift it marks.

import { Caret } from "./caret.js";
import { positionOf, positionUnder } from "./marks.js";
import { codePointAt, sliceOf } from "./text.js";

const RESTS = 350; // milliseconds that a selection by touch stays as it is before it counts

export class Marking extends Caret {
  // owner: {isActive(), granularity(), draw(), select(side, start, end), pick(index), key(event, at), undoKey(event), errorAt(side, point)}
  constructor(view, owner, label, signal) {
    super(view, owner, label, signal);
    Object.assign(this, { anchor: null, down: null });
    const { body } = view;
    this.on(body, "pointerdown", (event) => (this.down = { x: event.clientX, y: event.clientY, type: event.pointerType }));
    this.on(document, "pointerup", (event) => this.released(event));
    this.on(document, "selectionchange", () => this.selecting());
    this.on(body, "copy", (event) => this.copied(event));
  }

  // The units that overlap [start, end) in code points, widened to whole ones; null where there are none.
  snap(start, end) {
    const over = this.units.filter(([from, to]) => from < end && to > start);
    return over.length ? [over[0][0], over.at(-1)[1]] : null;
  }

  unitAt(point) {
    const { units } = this;
    const within = units.findIndex(([from, to]) => from <= point && point < to);
    if (within >= 0) return within;
    const after = units.findIndex(([from]) => from >= point);
    return after < 0 ? units.length - 1 : after;
  }

  // The pointer let go: a selection that was dragged, or a click.
  released(event) {
    const { down } = this;
    this.down = null;
    if (!down || this.takeSelection() || !this.view.body.contains(event.target)) return;
    const at = positionUnder(this.view.body, event.clientX, event.clientY);
    if (at !== null) this.clicked(codePointAt(this.view.units, at), down.type);
  }

  // By touch the browser's own handles select; what they hold counts once they rest.
  selecting() {
    clearTimeout(this.resting);
    if (this.down?.type !== "touch" && !matchMedia("(pointer: coarse)").matches) return;
    this.resting = setTimeout(() => this.takeSelection(), RESTS);
  }

  takeSelection() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return false;
    const range = selection.getRangeAt(0);
    const { body, text, units } = this.view;
    if (!range.intersectsNode(body)) return false;
    const start = body.contains(range.startContainer) ? positionOf(body, range.startContainer, range.startOffset) : 0;
    const end = body.contains(range.endContainer) ? positionOf(body, range.endContainer, range.endOffset) : text.length;
    if (start === null || end === null || start >= end) return false;
    const upTo = codePointAt(units, end) + (units[codePointAt(units, end)] < end ? 1 : 0);
    const found = this.snap(codePointAt(units, start), upTo);
    selection.removeAllRanges();
    if (found) this.select(...found);
    return Boolean(found);
  }

  clicked(point, type) {
    const pending = this.owner.pendingOn(this.view.side);
    const [start, end] = this.units[this.unitAt(point)] ?? [0, 0];
    if (end <= start) return;
    const inside = pending && start >= pending[0] && end <= pending[1];
    if (pending && type === "touch" && !inside) return void this.select(
      Math.min(pending[0], start),
      Math.max(pending[1], end),
    );
    const error = this.owner.errorAt(this.view.side, point);
    if (error !== null && !pending) return void this.owner.pick(error);
    this.caret = this.unitAt(point);
    this.select(start, end);
  }

  select(start, end) {
    this.owner.select(this.view.side, start, end);
  }

  withControl(event) {
    this.owner.undoKey(event);
  }

  other(event, now) {
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.anchor = now;
      this.select(...this.units[now]);
    } else this.owner.key(event, { side: this.view.side, unit: this.units[now] ?? null });
  }

  moveTo(unit, marking = false) {
    if (!marking || !this.units.length) {
      this.anchor = null;
      super.moveTo(unit);
      return;
    }
    this.anchor ??= this.caret ?? unit;
    this.caret = unit;
    const [from, to] = [Math.min(this.anchor, unit), Math.max(this.anchor, unit)];
    this.select(this.units[from][0], this.units[to][1]);
    this.tell();
  }

  hideCaret() {
    this.anchor = null;
    super.hideCaret();
  }

  copied(event) {
    const pending = this.owner.pendingOn(this.view.side);
    if (!pending) return;
    event.clipboardData.setData("text/plain", sliceOf(this.view.text, this.view.units, ...pending));
    event.preventDefault();
  }
}
