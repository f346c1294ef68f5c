// Create a campaign, from a template or by choosing everything, then go on to its texts.

import { $, fill, h } from "../shared/dom.js";
import { idempotencyKey } from "../shared/api.js";
import { t } from "../shared/messages.js";
import { checkKey, fillKeyFromName } from "./keys.js";
import { offerLanguages } from "./languages.js";
import { change, foreign, get, main, refuseField, resting } from "./parts.js";
import { reading } from "./reading.js";
import { SchemaForm, Unreadable } from "./schema_form.js";

const form = $("#new");
const said = $(".said", form);
const place = $("#protocol-options");
const templates = JSON.parse(form.dataset.templates);
const told = new Map(); // protocols by name
let options = null;

const template = () => templates.find((one) => one.name === form.elements.template.value);

// The options of the protocol chosen, as fields. values: what they begin with.
async function showOptions(values = {}) {
  const name = form.elements.protocol.value;
  options = null;
  fill(place);
  if (!name) return;
  if (!told.has(name)) told.set(name, await get(`/v1/protocols/${name}`));
  if (form.elements.protocol.value !== name) return; // another was chosen meanwhile
  const protocol = told.get(name);
  for (const option of form.elements.basis.options) option.disabled = !protocol.bases.includes(option.value);
  if (!protocol.bases.includes(form.elements.basis.value)) [form.elements.basis.value] = protocol.bases;
  options = new SchemaForm(protocol.options, values);
  fill(place, h("p", { class: "help" }, foreign(protocol.instructions)), options.empty ? null : options.element);
}

const show = (values) => reading(place, () => showOptions(values))();

function takeTemplate() {
  const chosen = template();
  if (chosen) {
    form.elements.protocol.value = chosen.protocol;
    form.elements.basis.value = chosen.basis;
  }
  return show(chosen?.options);
}

function body() {
  const given = { key: form.elements.key.value.trim(), protocol: form.elements.protocol.value, basis: form.elements.basis.value };
  if (template()) given.template = template().name;
  for (const name of ["name", "source_language", "target_language"]) {
    if (form.elements[name].value.trim()) given[name] = form.elements[name].value.trim();
  }
  if (options) given.options = { ...options.value };
  return given;
}

async function make() {
  let given;
  try {
    given = body();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    refuseField(form, error.field, error.message);
    return;
  }
  const answer = await change("POST", "/v1/campaigns", { body: given, said, key: idempotencyKey() });
  if (answer) location.assign(`/campaigns/${encodeURIComponent(given.key)}/texts`);
}

checkKey(form);
fillKeyFromName(form);
offerLanguages(form);
for (const radio of form.elements.template) radio.addEventListener("change", takeTemplate);
form.elements.protocol.addEventListener("change", () => {
  if (template()?.protocol !== form.elements.protocol.value) form.elements.template.value = "none"; // it is for another
  show();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), make);
});
await show(template()?.options);
main.dataset.ready = "yes";
