// What widgets ask, by kind: their fields, what stands there at first, and what is still to be said.
// This module draws nothing, so that the rules can be read in one place.

import { t } from "../shared/messages.js";

const KINDS = {
  slider: { lacks: (w, v) => v === undefined && t("the score") },
  choice: { lacks: (w, v) => v === undefined && t("the choice") },
  count: { lacks: (w, v) => v === undefined && t(w.settings.label) },
  link: { lacks: () => false },
  textedit: {
    lacks: (w, v) => w.settings.start === "empty" && !v?.trim() && t("the text"),
    start: (w, answer) => (w.settings.start === "output" ? answer.output ?? "" : undefined),
  },
  criteria: {
    lacks: (w, v) => {
      const open = w.settings.criteria.filter((one) => v?.[one.name] === undefined);
      return open.length > 0 && open.map((one) => one.title).join(", ");
    },
  },
  texts: {
    lacks: (w, v) => {
      const open = w.settings.texts.filter((one) => one.start === "empty" && one.required && !v?.[one.name]?.trim());
      return open.length > 0 && open.map((one) => one.title).join(", ");
    },
    start: (w, answer) => {
      const begun = w.settings.texts.filter((one) => one.start === "output").map((one) => [one.name, answer.output ?? ""]);
      return begun.length ? Object.fromEntries(begun) : undefined;
    },
  },
  preference: { lacks: (w, v) => v === undefined && t("the comparison") },
  spans: {
    fields: (w) => (w.settings.deleted ? [w.field, w.settings.deleted] : [w.field]),
    start: (w, answer) => (answer.prefill ?? []).map(wholeSpan),
    lacks: (w, v, answer) => {
      const open = (v ?? []).filter((span) => needsCategory(w) && !span.category && !span.prefill);
      if (open.length) return t("the category of an error");
      return !answer.confirmed && !saysByMarks(answer) && t("whether there are errors");
    },
  },
};

// Where there is but one category, an error may have none.
export const needsCategory = ({ settings }) => settings.categories.length > 1 || Boolean(settings.free_category);

// A marked error with every field, so that what is sent equals what is stored.
export function wholeSpan(span) {
  const { start = null, end = null, category = null, note = null, prefill = null } = span;
  const { side = "target", severity, omission = false } = span;
  const { start_ms = null, end_ms = null } = span;
  const time = start_ms === null ? {} : { start_ms, end_ms };
  return { side, start, end, severity, category, omission, note, prefill, ...time };
}

const kind = (widget) => KINDS[widget.kind];
export const fieldsOf = (widget) => kind(widget).fields?.(widget) ?? [widget.field];

// Values that stand there before the rater does anything.
export function startOf(answer) {
  const found = {};
  for (const widget of answer.questions) {
    const value = kind(widget).start?.(widget, answer);
    // Several widgets may fill in one field, each what it asks.
    const several = value !== null && typeof value === "object" && !Array.isArray(value);
    if (value !== undefined) found[widget.field] = several ? { ...found[widget.field], ...value } : value;
    if (widget.kind === "spans" && widget.settings.deleted) found[widget.settings.deleted] = [];
  }
  return found;
}

// Errors that stand there say that there are some, for as long as they do; ready-made ones nobody has said yet.
export const saysByMarks = ({ questions, values, prefill }) => !prefill?.length && questions.some(
  (widget) => widget.kind === "spans" && values[widget.field]?.length > 0,
);

// Marking alone is confirmed by saying so or by what is marked; where a score follows, the score says it.
const speaks = (answer) => answer.questions.some((widget) => !["spans", "link", "texts"].includes(widget.kind));

export function lacks(answer) {
  const relaxed = speaks(answer) ? { ...answer, confirmed: true } : answer;
  return answer.questions.map(
    (widget) => kind(widget).lacks(widget, answer.values[widget.field], relaxed),
  ).filter(Boolean);
}

export const isWhole = (answer) => lacks(answer).length === 0;
export const needsConfirming = (answer) => !speaks(answer);
