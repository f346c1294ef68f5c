// The parts of a protocol as fields: what a manager types, and the data that it means.

import { button, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

export const KINDS = {
  spans: { title: () => t("Marked errors"), fresh: () => ({ kind: "spans", severities: [{ name: "minor", weight: 1 }, { name: "major", weight: 5 }] }) },
  slider: { title: () => t("Score on a scale"), fresh: (name) => ({ kind: "slider", name, title: t("How good is the text?"), minimum: 0, maximum: 100, step: 1 }) },
  choice: { title: () => t("One of several answers"), fresh: (name) => ({ kind: "choice", name, title: t("Which one?"), options: [{ value: 1, label: t("good") }, { value: 0, label: t("bad") }] }) },
  yes_no: { title: () => t("Yes or no"), fresh: (name) => ({ kind: "yes_no", name, title: t("Could it be published as it is?") }) },
  text: { title: () => t("Text by the rater"), fresh: (name) => ({ kind: "text", name, title: t("Why?") }) },
  post_edit: { title: () => t("Post-edit"), fresh: () => ({ kind: "post_edit" }) },
};

// "key = value" a line; what has no mark is a key alone.
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const halves = (line, mark) => {
  const at = line.indexOf(mark);
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + mark.length).trim()];
};
const numbered = (text) => Number(text.replace(",", "."));

const asLines = {
  severities: {
    show: (value) => value.map((one) => `${one.name} = ${one.weight}`).join("\n"),
    read: (text) => lines(text).map((line) => halves(line, "=")).map(([name, weight]) => ({ name, weight: numbered(weight || "1") })),
  },
  categories: {
    show: (value) => value.map((one) => (one.subcategories?.length ? `${one.name}: ${one.subcategories.join(", ")}` : one.name)).join("\n"),
    read: (text) => lines(text).map((line) => halves(line, ":")).map(([name, below]) => ({ name, subcategories: below.split(",").map((one) => one.trim()).filter(Boolean) })),
  },
  names: { show: (value) => value.join("\n"), read: lines },
  weights: {
    show: (value) => Object.entries(value).map(([name, weight]) => `${name} = ${weight}`).join("\n"),
    read: (text) => Object.fromEntries(lines(text).map((line) => halves(line, "=")).map(([name, weight]) => [name, numbered(weight)])),
  },
  options: {
    show: (value) => value.map((one) => `${one.value} = ${one.label}`).join("\n"),
    read: (text) => lines(text).map((line) => halves(line, "=")).map(([value, label]) => ({ value: numbered(value), label: label || value })),
  },
  labels: {
    show: (value) => Object.entries(value).map(([at, label]) => `${at} = ${label}`).join("\n"),
    read: (text) => Object.fromEntries(lines(text).map((line) => halves(line, "="))),
  },
};

function field(part, changed, name, label, { kind = "text", help = "", missing = "", read = (text) => text } = {}) {
  const id = fresh(name);
  const told = help ? h("p", { class: "help", id: `${id}-help` }, help) : null;
  const common = { id, data: { place: name }, "aria-describedby": help ? `${id}-help` : null };
  if (kind === "check") {
    const box = h("input", { type: "checkbox", ...common, checked: part[name] ?? missing, onchange: () => put(box.checked) });
    return h("div", { class: "check" }, h("label", { class: "point" }, box, label), told);
  }
  const put = (value) => {
    if (value === "" || value === null) delete part[name];
    else part[name] = value;
    changed();
  };
  const many = asLines[kind];
  const value = part[name] ?? missing;
  const input = many
    ? h("textarea", { ...common, rows: "3", spellcheck: "false", oninput: () => put(many.read(input.value)) }, value === "" ? "" : many.show(value))
    : h("input", { ...common, type: "text", inputmode: kind === "number" ? "decimal" : null, autocomplete: "off", value: String(value), oninput: () => put(kind === "number" && input.value !== "" ? numbered(input.value) : read(input.value)) });
  return h("div", { class: "field" }, h("label", { for: id }, label), input, told);
}

const higher = (part, changed) => field(part, changed, "higher_is_better", t("More is better"), { kind: "check", missing: true });
const weight = (part, changed) => field(part, changed, "weight", t("Share of the overall score"), { kind: "number", missing: 0, help: t("0: it is only reported separately.") });
const named = (part, changed) => [field(part, changed, "title", t("Question")), field(part, changed, "name", t("Name in reports and files"))];

const FIELDS = {
  spans: (part, changed) => [
    field(part, changed, "severities", t("Severities and the weight of one error"), { kind: "severities", help: t("One per line, from least to most severe: minor = 1") }),
    field(part, changed, "categories", t("Categories"), { kind: "categories", help: t("One per line, with its subcategories: Accuracy: Omission, Addition") }),
    field(part, changed, "free_category", t("Raters write the category themselves"), { kind: "check", missing: false }),
    field(part, changed, "tokens", t("Errors of the whole text"), { kind: "names", help: t("One per line, such as: Instructions not followed") }),
    field(part, changed, "weights", t("Other weights"), { kind: "weights", help: t("One per line: minor/Fluency/Punctuation = 0.1") }),
    field(part, changed, "missing", t("Raters can say that something is missing"), { kind: "check", missing: true }),
    field(part, changed, "source_side", t("Errors can be marked in the source, too"), { kind: "check", missing: false }),
    field(part, changed, "most", t("Maximum number of errors in a text"), { kind: "number", help: t("Empty: no limit.") }),
  ],
  slider: (part, changed) => [
    ...named(part, changed), field(part, changed, "minimum", t("From"), { kind: "number", missing: 0 }), field(part, changed, "maximum", t("To"), { kind: "number", missing: 100 }),
    field(part, changed, "step", t("Step"), { kind: "number", missing: 1 }), field(part, changed, "labels", t("Meaning of values"), { kind: "labels", help: t("One per line: 0 = useless") }),
    higher(part, changed), weight(part, changed),
  ],
  choice: (part, changed) => [
    ...named(part, changed), field(part, changed, "options", t("Answers and their scores"), { kind: "options", help: t("One per line: 2 = right") }), higher(part, changed), weight(part, changed),
  ],
  yes_no: (part, changed) => [...named(part, changed), field(part, changed, "higher_is_better", t("Yes is better"), { kind: "check", missing: true }), weight(part, changed)],
  text: (part, changed) => [...named(part, changed), field(part, changed, "required", t("An answer is required"), { kind: "check", missing: false })],
  post_edit: (part, changed) => [field(part, changed, "title", t("Question"), { missing: t("The corrected text") })],
};

// One part with its fields, and buttons that move it or take it out. acts: {up, down, remove}; null where it cannot move.
export function partFields(part, n, changed, { up, down, remove }) {
  const title = `${n}. ${KINDS[part.kind].title()}`;
  const acts = [up && button(t("Up"), up, { class: "quiet" }), down && button(t("Down"), down, { class: "quiet" }), button(t("Remove"), remove, { class: "quiet" })];
  return h("fieldset", { class: "part", data: { kind: part.kind, place: `options.parts.${n - 1}` } }, h("legend", {}, title), h("div", { class: "fields" }, FIELDS[part.kind](part, changed)), h("p", { class: "actions" }, acts.filter(Boolean)));
}

// What holds for the whole protocol: who ranks, what is asked of columns, and what raters read.
export function wholeFields(options, changed) {
  const scored = options.parts.filter((part) => part.kind !== "text").map((part) => (part.kind === "spans" ? "spans" : part.name ?? "post-edit"));
  if (options.parts.some((part) => part.weight > 0)) scored.push("overall");
  const pick = (name, label, values, missing) => {
    const id = fresh(name);
    const chosen = options[name] ?? missing;
    const select = h("select", { id, data: { place: name }, onchange: () => {
      if (select.value === missing) delete options[name];
      else options[name] = select.value;
      changed();
    } }, values.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
    return h("div", { class: "field" }, h("label", { for: id }, label), select);
  };
  const rubric = { rubric: Object.fromEntries((options.rubric ?? []).map((one) => [one.value, one.meaning])) };
  const ruled = () => {
    options.rubric = Object.entries(rubric.rubric ?? {}).map(([value, meaning]) => ({ value, meaning: meaning || value }));
    changed();
  };
  return h("fieldset", { class: "part", data: { place: "options" } }, h("legend", {}, t("All parts together")), h("div", { class: "fields" },
    pick("ranks_by", t("Systems are ranked by"), [["", t("the first part that scores")], ...scored.map((name) => [name, name])], ""),
    pick("preference", t("Comparison of systems side by side"), [["none", t("nothing")], ["best", t("which are best")], ["best_worst", t("the best and the worst")], ["ranking", t("a ranking")]], "none"),
    field(options, changed, "instructions", t("Instructions")),
    field(rubric, ruled, "rubric", t("Meaning of words and values"), { kind: "labels", help: t("One per line: major = The meaning changes") })));
}

// The parts in their order, and a button for each kind that can be added.
export function drawParts(place, options, { changed, drawn }) {
  const move = (from, to) => () => {
    options.parts.splice(to, 0, ...options.parts.splice(from, 1));
    drawn();
  };
  const last = options.parts.length - 1;
  const parts = options.parts.map((part, i) => partFields(part, i + 1, changed, {
    up: i > 0 ? move(i, i - 1) : null,
    down: i < last ? move(i, i + 1) : null,
    remove: () => {
      options.parts.splice(i, 1);
      drawn();
    },
  }));
  const add = Object.entries(KINDS).filter(([kind]) => kind !== "spans" || !options.parts.some((part) => part.kind === "spans"))
    .map(([kind, { title, fresh: made }]) => button(t("Add: {what}", { what: title() }), () => {
      options.parts.push(made(freeName(kind.replace("_", "-"), options)));
      drawn();
    }, { class: "quiet" }));
  fill(place, parts, h("p", { class: "actions" }, add), wholeFields(options, changed));
}

function freeName(kind, { parts }) {
  const taken = new Set(parts.map((part) => part.name));
  for (let n = 1; ; n += 1) if (!taken.has(`${kind}-${n}`)) return `${kind}-${n}`;
}
