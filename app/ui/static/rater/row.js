// One segment of a screen: its texts in the order of the screen, and the questions about each column once it is open.

import { Aligned, readByWord } from "./aligned.js";
import { bringIntoView, button, fill, h } from "../shared/dom.js";
import { form, summary } from "./form.js";
import { t } from "../shared/messages.js";
import { Text } from "./text_view.js";

const MOST_ON_A_LINE = 5; // columns; more go on further lines

export class Row {
  // cells: [{segment (as shown), answer or null}], one a column. alone: the only one on the screen, always open.
  constructor(screen, n, cells, { alone = false } = {}) {
    Object.assign(this, { screen, n, cells, alone, isOpen: false, forms: [] });
    const first = cells[0].segment.texts;
    const several = cells.length > 1;
    this.shared = (several ? first.slice(0, -1) : first).map((text) => this.view(text));
    this.own = several ? cells.map((cell) => this.view(cell.segment.texts.at(-1))) : [];
    for (const view of this.shared) this.at(view, cells[0]);
    this.own.forEach((view, i) => this.at(view, cells[i]));
    cells.forEach((cell, i) => this.align(cell.segment.alignment ?? null, this.textsOf(i)));
    this.shared.find((view) => view.side === "source")?.showTerms(cells[0].segment.terms ?? []);
    this.mark = h("span", { class: "done" });
    this.opener = button(
      [h("span", { class: "hidden" }, t("Segment"), " "), String(n)],
      () => this.screen.open(this, { focus: true }),
      { class: "opener quiet" },
    );
    this.formsAt = several ? cells.map(
      () => h("div", { class: "form-place" }),
    ) : [h("div", { class: "form-place all" })];
    this.element = this.draw(several);
    this.element.addEventListener("click", (event) => this.clicked(event));
    for (const name of ["pointerdown", "focusin"]) this.element.addEventListener(
      name,
      (event) => this.turnTo(event.target),
      { capture: true },
    );
    this.show();
  }

  view(text) {
    const { source, target } = this.screen.locale;
    const lang = { source, target }[text.side] ?? "";
    return new Text(text, { lang, files: this.screen.files ?? null });
  }

  // Where a file is played, for the record.
  at({ player }, { answer }) {
    if (player) player.place = { item: answer?.item ?? null, segment: this.n };
  }

  // The text views that marks go on: the source is shared, the output is the column's own.
  textsOf(column) {
    const all = [...this.shared, ...(this.own.length ? [this.own[column]] : [])];
    return { source: all.find((view) => view.side === "source"), target: all.find((view) => view.side === "target") };
  }

  align(links, { source, target }) {
    if (links !== null && source && target) new Aligned(links, source, target);
  }

  draw(several) {
    const columns = this.shared.length + this.own.length;
    const label = t("Segment {n}", { n: this.n });
    const texts = this.shared.map((view) => h("div", { class: "cell" }, view.element));
    const own = this.own.map(
      (view, i) => h(
        "div",
        { class: "cell own" },
        h("p", { class: "column-name" }, t("Text {n}", { n: i + 1 })),
        (view.unlabel(), view.element),
        this.formsAt[i],
      ),
    );
    return h("section", { class: `row columns-${columns}${several ? " several" : ""}${own.length > MOST_ON_A_LINE ? " many" : ""}`, "aria-label": label, data: { segment: this.n } },
      h(
        "div",
        { class: "margin" },
        this.alone ? null : this.opener,
        this.mark,
      ), texts, own, several ? null : this.formsAt[0], this.after = h("div", { class: "after" }));
  }

  clicked(event) {
    if (!this.isOpen && !this.alone && !event.target.closest("button, a")) this.screen.open(this, { stay: true });
  }

  // What is done in a column is done to its text, before anything else hears of it.
  turnTo(target) {
    if (!this.isOpen) return;
    if (!this.alone) this.screen.open(this, { stay: true });
    const column = this.formsAt.findIndex((place) => (place.closest(".cell") ?? place).contains(target));
    if (column >= 0) this.activate(column);
  }

  // What to heed in judging this segment.
  get instructions() {
    return this.cells[0].segment.instructions ?? null;
  }

  get answers() {
    return this.cells.map((cell) => cell.answer).filter(Boolean);
  }

  get done() {
    return this.answers.every((answer) => this.screen.answers.done(answer));
  }

  // Its questions are asked: more than one segment can be open, and one of them is current.
  open() {
    if (this.isOpen) return;
    this.isOpen = true;
    this.element.classList.add("live");
    this.opener.setAttribute("aria-expanded", "true");
    this.cells.forEach((cell, i) => cell.answer && this.addForm(cell.answer, i));
    this.element.style.setProperty("--parts", Math.max(0, ...this.forms.map((one) => one.element.childElementCount)));
    fill(this.after, this.screen.tools(this));
    if (this.alone) this.becomeCurrent(true);
    if (this.forms.length) this.activate(this.forms[0].column);
    this.show();
  }

  becomeCurrent(yes) {
    this.element.classList.toggle("open", yes);
    if (!yes) this.forms.forEach((one) => one.rest());
  }

  addForm(answer, column) {
    const label = this.cells.length > 1 ? t("Score of text {n}", { n: column + 1 }) : undefined;
    const context = {
      set: this.screen.setter(answer),
      texts: this.textsOf(column),
      locale: this.screen.locale,
      label,
      several: this.cells.length > 1,
    };
    const made = form(answer, { ...context, isActive: () => this.active === column });
    made.column = column;
    const { target } = context.texts;
    if (target?.aligned && target.body.tabIndex < 0) readByWord(target, (this.reading ??= new AbortController()).signal);
    this.forms.push(made);
    const about = this.cells.length > 1 ? t("Comment on text {n}", { n: column + 1 }) : undefined;
    fill(this.formsAt[column], made.element, this.screen.comments?.output(answer, about));
  }

  // With several columns the source is marked for one of them at a time.
  activate(column) {
    if (this.active === column) return;
    this.active = column;
    this.forms.forEach(
      (one) => one.element.parentElement.classList.toggle("active", this.cells.length > 1 && one.column === column),
    );
    this.forms.find((one) => one.column === column)?.refresh();
  }

  close() {
    if (!this.isOpen || this.alone) return;
    this.isOpen = false;
    this.element.classList.remove("open", "live");
    this.element.style.removeProperty("--parts");
    this.opener.setAttribute("aria-expanded", "false");
    this.forms.forEach((one) => one.leave());
    this.forms = [];
    this.reading?.abort();
    this.reading = undefined;
    this.active = undefined;
    this.formsAt.forEach((place) => fill(place));
    fill(this.after);
    this.show();
  }

  // The questions that come next: of an answer, or of the first column that is not judged.
  asked(answer = null) {
    return this.forms.find((one) => one.answer === answer) ?? this.forms.find((one) => !one.answer.whole) ?? this.forms[0];
  }

  focus(answer = null) {
    this.asked(answer)?.focus();
    bringIntoView(this.element);
    // The segment that was closed keeps the height that it had open until it is drawn, and only then gives way.
    requestAnimationFrame(() => requestAnimationFrame(() => bringIntoView(this.element)));
  }

  refresh(answer, elsewhere) {
    const found = this.forms.find((one) => one.answer === answer);
    if (found) (elsewhere ? found.refresh : found.show)();
    this.show();
  }

  show() {
    const done = this.done && this.answers.length > 0;
    this.element.classList.toggle("is-done", done);
    const said = this.answers.map(summary).filter(Boolean);
    fill(
      this.mark,
      done ? h("span", { class: "hidden" }, t("judged"), ": ") : null,
      done || !this.isOpen ? said.join(" | ") : "",
    );
    this.opener.classList.toggle("is-done", done);
    if (!this.isOpen) this.drawMarks();
    else if (this.screen.colours && this.cells.length > 1) this.relate();
  }

  // How the values of each slider compare over the columns.
  relate() {
    const valueOf = ({ answer }, field, name) => (name === undefined ? answer?.values[field] : answer?.values[field]?.[name]);
    this.forms.forEach((one) => one.relate((field, name) => {
      const values = this.cells.map((cell) => valueOf(cell, field, name)).filter((value) => typeof value === "number");
      const [low, high, own] = [Math.min(...values), Math.max(...values), valueOf(one, field, name)];
      return typeof own === "number" && low < high ? (own - low) / (high - low) : null;
    }));
  }

  // Marked errors stay to be seen where a segment is closed.
  drawMarks() {
    this.cells.forEach((cell, i) => {
      if (!cell.answer) return;
      const spans = cell.answer.questions.find((widget) => widget.kind === "spans");
      if (!spans) return;
      const { source, target } = this.textsOf(i);
      for (const view of [source, target]) if (view && !(view === source && this.cells.length > 1)) view.drawErrors(
        cell.answer.values[spans.field] ?? [],
        spans.settings.severities,
      );
    });
  }
}
