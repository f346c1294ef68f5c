// The questions about one output, one document or one screen, drawn by the kinds of their widgets.

import { button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { needsConfirming, saysByMarks } from "./questions.js";
import { make as choice } from "./widget_choice.js";
import { make as countOf } from "./widget_count.js";
import { make as criteria } from "./widget_criteria.js";
import { make as link } from "./widget_link.js";
import { make as preference } from "./widget_preference.js";
import { make as slider } from "./widget_slider.js";
import { make as spans } from "./widget_spans.js";
import { make as textedit } from "./widget_textedit.js";
import { make as texts } from "./widget_texts.js";

const MAKERS = { choice, count: countOf, criteria, link, preference, slider, spans, textedit, texts };

// context: {set(values, kind, how), locale, texts: {source, target}, label}. Parts call turned() when they begin or end to wait.
export function form(answer, context) {
  let parts = [];
  const waits = () => parts.some((part) => part.waits);
  const turned = () => confirm && showConfirm(confirm, answer, waits());
  const said = h("p", { class: "state", role: "status" });
  const confirm = needsConfirming(answer) ? button(
    "",
    () => context.set({}, "score", { confirmed: true }),
    { class: "confirm" },
  ) : null;
  const show = () => {
    said.textContent = stateOf(answer);
    turned();
  };
  parts = answer.questions.map((widget) => MAKERS[widget.kind](widget, { answer, turned, ...context }));
  const score = parts.find((_, i) => !["spans", "link", "texts"].includes(answer.questions[i].kind));
  show();
  return {
    answer,
    element: h("div", { class: "form" }, parts.map((part) => part.element), confirm, said),
    show,
    refresh: () => {
      parts.forEach((part) => part.show());
      show();
    },
    focus: () => parts[0]?.focus(),
    toScore: () => (score ?? parts[0])?.focus(),
    // → whether that says it; else the score is what is still to be said.
    nothingMore: () => {
      if (!confirm) return false;
      if (!confirm.disabled) context.set({}, "score", { confirmed: true });
      return true;
    },
    relate: (shareOf) => parts.forEach((part) => part.relate?.(shareOf)),
    rest: () => parts.forEach((part) => part.rest?.()),
    leave: () => parts.forEach((part) => part.leave?.()),
  };
}

// While something that is marked waits for its severity, nobody can say that there is no more.
function showConfirm(confirm, answer, waits) {
  const errors = answer.questions.reduce((sum, { field }) => sum + (answer.values[field]?.length ?? 0), 0);
  fill(confirm, errors ? count(errors, "{n} error, and no more", "{n} errors, and no more") : t("There are no errors"));
  confirm.disabled = waits || saysByMarks(answer) || (answer.confirmed && answer.state !== "draft");
}

const STATES = {
  empty: () => "",
  waiting: () => t("being sent"),
  saved: () => t("saved"),
  conflict: () => t("answered differently in another window"),
  refused: () => t("not accepted"),
};

export function stateOf(answer) {
  if (answer.whole) return (STATES[answer.state] ?? STATES.empty)();
  return answer.state === "empty" ? "" : t("Still missing: {what}.", { what: answer.lacks.join(", ") });
}

// What an answer comes to, in a few signs, for a segment that is closed.
export function summary(answer) {
  if (!answer.whole) return answer.state === "empty" ? "" : "…";
  return answer.questions.map(
    ({ kind, field, settings }) => brief(kind, answer.values[field], settings),
  ).filter(Boolean).join(" · ");
}

function brief(kind, value, settings) {
  if (value === undefined || value === null) return "";
  if (kind === "spans") return count(value.length, "{n} error", "{n} errors");
  if (kind === "criteria") return settings.criteria.map((one) => new Map(one.points).get(value[one.name]) ?? value[one.name]).join(" · ");
  if (kind === "textedit" || kind === "texts" || kind === "link") return "";
  if (kind === "preference") return value.map((group) => group.join("=")).join(" > ");
  return String(value);
}
