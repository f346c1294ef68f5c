// The presentation segment: one segment a screen, in order, no way back; then the whole document.

import { bringIntoView, button, fill, h, $ } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { Row } from "./row.js";
import { Screen, rowsOf } from "./screen.js";

export class Steps {
  constructor(work) {
    this.work = work;
    work.steps = this;
    this.answers = work.answers;
    this.steps = work.task.screens.flatMap((screen, n) => this.stepsOf(screen, n));
  }

  stepsOf(screen, n) {
    const items = screen.items.map((at) => this.work.task.items.find((item) => item.item === at));
    const segments = rowsOf(items, this.answers).map(
      ([at, cells]) => ({ screen, n, at, cells, answers: cells.map((cell) => cell.answer).filter(Boolean) }),
    );
    const whole = [
      ...screen.items.map((item) => this.answers.at(String(item))),
      this.answers.at(`screens/${screen.screen}`),
    ].filter(Boolean);
    return [
      ...segments.filter((step) => step.answers.length),
      ...(whole.length ? [{ screen, n, at: null, answers: whole }] : []),
    ];
  }

  given = (answer) => answer.stored !== null || answer.state === "waiting";

  show() {
    this.step = this.steps.find((step) => !step.answers.every(this.given));
    if (!this.step) return this.last();
    const { screen, n, at } = this.step;
    const documents = this.work.task.screens.length;
    const place = [
      documents > 1 ? t("Document {n} of {total}", { n: n + 1, total: documents }) : null,
      at ? t("Segment {n}", { n: at }) : t("The document as a whole"),
    ].filter(Boolean);
    this.said = h("div", { class: "missing", role: "alert" });
    fill(
      $("#work"),
      this.work.instructions(),
      h("h2", { class: "place", tabindex: "-1" }, place.join(", ")),
      at ? [this.one(screen), this.work.comments.screen(screen)] : this.all(),
      h("p", { class: "actions" }, button(t("Save and continue"), () => this.goOn(), { class: "next submit" })),
      this.said,
    );
    $(".place").focus({ preventScroll: true });
    bringIntoView($("#main"), "start");
    return undefined;
  }

  // What a row asks of the screen that it stands on.
  get surroundings() {
    const { work } = this;
    return {
      answers: this.answers,
      files: work.files,
      comments: work.comments,
      locale: work.locale,
      open: () => {},
      setter: (answer) => (values, kind, how = {}) => {
        this.answers.set(answer, values, how);
        work.event(kind, answer.item ?? this.step.screen.items[0], answer.segment);
      },
      tools: (row) => h(
        "p",
        { class: "actions" },
        button(
          t("Report a problem"),
          () => work.report(this.step.screen.items[row.active ?? 0], row.n),
          { class: "quiet" },
        ),
      ),
    };
  }

  one(screen) {
    this.row = new Row(this.surroundings, this.step.at, this.step.cells, { alone: true });
    this.row.open();
    this.work.event("open", screen.items[0], this.step.at);
    return h("div", { class: `sheet columns-${screen.items.length}` }, this.row.element);
  }

  // The whole document to read, and what is asked of it.
  all() {
    this.row = null;
    this.whole = new Screen(this.work, this.work.task, this.step.screen, { reading: true });
    this.work.event("open", this.step.screen.items[0]);
    return this.whole.element;
  }

  refresh(answer, elsewhere) {
    this.row?.refresh(answer, elsewhere);
    if (!this.row) this.whole?.refresh(answer, elsewhere);
    if (elsewhere && this.step?.answers.every(this.given)) this.show();
  }

  goOn() {
    const open = this.step.answers.find((answer) => !answer.whole);
    if (open) {
      fill(this.said, h("p", {}, t("Still missing: {what}.", { what: open.lacks.join(", ") })));
      if (this.row) this.row.focus(open);
      else this.whole.show(open);
      return;
    }
    for (const answer of this.step.answers) if (!this.given(answer)) this.answers.send(answer, { now: true });
    this.work.progress();
    this.show();
  }

  // Everything is given: hand in.
  last() {
    this.work.left = h("div", { class: "missing", tabindex: "-1" });
    fill(
      $("#work"),
      h("h2", { class: "place", tabindex: "-1" }, t("All is judged.")),
      h("p", {}, count(this.steps.length, "One screen is done.", "{n} screens are done.")),
      h("p", { class: "actions" }, button(t("Hand in"), () => this.work.handIn(), { class: "submit" })),
      this.work.left,
    );
    $(".place").focus({ preventScroll: true });
  }
}
