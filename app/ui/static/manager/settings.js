// The settings of a campaign, changed by who saw the latest of them; and the pace that the deadline asks for.

import { call, Unreachable } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { absolute, localTime } from "./asking.js";
import { fact } from "./deadline.js";
import { textOf } from "./delimited.js";
import { fileLines, linesOf, termsOf } from "./glossary.js";
import { offerLanguages } from "./languages.js";
import { api, facts, figure, get, here, moment, NONE, numeral, refuse, Refused, refuseField, resting, say, showNextStep, told, written } from "./parts.js";
import { reading, tried } from "./reading.js";
import { SchemaForm, Unreadable } from "./schema_form.js";

const form = $("#settings");
const said = $(".said", form);
const OWN = ["deadline", "notes", "presentation", "lease_seconds", "seconds_per_word", "markup", "slider_colors", "output_comments", "screen_comments", "glossary"];
const FLAGS = ["markup", "slider_colors", "output_comments", "screen_comments"];
const OF_THE_SERVICE = ["created_by"];
const OF_A_DRAFT = ["series", "source_language", "target_language", "basis"];
const HOUR = 3600; // seconds
offerLanguages(form);
let seen = null; // {body, etag}
let options = null;

const settled = () => seen.body.state !== "draft" || seen.body.data_version > 0;

// The options of the protocol chosen, as fields; the campaign's own where it is its protocol.
async function showOptions() {
  const name = form.elements.protocol.value;
  const protocol = await get(`/v1/protocols/${name}`);
  for (const option of form.elements.basis.options) option.disabled = !protocol.bases.includes(option.value);
  if (!protocol.bases.includes(form.elements.basis.value)) [form.elements.basis.value] = protocol.bases;
  if (name === seen.body.protocol && Array.isArray(seen.body.options.parts)) { // it is written on a page of its own
    options = { empty: true, value: seen.body.options };
    fill($("#protocol-options"), h("p", {}, h("a", { href: `${here}/protocol` }, t("Write what raters are asked"))));
    return;
  }
  options = new SchemaForm(protocol.options, name === seen.body.protocol ? seen.body.options : {});
  fill($("#protocol-options"), options.empty ? h("p", { class: "help" }, t("This protocol has no options.")) : options.element);
  for (const control of options.element.querySelectorAll("input, select, textarea, button")) control.disabled = settled();
}

async function show({ body, etag }) {
  seen = { body, etag };
  const { settings } = body;
  form.elements.name.value = body.name;
  form.elements.deadline.value = localTime(settings.deadline);
  form.elements.notes.value = settings.notes ?? "";
  for (const name of OF_A_DRAFT) {
    form.elements[name].value = body[name] ?? "";
    form.elements[name].disabled = body.state !== "draft";
  }
  const { presentation, lease_seconds: lease, seconds_per_word: speed } = settings;
  form.elements.presentation.value = presentation ?? "document";
  form.elements.lease_hours.value = lease ? written(lease / HOUR) : "";
  form.elements.seconds_per_word.value = written(speed);
  form.elements.glossary.value = linesOf(settings.glossary);
  for (const name of FLAGS) form.elements[name].value = settings[name] ? "yes" : "no";
  form.elements.protocol.value = body.protocol;
  form.elements.protocol.disabled = settled();
  const why = $("#settled");
  why.hidden = !settled();
  say(why, body.state === "draft" ? t("The campaign has data, so its protocol and options cannot change: every score depends on them.") : t("The campaign is no longer a draft, so its protocol and options cannot change."));
  await showOptions();
  const rest = Object.entries(settings).filter(([name]) => ![...OWN, ...OF_THE_SERVICE].includes(name));
  form.elements.rest.value = JSON.stringify(Object.fromEntries(rest), null, 2);
}

function changed() {
  const settings = JSON.parse(form.elements.rest.value || "{}");
  if (form.elements.deadline.value) settings.deadline = absolute(form.elements.deadline.value);
  if (form.elements.notes.value.trim()) settings.notes = form.elements.notes.value.trim();
  settings.presentation = form.elements.presentation.value;
  const terms = termsOf(form.elements.glossary.value);
  if (terms.length) settings.glossary = terms;
  for (const name of FLAGS) if (form.elements[name].value === "yes") settings[name] = true;
  const { lease_hours: lease, seconds_per_word: speed } = form.elements;
  if (lease.value.trim()) settings.lease_seconds = HOUR * numeral(lease.value.trim());
  if (speed.value.trim()) settings.seconds_per_word = numeral(speed.value.trim());
  for (const [input, name] of [[lease, "lease_seconds"], [speed, "seconds_per_word"]]) {
    if (Number.isNaN(settings[name])) throw new Unreadable(t("“{text}” is not a number.", { text: input.value.trim() }), `settings.${name}`);
  }
  const body = { name: form.elements.name.value.trim() || null, settings };
  if (!settled()) Object.assign(body, { protocol: form.elements.protocol.value, options: options.value });
  if (seen.body.state === "draft") for (const name of OF_A_DRAFT) body[name] = form.elements[name].value.trim() || null;
  return body;
}

async function save() {
  $("#saved").textContent = "";
  let body;
  try {
    body = changed();
  } catch (error) {
    if (error instanceof Unreadable) {
      refuseField(form, error.field, error.message);
      return;
    }
    if (!(error instanceof SyntaxError)) throw error;
    refuseField(form, "settings", t("The settings are not valid JSON: {why}", { why: error.message }));
    return;
  }
  const answer = await patch(body);
  if (!answer) return;
  await show(answer);
  showNextStep();
  $("#saved").textContent = t("Saved.");
  await pace();
}

// → the answer, or null after saying what went wrong; what somebody else changed meanwhile is not overwritten.
async function patch(body) {
  say(said, "");
  let answer;
  try {
    answer = await call("PATCH", api, { body, headers: { "If-Match": seen.etag } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(said, t("The server cannot be reached. Try again in a moment."));
    return null;
  }
  if (answer.ok) return answer;
  if (answer.status === 412) say(said, t("Somebody else has changed these settings. Reload the page to see them."));
  else refuse(said, answer);
  return null;
}

// What is left, in the days that are left, beside what raters did so far.
const place = $("#pace");
const pace = reading(place, async () => {
  const { deadline, pace: now, forecast } = await get(`${api}/progress`);
  if (deadline) {
    fill(place, h("h2", {}, t("Against the deadline")), facts([
      fact(deadline), [t("Days left"), figure(deadline.days_left, 1)], [t("Tasks left"), figure(deadline.tasks_left)],
      [t("Pace"), now.tasks_a_day === null ? NONE : t("{n} tasks a day", { n: figure(now.tasks_a_day, 1) })],
      [t("Expected end at this pace"), forecast ? moment(forecast.median) : NONE],
    ]));
  } else fill(place);
});

form.elements.protocol.addEventListener("change", () => tried(showOptions, said));
form.elements.glossary_file.addEventListener("change", () => tried(async () => {
  const [file] = form.elements.glossary_file.files;
  if (file) form.elements.glossary.value = fileLines(await textOf(file));
}, said));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), save);
});
const send = $("button[type=submit]", form);
send.disabled = true; // until it is seen what is changed
await reading(place, async () => {
  const now = await call("GET", api);
  if (!now.ok) throw new Refused(told(now));
  await show(now);
  send.disabled = false;
  await pace();
})();
