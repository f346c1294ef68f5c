// A screen of the presentations document and side by side: all segments of one item, or of several in columns.

import { bringIntoView, button, fill, h } from "../shared/dom.js";
import { form } from "./form.js";
import { t } from "../shared/messages.js";
import { Row } from "./row.js";

export class Screen {
  // work: {answers, locale, event(kind, item, segment), report(item, segment), screenDone()}
  // reading: segments are there to be read only, as in the last step of the presentation segment.
  constructor(work, task, screen, { reading = false } = {}) {
    Object.assign(this, { work, screen, answers: work.answers, locale: work.locale, files: work.files, comments: reading ? null : work.comments });
    this.colours = Boolean(task.slider_colors);
    this.items = screen.items.map((n) => task.items.find((item) => item.item === n));
    this.rows = rowsOf(this.items, this.answers).map(([n, cells]) => new Row(this, n, cells, { alone: reading }));
    this.wholes = this.wholeForms();
    this.element = h(
      "div",
      { class: `sheet columns-${screen.items.length}` },
      context(screen.context.before, t("What comes before")),
      this.rows.map((row, i) => [instructions(row, this.rows[i - 1]), row.element]),
      context(screen.context.after, t("What follows")),
      this.wholes.map((one) => one.box),
      work.comments?.screen(screen),
    );
  }

  // What is asked of a document, for each column, and of the columns together.
  wholeForms() {
    const found = [];
    const several = this.items.length > 1;
    for (const [i, item] of this.items.entries()) {
      const answer = this.answers.at(String(item.item));
      if (!answer) continue;
      const n = i + 1;
      const title = several ? t("Text {n} as a whole", { n }) : t("The document as a whole");
      found.push(this.whole(answer, title, this.work.comments?.output(answer, several ? t("Comment on text {n}", { n }) : undefined)));
    }
    const compared = this.answers.at(`screens/${this.screen.screen}`);
    if (compared) found.push(this.whole(compared, t("All texts compared")));
    return found;
  }

  whole(answer, title, comment = null) {
    const made = form(
      answer,
      {
        set: this.setter(answer),
        locale: this.locale,
        texts: {},
        label: t("Score of the document"),
        isActive: () => true,
      },
    );
    const { forms } = this.answers;
    const above = [...forms.values()][0].instructions;
    const own = forms.get(answer.level).instructions.filter((sentence) => !above.includes(sentence));
    made.box = h(
      "section",
      { class: "whole", "aria-label": title },
      h("h2", {}, title),
      own.length ? h("p", {}, own.map((sentence) => [t(sentence), " "])) : null,
      made.element,
      comment,
    );
    return made;
  }

  setter(answer) {
    return (values, kind, how = {}) => {
      this.answers.set(answer, values, how);
      this.work.event(kind, answer.item ?? this.items[0].item, answer.segment);
    };
  }

  // The segment where the rater was opens by itself, or the first that is not judged.
  begin({ focus, segment = null, open = [] }) {
    const row = this.rows.find((one) => one.n === segment) ?? this.rows.find((one) => !one.done) ?? null;
    if (row) this.open(row, { focus });
    else if (focus) (this.wholes.find((one) => !this.answers.done(one.answer)) ?? this.rows[0].opener).focus();
    this.rows.forEach((one) => open.includes(one.n) && one.open());
  }

  // stay: what is open stays so, and nothing moves under the rater's hand.
  open(row, { focus = false, answer = null, stay = false } = {}) {
    if (!stay) this.rows.forEach((one) => one !== row && one.close());
    if (this.current !== row) {
      this.current?.becomeCurrent(false);
      this.current = row;
      row.open();
      row.becomeCurrent(true);
      this.work.event("open", row.cells[0].answer?.item ?? this.items[0].item, row.n);
    }
    if (focus) row.focus(answer);
  }

  // The segment after one that is judged takes answers, too: a click in it is all that it needs.
  ahead(row) {
    if (!row.done) return;
    this.rows.slice(this.rows.indexOf(row) + 1).find((one) => !one.done)?.open();
  }

  tools(row) {
    return h("p", { class: "actions" },
      button(t("Next segment"), () => this.next(row), { class: "next" }),
      button(
        t("Report a problem"),
        () => this.work.report(this.items[row.active ?? 0].item, row.n),
        { class: "quiet" },
      ));
  }

  // The next one that is not judged, below first, then above; at the end what is asked of the whole.
  next(row) {
    const at = this.rows.indexOf(row);
    const following = [...this.rows.slice(at + 1), ...this.rows.slice(0, at)].find((one) => !one.done);
    if (following) return this.open(following, { focus: true });
    const whole = this.wholes.find((one) => !this.answers.done(one.answer));
    if (whole) {
      whole.focus();
      return bringIntoView(whole.box, "center");
    }
    return this.work.screenDone(this);
  }

  step(row, by) {
    const to = this.rows[this.rows.indexOf(row) + by];
    if (to) this.open(to, { focus: true });
  }

  // Jump to an answer.
  show(answer) {
    const row = this.rows.find((one) => one.n === answer.segment);
    if (row) return this.open(row, { focus: true, answer });
    const whole = this.wholes.find((one) => one.answer === answer);
    bringIntoView(whole.box, "center");
    return whole.focus();
  }

  refresh(answer, elsewhere) {
    const row = this.rows.find((one) => one.answers.includes(answer));
    if (row) row.refresh(answer, elsewhere);
    if (row && row === this.current) this.ahead(row);
    const whole = this.wholes.find((one) => one.answer === answer);
    if (whole) (elsewhere ? whole.refresh : whole.show)();
  }
}

// Segments by number, each with what every column shows of it.
export function rowsOf(items, answers) {
  return items[0].segments.map((_, i) => [
    i + 1,
    items.map((item) => ({ segment: item.segments[i], answer: answers.at(`${item.item}/${i + 1}`) ?? null })),
  ]);
}

// What to heed in judging: once, above the first of the segments that share it.
function instructions(row, before) {
  if (!row.instructions || row.instructions === before?.instructions) return null;
  const label = t("Instructions for this text");
  return h("div", { class: "item-instructions", role: "note", "aria-label": label },
    h("span", { class: "label" }, label), h("p", { dir: "auto" }, row.instructions));
}

function context(sentences, label) {
  if (!sentences.length) return null;
  return h(
    "section",
    { class: "context", "aria-label": label },
    h("span", { class: "label" }, label),
    sentences.map((text) => h("p", { dir: "auto" }, text)),
  );
}
