// Items with a known answer, as fields: of the test before the first task, and of tutorial documents.

import { button, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { lines } from "./asking.js";

const LONGEST = "20000";

function field(label, value, { rows = 2, help = null, code = false } = {}) {
  const [id, helpId] = [fresh("field"), fresh("help")];
  const described = help ? { "aria-describedby": helpId } : {};
  const input = h("textarea", { id, rows: String(rows), maxlength: LONGEST, spellcheck: code ? "false" : null, dir: "auto", ...described }, value ?? "");
  return { input, element: h("div", { class: "field" }, h("label", { for: id }, label), input, help ? h("p", { class: "help", id: helpId }, help) : null) };
}

const words = (value) => value.trim() || null;

export class NoJson extends Error {}

function json(text, label) {
  try {
    return text.trim() ? JSON.parse(text) : null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new NoJson(`${label}: ${error.message}`);
  }
}

const reasonsAs = (reasons) => Object.entries(reasons ?? {}).map(([language, text]) => `${language}: ${text}`).join("\n");

function reasonsOf(text) {
  const found = lines(text).map((line) => /^([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*):\s*(.+)$/.exec(line) ?? [null, "en", line]);
  return Object.fromEntries(found.map(([, language, reason]) => [language, reason]));
}

// One item. kind: judgment or choice. given: as the interface has it. defaults: {payload, measures}.
class Item {
  constructor(kind, given, defaults, taken) {
    this.kind = kind;
    this.rest = given.rest ?? null; // whatever else stands in what is changed
    this.legend = h("legend", {});
    this.source = field(t("Source"), given.source);
    this.text = field(t("Output that is judged"), given.text);
    this.question = field(t("Question (may be left out)"), given.question, { rows: 1 });
    this.reasons = field(t("Why it is so, one a line, as en: …"), reasonsAs(given.reasons));
    if (kind === "choice") {
      this.choices = field(t("Choices, one a line"), (given.choices ?? []).join("\n"), { rows: 3 });
      this.choice = field(t("The right one"), given.choice, { rows: 1 });
    } else {
      const payload = given.payload ? JSON.stringify(given.payload) : defaults.payload;
      this.payload = field(t("The right judgment, as JSON"), payload, { code: true });
      const within = given.tolerance ? JSON.stringify(given.tolerance) : `{"${defaults.measures.split(",")[0]}": 10}`;
      this.tolerance = field(t("How far off an answer may be, as JSON"), within, { rows: 1, code: true, help: t("What can be compared: {measures}", { measures: defaults.measures }) });
    }
    const parts = [this.source, this.text, this.question, this.choices, this.choice, this.payload, this.tolerance, this.reasons];
    this.element = h("fieldset", { class: "known" }, this.legend, parts.filter(Boolean).map((part) => part.element),
      h("p", { class: "actions" }, button(t("Take it out"), () => taken(this), { class: "quiet" })));
  }

  // As the interface takes it. Throws NoJson.
  get value() {
    const said = { source: words(this.source.input.value), text: words(this.text.input.value), question: words(this.question.input.value), reasons: reasonsOf(this.reasons.input.value) };
    if (this.kind === "choice") return { ...said, choices: lines(this.choices.input.value), choice: words(this.choice.input.value) };
    return { ...said, payload: json(this.payload.input.value, t("The right judgment, as JSON")), tolerance: json(this.tolerance.input.value, t("How far off an answer may be, as JSON")) };
  }
}

// A list of items in a place of the page.
export class Items {
  constructor(place, defaults, name) {
    Object.assign(this, { place, defaults, name, items: [] });
  }

  set(given) {
    this.items = [];
    this.place.replaceChildren();
    for (const one of given) this.add(one.choices?.length ? "choice" : "judgment", one);
  }

  add(kind, given = {}, { focus = false } = {}) {
    const item = new Item(kind, given, this.defaults, (one) => this.take(one));
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
    this.items.forEach((item, n) => (item.legend.textContent = this.name(n + 1)));
  }

  get values() {
    return this.items.map((item) => item.value);
  }
}
