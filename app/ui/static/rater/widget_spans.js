// Marking errors: what is marked now, the errors so far, their severity and category, undo.

import { announce, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { errorList } from "./errors.js";
import { Marking } from "./marking.js";
import { standNear } from "./near.js";
import { CategoryPicker } from "./picker.js";
import { needsCategory, wholeSpan } from "./questions.js";
import { lookOf, severityName } from "./severities.js";
import { quoted, sliceOf } from "./text.js";
import { clock } from "./player.js";
import { marksOf, shownPlace } from "./text_view.js";
import { TimeMarking } from "./time_marking.js";

const MOST_UNDONE = 200;
// What is wrong with the whole text is told by its category.
const needsWhole = ({ categories, free_category: free }) => categories.length > 0 || Boolean(free);

export const make = (widget, context) => new SpansWidget(widget, context);

class SpansWidget {
  constructor({ field, settings }, { answer, set, texts, isActive, several, turned }) {
    Object.assign(
      this,
      { field, settings, answer, isActive, texts, turned, say: set, pending: null, chosen: null, moving: null, past: [] },
    );
    this.grain = "word";
    this.stopped = new AbortController();
    this.views = [settings.source_side ? texts.source : null, texts.target].filter(Boolean);
    this.markings = this.views.map(
      (view) => new Marking(
        view,
        this,
        view.side === "source" ? t("Source, to be marked") : t("Text, to be marked"),
        this.stopped.signal,
      ),
    );
    this.hint = h("p", { class: "hint", role: "status" });
    this.picker = new CategoryPicker(
      settings.categories,
      (category) => this.categorize(category),
      () => this.backToText(),
    );
    this.times = new TimeMarking(this, this.stopped.signal);
    this.list = errorList(this);
    this.tools = h("div", { class: "tools" }, this.bar(several), this.times.element, this.hint, this.picker.element);
    this.element = h("div", { class: "marking" }, h("div", {}, this.tools), this.list.element);
    this.element.addEventListener("keydown", (event) => this.undoKey(event));
    this.show();
  }

  bar(several) {
    const severities = this.settings.severities.map(
      (name, i) => button(
        [h("kbd", {}, String(i + 1)), " ", severityName(name)],
        () => this.mark(name),
        { class: `quiet severity ${lookOf(name, this.settings.severities)}`, data: { severity: name } },
      ),
    );
    this.grainButton = button(
      [h("kbd", {}, "G"), " ", t("Whole words")],
      () => this.turnGrain(),
      { class: "quiet switch" },
    );
    this.undoButton = button(t("Undo"), () => this.undo(), { class: "quiet" });
    const missing = this.settings.omission ? button(
      [h("kbd", {}, "M"), " ", t("Something is missing")],
      () => this.omit(),
      { class: "quiet" },
    ) : null;
    const whole = needsWhole(this.settings) ? button(
      [h("kbd", {}, "W"), " ", t("The whole text")],
      () => this.takeWhole(),
      { class: "quiet" },
    ) : null;
    const label = several ? t("Marking of this text") : t("Marking");
    return h(
      "div",
      { class: "bar", role: "group", "aria-label": label },
      severities,
      missing,
      whole,
      this.grainButton,
      this.undoButton,
    );
  }

  get errors() {
    return this.answer.values[this.field] ?? [];
  }

  get full() {
    return this.settings.most !== null && this.errors.length >= this.settings.most;
  }

  viewOf = (side) => this.views.find((view) => view.side === side) ?? this.texts[side];
  // The words of an error.
  textOf = (error) => {
    if (typeof error.start_ms === "number") return `${clock(error.start_ms)}–${clock(error.end_ms)}`;
    const view = this.viewOf(error.side);
    const place = view ? shownPlace(error, view) : null;
    return place ? sliceOf(view.text, view.units, ...place) : "";
  };

  granularity = () => this.grain;

  turnGrain() {
    this.grain = this.grain === "word" ? "character" : "word";
    this.show();
    announce(this.grain === "word" ? t("Whole words") : t("Single characters"));
  }

  // A stretch of time of a file.
  selectTime(side, from, to) {
    if (this.moving !== null) return this.move(this.moving, { side, start: null, end: null, start_ms: from, end_ms: to });
    this.chosen = null;
    this.picker.close();
    this.pending = { side, start: null, end: null, start_ms: from, end_ms: to, omission: side === "source" && this.settings.omission };
    return this.show();
  }

  // Marking tells what is selected on the screen; from here on it is a stretch of the stored text.
  select(side, from, to) {
    const [start, end] = this.viewOf(side).toStored(from, to);
    if (this.moving !== null) return this.move(this.moving, { side, start, end });
    this.chosen = null;
    this.picker.close();
    this.pending = { side, start, end, omission: side === "source" && this.settings.omission };
    return this.show();
  }

  // What waits for its severity in a text, as it stands on the screen.
  pendingOn(side) {
    const view = this.viewOf(side);
    return this.pending && view ? shownPlace(this.pending, view) : null;
  }

  // The shortest error over a point: the one inside, where they overlap.
  errorAt(side, point) {
    const over = marksOf(this.errors, this.viewOf(side)).filter((one) => one.start <= point && point < one.end);
    return over.sort((a, b) => a.end - a.start - (b.end - b.start))[0]?.index ?? null;
  }

  pick(index) {
    this.chosen = this.chosen === index ? null : index;
    this.pending = null;
    this.show();
    if (this.chosen !== null) this.list.reveal(index);
  }

  key(event, { side, unit }) {
    const number = Number(event.key);
    const here = unit ? this.errorAt(side, unit[0]) : null;
    const done = () => event.preventDefault();
    if (number >= 1 && number <= this.settings.severities.length) {
      done();
      if (!this.pending && this.chosen === null && unit) this.select(side, ...unit);
      this.mark(this.settings.severities[number - 1]);
    } else if (event.key === "Escape") this.letGo();
    else if (event.key.toLowerCase() === "g") this.turnGrain();
    else if (event.key.toLowerCase() === "m" && this.settings.omission) this.omit();
    else if (event.key.toLowerCase() === "w" && needsWhole(this.settings)) this.takeWhole();
    else if (event.key === "Delete" || event.key === "Backspace") {
      done();
      if ((this.chosen ?? here) !== null) this.remove(this.chosen ?? here);
    } else if (event.key.toLowerCase() === "e" && (this.chosen ?? here) !== null) {
      done();
      this.list.reveal(this.chosen ?? here, true);
    }
  }

  undoKey(event) {
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey)) return;
    if (event.target.matches("input[type=text], textarea")) return;
    event.preventDefault();
    this.undo();
  }

  letGo() {
    Object.assign(this, { pending: null, chosen: null, moving: null });
    this.picker.close();
    this.show();
  }

  omit() {
    this.pending = this.pending?.side === "source" ? { ...this.pending, omission: true } : {
      side: "target",
      start: null,
      end: null,
      omission: true,
    };
    this.chosen = null;
    this.show();
  }

  // An error of the text as a whole has no place.
  takeWhole() {
    this.pending = { side: "target", start: null, end: null, omission: false };
    this.chosen = null;
    this.show();
  }

  // A severity for what is marked, or for the error that is chosen.
  mark(severity) {
    if (this.chosen !== null) return this.change(this.chosen, { severity });
    if (!this.pending) return this.tell(t("First mark something in the text."));
    if (this.full) return this.tell(t("No more than {n} errors can be marked here.", { n: this.settings.most }));
    const added = wholeSpan({ ...this.pending, severity });
    this.pending = null;
    this.put([...this.errors, added], "span_add");
    announce(t("Marked as {severity}: {text}", { severity: severityName(severity), text: quoted(this.textOf(added)) }));
    if (this.settings.free_category) {
      this.show();
      return this.list.reveal(this.errors.length - 1, true);
    }
    if (needsCategory({ settings: this.settings })) {
      this.chosen = this.errors.length - 1;
      this.picker.open();
    }
    return this.show();
  }

  categorize(category) {
    if (this.chosen !== null) this.change(this.chosen, { category });
    this.chosen = null;
    this.backToText();
  }

  // Nothing waits any more.
  backToText() {
    this.pending = null;
    this.picker.close();
    this.show();
    const marking = this.markings.find((one) => one.view.side === "target");
    marking?.view.body.focus({ preventScroll: true });
  }

  change(index, values) {
    this.put(this.errors.map((error, i) => (i === index ? wholeSpan({ ...error, ...values }) : error)), "span_edit");
  }

  move(index, place) {
    this.moving = null;
    this.change(index, { start_ms: null, end_ms: null, ...place, omission: place.side === "source" && this.settings.omission });
  }

  remove(index) {
    const { prefill } = this.errors[index];
    this.chosen = null;
    this.moving = null;
    this.picker.close();
    this.put(this.errors.filter((_, i) => i !== index), "span_delete", prefill);
    announce(t("Removed."));
  }

  // What was there before stays, to be brought back, and whether it was said.
  put(errors, kind, deleted = null) {
    const { values, confirmed } = this.answer;
    const fields = [this.field, this.settings.deleted].filter(Boolean);
    this.past.push({ values: Object.fromEntries(fields.map((name) => [name, values[name] ?? []])), confirmed });
    if (this.past.length > MOST_UNDONE) this.past.shift();
    const said = { [this.field]: errors };
    if (deleted && this.settings.deleted) said[this.settings.deleted] = [
      ...(values[this.settings.deleted] ?? []),
      deleted,
    ];
    this.say(said, kind);
    this.show();
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    Object.assign(this, { chosen: null, pending: null, moving: null });
    this.picker.close();
    this.say(before.values, "span_edit", { confirmed: before.confirmed });
    this.show();
    announce(t("Undone."));
  }

  tell(text) {
    this.hint.textContent = text;
    announce(text);
  }

  show() {
    this.grainButton.setAttribute("aria-pressed", String(this.grain === "word"));
    this.undoButton.disabled = !this.past.length;
    fill(this.hint, this.hinted());
    this.list.show();
    this.draw();
    standNear(this.tools, this.markInQuestion());
    this.turned();
  }

  // The mark whose severity or category is asked for.
  markInQuestion() {
    const kind = this.pending ? "pending" : this.picker.element.hidden ? null : "chosen";
    return kind && this.views.map((view) => view.body.querySelectorAll(`mark.${kind}`)).findLast((found) => found.length)?.[0];
  }

  // Another segment is worked on.
  rest() {
    if (this.pending || this.chosen !== null || this.moving !== null) this.letGo();
  }

  // Whether something is marked whose severity is not said yet.
  get waits() {
    return this.pending !== null;
  }

  hinted() {
    if (this.moving !== null) return t("Mark the new place in the text.");
    if (this.pending) return [this.asked(), " ", button(t("Not an error"), () => this.backToText(), { class: "quiet" })];
    if (this.chosen !== null) return t(
      "Error {n}: choose another severity, or edit it below.",
      { n: this.chosen + 1 },
    );
    const here = t("Drag over the words that are wrong, or tap them.");
    return this.full ? count(
      this.settings.most,
      "No more than {n} error can be marked here.",
      "No more than {n} errors can be marked here.",
    ) : this.times.hint ?? here;
  }

  // What is to be said of what is marked.
  asked() {
    const { start, start_ms: from, omission } = this.pending;
    if (start !== null || typeof from === "number") return [t("Marked:"), " ", h("q", { dir: "auto" }, quoted(this.textOf(this.pending))), " – ", t("how severe is it?")];
    return omission ? t("Something is missing: how severe is it?") : t("Error in the whole text: how severe is it?");
  }

  draw() {
    if (!this.isActive() && this.views[0]?.side === "source" && this.views.length > 1) return this.drawOn(
      this.views[1],
    );
    return this.views.forEach((view) => this.drawOn(view));
  }

  drawOn(view) {
    const marks = marksOf(this.errors, view, this.settings.severities).map(
      (mark) => (mark.index === this.chosen ? { ...mark, kinds: [...mark.kinds, "chosen"] } : mark),
    );
    const pending = this.pendingOn(view.side);
    if (pending) marks.push({ start: pending[0], end: pending[1], kinds: ["pending"] });
    this.times.draw(view, marks);
    const marking = this.markings?.find((one) => one.view === view);
    view.draw([...marks, ...(marking?.caretMark ?? [])]);
  }

  focus() {
    const body = this.texts.target?.body;
    (body?.tabIndex === 0 && !body.hidden ? body : this.times.first ?? this.grainButton).focus({ preventScroll: true });
  }

  leave() {
    standNear(this.tools, null);
    this.pending = null;
    this.chosen = null;
    this.stopped.abort();
    this.views.forEach((view) => view.drawErrors(this.errors, this.settings.severities));
  }
}
