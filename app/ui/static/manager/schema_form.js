// Values that a JSON schema describes, as fields of a form: a new protocol has its form by itself.
//
// Lists of objects are groups with a button for more; a mapping is a text with one `key: value` a line.

import { button, fill, fresh, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { foreign, numeral } from "./parts.js";

// field: what it is about, as a path into what the form's page sends.
export class Unreadable extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

const OWN = "\u0000own"; // no name of a profile
const CHOICES = {
  none: t("none|to choose"), best: t("the best one"), ranking: t("a ranking"), raw: t("raw scores"), z: t("z-scores"),
  ter: t("edits per word (TER)"), critical: t("critical errors"), levenshtein: t("edited characters"), chrf: t("chrF"),
  words: t("words|counted"), characters: t("characters|counted"),
};
const called = (value) => CHOICES[value] ?? String(value).replaceAll("_", " ");
const read = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text.trim());

// The kinds of value that a schema allows, without null.
function kindsOf(schema, defs) {
  const resolved = schema.$ref ? defs[schema.$ref.split("/").at(-1)] : schema;
  return (resolved.anyOf ?? [resolved]).map((one) => (one.$ref ? defs[one.$ref.split("/").at(-1)] : one)).filter((one) => one.type !== "null");
}

const isNumber = (kind) => ["number", "integer"].includes(kind.type);

function labelled(schema, control, name) {
  const id = fresh("option");
  const help = schema.description ? h("p", { class: "help", id: `${id}-help` }, foreign(schema.description)) : null;
  control.id = id;
  control.dataset.place = name;
  if (help) control.setAttribute("aria-describedby", help.id);
  return h("div", { class: "field" }, h("label", { for: id }, foreign(schema.title ?? name)), control, help);
}

// One of several fixed values, in the type that the schema has them in.
function choiceField(name, schema, kind, value) {
  const control = h("select", {}, kind.enum.map((one) => h("option", { value: String(one), selected: one === value }, called(one))));
  return { element: labelled(schema, control, name), value: () => kind.enum.find((one) => String(one) === control.value) };
}

function flagField(name, schema, value) {
  const control = h("select", {}, [[false, t("no")], [true, t("yes")]].map(([one, words]) => h("option", { value: String(one), selected: one === value }, words)));
  return { element: labelled(schema, control, name), value: () => control.value === "true" };
}

function textField(name, schema, kind, value, optional) {
  const control = h("input", { maxlength: "1000", autocomplete: "off", spellcheck: "false", value: value ?? "", inputmode: isNumber(kind) ? "decimal" : null, required: !optional });
  return {
    element: labelled(schema, control, name),
    value: () => {
      const given = control.value.trim();
      if (!given) return null;
      return isNumber(kind) && !Number.isNaN(numeral(given)) ? numeral(given) : given;
    },
  };
}

const linesOf = (value) => Object.entries(value ?? {}).map(([key, one]) => `${key}: ${one}`).join("\n");

// `numbers`: values that look like numbers are numbers.
function mappingField(name, schema, kind, value) {
  const control = h("textarea", { rows: "4", maxlength: "20000", spellcheck: "false" }, linesOf(value));
  const numbers = !kind.patternProperties;
  const parse = () => Object.fromEntries(control.value.split("\n").filter((line) => line.trim()).map((line) => {
    const at = line.lastIndexOf(":");
    const cut = numbers ? at : line.indexOf(":");
    if (cut < 1) throw new Unreadable(t("“{line}” is not a key and a value. Write one pair on each line, such as Major: 5", { line: line.trim() }), `options.${name}`);
    const text = line.slice(cut + 1).trim();
    return [line.slice(0, cut).trim(), numbers ? read(text) : text];
  }));
  return { element: labelled(schema, control, name), value: parse };
}

// A name that is known, or a table of one's own.
function profileField(name, schema, kinds, value) {
  const own = value !== null && typeof value === "object";
  const control = h("select", {}, h("option", { value: "" }, t("of the protocol")),
    schema.examples.map((one) => h("option", { value: one, selected: one === value }, one)), h("option", { value: OWN, selected: own }, t("a table of your own")));
  const table = mappingField(name, { title: t("Weights, one per line, such as Major/Fluency: 5") }, kinds.find((one) => one.type === "object"), own ? value : {});
  table.element.hidden = !own;
  control.addEventListener("change", () => (table.element.hidden = control.value !== OWN));
  return { element: h("div", {}, labelled(schema, control, name), table.element), value: () => (control.value === OWN ? table.value() : control.value || null) };
}

// Several of one kind, each a group of fields.
function listField(name, schema, kind, value, defs) {
  const [item] = kindsOf(kind.items, defs);
  const groups = [];
  const place = h("div", { class: "groups" });
  const more = button(t("Add one more"), () => add({}).querySelector("input")?.focus(), { class: "quiet" });
  const show = () => fill(place, groups.map((group, n) => h("fieldset", { class: "known", data: { place: String(n) } }, h("legend", {}, foreign(schema.title ?? name), ` ${n + 1}`), group.element,
    groups.length > 1 ? button(t("Remove"), () => (groups.splice(n, 1), show(), more.focus()), { class: "quiet", "aria-label": t("Remove number {n}", { n: n + 1 }) }) : null)));
  const add = (values) => {
    groups.push(new SchemaForm({ ...item, $defs: defs }, values));
    show();
    return groups.at(-1).element;
  };
  for (const one of value?.length ? value : [{}]) add(one);
  const help = schema.description ? h("p", { class: "help" }, foreign(schema.description)) : null;
  return { element: h("div", { class: "whole-row", data: { place: name } }, help, place, h("p", { class: "actions" }, more)), value: () => groups.map((group) => group.value) };
}

function fieldOf(name, schema, value, optional, defs) {
  const kinds = kindsOf(schema, defs);
  const [kind] = kinds;
  if (kind.enum) return choiceField(name, schema, kind, value);
  if (kind.type === "boolean") return flagField(name, schema, value);
  if (kind.type === "array" && kind.items?.type !== "string") return listField(name, schema, kind, value, defs);
  if (schema.examples && kinds.some((one) => one.type === "object")) return profileField(name, schema, kinds, value);
  if (kind.type === "object") return mappingField(name, schema, kind, value);
  return textField(name, schema, kind, value, optional);
}

export class SchemaForm {
  // schema: of an object, as `GET /v1/protocols` tells it. values: what stands in the fields; else the defaults do.
  constructor(schema, values = {}) {
    const defs = schema.$defs ?? {};
    this.fields = Object.entries(schema.properties ?? {}).map(([name, one]) => {
      const set = values[name] ?? one.default ?? null;
      return [name, one, fieldOf(name, one, set, !schema.required?.includes(name), defs)];
    });
    this.element = h("div", { class: "fields" }, this.fields.map(([, , field]) => field.element));
  }

  get empty() {
    return !this.fields.length;
  }

  // What is set and is not the default. Throws Unreadable.
  get value() {
    const set = {};
    for (const [name, schema, field] of this.fields) {
      const value = field.value();
      const nothing = value === null && schema.default !== null && !("default" in schema);
      if (!nothing && JSON.stringify(value) !== JSON.stringify(schema.default ?? null)) set[name] = value;
      else if (value === null && schema.default !== null && "default" in schema) set[name] = null; // emptied on purpose
    }
    return set;
  }
}
