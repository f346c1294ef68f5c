// Items with a known answer, as fields: of the test before the first task, and of tutorial documents.

import { button, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { placeOf, Rules } from "./answer_rules.js";
import { lines } from "./asking.js";
import { Judgment, Unfinished } from "./judging.js";
import { numeral } from "./parts.js";

const LONGEST = "20000";

function field(name, label, value, { rows = 2 } = {}) {
  const id = fresh("field");
  const input = h("textarea", { id, data: { place: placeOf(name) }, rows: String(rows), maxlength: LONGEST, dir: "auto" }, value ?? "");
  return { input, element: h("div", { class: "field" }, h("label", { for: id }, label), input) };
}

const words = (value) => value.trim() || null;

// How far off each measure of the protocol may be. given: by measure; null for what is usual.
function tolerances(measures, given) {
  const parts = measures.map(({ name, within }) => {
    const id = fresh("within");
    const now = given ? given[name] ?? "" : within ?? "";
    const input = h("input", { id, data: { place: placeOf(`tolerance.${name}`) }, inputmode: "decimal", autocomplete: "off", value: String(now) });
    return { name, input, element: h("div", { class: "field" }, h("label", { for: id }, t("Tolerance for “{measure}”", { measure: name })), input) };
  });
  const help = h("p", { class: "help" }, t("Empty fields are not compared."));
  return { parts, element: h("div", {}, h("div", { class: "fields" }, parts.map((part) => part.element)), help) };
}

function within({ name, input }) {
  const value = numeral(input.value.trim());
  if (Number.isNaN(value)) throw new Unfinished(t("“{text}” is not a number.", { text: input.value.trim() }));
  return [name, value];
}

const reasonsAs = (reasons) => Object.entries(reasons ?? {}).map(([language, text]) => `${language}: ${text}`).join("\n");

function reasonsOf(text) {
  const found = lines(text).map((line) => /^([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*):\s*(.+)$/.exec(line) ?? [null, "en", line]);
  return Object.fromEntries(found.map(([, language, reason]) => [language, reason]));
}

// One item. kind: judgment or choice. given: as the interface has it. asked: {form, about, measures, prefill}; prefill(…)
// makes what marks errors in advance, on pages that have it.
class Item {
  constructor(kind, given, asked, taken) {
    this.kind = kind;
    this.rest = given.rest ?? null; // whatever else stands in what is changed
    this.legend = h("legend", {});
    this.source = field("source|references", t("Source"), given.source);
    this.text = field("text|payload|tolerance", t("Output that is judged"), given.text);
    this.question = field("question", t("Question (optional)"), given.question, { rows: 1 });
    this.reasons = field("reasons", t("Explanation, one language per line, for example en: …"), reasonsAs(given.reasons));
    if (kind === "choice") {
      this.choices = field("choices", t("Choices, one per line"), (given.choices ?? []).join("\n"), { rows: 3 });
      this.choice = field("choice", t("The right one"), given.choice, { rows: 1 });
    } else {
      this.judgment = new Judgment(asked.form, asked.about, given.payload, () => ({ source: this.source.input.value.trim(), text: this.text.input.value.trim() }));
      this.tolerance = tolerances(asked.measures, given.tolerance);
      this.rules = asked.about.needed ? null : new Rules(given, asked);
      for (const { input } of [this.source, this.text]) input.addEventListener("input", () => this.judgment.read());
      this.prefill = asked.prefill?.(given.prefill, asked, () => this.shown) ?? null;
    }
    const judged = this.judgment ? { element: h("div", { role: "group", "aria-label": t("The right judgment") }, h("p", { class: "named" }, t("The right judgment")), this.judgment.element) } : null;
    const parts = [this.source, this.text, this.question, this.choices, this.choice, judged, this.tolerance, this.rules, this.prefill, this.reasons];
    this.element = h("fieldset", { class: "known" }, this.legend, parts.filter(Boolean).map((part) => part.element),
      h("p", { class: "actions" }, button(t("Remove it"), () => taken(this), { class: "quiet" })));
    this.element.addEventListener("input", () => this.prefill?.read());
  }

  // The texts as they stand: those side by side, if there are any, else the one.
  get shown() {
    const columns = this.rules?.value.columns ?? [];
    return { source: this.source.input.value.trim(), texts: columns.length ? columns : [this.text.input.value.trim()] };
  }

  // As the interface takes it. Throws Unfinished.
  get value() {
    const said = { source: words(this.source.input.value), text: words(this.text.input.value), question: words(this.question.input.value), reasons: reasonsOf(this.reasons.input.value) };
    if (this.kind === "choice") return { ...said, choices: lines(this.choices.input.value), choice: words(this.choice.input.value) };
    const tolerance = this.tolerance.parts.filter((part) => part.input.value.trim()).map(within);
    const rules = { ...this.rules?.value, ...(this.prefill && { prefill: this.prefill.value }) };
    if (rules.columns?.length) return { ...said, ...rules, text: null, payload: null, tolerance: {} };
    return { ...said, ...rules, payload: this.judgment.payload, tolerance: Object.fromEntries(tolerance) };
  }
}

// A list of items in a place of the page.
export class Items {
  // Of the form's data, `needed` says that no item may do without an answer.
  constructor(place, { protocol, source, target, forms, measures, needed }, name, { prefill = null } = {}) {
    const about = { protocol, source, target, needed: needed !== undefined };
    const asked = { form: JSON.parse(forms).find((one) => one.level !== "screen"), about, measures: JSON.parse(measures), prefill };
    Object.assign(this, { place, asked, name, items: [] });
  }

  set(given) {
    this.items = [];
    this.place.replaceChildren();
    for (const one of given) this.add(one.choices?.length ? "choice" : "judgment", one);
  }

  add(kind, given = {}, { focus = false } = {}) {
    const item = new Item(kind, given, this.asked, (one) => this.take(one));
    this.items.push(item);
    this.place.append(item.element);
    this.number();
    if (focus) item.source.input.focus();
  }

  take(item) {
    this.items = this.items.filter((one) => one !== item);
    item.element.remove();
    this.number();
    (this.items.at(-1)?.source.input ?? this.place.closest("form").querySelector("[data-add]")).focus();
  }

  number() {
    this.items.forEach((item, n) => {
      item.legend.textContent = this.name(n + 1);
      item.element.dataset.place = String(n);
    });
  }

  get values() {
    return this.items.map((item, n) => {
      try {
        return item.value;
      } catch (error) {
        if (!(error instanceof Unfinished)) throw error;
        throw new Unfinished(`${this.name(n + 1)}: ${error.message}`);
      }
    });
  }
}
