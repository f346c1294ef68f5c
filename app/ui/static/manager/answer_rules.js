// Rules that answers in the tutorial must keep, as fields: several texts, ranges, words to be marked, one above another.

import { button, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { lines } from "./asking.js";
import { numeral, written } from "./parts.js";

const KINDS = {
  measure: { title: () => t("A score within bounds"), fresh: ({ measures }) => ({ measure: measures[0]?.name, least: 0 }) },
  marks: { title: () => t("Words must be marked"), fresh: () => ({ marks: "" }) },
  above: { title: () => t("One text is judged better than another"), fresh: () => ({ column: 1, above: 2 }) },
};
const kindOf = (rule) => Object.keys(KINDS).find((kind) => rule[kind] !== undefined && rule[kind] !== null) ?? "measure";

const warningAs = (warning) => Object.entries(warning ?? {}).map(([language, text]) => `${language}: ${text}`).join("\n");
const warningOf = (text) => Object.fromEntries(lines(text).map((line) => /^([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*):\s*(.+)$/.exec(line)?.slice(1) ?? ["en", line]));

// Of a field in a test, and in a document of the tutorial or of attention checks.
export const placeOf = (names) => names.split("|").flatMap((name) => ["", "meta.tutorial.", "meta.attention."].map((before) => before + name)).join("|");

function field(place, label, value, put, { rows = 0, numeric = false, help = "" } = {}) {
  const id = fresh("rule");
  const common = { id, data: { place }, dir: "auto", autocomplete: "off", "aria-describedby": help ? `${id}-help` : null, oninput: (event) => put(event.target.value) };
  const input = rows ? h("textarea", { ...common, rows: String(rows) }, value) : h("input", { ...common, type: "text", inputmode: numeric ? "decimal" : null, value });
  return h("div", { class: "field" }, h("label", { for: id }, label), input, help ? h("p", { class: "help", id: `${id}-help` }, help) : null);
}

const put = (rule, name, read = (text) => text) => (text) => {
  if (text.trim() === "") delete rule[name];
  else rule[name] = read(text.trim());
};
const numbered = (rule, name, label) => field(name, label, written(rule[name]), put(rule, name, numeral), { numeric: true });
const worded = (rule, name, label) => field(name, label, rule[name] ?? "", put(rule, name));

const FIELDS = {
  measure: (rule, { measures }) => {
    const id = fresh("measure");
    const select = h("select", { id, data: { place: "measure" }, onchange: () => (rule.measure = select.value) }, measures.map(({ name }) => h("option", { value: name, selected: name === rule.measure }, name)));
    return [h("div", { class: "field" }, h("label", { for: id }, t("Score")), select), numbered(rule, "least", t("At least")), numbered(rule, "most", t("At most"))];
  },
  marks: (rule) => [worded(rule, "marks", t("Words of the text")), worded(rule, "severity", t("Severity (optional)")), worded(rule, "category", t("Category (optional)"))],
  above: (rule) => [numbered(rule, "above", t("Better than text number"))],
};

// given: {columns, rules, retry}. asked: {measures}.
export class Rules {
  constructor(given, asked) {
    Object.assign(this, { asked, columns: [...(given.columns ?? [])], rules: structuredClone(given.rules ?? []), retry: given.retry ?? false });
    for (const rule of this.rules) for (const [name, value] of Object.entries(rule)) if (value === null) delete rule[name];
    this.place = h("div");
    const retry = h("input", { type: "checkbox", data: { place: placeOf("retry") }, checked: this.retry, onchange: () => (this.retry = retry.checked) });
    const columns = field(placeOf("columns"), t("Texts side by side, one per line"), this.columns.join("\n"), (text) => (this.columns = lines(text)), { rows: 2, help: t("Instead of the output. Rules then decide which answers are right.") });
    const adds = Object.entries(KINDS).map(([, kind]) => button(t("Add: {what}", { what: kind.title() }), () => {
      this.rules.push(kind.fresh(asked));
      this.draw();
    }, { class: "quiet" }));
    const check = h("div", { class: "check" }, h("label", { class: "point" }, retry, t("Raters answer again until everything is right")));
    this.element = h("details", { open: this.columns.length + this.rules.length > 0 }, h("summary", {}, t("Rules and several texts")), columns, this.place, h("p", { class: "actions" }, adds), check);
    this.draw();
  }

  draw() {
    fill(this.place, this.rules.map((rule, n) => h("fieldset", { class: "part", data: { place: placeOf(`rules.${n}`) } }, h("legend", {}, KINDS[kindOf(rule)].title()), h("div", { class: "fields" },
      numbered(rule, "column", t("Text number (1 if empty)")), FIELDS[kindOf(rule)](rule, this.asked),
      field("warning", t("Warning, one language per line, for example en: …"), warningAs(rule.warning), (text) => (rule.warning = warningOf(text)), { rows: 2 })),
      h("p", { class: "actions" }, button(t("Remove it"), () => {
        this.rules.splice(n, 1);
        this.draw();
      }, { class: "quiet" })))));
  }

  get value() {
    return { columns: this.columns, rules: this.rules, retry: this.retry };
  }
}
