// The errors that are marked, one a line, each to be changed or taken out.

import { bringIntoView, button, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { lookOf, severityName } from "./severities.js";
import { quoted } from "./text.js";

const LONGEST_NOTE = 4000;

// of: the widget, with errors, settings, textOf, change, remove, pick, focus.
export function errorList(of) {
  const element = h("ol", { class: "errors", "aria-label": t("Errors") });
  const show = () => {
    const held = document.activeElement?.closest?.("[data-control]");
    const place = held && element.contains(held) ? [held.dataset.error, held.dataset.control] : null;
    fill(element, of.errors.map((error, i) => line(of, error, i)));
    element.hidden = !of.errors.length;
    // Where the error is gone that held the focus, the text has it, so that keys still reach this widget.
    if (place) (element.querySelector(
      `[data-error="${place[0]}"][data-control="${place[1]}"]`,
    ) ?? of).focus({ preventScroll: true });
  };
  const reveal = (index, focus = false) => {
    const found = element.children[index];
    if (!found) return;
    bringIntoView(found);
    if (!focus) return;
    found.querySelector(of.settings.free_category ? "[data-control=category]" : "select").focus({ preventScroll: true });
  };
  return { element, show, reveal };
}

function line(of, error, i) {
  const at = (control) => ({ data: { error: i, control } });
  const named = h(
    "button",
    { type: "button", class: "link quoted", ...at("text"), onclick: () => of.pick(i) },
    name(of, error),
  );
  const parts = [named, severity(of, error, i, at), categoryOf(of, error, i, at)];
  if (error.side === "source" && of.settings.omission) parts.push(missing(of, error, i, at));
  const move = { class: "quiet", "aria-pressed": String(of.moving === i), ...at("move") };
  const remove = { class: "quiet", "aria-label": t("Remove error {n}", { n: i + 1 }), ...at("remove") };
  if (typeof error.start_ms === "number") parts.push(time(of, error, i, "start_ms", at), time(of, error, i, "end_ms", at));
  parts.push(button(t("New place"), () => replace(of, i), move));
  parts.push(button(t("Remove"), () => of.remove(i), remove));
  const kinds = [lookOf(error.severity, of.settings.severities), of.chosen === i ? "chosen" : ""];
  return h("li", { class: kinds.join(" ") }, h("div", { class: "line" }, parts), note(of, error, i, at));
}

function name(of, error) {
  if (error.start === null && typeof error.start_ms !== "number") return error.omission ? t("something is missing") : t("the whole text");
  const side = error.side === "source" ? [h("span", { class: "side" }, t("Source")), " "] : null;
  return [side, h("q", { dir: "auto" }, quoted(of.textOf(error)))];
}

// Both ends of a stretch of time can be typed, in seconds.
function time(of, error, i, end, at) {
  const label = end === "start_ms" ? t("Start of error {n} in seconds", { n: i + 1 }) : t("End of error {n} in seconds", { n: i + 1 });
  const most = of.viewOf(error.side)?.player?.media.duration_ms ?? error.end_ms;
  const [low, high] = end === "start_ms" ? [0, error.end_ms] : [error.start_ms, most];
  return h("input", {
    type: "number",
    class: "time",
    "aria-label": label,
    value: String(error[end] / 1000),
    min: "0",
    max: String(most / 1000),
    step: "0.1",
    ...at(end),
    onchange: ({ target }) => {
      const ms = Math.round(Number(target.value) * 1000);
      of.change(i, { [end]: Number.isFinite(ms) ? Math.min(Math.max(ms, low), high) : error[end] });
    },
  });
}

function replace(of, i) {
  of.letGo();
  of.moving = i;
  of.show();
}

function severity(of, error, i, at) {
  const options = of.settings.severities.map(
    (value) => h("option", { value, selected: value === error.severity }, severityName(value)),
  );
  return h(
    "select",
    {
      "aria-label": t("Severity of error {n}", { n: i + 1 }),
      ...at("severity"),
      onchange: (event) => of.change(i, { severity: event.target.value }),
    },
    options,
  );
}

function categoryOf(of, error, i, at) {
  if (of.settings.free_category) return ownCategory(of, error, i, at);
  return of.settings.categories.length ? category(of, error, i, at) : null;
}

// A category in the rater's own words.
function ownCategory(of, error, i, at) {
  return h("input", {
    type: "text",
    value: error.category ?? "",
    maxlength: "256",
    "aria-label": t("Category of error {n}", { n: i + 1 }),
    placeholder: t("– category –"),
    ...at("category"),
    onchange: (event) => of.change(i, { category: event.target.value.trim() || null }),
  });
}

function category(of, error, i, at) {
  const one = (value, label) => h("option", { value, selected: value === (error.category ?? "") }, label);
  const groups = of.settings.categories.map(([upper, lowers]) =>
    lowers.length ? h(
      "optgroup",
      { label: t(upper) },
      one(upper, t("{kind} in general", { kind: t(upper) })),
      lowers.map((lower) => one(`${upper}/${lower}`, t(lower))),
    ) : one(upper, t(upper)));
  const change = (event) => of.change(i, { category: event.target.value || null });
  return h(
    "select",
    { "aria-label": t("Category of error {n}", { n: i + 1 }), ...at("category"), onchange: change },
    one("", t("– category –")),
    groups,
  );
}

function missing(of, error, i, at) {
  const box = h(
    "input",
    {
      type: "checkbox",
      checked: error.omission,
      ...at("omission"),
      onchange: () => of.change(i, { omission: box.checked }),
    },
  );
  return h("label", { class: "point" }, box, t("missing from the translation"));
}

function note(of, error, i, at) {
  const id = fresh("note");
  const input = h(
    "input",
    {
      id,
      type: "text",
      value: error.note ?? "",
      maxlength: String(LONGEST_NOTE),
      ...at("note"),
      onchange: (event) => of.change(i, { note: event.target.value.trim() || null }),
    },
  );
  return h(
    "details",
    { open: Boolean(error.note) },
    h("summary", {}, t("Note")),
    h("label", { for: id, class: "hidden" }, t("Note on error {n}", { n: i + 1 })),
    input,
  );
}
